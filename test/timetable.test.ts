import { test } from 'tap';
import { LecternError, openTimetable, type TimetableEvent } from '../src/index.js';

const ROOM = '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417';
const record = (n: number, more: object = {}): object => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  time: `2024-09-0${n}T08:00:00Z`,
  endTime: `2024-09-0${n}T10:00:00Z`,
  ...more,
});

test('three lines of code read a timetable', async (t) => {
  const timetable = openTimetable({
    source: [record(2), record(1, { roomId: ROOM.toUpperCase(), type: 'LEC' })],
  });
  await timetable.ready;
  const { events, total, nextCursor } = timetable.find({ roomId: ROOM });

  const expected: TimetableEvent = {
    id: '00000000-0000-4000-8000-000000000001',
    time: '2024-09-01T08:00:00.000Z',
    endTime: '2024-09-01T10:00:00.000Z',
    title: null,
    roomId: ROOM,
    courseId: null,
    studyGroup: null,
    lecturer: null,
    type: 'LEC',
    groupId: null,
  };
  t.strictSame(events, [expected]);
  t.strictSame(Object.keys(events[0] ?? {}), Object.keys(expected), 'in the order of the specification');
  t.equal(total, 1);
  t.equal(nextCursor, null);
  t.strictSame(timetable.types(), ['LEC']);
  t.equal(timetable.all().total, 2);
  t.equal(timetable.status, 'ok');
  await timetable.close();
});

test('dates, lists and pages', async (t) => {
  const timetable = openTimetable({
    source: [1, 2, 3, 4].map((n) => record(n, { type: n % 2 ? 'LEC' : 'LAB' })),
  });
  await timetable.ready;
  const since = timetable.find({ startTime: new Date('2024-09-02T09:00:00Z') });
  t.equal(since.total, 3);
  t.equal(timetable.find({ type: ['LEC', 'LAB'] }).total, 4);
  const first = timetable.find({ limit: 3 });
  t.equal(first.events.length, 3);
  t.equal(first.total, 4);
  const second = timetable.find({ limit: 3, cursor: first.nextCursor ?? '' });
  t.strictSame(
    second.events.map((event) => event.id),
    ['00000000-0000-4000-8000-000000000004'],
  );
  await timetable.close();
});

test('a query that is not valid throws every fault, and never returns everything', async (t) => {
  const timetable = openTimetable({ source: [record(1, { roomId: ROOM })] });
  await timetable.ready;
  const cases: [query: object, codes: string[]][] = [
    [{ roomId: [] }, ['empty-value']],
    [{ roomId: null }, ['empty-value']],
    [{ room: ROOM }, ['unknown-parameter']],
    [{ startTime: new Date(Number.NaN) }, ['malformed-time']],
    [{ startTime: '2024-02-30T00:00:00Z', limit: 0 }, ['malformed-time', 'malformed-limit']],
    [{ studyGroup: 'x' }, ['filter-unavailable']],
  ];
  for (const [query, codes] of cases) {
    try {
      timetable.find(query);
      t.fail(`${JSON.stringify(query)} was accepted`);
    } catch (error) {
      if (!(error instanceof LecternError)) throw error;
      t.equal(error.code, 'parameters-invalid');
      t.strictSame(
        error.faults.map((fault) => fault.code),
        codes,
      );
    }
  }
  t.equal(timetable.find({ roomId: ROOM }).total, 1);
  await timetable.close();
});

test('reads before the first snapshot, after a failure and after close say so', async (t) => {
  const loading = openTimetable({ buildOn: 'here', source: [record(1)] });
  t.throws(() => loading.find(), { code: 'not-ready' });
  t.equal(loading.status, 'starting');
  await loading.ready;
  await loading.close();
  t.throws(() => loading.find(), { code: 'closed' });

  const failing = openTimetable({ source: 'no/such/file.ndjson' });
  await t.rejects(failing.ready, { code: 'source-unreadable' });
  t.throws(() => failing.find(), { code: 'not-ready', message: /no\/such\/file\.ndjson/ });
  t.equal(failing.source.state, 'failed');
  await failing.close();
});

test('bad records are left out and counted, good ones served', async (t) => {
  const timetable = openTimetable({
    source: [record(1), { id: 'x' }, record(1, { title: 'the second of one id' }), record(2), 7],
  });
  const summary = await timetable.ready;
  t.equal(summary.events, 2);
  t.equal(summary.rejected, 3);
  t.strictSame(
    summary.rejections.map(({ position, code }) => [position.record, code]),
    [
      [2, 'malformed-identifier'],
      [3, 'duplicate-id'],
      [5, 'malformed-record'],
    ],
  );
  t.equal(timetable.all().events[0]?.title, null, 'the first record of an id stays');
  await timetable.close();
});

test('several timetables in one process do not know of each other', async (t) => {
  const one = openTimetable({ buildOn: 'here', source: [record(1)] });
  const two = openTimetable({ buildOn: 'here', source: [record(1), record(2)] });
  await Promise.all([one.ready, two.ready]);
  t.equal(one.all().total, 1);
  t.equal(two.all().total, 2);
  await one.close();
  t.equal(two.all().total, 2);
  await two.close();
});
