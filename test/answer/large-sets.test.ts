/** Sets with more slots than one interval tree holds, in the hardest layouts for an interval index. */
import fc from 'fast-check';
import { test } from 'tap';
import type { ParameterPairs } from '../../src/answer/view.js';
import { INTERVALS_PER_TREE_MAX } from '../../src/base/limits.js';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { allConflicts, conflictRecordOf, conflictsInScope } from '../oracle/conflicts.js';
import { eventsInOrder, recordOf } from '../oracle/events.js';
import { scheduleOracle } from '../oracle/schedule.js';
import {
  conflictPairsOf,
  conflictRecipes,
  recipes,
  requestOf,
  selectedKinds,
  universeOf,
} from './generated-requests.js';
import {
  assertFaults,
  assertSameList,
  assertWhole,
  followPages,
  readOf,
  STRICT,
  viewOfEvents,
} from './reading.js';

const COUNT = 3 * INTERVALS_PER_TREE_MAX + 7;
const ASKED = 60;
const START_MS = Date.UTC(2024, 8, 2);
const MINUTE_MS = 60_000;

type Place = (i: number, random: number) => readonly [startMs: number, lengthMs: number];

const LAYOUTS: Readonly<Record<string, Place>> = {
  'every event overlaps the next two hundred': (i) => [START_MS + i * MINUTE_MS, 200 * MINUTE_MS],
  'lengths of every power of two, from nothing to 34 years': (i, random) => [
    START_MS + (random % 100_000) * MINUTE_MS,
    i % 41 === 0 ? 0 : 2 ** (i % 41),
  ],
  'every event within the event before': (i) => [START_MS + i, 2 * (COUNT - i)],
  'nothing but zero-length events': (i) => [START_MS + i, 0],
  'short events under a few that span everything': (i, random) =>
    i % 500 === 0
      ? [START_MS - i, 10 * COUNT * MINUTE_MS]
      : [START_MS + (random % COUNT) * MINUTE_MS, ((random >>> 8) % 3) * 30_000],
  'all events in one slot': () => [START_MS, MINUTE_MS],
};

function eventsLaidOut(place: Place): NormalisedEvent[] {
  const randoms = fc.sample(fc.nat(), { seed: 20241020, numRuns: COUNT });
  return randoms.map((random, i) => {
    const [startMs, lengthMs] = place(i, random);
    const pick = (of: number, from: number): number => Math.floor(random / from) % of;
    return {
      id: `${(random % 1000).toString().padStart(3, '0')}-${i}`,
      time: startMs,
      endTime: startMs + lengthMs,
      title: `Lesson ${i}`,
      roomId: pick(9, 1) === 0 ? null : `room ${pick(150, 3)}`,
      courseId: `course ${pick(40, 7)}`,
      studyGroup: `group ${pick(60, 11)}`,
      lecturer: null,
      type: ['LEC', 'LAB', null][pick(3, 13)] ?? null,
      groupId: null,
      lecturerId: pick(5, 17) === 0 ? null : `lecturer ${pick(90, 19)}`,
    };
  });
}

for (const [layout, place] of Object.entries(LAYOUTS)) {
  test(`a large set gives the same answers as a small one: ${layout}`, (t) => {
    const events = eventsLaidOut(place);
    const view = viewOfEvents(events, 'any');
    const ordered = eventsInOrder(events);
    const universe = universeOf(ordered, 'any');
    const conflicts = { true: allConflicts(ordered, true), false: allConflicts(ordered, false) };
    const schedule = (pairs: ParameterPairs) => view.schedule(pairs, STRICT);
    let selective = 0;
    fc.sample(fc.tuple(recipes, conflictRecipes), { seed: 20241021, numRuns: ASKED }).forEach(
      ([recipe, conflictRecipe], i) => {
        const request = requestOf(recipe, universe);
        if (request.faults.length > 0) {
          assertFaults(schedule(request.pairs), request.faults);
          return;
        }
        const expected = scheduleOracle(ordered, request.query).map(recordOf);
        if (expected.length > 0 && expected.length < ordered.length) selective++;
        assertWhole(readOf(schedule(request.pairs)), expected);
        if (i % 10 !== 0) return;
        const limit = 1 + Math.floor(expected.length / 3);
        assertSameList(followPages(schedule, request.pairs, limit, expected.length), expected);
        const found = conflictsInScope(
          conflicts[conflictRecipe.merge ?? 'true'],
          selectedKinds(conflictRecipe),
          request.query,
        );
        const pairs = [...request.pairs, ...conflictPairsOf(conflictRecipe)];
        assertWhole(readOf(view.conflicts(pairs, STRICT)), found.map(conflictRecordOf));
        // So long that some of them are made in slices.
        assertWhole(readOf(schedule(request.pairs)), expected, 'msgpack');
        assertWhole(readOf(view.conflicts(pairs, STRICT)), found.map(conflictRecordOf), 'msgpack');
      },
    );
    t.ok(selective > ASKED / 4, `${selective} requests selected some events, but not all`);
    t.end();
  });
}
