/**
 * GET /schedule/free against a linear scan over all events. Inside, because thousands of questions are asked
 * without a server, and each way to an answer is taken.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { Temporal } from 'temporal-polyfill';
import { Directory } from '../../src/answer/directory.js';
import { FreeKeys, findFree } from '../../src/answer/free.js';
import { type ParameterPairs, SnapshotView } from '../../src/answer/view.js';
import type { IdentifierMode, NormalisedEvent } from '../../src/base/model/event.js';
import type { ConflictBy } from '../../src/base/model/fields.js';
import type { Room, RoomTable } from '../../src/base/model/room.js';
import { runs } from '../hard/size.js';
import { fastTest } from '../hard/slow-test.js';
import { createNormaliser, isRejection } from '../normalise/objects.js';
import { freeOracle, type OracleFreeQuery } from '../oracle/free.js';
import { nameOracle } from '../oracle/names.js';
import { alternatingEvents, BEGIN_MS, MINUTE_MS } from './alternating-slots.js';
import { eventSets } from './generated-events.js';
import { namedRecordsOf } from './named-records.js';
import { assertSameList, assertWhole, followPages, readOf, STRICT, snapshotOfEvents } from './reading.js';
import { findDataSets, NO_DATA } from './real-sets.js';

const KINDS: readonly ConflictBy[] = ['room', 'lecturer', 'group'];
const HOUR_MS = 3_600_000;
const STEP_MS = HOUR_MS / 4;
const START_MS = Date.UTC(2024, 8, 2, 8);

/** A query, with its windows computed by Temporal. */
interface Question {
  readonly pairs: ParameterPairs;
  readonly windows: OracleFreeQuery['windows'];
}

function weeklyOf(
  start: Temporal.ZonedDateTime,
  end: Temporal.ZonedDateTime,
  weeks: number,
): Question['windows'] {
  return Array.from({ length: weeks }, (_, n) => ({
    startMs: start.add({ weeks: n }).epochMilliseconds,
    endMs: end.add({ weeks: n }).epochMilliseconds,
  })).filter(({ startMs, endMs }) => startMs < endMs);
}

function ofInstants(startMs: number, endMs: number, weeks: number, timeZone: string): Question {
  const zoned = (ms: number) => Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timeZone);
  return {
    pairs: [
      ['startTime', new Date(startMs).toISOString()],
      ['endTime', new Date(endMs).toISOString()],
      ...(weeks === 1
        ? []
        : ([
            ['weeks', `${weeks}`],
            ['timeZone', timeZone],
          ] as const)),
    ],
    windows: weeklyOf(zoned(startMs), zoned(endMs), weeks),
  };
}

function ofDays(date: string, days: number, weeks: number, timeZone: string): Question {
  const first = Temporal.PlainDate.from(date);
  const startOf = (plain: Temporal.PlainDate): number => plain.toZonedDateTime(timeZone).epochMilliseconds;
  const windows = Array.from({ length: weeks }, (_, n) => ({
    startMs: startOf(first.add({ weeks: n })),
    endMs: startOf(first.add({ weeks: n, days })),
  })).filter(({ startMs, endMs }) => startMs < endMs);
  return {
    pairs: [
      ['date', date],
      ['days', `${days}`],
      ['timeZone', timeZone],
      ['weeks', `${weeks}`],
    ],
    windows,
  };
}

const questions: fc.Arbitrary<Question> = fc.oneof(
  fc
    .tuple(
      fc.integer({ min: -3, max: 22 }),
      fc.constantFrom(1, 1, 2, 4, 40),
      fc.constantFrom(-1, 0, 0, 1),
      fc.constantFrom(1, 1, 2, 3),
    )
    .map(([step, steps, ms, weeks]) =>
      ofInstants(START_MS + step * STEP_MS + ms, START_MS + (step + steps) * STEP_MS, weeks, 'Europe/Berlin'),
    ),
  fc
    .tuple(
      fc.constantFrom('2024-08-19', '2024-09-01', '2024-09-02', '2024-09-03'),
      fc.constantFrom(1, 2, 30),
      fc.constantFrom(1, 4),
      fc.constantFrom('UTC', 'Pacific/Apia'),
    )
    .map((parts) => ofDays(...parts)),
  fc.constant({
    pairs: [
      ['startTime', '0000-01-01T00:00:00Z'],
      ['endTime', '9999-12-31T23:59:59.999Z'],
    ] as const,
    windows: [{ startMs: Date.parse('0000-01-01T00:00:00Z'), endMs: Date.parse('9999-12-31T23:59:59.999Z') }],
  }),
);

