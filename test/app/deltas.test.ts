/** Deltas of a source of the embedding program: checks, bounds, refusals. */

import { test } from 'tap';
import type {
  RecordLoad,
  RecordLoadOptions,
  RecordSource,
  Timetable,
  TimetableOptions,
} from '../../src/index.js';
import { openHere } from './open-here.js';

const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const record = (n: number, more: object = {}): object => ({
  id: idOf(n),
  time: '2024-09-02T08:00:00Z',
  endTime: '2024-09-02T10:00:00Z',
  ...more,
});

class Scripted implements RecordSource {
  readonly name = 'the script';
  readonly asked: (readonly [previous: string | null, served: string | null])[] = [];
  next: (options: RecordLoadOptions) => unknown = () => ({
    records: [1, 2, 3, 4, 5].map((n) => record(n)),
    version: 'v1',
  });

  load(options: RecordLoadOptions): RecordLoad {
    this.asked.push([options.previous, options.served]);
    return this.next(options) as RecordLoad;
  }
}

async function opened(
  options: Partial<TimetableOptions> = {},
): Promise<{ source: Scripted; timetable: Timetable }> {
  const source = new Scripted();
  const timetable = openHere({ source, ...options });
  await timetable.ready;
  return { source, timetable };
}

test('a delta changes the served events, and the next request names its version', async (t) => {
  const { source, timetable } = await opened();
  const { id } = (await timetable.ready) as { id: string };
  source.next = () => ({
    upserts: (async function* () {
      yield record(2, { title: 'first' });
      yield record(2, { title: 'last' });
      yield record(6);
    })(),
    removals: new Set([idOf(1).toUpperCase(), idOf(2), idOf(77), 5, Number.NaN]),
    version: 'v2',
  });
  t.match(await timetable.refresh(), { result: 'published' });
  t.strictSame(
    timetable.all().events.map((event) => event.id),
    [2, 3, 4, 5, 6].map(idOf),
  );
  t.equal(timetable.get(idOf(2))?.title, 'last');
  t.match(timetable.changes(id), {
    added: [{ id: idOf(6) }],
    changed: [{ id: idOf(2) }],
    removed: [idOf(1)],
  });

  source.next = () => ({ upserts: [record(3)], removals: [idOf(88)], version: null });
  const before = timetable.view;
  t.match(await timetable.refresh(), { result: 'unchanged' });
  t.equal(timetable.view, before);
  source.next = () => ({ records: [record(3)], version: 'v4' });
  await timetable.refresh();
  t.strictSame(
    source.asked,
    [
      [null, null],
      ['v1', 'v1'],
      ['v2', 'v2'],
      [null, null],
    ],
    'null for an unknown version',
  );
  await timetable.close();
});

test('a malformed delta fails the load and changes nothing', async (t) => {
  const { source, timetable } = await opened();
  for (const [answer, message] of [
    [{ upserts: 'abc', removals: [], version: 'v2' }, /a delta without iterable upserts/],
    [{ upserts: [], removals: 'abc', version: 'v2' }, /a delta without iterable removals/],
    [{ upserts: [], version: 'v2' }, /a delta without iterable removals/],
    [{ removals: [], version: 'v2' }, /a delta without iterable upserts/],
    [{ upserts: [], removals: [], records: [], version: 'v2' }, /records and a delta/],
    [{ upserts: [], removals: [], version: 2 }, /a version that is not a string/],
  ] as const) {
    source.next = () => answer;
    t.match(await timetable.refresh(), { result: 'failed', reason: message });
    t.equal(timetable.all().total, 5);
  }
  await timetable.close();
  const early = new Scripted();
  early.next = () => ({ upserts: [record(1)], removals: [], version: 'v1' });
  const unready = openHere({ source: early });
  await t.rejects(unready.ready, {
    code: 'source-malformed',
    message: /a delta although `previous` is null/,
  });
  await unready.close();
});

test('a refused delta is requested again, and force publishes it', async (t) => {
  const { source, timetable } = await opened();
  source.next = () => ({ upserts: [], removals: [1, 2, 3].map(idOf), version: 'v2' });
  t.match(await timetable.refresh(), { result: 'refused', reason: /60\.0 % fewer/ });
  source.next = ({ previous }) =>
    previous === 'v2'
      ? { upserts: [record(4, { title: 'since v2' })], removals: [], version: 'v3' }
      : { upserts: [record(4, { title: 'since v1' })], removals: [1, 2, 3].map(idOf), version: 'v3' };
  t.match(await timetable.refresh(), { result: 'refused' });
  t.strictSame(source.asked.slice(1), [
    ['v1', 'v1'],
    ['v2', 'v1'],
    ['v1', 'v1'],
  ]);
  t.equal(timetable.all().total, 5);
  t.match(await timetable.refresh({ force: true }), { result: 'published' });
  t.strictSame(
    timetable.all().events.map(({ title }) => title),
    ['since v1', null],
  );
  await timetable.close();
});

