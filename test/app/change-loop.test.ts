/** `for await` over the changes of a timetable. */

import { test } from 'tap';
import { CHANGES_WAITING_MAX } from '../../src/base/limits.js';
import { MemorySource, type Timetable, type TimetableChange } from '../../src/index.js';
import { openHere } from './open-here.js';

const record = (n: number, more: object = {}): object => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  time: '2024-09-02T08:00:00Z',
  endTime: '2024-09-02T10:00:00Z',
  ...more,
});

const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

async function opened(
  count = 4,
): Promise<{ source: MemorySource; timetable: Timetable; change(n: number): Promise<string> }> {
  const source = new MemorySource(Array.from({ length: count }, (_, n) => record(n)));
  const timetable = openHere({ source, gate: false, watch: false });
  await timetable.ready;
  const change = async (n: number): Promise<string> => {
    source.apply({ upsert: [record(0, { title: `change ${n}` })] });
    await timetable.refresh();
    return timetable.summary?.id ?? '';
  };
  return { source, timetable, change };
}

/** Null at the end. */
async function take(loop: AsyncIterator<TimetableChange>): Promise<TimetableChange | null> {
  const { done, value } = await loop.next();
  return done === true ? null : value;
}

test('each publication is one change, equal to changes(since)', async (t) => {
  const { source, timetable } = await opened();
  const loop = timetable.changes()[Symbol.asyncIterator]();
  const first = timetable.summary?.id ?? '';
  source.apply({ upsert: [record(1, { title: 'new' }), record(9)], remove: [idOf(2)] });
  await timetable.refresh();
  const change = await take(loop);
  t.strictSame(change, timetable.changes(first));
  t.match(change, { from: first, to: timetable.summary?.id, removed: [idOf(2)] });
  t.match(change, { added: [{ id: idOf(9) }], changed: [{ id: idOf(1), title: 'new' }] });
  const later = take(loop);
  source.apply({ remove: [idOf(9)] });
  await timetable.refresh();
  t.match(await later, { from: change?.to, to: timetable.summary?.id, removed: [idOf(9)] });
  await timetable.close();
  t.equal(await take(loop), null, 'closing ends the loop');
  t.throws(() => timetable.changes({}), { code: 'closed' });
});

test('with since, a program first gets everything it missed', async (t) => {
  const { timetable, change } = await opened();
  const first = timetable.summary?.id ?? '';
  await change(1);
  const last = await change(2);
  const known = timetable.changes({ since: first })[Symbol.asyncIterator]();
  t.match(await take(known), { from: first, to: last, changed: [{ title: 'change 2' }] });
  const unknown = timetable.changes({ since: 'x'.repeat(22) })[Symbol.asyncIterator]();
  t.strictSame(await take(unknown), { from: null, to: last, readAnew: true, counts: null });
  const present = timetable.changes({ since: last })[Symbol.asyncIterator]();
  const next = take(present);
  const newest = await change(3);
  t.match(await next, { from: last, to: newest });
  t.throws(() => timetable.changes({ since: 5 as unknown as string }), { code: 'parameters-invalid' });
  t.throws(() => timetable.changes({ signal: {} as AbortSignal }), { code: 'option-invalid' });
  await timetable.close();
});

test('a slow loop gets all missed changes as one, then continues', async (t) => {
  const { timetable, change } = await opened();
  const loop = timetable.changes()[Symbol.asyncIterator]();
  const first = timetable.summary?.id ?? '';
  let last = '';
  for (let n = 0; n <= CHANGES_WAITING_MAX; n++) last = await change(n);
  t.strictSame(await take(loop), { from: first, to: last, readAnew: true, counts: null });
  const newest = await change(100);
  t.match(await take(loop), { from: last, to: newest, changed: [{ title: 'change 100' }] });
  await timetable.close();
});

test('a signal or a break ends a loop', async (t) => {
  const { timetable, change } = await opened();
  const abort = new AbortController();
  const seen: TimetableChange[] = [];
  const loop = (async () => {
    for await (const each of timetable.changes({ signal: abort.signal })) seen.push(each);
  })();
  const broken = (async () => {
    for await (const _ of timetable.changes()) break;
  })();
  await change(1);
  await broken;
  abort.abort();
  await loop;
  await change(2);
  t.equal(seen.length, 1);
  for await (const _ of timetable.changes({ signal: abort.signal })) t.fail('it was aborted before');
  await timetable.close();
});

test('a change that is too large says to read everything again, with counts', async (t) => {
  const { source, timetable } = await opened(1000);
  const loop = timetable.changes()[Symbol.asyncIterator]();
  const from = timetable.summary?.id;
  source.replace(Array.from({ length: 1001 }, (_, n) => record(n, { title: 'x'.repeat(200) })));
  await timetable.refresh();
  const counts = { added: 1, changed: 1000, removed: 0 };
  t.strictSame(await take(loop), { from, to: timetable.summary?.id, readAnew: true, counts });
  await timetable.close();
});
