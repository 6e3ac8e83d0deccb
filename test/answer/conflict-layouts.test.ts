/**
 * Conflicts of the hardest timetables: the result, its size, and its growth. Inside, because no answer shows
 * the size of an image and the time of its build.
 */
import { test } from 'tap';
import { type ParameterPairs, SnapshotView, type View } from '../../src/answer/view.js';
import type { ConflictEntry, NormalisedEvent } from '../../src/base/model/event.js';
import { SnapshotBuilder } from '../../src/snapshot/builder.js';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';
import { size } from '../hard/size.js';
import { allConflicts, conflictRecordOf } from '../oracle/conflicts.js';
import { eventsInOrder } from '../oracle/events.js';
import { eventsLaidOut, LAYOUTS, ordinaryEvents } from './conflict-layouts.js';
import { assertWhole, listOf, readOf, STRICT, unpackedListOf, viewOfEvents } from './reading.js';

const COMPARED_WITH_ORACLE = 300;
const EVENTS = size(2500, 25_000);
const TIMES = 4;
/** Linear work takes 4 times as long, quadratic work 16 times; sorting and slower memory add to this. */
const GROWTH_MAX = 9;
/** So many rounds that some have no garbage collection, which takes longer than a build of few events. */
const ROUNDS = 8;
const KEY_FIELDS = {
  group: ['groupId', 'studyGroup'],
  lecturer: ['lecturer'],
  room: ['roomId'],
} as const;

