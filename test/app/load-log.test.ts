/**
 * The log reports changes of the state of a source, a snapshot file or a store, not each attempt. Inside,
 * because lines are also told by the hundred.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { FailureLog, FrequentLine } from '../../src/app/load-log.js';
import { LOGGED_LINES_MAX, LOGGED_REASONS_MAX } from '../../src/base/limits.js';
import type { publishTimetable as Publish, PublishedTimetable } from '../../src/index.js';
import type { ServiceOptions } from '../../src/options/option-types.js';
import { storeAddress } from '../../src/store/store-address.js';
import { SECRET } from '../auth/tokens.js';
import { testFolder } from '../base/files/test-folder.js';
import { writeKeys } from '../fleet/fleet.js';
import { builtModule, MemorySource, startService } from '../refresh/built.js';
import { keptLog, type LogLine } from './threads.js';

// Threads of the built package start faster than threads of the source code.
const { publishTimetable }: { publishTimetable: typeof Publish } = await import(builtModule('index.js'));
const EVENT = {
  id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
  time: '2026-09-14T08:00:00Z',
  endTime: '2026-09-14T09:00:00Z',
};

interface Loaded {
  refresh(): Promise<unknown>;
  readonly lines: readonly LogLine[];
}

async function serve(t: Test, options: ServiceOptions): Promise<Loaded> {
  const { log, lines } = keptLog();
  const service = await startService(
    { port: 0, hs256Secret: SECRET, watch: false, ...options },
    {
      log,
    },
  );
  t.teardown(() => service.close());
  await service.ready;
  return { refresh: () => service.timetable.refresh(), lines };
}

async function publish(t: Test, options: PublishedTimetable): Promise<Loaded> {
  const { log, lines } = keptLog();
  const folder = testFolder(t);
  const { publisherKey } = writeKeys(folder, 'publisher');
  const to = storeAddress(join(folder, 'share'));
  const publishing = await publishTimetable({ watch: false, ...options }, { to, publisherKey, log });
  t.teardown(() => publishing.close());
  await publishing.announced;
  return { refresh: () => publishing.refresh(), lines };
}

const logged = ({ lines }: Loaded, ...messages: string[]): string[] =>
  lines.flatMap(({ message, fields }) =>
    messages.includes(message)
      ? [`${message}${'failures' in fields ? ` after ${fields.failures}` : ''}`]
      : [],
  );

for (const start of [serve, publish]) {
  test(`${start.name}: a source that fails again and again has one line, and one when it works again`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'lectern-log-'));
    t.teardown(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'events.ndjson');
    const line = `${JSON.stringify(EVENT)}\n`;
    writeFileSync(file, line);
    const loaded = await start(t, { source: file });
    const lines = (): string[] =>
      logged(loaded, 'timetable not loaded', 'timetable refused', 'source works again');
    rmSync(file);
    for (let n = 0; n < 2; n++) await loaded.refresh();
    writeFileSync(file, '');
    for (let n = 0; n < 2; n++) await loaded.refresh();
    writeFileSync(file, line);
    for (let n = 0; n < 2; n++) await loaded.refresh();
    rmSync(file);
    await loaded.refresh();
    const failed = 'timetable not loaded';
    t.strictSame(lines(), [failed, failed, 'source works again after 4', failed]);
  });
}

test('a snapshot file that cannot be written has one line, and one when it is written again', async (t) => {
  const folder = testFolder(t, { snapshots: {} });
  const source = new MemorySource([EVENT]);
  const snapshotFile = join(folder, 'snapshots', 'file');
  const loaded = await serve(t, { source, snapshotFile });
  const lines = (): string[] => logged(loaded, 'snapshot file not written', 'snapshot file written again');
  const change = async (n: number): Promise<void> => {
    source.replace([{ ...EVENT, title: `n ${n}` }]);
    await loaded.refresh();
  };
  // A file where the folder should be.
  rmSync(join(folder, 'snapshots'), { recursive: true });
  writeFileSync(join(folder, 'snapshots'), '');
  const until = async (done: () => boolean): Promise<void> => {
    for (let n = 0; !done(); n++) await change(n);
  };
  await until(() => lines().length > 0);
  for (let n = 0; n < 3; n++) await change(100 + n);
  rmSync(join(folder, 'snapshots'));
  mkdirSync(join(folder, 'snapshots'));
  await until(() => lines().length > 1);
  t.match(lines(), ['snapshot file not written', /^snapshot file written again/]);
  t.equal(lines().length, 2);
});

test('the first lines of a minute are logged at once; of those beyond the limit, the last one at its end', async (t) => {
  const lines: object[] = [];
  await new Promise<void>((resolve) => {
    const line = new FrequentLine((fields) => {
      lines.push(fields);
      if (lines.length > LOGGED_LINES_MAX) resolve();
    }, 20);
    for (let n = 1; n <= LOGGED_LINES_MAX + 7; n++) line.tell({ n });
    // The timer does not keep a process alive, so the test waits for something else.
    const alive = setInterval(() => {}, 1000);
    t.teardown(() => clearInterval(alive));
  });
  t.strictSame(lines[0], { n: 1 });
  t.strictSame(lines.slice(LOGGED_LINES_MAX - 1), [
    { n: LOGGED_LINES_MAX },
    { n: LOGGED_LINES_MAX + 7, unlogged: 6 },
  ]);
});

test('reasons that differ only in a number do not fill the log', (t) => {
  const { log, lines } = keptLog();
  const failures = new FailureLog(log, {}, 'works again');
  for (let n = 0; n < 100; n++) failures.failed('error', `nothing came for ${n} s`, 'not loaded');
  t.equal(lines.length, LOGGED_REASONS_MAX);
  failures.worked();
  failures.worked();
  t.strictSame(lines.slice(LOGGED_REASONS_MAX), [
    { level: 'info', fields: { failures: 100 }, message: 'works again' },
  ]);
  t.end();
});
