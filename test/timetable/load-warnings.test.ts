/** What a load says of fields: those that no event has, as log record and as line of `inspect`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { MemorySource } from '../../src/index.js';
import { startService } from '../../src/service.js';
import { SECRET } from '../auth/tokens.js';
import { runHere } from '../cli/run-here.js';
import { keptLog } from '../serving/threads.js';

const GOOD = {
  id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
  time: '2026-09-14T08:00:00Z',
  endTime: '2026-09-14T09:00:00Z',
};
const FULL = {
  ...GOOD,
  roomId: GOOD.id,
  courseId: GOOD.id,
  studyGroup: 'G',
  type: 'LEC',
  lecturerId: GOOD.id,
};

/** The warnings of a service that loads some records and then others. */
async function warningsOf(...loads: readonly (readonly object[])[]): Promise<(readonly [string, object])[]> {
  const { log, lines } = keptLog();
  const [first = [], ...others] = loads;
  const source = new MemorySource([...first]);
  const service = await startService({ port: 0, hs256Secret: SECRET, watch: false, source }, { log });
  await service.ready;
  for (const records of others) {
    source.replace([...records]);
    await service.timetable.refresh();
  }
  await service.close();
  return lines
    .filter(({ level }) => level === 'warn')
    .map(({ message, fields }) => [message, fields] as const);
}

async function inspected(t: Test, records: readonly object[], ...options: string[]): Promise<string> {
  const file = join(t.testdir({}), 'events.ndjson');
  writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  return (await runHere(t, ['inspect', file, ...options])).stdout;
}

test('filters that find nothing are told once, and again when they are others', async (t) => {
  t.same(await warningsOf([FULL]), []);
  const told = await warningsOf(
    [{ ...FULL, lecturerId: null, type: null }],
    [{ ...FULL, lecturerId: null, type: null, title: 'x' }],
    [{ ...FULL, lecturerId: null }],
    [FULL],
  );
  t.match(told, [
    ['fields without values', { fields: ['type', 'lecturerId'], reason: /filters on them find nothing/ }],
    ['fields without values', { fields: ['lecturerId'] }],
  ]);
  t.equal(told.length, 2);
});

test('inspect says which filters find nothing', async (t) => {
  t.notMatch(await inspected(t, [FULL]), /^warning/m);
  const text = await inspected(t, [{ ...FULL, lecturerId: null }, { id: 1 }]);
  t.match(text, /^warning: no event has a lecturerId; a filter on it finds nothing$/m);
  t.equal(text.match(/^warning/gm)?.length, 1);
});