/** Processor time of the fastest round, in milliseconds. */
function cpuMs(act: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    act();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

function imageOf(events: readonly NormalisedEvent[]): SnapshotImage {
  const builder = new SnapshotBuilder({ identifiers: 'uuid' });
  for (const [n, event] of events.entries()) builder.add(event, { record: n + 1 });
  return builder.finish();
}

/** Filters, windows and kinds: those of an event in the middle, and those that select almost everything. */
function requestsOf(events: readonly NormalisedEvent[]): Record<string, ParameterPairs> {
  const { roomId, studyGroup, lecturerId, time } = events[events.length >> 1] as NormalisedEvent;
  const room: ParameterPairs = roomId === null ? [] : [['roomId', roomId]];
  const instant: ParameterPairs = [
    ['startTime', new Date(time + 1).toISOString()],
    ['endTime', new Date(time + 2).toISOString()],
  ];
  const since: ParameterPairs = [['startTime', new Date(time + 1).toISOString()]];
  return {
    everything: [],
    'rows of lessons': [['merge', 'false']],
    'one kind': [['by', 'room']],
    'a room': room,
    'a group': [['studyGroup', studyGroup ?? '']],
    'a lecturer': [['lecturerId', lecturerId ?? '']],
    'a type': [['type', 'LEC']],
    'a group in a room': [['studyGroup', studyGroup ?? ''], ...room],
    'an instant': instant,
    'all that follows': since,
    'a type at an instant': [['type', 'LEC'], ...instant],
    'a room from then on': [...room, ...since],
    'a page': [['limit', '10']],
  };
}

const lengthOf = (view: View, pairs: ParameterPairs): number =>
  readOf(view.conflicts(pairs, STRICT)).execute('json').body.byteLength ?? 0;

for (const layout of LAYOUTS) {
  test(`conflicts of a hard timetable agree with the oracle: ${layout}`, (t) => {
    const events = eventsLaidOut(layout, COMPARED_WITH_ORACLE);
    const view = viewOfEvents(events, 'uuid');
    for (const merge of [true, false]) {
      const expected = allConflicts(eventsInOrder(events), merge).map(conflictRecordOf);
      t.ok(expected.length > 0, `${expected.length} entries, merge=${merge}`);
      const pairs: ParameterPairs = [['merge', String(merge)]];
      assertWhole(readOf(view.conflicts(pairs, STRICT)), expected);
      assertWhole(readOf(view.conflicts(pairs, STRICT)), expected, 'msgpack');
    }
    t.end();
  });

  test(`four times as many events take about four times as long: ${layout}`, (t) => {
    const few = eventsLaidOut(layout, EVENTS);
    const many = eventsLaidOut(layout, TIMES * EVENTS);
    imageOf(few);
    const [cheap, dear] = [few, many].map((events) => cpuMs(() => imageOf(events))) as [number, number];
    t.ok(dear < GROWTH_MAX * Math.max(cheap, 8), `the build: ${cheap.toFixed(0)} and ${dear.toFixed(0)} ms`);
    const [small, large] = [few, many].map(imageOf) as [SnapshotImage, SnapshotImage];
    const grown = large.summary.bytes / small.summary.bytes;
    t.ok(grown < 1.1 * TIMES, `the image: ${grown.toFixed(2)} times the bytes`);

    const view = new SnapshotView(new Snapshot(small));
    const largeView = new SnapshotView(new Snapshot(large));
    const largeRequests = requestsOf(many);
    for (const [name, pairs] of Object.entries(requestsOf(few))) {
      const more = largeRequests[name] ?? [];
      // Many at a time, because one is too short to measure.
      const [least, most] = [
        cpuMs(() => {
          for (let n = 0; n < 10; n++) lengthOf(view, pairs);
        }),
        cpuMs(() => {
          for (let n = 0; n < 10; n++) lengthOf(largeView, more);
        }),
      ];
      t.ok(most < GROWTH_MAX * Math.max(least, 2), `${name}: ${least.toFixed(2)} and ${most.toFixed(2)} ms`);
    }
    const drain = (all: View): number =>
      cpuMs(() => {
        for (const _ of readOf(all.conflicts([], STRICT)).execute('json').body.makeChunks());
      });
    const [brief, long] = [drain(view), drain(largeView)];
    t.ok(long < GROWTH_MAX * Math.max(brief, 2), `the body: ${brief.toFixed(1)} and ${long.toFixed(1)} ms`);
    const bodyGrown = lengthOf(largeView, []) / lengthOf(view, []);
    t.ok(bodyGrown < 1.1 * TIMES, `its length: ${bodyGrown.toFixed(2)} times`);
    t.end();
  });

  test(`an entry has only rows of its key, and each row once: ${layout}`, (t) => {
    const events = eventsLaidOut(layout, EVENTS);
    const view = viewOfEvents(events, 'uuid');
    const lecturers = new Map(events.map(({ id, lecturerId }) => [id, lecturerId]));
    for (const merge of ['true', 'false']) {
      const entries = listOf(readOf(view.conflicts([['merge', merge]], STRICT)).execute('json'));
      t.ok(entries.length > 0);
      const seen = new Set<string>();
      let foreign = 0;
      let repeated = 0;
      for (const { by, key, events: rows } of entries as ConflictEntry[]) {
        for (const row of rows) {
          const found = by === 'lecturer' ? lecturers.get(row.id) : row[KEY_FIELDS[by][0]];
          if (found !== key) foreign++;
          const once = `${by} ${row.id}`;
          if (seen.has(once)) repeated++;
          seen.add(once);
        }
      }
      t.same({ foreign, repeated }, { foreign: 0, repeated: 0 }, `merge=${merge}`);
    }
    t.end();
  });
}

test('images of the hardest timetables are at most twice as large as an ordinary one', (t) => {
  // Processor time and memory of whole loads are compared by test/hard/conflict-load.test.ts.
  const usualBytes = imageOf(ordinaryEvents(TIMES * EVENTS)).summary.bytes;
  for (const layout of LAYOUTS) {
    const ratio = imageOf(eventsLaidOut(layout, TIMES * EVENTS)).summary.bytes / usualBytes;
    t.ok(ratio <= 2, `${layout}: ${ratio.toFixed(2)} times the bytes`);
  }
  t.end();
});

test("a lecturer sees only the lecturer's own clashes", (t) => {
  const events = ordinaryEvents(4000);
  const view = viewOfEvents(events, 'uuid');
  let entries = 0;
  for (const id of new Set(events.flatMap(({ lecturerId }) => lecturerId ?? []))) {
    const own = new Set(events.filter(({ lecturerId }) => lecturerId === id).map((event) => event.id));
    const pairs: ParameterPairs = [
      ['lecturerId', id],
      ['by', 'lecturer'],
      ['merge', 'false'],
    ];
    for (const read of [listOf, unpackedListOf]) {
      const answer = readOf(view.conflicts(pairs, STRICT)).execute(read === listOf ? 'json' : 'msgpack');
      for (const { key, events: rows } of read(answer) as ConflictEntry[]) {
        entries++;
        if (key !== id || rows.some((row) => !own.has(row.id))) t.fail(`${id} sees ${key}`);
      }
    }
  }
  t.ok(entries > 100, `${entries} entries`);
  t.end();
});
