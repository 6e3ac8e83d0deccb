/** Faults of GET /schedule/free, and values just within its limits. */
import { test } from 'tap';
import type { ParameterPairs } from '../../src/answer/view.js';
import { PARAMETER_VALUES_MAX } from '../../src/base/limits.js';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { listOf, readOf, STRICT, viewOfEvents } from './reading.js';

const ROOM = '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417';
const HOUR_MS = 3_600_000;
const BEGIN_MS = Date.UTC(2026, 9, 19, 8);

function event(
  n: number,
  time: number,
  endTime: number,
  more: Partial<NormalisedEvent> = {},
): NormalisedEvent {
  return {
    id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    time,
    endTime,
    title: null,
    roomId: ROOM,
    courseId: null,
    studyGroup: 'G1',
    lecturer: 'Doe, John',
    type: null,
    groupId: null,
    lecturerId: null,
    ...more,
  };
}

/** 08:00 to 10:00, nothing at 12:00, 14:00 to 16:00, each on the same Monday. */
const view = viewOfEvents(
  [
    event(1, BEGIN_MS, BEGIN_MS + 2 * HOUR_MS),
    event(2, BEGIN_MS + 4 * HOUR_MS, BEGIN_MS + 4 * HOUR_MS),
    event(3, BEGIN_MS + 6 * HOUR_MS, BEGIN_MS + 8 * HOUR_MS),
  ],
  'uuid',
);

const BY = 'by=room';
const WINDOW = 'startTime=2026-10-19T10:00:00Z&endTime=2026-10-19T14:00:00Z';
const DAY = 'date=2026-10-19';

const pairsOf = (query: string): ParameterPairs => [...new URLSearchParams(query)];

const FAULTS: readonly [query: string, ...told: string[]][] = [
  ['', 'by missing-parameter', 'endTime missing-parameter', 'startTime missing-parameter'],
  [WINDOW, 'by missing-parameter'],
  [BY, 'endTime missing-parameter', 'startTime missing-parameter'],
  [`${BY}&startTime=2026-10-19T10:00:00Z`, 'endTime missing-parameter'],
  [`${BY}&endTime=2026-10-19T10:00:00Z`, 'startTime missing-parameter'],
  [`by=&${WINDOW}`, 'by empty-value'],
  [`by=course&${WINDOW}`, 'by unknown-value'],
  [`by=room&by=group&${WINDOW}`, 'by repeated-parameter'],
  [`${BY}&startTime=2026-10-19T10:00:00Z&endTime=2026-10-19T10:00:00Z`, 'endTime empty-window'],
  [`${BY}&startTime=2026-10-19&endTime=2026-10-20T10:00:00Z`, 'startTime malformed-time'],
  [`${BY}&${DAY}&startTime=2026-10-19T10:00:00Z`, 'startTime wrong-combination'],
  [`${BY}&${WINDOW}&days=2`, 'days wrong-combination'],
  [`${BY}&${WINDOW}&timeZone=Europe/Berlin`, 'timeZone wrong-combination'],
  [`${BY}&days=2`, 'days wrong-combination', 'endTime missing-parameter', 'startTime missing-parameter'],
  [`${BY}&date=2026-02-30`, 'date malformed-date'],
  [`${BY}&date=2011-12-30&timeZone=Pacific/Apia`, 'date empty-window'],
  [`${BY}&${WINDOW}&weeks=0`, 'weeks malformed-number'],
  [`${BY}&${WINDOW}&weeks=61`, 'weeks malformed-number'],
  [`${BY}&${WINDOW}&weeks=2.5`, 'weeks malformed-number'],
  [`${BY}&${WINDOW}&weeks=2&weeks=3`, 'weeks repeated-parameter'],
  [`${BY}&${WINDOW}&weeks=2&timeZone=Berlin`, 'timeZone unknown-time-zone'],
  [`${BY}&date=9999-12-30&weeks=2`, 'weeks malformed-number'],
  [`${BY}&startTime=9999-12-30T10:00:00Z&endTime=9999-12-30T11:00:00Z&weeks=2`, 'weeks malformed-number'],
  [`${BY}&${WINDOW}&among=A101`, 'among malformed-identifier'],
  [`${BY}&${WINDOW}&among=`, 'among empty-value'],
  [`${BY}&${WINDOW}&${`among=${ROOM}&`.repeat(PARAMETER_VALUES_MAX + 1)}`, 'among too-many-values'],
  [`${BY}&${WINDOW}&${'building=A&'.repeat(PARAMETER_VALUES_MAX + 1)}`, 'building too-many-values'],
  [`${BY}&${WINDOW}&capacityMin=0`, 'capacityMin malformed-number'],
  [`${BY}&${WINDOW}&capacityMin=many`, 'capacityMin malformed-number'],
  [
    `by=group&${WINDOW}&building=A&capacityMin=2`,
    'building wrong-combination',
    'capacityMin wrong-combination',
  ],
  [`${BY}&${WINDOW}&roomId=${ROOM}`, 'roomId unknown-parameter'],
  [`${BY}&${WINDOW}&limit=0`, 'limit malformed-limit'],
  [`${BY}&${WINDOW}&cursor=x`, 'cursor malformed-cursor'],
  [`${BY}&${WINDOW}&format=xml`, 'format unknown-value'],
  [
    'by=x&weeks=0&among=&limit=0&date=1',
    'among empty-value',
    'by unknown-value',
    'date malformed-date',
    'limit malformed-limit',
    'weeks malformed-number',
  ],
];