const ROOMS = [
  '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
  'aaaaaaaa-0000-4000-8000-000000000001',
  'bbbbbbbb-0000-4000-8000-000000000002',
];

const roomTables = (mode: IdentifierMode): fc.Arbitrary<RoomTable | null> =>
  fc.option(
    fc
      .uniqueArray(
        fc.record({
          id: fc.constantFrom(...ROOMS, ...(mode === 'any' ? ['R1', 'r2'] : [])),
          name: fc.constantFrom(null, 'Aula', 'Zimmer \u{1F600}', 'Analyse num\u00e9rique'),
          building: fc.constantFrom(null, 'A', 'B'),
          capacity: fc.constantFrom(null, 0, 20, 200),
        }),
        { selector: ({ id }) => id },
      )
      .map((rooms) => ({ rooms, digest: 'any' })),
  );

const narrowings = fc.record({
  among: fc.option(fc.integer({ min: 0, max: 9 }), { freq: 2 }),
  building: fc.constantFrom(null, null, null, ['A'], ['A', 'B'], ['nowhere']),
  capacityMin: fc.constantFrom(null, null, null, 1, 20, 21),
  limit: fc.integer({ min: 1, max: 5 }),
});

for (const mode of ['uuid', 'any'] as const) {
  test(`free time agrees with a linear scan: identifiers ${mode}`, (t) => {
    let found = 0;
    let busy = 0;
    fc.assert(
      fc.property(
        eventSets(mode),
        roomTables(mode),
        fc.array(fc.tuple(questions, narrowings), { minLength: 4, maxLength: 8 }),
        (events, table, asked) => {
          const view = new SnapshotView(snapshotOfEvents(events, mode), undefined, undefined, table);
          const nameOf = (field: 'roomId' | 'groupId' | 'lecturerId', value: string) =>
            nameOracle(events, field, value);
          const rooms = table?.rooms ?? null;
          for (const by of KINDS) {
            for (const [{ pairs, windows }, narrowing] of asked) {
              const all = freeOracle(events, { by, windows }, rooms, nameOf);
              const isRoom = by === 'room';
              const some = all.filter((_, n) => narrowing.among !== null && n % 10 <= narrowing.among);
              const among =
                narrowing.among === null
                  ? undefined
                  : [...some.map(({ id, name }) => id ?? name ?? ''), ROOMS[1] as string];
              const buildings = isRoom && narrowing.building !== null ? narrowing.building : undefined;
              const capacityMin =
                isRoom && narrowing.capacityMin !== null ? narrowing.capacityMin : undefined;
              const expected = freeOracle(
                events,
                { by, windows, among, buildings, capacityMin },
                rooms,
                nameOf,
              );
              const given: ParameterPairs = [
                ['by', by],
                ...pairs,
                ...(among ?? []).map((value) => ['among', value] as const),
                ...(buildings ?? []).map((value) => ['building', value] as const),
                ...(capacityMin === undefined ? [] : [['capacityMin', `${capacityMin}`] as const]),
              ];
              const read = readOf(view.free(given, STRICT));
              assertWhole(read, expected);
              assertWhole(read, expected, 'msgpack');
              const paged = followPages(
                (more) => view.free(more, STRICT),
                given,
                narrowing.limit,
                expected.length,
              );
              assertSameList(paged, expected);
              found += expected.length;
              busy += windows.length > 0 ? knownOf(events, by, rooms, nameOf) - all.length : 0;
            }
          }
        },
      ),
      { numRuns: runs(60), seed: 18 },
    );
    t.ok(found > runs(1000) && busy > runs(1000), `${found} free, ${busy} busy`);
    t.end();
  });
}

/** All known keys without events are free. */
function knownOf(
  events: readonly NormalisedEvent[],
  ...rest: [
    ConflictBy,
    readonly Room[] | null,
    (field: 'roomId' | 'groupId' | 'lecturerId', value: string) => string | null,
  ]
): number {
  const [by, rooms, nameOf] = rest;
  const windows = [{ startMs: 0, endMs: 0 }];
  const still = events.map((event) => ({ ...event, time: 0, endTime: 0 }));
  return freeOracle(still, { by, windows }, rooms, nameOf).length;
}

