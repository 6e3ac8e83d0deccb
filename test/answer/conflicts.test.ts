import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { CURSOR_CHARACTERS_MAX, NAME_UNITS_MAX } from '../../src/base/limits.js';
import type { IdentifierMode, NormalisedEvent } from '../../src/base/model/event.js';
import { runs } from '../hard/size.js';
import { fastTest } from '../hard/slow-test.js';
import {
  allConflicts,
  compareEntries,
  conflictRecordOf,
  conflictsInScope,
  type OracleEntry,
} from '../oracle/conflicts.js';
import { eventsInOrder } from '../oracle/events.js';
import { pageOf } from '../oracle/schedule.js';
import { eventSets } from './generated-events.js';
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
  listOf,
  readOf,
  STRICT,
  viewOfEvents,
} from './reading.js';

const MODES: readonly IdentifierMode[] = ['uuid', 'any'];

for (const mode of MODES) {
  test(`conflicts agree with a comparison of all pairs (identifiers: ${mode})`, (t) => {
    let compared = 0;
    let answeredSome = 0;
    const sets = fc.tuple(
      eventSets(mode),
      fc.array(fc.tuple(recipes, conflictRecipes, fc.integer({ min: 1, max: 4 })), { maxLength: 6 }),
    );
    fc.assert(
      fc.property(sets, ([events, asked]) => {
        const view = viewOfEvents(events, mode);
        const ordered = eventsInOrder(events);
        const merged = allConflicts(ordered, true);
        const unmerged = allConflicts(ordered, false);
        assertWhole(readOf(view.conflicts([], STRICT)), merged.map(conflictRecordOf));
        assertWhole(readOf(view.conflicts([['merge', 'false']], STRICT)), unmerged.map(conflictRecordOf));
        for (const [recipe, conflictRecipe, limit] of asked) {
          const request = requestOf(recipe, universeOf(ordered, mode));
          const pairs = [...request.pairs, ...conflictPairsOf(conflictRecipe)];
          const result = view.conflicts(pairs, STRICT);
          compared++;
          if (request.faults.length > 0) {
            assertFaults(result, request.faults);
            continue;
          }
          const all = conflictRecipe.merge === 'false' ? unmerged : merged;
          const found = conflictsInScope(all, selectedKinds(conflictRecipe), request.query);
          const expected = found.map(conflictRecordOf);
          if (found.length > 0 && found.length < all.length) answeredSome++;
          assertWhole(readOf(result), expected);
          const conflicts = (paged: Parameters<typeof view.all>[0]) => view.conflicts(paged, STRICT);
          assertSameList(followPages(conflicts, pairs, limit, expected.length), expected);
        }
      }),
      { seed: 20240920, numRuns: runs(350) },
    );
    t.ok(compared > runs(600), `${compared} requests compared`);
    t.ok(answeredSome > runs(140), `${answeredSome} of them selected some conflicts, but not all`);
    t.end();
  });
}

test('a conflict cursor continues by its sort key in another snapshot', (t) => {
  let compared = 0;
  const versions = fc.tuple(
    eventSets('uuid'),
    fc.infiniteStream(fc.constantFrom('both', 'both', 'before', 'after')),
    fc.integer({ min: 1, max: 4 }),
  );
  fc.assert(
    fc.property(versions, ([events, presence, limit]) => {
      const marked = events.map((event) => ({ event, in: presence.next().value }));
      const partOf = (version: string): NormalisedEvent[] =>
        eventsInOrder(marked.filter((m) => m.in === 'both' || m.in === version).map((m) => m.event));
      const [before, after] = [partOf('before'), partOf('after')];
      const entriesBefore: OracleEntry[] = allConflicts(before, false);
      const entriesAfter: OracleEntry[] = allConflicts(after, false);
      const pairs: [string, string][] = [
        ['merge', 'false'],
        ['limit', String(limit)],
      ];
      const first = readOf(viewOfEvents(before, 'uuid').conflicts(pairs, STRICT)).execute('json');
      assertSameList(listOf(first), entriesBefore.slice(0, limit).map(conflictRecordOf));
      if (first.nextCursor === null) return;
      const last = entriesBefore[limit - 1] ?? assert.fail('a next cursor needs a full page');
      const { page, isLast } = pageOf(entriesAfter, limit, last, compareEntries);
      const continued = viewOfEvents(after, 'uuid').conflicts(
        [...pairs, ['cursor', first.nextCursor]],
        STRICT,
      );
      const answer = readOf(continued).execute('json');
      assertSameList(listOf(answer), page.map(conflictRecordOf));
      assert.equal(answer.total, entriesAfter.length);
      assert.equal(answer.nextCursor === null, isLast);
      compared++;
    }),
    { seed: 20240921, numRuns: runs(200) },
  );
  t.ok(compared > runs(50), `${compared} continued pages compared`);
  t.end();
});