test('every fault of free time has its code and its parameter', (t) => {
  for (const [query, ...expected] of FAULTS) {
    const result = view.free(pairsOf(query), STRICT);
    const told =
      'faults' in result ? result.faults.map(({ parameter, code }) => `${parameter} ${code}`).sort() : [];
    t.same(told, expected, query.slice(0, 120));
    const details = 'faults' in result ? result.faults.map(({ detail }) => detail) : [];
    t.ok(
      details.every((detail) => detail.length > 10 && detail.length < 300),
      details.join(' | ').slice(0, 200),
    );
  }
  t.throws(
    () => readOf(view.free([['by', 'group'], ['among', 'half a pair \uD800'], ...pairsOf(DAY)], STRICT)),
    /malformed-text/,
  );
  t.throws(
    () => readOf(view.free([['by', 'room'], ['building', '\uDC00'], ...pairsOf(DAY)], STRICT)),
    /malformed-text/,
  );
  t.end();
});

const FREE: readonly [query: string, found: number, from?: string | null, until?: string | null][] = [
  // Ends that touch.
  [`${BY}&${WINDOW}`, 1, '10:00', '14:00'],
  [`${BY}&startTime=2026-10-19T09:59:59.999Z&endTime=2026-10-19T14:00:00Z`, 0],
  [`${BY}&startTime=2026-10-19T10:00:00Z&endTime=2026-10-19T14:00:00.001Z`, 0],
  // The zero-length event occupies no time and ends no gap.
  [`${BY}&startTime=2026-10-19T12:00:00Z&endTime=2026-10-19T12:00:00.001Z`, 1, '10:00', '14:00'],
  [`${BY}&startTime=2026-10-19T12:30:00Z&endTime=2026-10-19T13:00:00Z`, 1, '10:00', '14:00'],
  [`${BY}&startTime=2026-10-19T07:00:00Z&endTime=2026-10-19T08:00:00Z`, 1, null, '08:00'],
  [`${BY}&startTime=2026-10-19T16:00:00Z&endTime=2026-10-19T17:00:00Z`, 1, '16:00', null],
  [`${BY}&${DAY}`, 0],
  [`${BY}&date=2026-10-20`, 1, '16:00', null],
  [`${BY}&date=2026-10-20&days=366`, 1, '16:00', null],
  [`${BY}&date=9999-12-30`, 1, '16:00', null],
  // The Monday of the third week.
  [`${BY}&date=2026-10-05&weeks=2`, 1, null, '08:00'],
  [`${BY}&date=2026-10-05&weeks=3`, 0],
  [`${BY}&startTime=2026-10-05T10:00:00Z&endTime=2026-10-05T14:00:00Z&weeks=60`, 1, null, '08:00'],
  [`by=group&${WINDOW}&among=G1`, 1, '10:00', '14:00'],
  [`by=group&${WINDOW}&among=g1`, 0],
  [`by=lecturer&${WINDOW}&among=Doe,%20John&among=nobody`, 1, '10:00', '14:00'],
  [`${BY}&${WINDOW}&among=${ROOM.toUpperCase()}`, 1, '10:00', '14:00'],
  [`${BY}&${WINDOW}&building=A`, 0],
  [`${BY}&${WINDOW}&capacityMin=1`, 0],
];

