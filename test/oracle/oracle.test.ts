import { test } from 'tap';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { allConflicts, conflictRecordOf, conflictsInScope, type OracleEntry } from './conflicts.js';
import { compareText, eventsInOrder, recordOf } from './events.js';
import { personalOracle } from './personal.js';
import { eventPageOf, type OracleQuery, scheduleOracle } from './schedule.js';
import { typesOracle } from './types.js';

/** Minutes after 08:00 UTC on 2 September 2024. */
const at = (minutes: number): number => Date.UTC(2024, 8, 2, 8, minutes);
const NO_QUERY: OracleQuery = { filters: [], startMs: null, endMs: null };

function eventOf(
  id: string,
  from: number,
  to: number,
  fields: Partial<NormalisedEvent> = {},
): NormalisedEvent {
  return {
    id,
    time: at(from),
    endTime: at(to),
    title: null,
    roomId: null,
    courseId: null,
    studyGroup: null,
    lecturer: null,
    type: null,
    groupId: null,
    lecturerId: null,
    ...fields,
  };
}

const ids = (events: readonly NormalisedEvent[]): string => events.map((event) => event.id).join(' ');
const within = (from: number | null, to: number | null): OracleQuery => ({
  filters: [],
  startMs: from === null ? null : at(from),
  endMs: to === null ? null : at(to),
});
/** One line an entry: kind, key, span in minutes, peak and event ids. */
const told = (entries: readonly OracleEntry[]): string[] =>
  entries.map((entry) => {
    const [from, to] = [(entry.startMs - at(0)) / 60_000, (entry.endMs - at(0)) / 60_000];
    return `${entry.by} ${entry.key} ${from}-${to} peak ${entry.peak}: ${ids(entry.events)}`;
  });

test('events are ordered by time, endTime and id; of several with one id the first counts', (t) => {
  const events = [
    eventOf('d', 10, 20),
    eventOf('c', 0, 20),
    eventOf('b', 0, 10),
    eventOf('a', 0, 10),
    eventOf('b', 5, 9),
  ];
  t.equal(ids(eventsInOrder(events)), 'a b c d');
  t.equal(ids(events), 'd c b a b', 'the given array is left alone');
  t.end();
});

test('text is compared by code point, not by UTF-16 unit', (t) => {
  t.ok(compareText('\u{1F600}', '\uFF5E') > 0);
  t.ok('\u{1F600}' < '\uFF5E', 'which JavaScript orders the other way round');
  t.ok(compareText('a', 'ab') < 0);
  t.equal(compareText('é', 'é'), 0);
  t.end();
});

test('a record has the ten fields in order and never lecturerId', (t) => {
  const record = recordOf(eventOf('a', 0, 90, { title: 'Analysis', lecturerId: 'l1' }));
  t.equal(
    JSON.stringify(record),
    '{"id":"a","time":"2024-09-02T08:00:00.000Z","endTime":"2024-09-02T09:30:00.000Z","title":"Analysis",' +
      '"roomId":null,"courseId":null,"studyGroup":null,"lecturer":null,"type":null,"groupId":null}',
  );
  t.end();
});

test('an event that only touches the window is outside', (t) => {
  const events = [eventOf('e', 10, 20)];
  const cases: [number | null, number | null, string][] = [
    [0, 10, ''],
    [0, 11, 'e'],
    [19, 30, 'e'],
    [20, 30, ''],
    [10, 20, 'e'],
    [12, 13, 'e'],
    [0, 30, 'e'],
    [null, 10, ''],
    [null, 11, 'e'],
    [19, null, 'e'],
    [20, null, ''],
    [null, null, 'e'],
  ];
  for (const [from, to, expected] of cases) {
    t.equal(ids(scheduleOracle(events, within(from, to))), expected, `[${from}, ${to})`);
  }
  t.end();
});

