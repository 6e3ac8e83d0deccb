/** Files given by mistake for other kinds of files. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { assertOneLine, runHere } from './run-here.js';

const DEMO = 'fixtures/demo.ndjson.gz';

test('messages show at most eight characters of a secret that is given as a source or a map', async (t) => {
  const text = 'a5dec0ffee'.repeat(6);
  const file = join(t.testdir({ 'secret.txt': `${text}\n` }), 'secret.txt');
  for (const [argv, shown] of [
    [['inspect', file], 'a5dec0ff'],
    [['serve', file, '--dev', '--port', '0'], 'a5dec0ff'],
    [['serve', DEMO, '--dev', '--port', '0', '--enrolments', file], 'a'],
  ] as const) {
    const outcome = await runHere(t, argv);
    assertOneLine(t, outcome, 1, new RegExp(`line 1, column 1: found [^"]*"${shown}"`), argv.join(' '));
    t.notOk(outcome.stderr.includes(text.slice(0, 9)), argv.join(' '));
  }
});

test('a snapshot file that is given as a source is recognised', async (t) => {
  const file = join(t.testdir({}), 'image');
  writeFileSync(file, 'LECTERN\u001a\u0000\u0001\u0002\u0003');
  const outcome = await runHere(t, ['inspect', file]);
  assertOneLine(t, outcome, 1, /found a snapshot file of Lectern: `lectern serve --pin` serves it/, 'image');
});

test('inspect exits with 1 if there are no events', async (t) => {
  const folder = t.testdir({ 'bad.ndjson': '{}\n{}\n', 'none.json': '[]' });
  for (const name of ['bad.ndjson', 'none.json']) {
    for (const json of [[], ['--json']]) {
      const outcome = await runHere(t, ['inspect', join(folder, name), ...json]);
      t.match(outcome, { code: 1, stderr: '' }, name);
      t.match(outcome.stdout, /events"?:? +0/, 'what is wrong is printed all the same');
    }
  }
  t.equal((await runHere(t, ['inspect', DEMO])).code, 0);
});