fastTest('a page of conflicts continues after the longest possible key', (t) => {
  const row = { title: null, courseId: null, studyGroup: null, type: null, groupId: null, lecturerId: null };
  for (const length of [1, 100, NAME_UNITS_MAX / 2]) {
    const lecturers = ['国', '語', '\u{1F600}'].map((letter) =>
      letter.repeat(length).slice(0, NAME_UNITS_MAX),
    );
    const events = lecturers.flatMap((lecturer, i): NormalisedEvent[] =>
      ['x', 'y'].map((id) => ({ ...row, id: `${id}${i}`, time: 0, endTime: 60_000, roomId: null, lecturer })),
    );
    const view = viewOfEvents(events, 'any');
    const first = readOf(view.conflicts([['limit', '1']], STRICT)).execute('json');
    const pairs: [string, string][] = [
      ['limit', '1'],
      ['cursor', first.nextCursor ?? ''],
    ];
    const result = view.conflicts(pairs, STRICT);
    t.notOk('faults' in result, `a key of ${length} letters`);
    if ('read' in result) t.match(listOf(result.read.execute('json')), [{ key: lecturers[1] }]);
    t.ok((first.nextCursor ?? '').length <= CURSOR_CHARACTERS_MAX, 'and its cursor is short enough');
  }
  t.end();
});

fastTest('long keys that differ only at the end stay apart on pages', (t) => {
  const row = { title: null, courseId: null, studyGroup: null, type: null, groupId: null, lecturerId: null };
  for (const stem of ['a', 'é', '\u{1F600}', '"', '\u0001']) {
    for (const length of [127, 128, 510]) {
      const lecturers = ['', '\u0001', '"', 'a', 'é', '\uFF5E', '\u{1F600}'].map(
        (end) => `${stem.repeat(length)}${end}`,
      );
      const events = lecturers.flatMap((lecturer, i): NormalisedEvent[] =>
        ['x', 'y'].map((id) => ({ ...row, id: `${id}${i}`, time: 0, endTime: 9, roomId: 'r', lecturer })),
      );
      const view = viewOfEvents(events, 'any');
      const expected = allConflicts(eventsInOrder(events), true).map(conflictRecordOf);
      for (const limit of [1, 2, 3]) {
        const conflicts = (pairs: Parameters<typeof view.all>[0]) => view.conflicts(pairs, STRICT);
        assertSameList(followPages(conflicts, [], limit, expected.length), expected);
      }
    }
  }
  t.pass('every page followed on the one before');
  t.end();
});

fastTest('conflicts before 1970 span their own lessons', (t) => {
  const row = { title: null, courseId: null, studyGroup: null, type: null, groupId: null, lecturerId: null };
  const events: NormalisedEvent[] = [
    { ...row, id: 'a', time: -20_000, endTime: -10_000, roomId: 'r', lecturer: null },
    { ...row, id: 'b', time: -15_000, endTime: -5_000, roomId: 'r', lecturer: null },
  ];
  const answer = readOf(viewOfEvents(events, 'any').conflicts([], STRICT)).execute('json');
  t.match(listOf(answer), [
    { startTime: '1969-12-31T23:59:40.000Z', endTime: '1969-12-31T23:59:55.000Z', peak: 2 },
  ]);
  t.end();
});