test('a zero-length event is inside at the start of the window and outside at its end', (t) => {
  const events = [eventOf('z', 10, 10)];
  const cases: [number | null, number | null, string][] = [
    [10, 20, 'z'],
    [5, 20, 'z'],
    [0, 10, ''],
    [11, 20, ''],
    [null, 10, ''],
    [null, 11, 'z'],
    [10, null, 'z'],
    [11, null, ''],
  ];
  for (const [from, to, expected] of cases) {
    t.equal(ids(scheduleOracle(events, within(from, to))), expected, `[${from}, ${to})`);
  }
  t.end();
});

test('values of one filter are alternatives, all filters must match, and null matches nothing', (t) => {
  const events = [
    eventOf('a', 0, 10, { roomId: 'r1', type: 'LEC' }),
    eventOf('b', 0, 10, { roomId: 'r2', type: 'LEC' }),
    eventOf('c', 0, 10, { roomId: 'r1', type: 'LAB' }),
    eventOf('d', 0, 10, { type: 'LEC', lecturerId: 'l1' }),
  ];
  const find = (...filters: OracleQuery['filters']): string =>
    ids(scheduleOracle(events, { ...NO_QUERY, filters }));
  t.equal(find(), 'a b c d');
  t.equal(find({ field: 'roomId', values: ['r1'] }), 'a c');
  t.equal(find({ field: 'roomId', values: ['r2', 'r1', 'r2'] }), 'a b c');
  t.equal(find({ field: 'roomId', values: ['r1'] }, { field: 'type', values: ['LEC'] }), 'a');
  t.equal(find({ field: 'roomId', values: ['nowhere'] }), '');
  t.equal(find({ field: 'type', values: ['lec'] }), '', 'text is case-sensitive');
  t.equal(find({ field: 'lecturerId', values: ['l1'] }), 'd');
  t.end();
});

test('a page continues after a sort key, even if its event was removed', (t) => {
  const events = ['a', 'b', 'c', 'd'].map((id) => eventOf(id, 0, 10));
  t.same(eventPageOf(events, 2, null), { page: events.slice(0, 2), isLast: false });
  t.same(eventPageOf(events, 2, eventOf('b', 0, 10)), { page: events.slice(2), isLast: true });
  t.same(eventPageOf(events, 4, null), { page: events, isLast: true });
  t.same(eventPageOf(events, 9, eventOf('bb', 0, 10)), { page: events.slice(2), isLast: true });
  t.same(eventPageOf(events, 1, eventOf('d', 0, 10)), { page: [], isLast: true });
  t.end();
});

test('identities form a union that filters narrow; no identity gives no events', (t) => {
  const events = [
    eventOf('a', 0, 10, { studyGroup: 'g1', type: 'LEC' }),
    eventOf('b', 0, 10, { studyGroup: 'g2', lecturerId: 'l1', type: 'LAB' }),
    eventOf('c', 0, 10, { studyGroup: 'g3' }),
    eventOf('d', 0, 10),
  ];
  const identities = [
    { field: 'studyGroup', values: ['g1', 'g9'] },
    { field: 'lecturerId', values: ['l1'] },
  ] as const;
  t.equal(ids(personalOracle(events, NO_QUERY, identities)), 'a b');
  const labs = { ...NO_QUERY, filters: [{ field: 'type', values: ['LAB'] }] } as const;
  t.equal(ids(personalOracle(events, labs, identities)), 'b');
  t.equal(ids(personalOracle(events, NO_QUERY, [])), '');
  t.end();
});

test('types are distinct, known and in code point order', (t) => {
  const types = ['b', null, 'a', 'b', '\u{1F600}', '\uFF5E'];
  const events = types.map((type, i) => eventOf(`e${i}`, 0, 10, { type }));
  t.same(typesOracle(events), ['a', 'b', '\uFF5E', '\u{1F600}']);
  t.end();
});