test('values of free time are accepted up to their limits, and gaps lie around the window', (t) => {
  for (const [query, found, from, until] of FREE) {
    const entries = listOf(readOf(view.free(pairsOf(query), STRICT)).execute('json')) as {
      freeFrom: string | null;
      freeUntil: string | null;
    }[];
    t.equal(entries.length, found, query);
    const [first] = entries;
    if (first === undefined) continue;
    const clock = (instant: string | null): string | null => instant?.slice(11, 16) ?? null;
    t.same([clock(first.freeFrom), clock(first.freeUntil)], [from, until], query);
  }
  t.end();
});

test('weeks keep their local time when clocks change', (t) => {
  // Monday 12:00 to 16:00 in Berlin: 10:00 to 14:00 UTC before the clock change, 11:00 to 15:00 after it.
  const query = (zone: string) =>
    `${BY}&startTime=2026-10-12T10:00:00Z&endTime=2026-10-12T14:00:00Z&weeks=3&timeZone=${zone}`;
  const late = viewOfEvents([event(1, Date.UTC(2026, 9, 26, 14), Date.UTC(2026, 9, 26, 15))], 'uuid');
  t.equal(readOf(late.free(pairsOf(query('UTC')), STRICT)).execute('json').total, 1);
  t.equal(readOf(late.free(pairsOf(query('Europe/Berlin')), STRICT)).execute('json').total, 0);
  t.end();
});

test('equal queries have equal entity tags; different queries have different tags', (t) => {
  const tagOf = (query: string): string => readOf(view.free(pairsOf(query), STRICT)).entityTag('json');
  const day = tagOf(`${BY}&date=2026-10-20&timeZone=Europe/Berlin`);
  t.equal(tagOf(`${BY}&startTime=2026-10-20T00:00:00%2B02:00&endTime=2026-10-21T00:00:00%2B02:00`), day);
  t.equal(tagOf(`timeZone=Europe/Rome&date=2026-10-20&days=1&weeks=1&${BY}`), day);
  t.equal(
    tagOf(`${BY}&${WINDOW}&among=${ROOM}`),
    tagOf(`${BY}&${WINDOW}&among=${ROOM.toUpperCase()}&among=${ROOM}`),
  );
  const others = [
    `by=group&${WINDOW}`,
    `by=lecturer&${WINDOW}`,
    `${BY}&${WINDOW}`,
    `${BY}&${WINDOW}&weeks=2`,
    `${BY}&${WINDOW}&weeks=3`,
    `${BY}&${WINDOW}&among=${ROOM}`,
    `${BY}&${WINDOW}&building=A`,
    `${BY}&${WINDOW}&building=B`,
    `${BY}&${WINDOW}&capacityMin=2`,
    `${BY}&${WINDOW}&limit=1`,
    `${BY}&${DAY}`,
    `${BY}&${DAY}&weeks=3&timeZone=UTC`,
    `${BY}&${DAY}&weeks=3&timeZone=Europe/Berlin`,
  ];
  t.equal(new Set(others.map(tagOf)).size, others.length);
  t.end();
});

test('explain covers free time', (t) => {
  const explained = view.explain(
    pairsOf(`${BY}&${WINDOW}&weeks=3&among=${ROOM}&building=A&capacityMin=2`),
    STRICT,
    'free',
  );
  if ('faults' in explained) throw new Error(JSON.stringify(explained.faults));
  t.same(explained.plan.split('\n'), [
    'FREE room: 1 known, 1 of them with events',
    'WINDOW [2026-10-19T10:00:00.000Z, 2026-10-19T14:00:00.000Z), and 2 in later weeks: 1 slot searched; 0 rooms with events in it',
    'CHECK among: 1 identifier, 0 texts',
    'CHECK building of 1 value',
    'CHECK capacity of at least 2',
    'GAP for the entries on the page (0 free on all pages)',
  ]);
  t.match(view.explain(pairsOf('by=room'), STRICT, 'free'), { faults: [{}, {}] });
  t.end();
});
