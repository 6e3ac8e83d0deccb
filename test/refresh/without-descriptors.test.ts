import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { Folder } from '../base/files/folder.js';

/** Descriptors of the process: enough to open and serve a timetable. */
const DESCRIPTORS = 400;

test('files that changed while no descriptor was free are read as soon as one is', async (t) => {
  const folder = new Folder(t);
  const files = ['events.json', 'enrolments.json'].map((name) => join(folder.path, name));
  const index = new URL('../../dist/index.js', import.meta.url).href;
  const script = fileURLToPath(new URL('without-descriptors.mjs', import.meta.url));
  const command = `ulimit -n ${DESCRIPTORS}; exec "$0" "$@"`;
  const output = execFileSync('sh', ['-c', command, process.execPath, script, index, ...files]);
  const { told, storeFailures } = JSON.parse(output.toString()) as {
    readonly told: { level: string; message: string }[];
    readonly storeFailures: readonly string[];
  };
  const ofFile = told.filter(({ message }) => message.startsWith('enrolments'));
  t.match(
    ofFile,
    [
      { level: 'warn', reason: /enrolments.json cannot be read: too many files are open/ },
      { level: 'info', message: 'enrolments read again' },
    ],
    'the failure is reported once, and the success once',
  );
  t.equal(ofFile.length, 2);
  t.match(
    storeFailures,
    [/a package cannot be loaded now: too many files are open/, /CONNECTION_REFUSED|connection refused/],
    'the client of NATS is loaded as soon as it can be',
  );
});