test('a cluster is a maximal chain of overlaps with its span, peak and events', (t) => {
  const room = { roomId: 'r' };
  const events = [
    eventOf('a', 0, 20, room),
    eventOf('b', 10, 40, room),
    eventOf('c', 30, 50, room),
    eventOf('d', 35, 36, room),
    eventOf('e', 50, 60, room),
    eventOf('f', 100, 110, room),
    eventOf('g', 100, 120, room),
    eventOf('h', 0, 200, { roomId: 'other' }),
  ];
  t.same(told(allConflicts(events, true)), ['room r 0-50 peak 3: a b c d', 'room r 100-120 peak 2: f g']);
  t.end();
});

test('touching lessons, zero-length lessons and null keys never conflict', (t) => {
  const room = { roomId: 'r' };
  const events = [
    eventOf('a', 0, 20, room),
    eventOf('b', 20, 40, room),
    eventOf('y', 0, 0, room),
    eventOf('z', 10, 10, room),
    eventOf('zz', 10, 10, room),
    eventOf('n', 0, 20),
    eventOf('nn', 0, 20),
  ];
  t.same(allConflicts(events, true), []);
  t.same(allConflicts(events, false), []);
  t.end();
});

test('rows of one lesson conflict with each other only if merging is off', (t) => {
  const lesson = { courseId: 'c', roomId: 'r', type: 'LEC', lecturer: 'Doe' };
  const events = [
    eventOf('a', 0, 20, { ...lesson, groupId: 'g1' }),
    eventOf('b', 0, 20, { ...lesson, groupId: 'g2' }),
  ];
  t.same(allConflicts(events, true), []);
  t.same(told(allConflicts(events, false)), ['lecturer Doe 0-20 peak 2: a b', 'room r 0-20 peak 2: a b']);
  const clashing = [...events, eventOf('x', 10, 30, { roomId: 'r' })];
  t.same(told(allConflicts(clashing, true)), ['room r 0-30 peak 2: a b x'], 'two lessons, three rows');
  t.same(told(allConflicts(clashing, false))[1], 'room r 0-30 peak 3: a b x');
  t.end();
});

test('lessons differ in time, endTime, courseId, roomId or type', (t) => {
  const base = { courseId: 'c', roomId: 'r', type: 'LEC', lecturer: 'Doe' };
  const first = eventOf('a', 0, 20, base);
  const countWith = (second: NormalisedEvent): number => allConflicts([first, second], true).length;
  t.equal(countWith(eventOf('b', 0, 20, base)), 0);
  t.equal(countWith(eventOf('b', 1, 20, base)), 2, 'another time: room and lecturer');
  t.equal(countWith(eventOf('b', 0, 21, base)), 2, 'another endTime');
  t.equal(countWith(eventOf('b', 0, 20, { ...base, courseId: 'd' })), 2, 'another course');
  t.equal(countWith(eventOf('b', 0, 20, { ...base, type: 'LAB' })), 2, 'another type');
  t.equal(countWith(eventOf('b', 0, 20, { ...base, roomId: 's' })), 1, 'another room: the lecturer only');
  t.equal(countWith(eventOf('b', 0, 20, { ...base, roomId: null })), 1, 'a room and none are not one lesson');
  t.end();
});

test('rows without courseId never merge; rows without roomId or type can merge', (t) => {
  const nameless = { roomId: 'r' };
  t.equal(allConflicts([eventOf('a', 0, 20, nameless), eventOf('b', 0, 20, nameless)], true).length, 1);
  const roomless = { courseId: 'c', lecturer: 'Doe' };
  t.equal(allConflicts([eventOf('a', 0, 20, roomless), eventOf('b', 0, 20, roomless)], true).length, 0);
  t.end();
});