for (const dataSet of findDataSets()) {
  test(`free time in ${dataSet.name} agrees with a linear scan`, (t) => {
    const normalise = createNormaliser('uuid');
    const events: NormalisedEvent[] = [];
    namedRecordsOf(dataSet).forEach((record, i) => {
      const event = normalise(record, { record: i + 1 });
      if (!isRejection(event)) events.push(event);
    });
    const view = new SnapshotView(snapshotOfEvents(events, 'uuid'));
    const byValue = new Map<string, NormalisedEvent[]>();
    for (const event of events) {
      for (const field of ['roomId', 'groupId', 'lecturerId'] as const) {
        const key = `${field} ${event[field]}`;
        if (byValue.get(key)?.push(event) === undefined) byValue.set(key, [event]);
      }
    }
    const nameOf = (field: 'roomId' | 'groupId' | 'lecturerId', value: string): string | null =>
      nameOracle(byValue.get(`${field} ${value}`) ?? [], field, value);
    const middle = events[Math.floor(events.length / 2)] as NormalisedEvent;
    const day = new Date(middle.time).toISOString().slice(0, 10);
    const asked = [
      ofInstants(middle.time, middle.endTime, 1, 'UTC'),
      ofInstants(middle.time, middle.endTime, 10, 'America/New_York'),
      ofInstants(middle.endTime, middle.endTime + 1, 1, 'UTC'),
      ofDays(day, 1, 1, 'Europe/Paris'),
      ofDays(day, 7, 3, 'America/New_York'),
    ];
    let found = 0;
    for (const by of KINDS) {
      for (const { pairs, windows } of asked) {
        const expected = freeOracle(events, { by, windows }, null, nameOf);
        assertWhole(readOf(view.free([['by', by], ...pairs], STRICT)), expected);
        found += expected.length;
      }
    }
    t.ok(found > 0, `${found} entries`);
    t.end();
  });
}
if (findDataSets().length === 0)
  test('free time of real data agrees with a linear scan', { skip: NO_DATA }, (t) => t.end());

test('free time is the same from events, posting lists and listed slots', (t) => {
  let gaps = 0;
  let searches = 0;
  fc.assert(
    fc.property(
      eventSets('any'),
      fc.array(fc.integer({ min: -5, max: 30 }), { minLength: 3 }),
      (events, at) => {
        const snapshot = snapshotOfEvents(events, 'any');
        for (const by of KINDS) {
          for (const looksMax of [0, 1, 2, 5]) {
            const bounds = { looksMax, eventsPerSearch: looksMax / 2 };
            const keys = new FreeKeys(snapshot, new Directory(snapshot, `${by}s`), by, null, bounds);
            for (const step of at) {
              const steps = step % 3 === 0 ? 12 : 1;
              const window = {
                startMs: START_MS + step * STEP_MS,
                endMs: START_MS + (step + steps) * STEP_MS,
              };
              const query = { by, windows: [window], among: null, buildings: null, capacityMin: null };
              const gapOf = keys.gapsAround(window);
              const free = findFree(keys, query);
              searches += free.marks.lists;
              const found = [...free.keys].map((key) => {
                const { fromMs, untilMs } = gapOf(key);
                const textOf = (ms: number | null): string | null =>
                  ms === null ? null : new Date(ms).toISOString();
                return { ...keys.keyOf(key), freeFrom: textOf(fromMs), freeUntil: textOf(untilMs) };
              });
              const nameOf = (field: 'roomId' | 'groupId' | 'lecturerId', value: string) =>
                nameOracle(events, field, value);
              assertSameList(found, freeOracle(events, { by, windows: [window] }, null, nameOf));
              gaps += found.length;
            }
          }
        }
      },
    ),
    { numRuns: runs(50), seed: 19 },
  );
  t.ok(gaps > 1000, `${gaps} gaps`);
  t.ok(searches > 400, `${searches} posting lists searched`);
  t.end();
});

fastTest('a free room does not make a window of years visit every event', (t) => {
  const events = alternatingEvents({ events: 20_000, groups: 5, longEvery: 40, longMinutes: 3 });
  const room = (roomId: string, time: number, endTime: number): NormalisedEvent => ({
    ...(events[0] as NormalisedEvent),
    ...{ id: roomId, roomId, time, endTime },
  });
  const inside = BEGIN_MS + 15_000 * MINUTE_MS;
  const later = BEGIN_MS + 10 ** 9 * MINUTE_MS;
  const all = [...events, room('without length', inside, inside), room('later', later, later + MINUTE_MS)];
  const snapshot = snapshotOfEvents(all, 'any');
  const keys = new FreeKeys(snapshot, new Directory(snapshot, 'rooms'), 'room', null);
  const window = { startMs: BEGIN_MS, endMs: BEGIN_MS + 20_000 * MINUTE_MS };
  const found = findFree(keys, {
    ...{ by: 'room', windows: [window], among: null, buildings: null, capacityMin: null },
  });
  t.strictSame(
    [...found.keys].map((key) => keys.keyOf(key).id),
    ['later', 'without length'],
  );
  t.ok(found.marks.slots < 200, `${found.marks.slots} slots visited`);
  t.equal(found.marks.lists, 2);
  t.end();
});
