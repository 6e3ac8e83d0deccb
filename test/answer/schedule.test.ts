import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import type { IdentifierMode, NormalisedEvent } from '../../src/base/model/event.js';
import { runs } from '../hard/size.js';
import { fastTest } from '../hard/slow-test.js';
import { compareEvents, eventsInOrder, recordOf } from '../oracle/events.js';
import { pageOf, scheduleOracle } from '../oracle/schedule.js';
import { typesOracle } from '../oracle/types.js';
import { eventSets } from './generated-events.js';
import { recipes, requestOf, universeOf } from './generated-requests.js';
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
  test(`schedule agrees with a linear scan (identifiers: ${mode})`, (t) => {
    let compared = 0;
    let answeredSome = 0;
    const sets = fc.tuple(
      eventSets(mode, { repeats: true }),
      fc.array(recipes, { minLength: 1, maxLength: 12 }),
    );
    fc.assert(
      fc.property(sets, ([events, asked]) => {
        const view = viewOfEvents(events, mode);
        const ordered = eventsInOrder(events);
        const universe = universeOf(ordered, mode);
        assert.equal(view.summary.events, ordered.length);
        assert.equal(view.summary.rejected, events.length - ordered.length, 'repeated ids are rejected');
        for (const recipe of asked) {
          const request = requestOf(recipe, universe);
          const result = view.schedule(request.pairs, STRICT);
          compared++;
          if (request.faults.length > 0) {
            assertFaults(result, request.faults);
            continue;
          }
          const expected = scheduleOracle(ordered, request.query).map(recordOf);
          if (expected.length > 0 && expected.length < ordered.length) answeredSome++;
          assertWhole(readOf(result), expected);
        }
      }),
      { seed: 20240902, numRuns: runs(350) },
    );
    t.ok(compared > runs(2000), `${compared} requests compared`);
    t.ok(answeredSome > runs(500), `${answeredSome} of them selected some events, but not all`);
    t.end();
  });

  test(`pages have no gap and no overlap (identifiers: ${mode})`, (t) => {
    let compared = 0;
    const sets = fc.tuple(eventSets(mode), recipes, fc.integer({ min: 1, max: 7 }));
    fc.assert(
      fc.property(sets, ([events, recipe, limit]) => {
        const view = viewOfEvents(events, mode);
        const ordered = eventsInOrder(events);
        const everything = ordered.map(recordOf);
        assertWhole(readOf(view.all([], STRICT)), everything);
        const endpoint = (pairs: Parameters<typeof view.all>[0]) => view.all(pairs, STRICT);
        assertSameList(followPages(endpoint, [], limit, everything.length), everything);

        const request = requestOf(recipe, universeOf(ordered, mode));
        if (request.faults.length > 0) return;
        const expected = scheduleOracle(ordered, request.query).map(recordOf);
        const schedule = (pairs: Parameters<typeof view.all>[0]) => view.schedule(pairs, STRICT);
        assertSameList(followPages(schedule, request.pairs, limit, expected.length), expected);
        compared++;
      }),
      { seed: 20240903, numRuns: runs(200) },
    );
    t.ok(compared > runs(100), `${compared} requests compared`);
    t.end();
  });

  test(`a cursor continues by its sort key in another snapshot (identifiers: ${mode})`, (t) => {
    let compared = 0;
    const versions = fc.tuple(
      eventSets(mode),
      fc.infiniteStream(fc.constantFrom('both', 'both', 'before', 'after')),
      fc.integer({ min: 1, max: 9 }),
    );
    fc.assert(
      fc.property(versions, ([events, presence, limit]) => {
        const marked = events.map((event) => ({ event, in: presence.next().value }));
        const partOf = (version: string): NormalisedEvent[] =>
          eventsInOrder(marked.filter((m) => m.in === 'both' || m.in === version).map((m) => m.event));
        const [before, after] = [partOf('before'), partOf('after')];
        const pairs: [string, string][] = [['limit', String(limit)]];
        const first = readOf(viewOfEvents(before, mode).all(pairs, STRICT)).execute('json');
        assertSameList(listOf(first), before.slice(0, limit).map(recordOf));
        if (first.nextCursor === null) return;
        const last = before[limit - 1] ?? assert.fail('a next cursor needs a full page');
        for (const [size, paging] of [
          [limit, pairs],
          [Number.POSITIVE_INFINITY, []],
        ] as const) {
          const continued = readOf(
            viewOfEvents(after, mode).all([...paging, ['cursor', first.nextCursor]], STRICT),
          );
          const { page, isLast } = pageOf(after, size, last, compareEvents);
          const answer = continued.execute('json');
          assertSameList(listOf(answer), page.map(recordOf));
          assert.equal(answer.total, after.length, 'the total does not depend on the page');
          assert.equal(answer.nextCursor === null, isLast);
        }
        compared++;
      }),
      { seed: 20240904, numRuns: runs(200) },
    );
    t.ok(compared > runs(50), `${compared} continued pages compared`);
    t.end();
  });
}

test('types are those of the events, distinct and in code point order', (t) => {
  fc.assert(
    fc.property(eventSets('uuid'), (events) => {
      assertWhole(readOf(viewOfEvents(events, 'uuid').types([], STRICT)), typesOracle(events));
    }),
    { seed: 20240905, numRuns: runs(100) },
  );
  const none = readOf(viewOfEvents([], 'uuid').types([], STRICT)).execute('json');
  t.same(listOf(none), []);
  t.end();
});

fastTest('an empty data set answers with empty lists for any filter', (t) => {
  const view = viewOfEvents([], 'uuid');
  for (const endpoint of [view.schedule, view.all, view.conflicts, view.types]) {
    const answer = readOf(endpoint.call(view, [], STRICT)).execute('json');
    t.equal(Buffer.concat([...answer.body.makeChunks()]).toString(), '[]');
    t.match(answer, { total: 0, count: 0, nextCursor: null });
  }
  for (const endpoint of [view.schedule, view.conflicts]) {
    t.same(listOf(readOf(endpoint.call(view, [['type', 'LEC']], STRICT)).execute('json')), []);
  }
  t.equal(view.summary.span, null);
  t.end();
});

test('a view describes its events: count, slots, span and mode', (t) => {
  fc.assert(
    fc.property(eventSets('any'), (events) => {
      const { summary } = viewOfEvents(events, 'any');
      assert.equal(summary.events, events.length);
      assert.equal(summary.slots, new Set(events.map((event) => `${event.time} ${event.endTime}`)).size);
      assert.equal(summary.identifiers, 'any');
      const startMs = Math.min(...events.map((event) => event.time));
      const endMs = Math.max(...events.map((event) => event.endTime));
      assert.deepEqual(summary.span, events.length === 0 ? null : { startMs, endMs });
    }),
    { seed: 20240906, numRuns: runs(100) },
  );
  t.match(viewOfEvents([], 'any').summary.id, /^[\w-]{22}$/);
  t.end();
});