test('bounds apply to deltas', async (t) => {
  const faulty = await opened();
  faulty.source.next = () => ({
    upserts: [1, 2, 3].map((n) => record(n, { time: 'soon' })),
    removals: [],
    version: 'v3',
  });
  t.match(await faulty.timetable.refresh(), { result: 'refused', reason: /3 of 5 records were rejected/ });
  t.equal(faulty.timetable.all().total, 5);
  await faulty.timetable.close();

  const large = await opened({ memoryMbMax: 64 });
  large.source.next = () => ({
    upserts: [
      record(6, { title: 'x'.repeat(900_000) }),
      ...Array.from({ length: 9 }, () => record(6, { title: 'x'.repeat(900_000) })),
    ],
    removals: [],
    version: 'v2',
  });
  t.match(await large.timetable.refresh(), { result: 'refused', reason: /a patch takes \d+ MiB/ });
  await large.timetable.close();
});

test('a rejected upsert removes the earlier event, and no longer counts once it is mended', async (t) => {
  const { source, timetable } = await opened({ gate: false });
  const counts = (): unknown => [timetable.summary?.events, timetable.summary?.rejected];
  source.next = () => ({ upserts: [record(1, { endTime: 'late' })], removals: [], version: 'v2' });
  await timetable.refresh();
  t.strictSame(counts(), [4, 1]);
  t.match(timetable.summary?.rejections, [{ code: 'malformed-time', id: idOf(1) }]);
  source.next = () => ({ upserts: [record(2, { time: 7 }), record(1)], removals: [], version: 'v3' });
  await timetable.refresh();
  t.strictSame(counts(), [4, 1], 'one is mended, another is not');
  source.next = () => ({ upserts: [], removals: [idOf(2)], version: 'v4' });
  await timetable.refresh();
  t.strictSame(counts(), [4, 0]);
  t.strictSame(timetable.summary?.rejectedByCode, {});
  await timetable.close();
});

test('rejected upserts without an id are counted one by one', async (t) => {
  const { source, timetable } = await opened({ gate: false });
  const nameless = record(0, { id: undefined });
  const late = record(6, { endTime: 'late' });
  source.next = () => ({
    upserts: [nameless, late, nameless, record(6), nameless],
    removals: [],
    version: 'v2',
  });
  await timetable.refresh();
  t.strictSame([timetable.summary?.events, timetable.summary?.rejected], [6, 3]);
  await timetable.close();
});

test('an upsert that JSON cannot represent is rejected with its id, as in a load of all records', async (t) => {
  const { source, timetable } = await opened({ gate: false });
  const circle: Record<string, unknown> = { ...record(1) };
  circle.title = circle;
  source.next = () => ({ upserts: [circle, record(6)], removals: [], version: 'v2' });
  t.match(await timetable.refresh(), { result: 'published' });
  t.equal(timetable.get(idOf(1)), null);
  t.ok(timetable.get(idOf(6)), 'the others are there');
  t.match(timetable.summary?.rejections, [
    { code: 'wrong-type', field: 'title', id: idOf(1), detail: /title is an object/ },
  ]);
  const unserved: Record<string, unknown> = { ...record(1, { title: 'back' }) };
  unserved.parent = unserved;
  source.next = () => ({ upserts: [unserved], removals: [], version: 'v3' });
  await timetable.refresh();
  t.equal(timetable.get(idOf(1))?.title, 'back', 'a field that is not served does no harm');
  t.equal(timetable.summary?.rejected, 0);
  await timetable.close();
});

test('a display name that few events have is kept for later changes', async (t) => {
  const roomId = idOf(100);
  const inRoom = (n: number, roomName: string): object => record(n, { roomId, roomName });
  const names = (timetable: Timetable): unknown =>
    timetable.directory('rooms').entries.map(({ name }) => name);
  const { source, timetable } = await opened({ gate: false });
  source.next = () => ({
    records: [inRoom(1, 'Aula'), inRoom(2, 'Aula'), inRoom(3, 'Bar')],
    version: 'v2',
  });
  await timetable.refresh();
  const { id } = timetable.summary ?? {};
  source.next = () => ({ upserts: [inRoom(3, 'Chapel')], removals: [], version: 'v3' });
  t.match(await timetable.refresh(), { result: 'published' });
  t.equal(timetable.summary?.id, id, 'answers stay as they are');
  t.strictSame(names(timetable), ['Aula']);
  source.next = () => ({ upserts: [inRoom(2, 'Chapel')], removals: [], version: 'v4' });
  await timetable.refresh();
  t.strictSame(names(timetable), ['Chapel'], 'two of three events');
  source.next = () => ({ upserts: [inRoom(2, 'Chapel')], removals: [], version: 'v5' });
  t.match(await timetable.refresh(), { result: 'unchanged' });
  await timetable.close();
});