test('a row without groupId has its studyGroup as key, and a row without lecturerId its lecturer', (t) => {
  const events = [
    eventOf('a', 0, 20, { groupId: 'g1', studyGroup: 'S1', lecturerId: 'l1', lecturer: 'Doe' }),
    eventOf('b', 0, 20, { studyGroup: 'S1', lecturer: 'Doe' }),
    eventOf('c', 10, 20, { studyGroup: 'S1', lecturerId: 'l1' }),
    eventOf('d', 15, 20, { groupId: 'g1', lecturer: 'Doe' }),
  ];
  t.same(told(allConflicts(events, true)), [
    'group S1 0-20 peak 2: b c',
    'group g1 0-20 peak 2: a d',
    'lecturer Doe 0-20 peak 2: b d',
    'lecturer l1 0-20 peak 2: a c',
  ]);
  t.end();
});

test('a lesson for several groups lists only the rows of the group that clashes', (t) => {
  const lecture = { courseId: 'c', roomId: 'r' };
  const events = [
    eventOf('a', 0, 20, { ...lecture, groupId: 'g1' }),
    eventOf('b', 0, 20, { ...lecture, groupId: 'g2' }),
    eventOf('x', 10, 30, { groupId: 'g2' }),
  ];
  t.same(told(allConflicts(events, true)), ['group g2 0-30 peak 2: b x']);
  t.same(told(allConflicts(events, false)), ['room r 0-20 peak 2: a b', 'group g2 0-30 peak 2: b x']);
  const other = eventOf('y', 5, 10, { roomId: 'r' });
  t.same(
    told(allConflicts([...events, other], true)),
    ['room r 0-20 peak 2: a b y', 'group g2 0-30 peak 2: b x'],
    'for a room those are all rows of its lessons',
  );
  t.end();
});

test('entries are sorted by the fields startTime, endTime, by, and key', (t) => {
  const pair = (prefix: string, from: number, to: number, fields: Partial<NormalisedEvent>) => [
    eventOf(`${prefix}1`, from, to, fields),
    eventOf(`${prefix}2`, from, to, fields),
  ];
  const events = [
    ...pair('a', 10, 20, { roomId: 'r1' }),
    ...pair('b', 0, 30, { roomId: 'r2' }),
    ...pair('c', 0, 20, { roomId: 'r4' }),
    ...pair('d', 0, 20, { roomId: 'r3' }),
    ...pair('e', 0, 20, { lecturer: 'z' }),
    ...pair('f', 0, 20, { studyGroup: 'z' }),
  ];
  t.same(
    allConflicts(events, true).map((entry) => `${entry.by} ${entry.key}`),
    ['group z', 'lecturer z', 'room r3', 'room r4', 'room r2', 'room r1'],
  );
  t.end();
});

test('an entry is listed in full when one of its events matches all filters', (t) => {
  const events = [
    eventOf('a', 0, 20, { roomId: 'r', courseId: 'c1', type: 'LEC' }),
    eventOf('b', 10, 40, { roomId: 'r', courseId: 'c2', type: 'LAB' }),
  ];
  const conflicts = allConflicts(events, true);
  const count = (query: Partial<OracleQuery>): number =>
    conflictsInScope(conflicts, ['room'], { ...NO_QUERY, ...query }).length;
  t.equal(count({ filters: [{ field: 'courseId', values: ['c1'] }] }), 1);
  const both = [
    { field: 'courseId', values: ['c1'] },
    { field: 'type', values: ['LAB'] },
  ] as const;
  t.equal(count({ filters: both }), 0, 'two events that match one filter each are not enough');
  t.equal(count({ startMs: at(30) }), 1, 'the window looks at single events');
  t.equal(count({ startMs: at(30), filters: [{ field: 'courseId', values: ['c1'] }] }), 0);
  t.equal(conflictsInScope(conflicts, ['group', 'lecturer'], NO_QUERY).length, 0);
  const [entry] = conflictsInScope(conflicts, ['room'], within(30, null));
  t.same(entry && conflictRecordOf(entry), {
    by: 'room',
    key: 'r',
    startTime: '2024-09-02T08:00:00.000Z',
    endTime: '2024-09-02T08:40:00.000Z',
    peak: 2,
    events: events.map(recordOf),
  });
  t.end();
});
