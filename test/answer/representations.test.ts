import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import type { ReadResult } from '../../src/answer/answer.js';
import type { FieldFilter } from '../../src/answer/query.js';
import type { ParameterPairs, View } from '../../src/answer/view.js';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { runs, SLOW } from '../hard/size.js';
import { eventsInOrder } from '../oracle/events.js';
import type { OracleQuery } from '../oracle/schedule.js';
import { eventSets } from './generated-events.js';
import {
  conflictPairsOf,
  conflictRecipes,
  recipes,
  requestOf,
  selectedKinds,
  universeOf,
} from './generated-requests.js';
import { assertSameList, listOf, readOf, STRICT, unpackedListOf, viewOfEvents } from './reading.js';

/** Two texts are equal exactly when the queries mean the same. */
function meaningOf(query: OracleQuery): string {
  const filters = query.filters
    .map(({ field, values, isExcluding = false }) => ({
      name: isExcluding ? `${field}!` : field,
      values: [...new Set(values)].sort(),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return JSON.stringify([filters, query.startMs, query.endMs]);
}

const tagOf = (result: ReadResult): string => readOf(result).entityTag('json');

/** One generated set with many events, where every filter is available. */
function richSet(): NormalisedEvent[] {
  const isRich = (events: NormalisedEvent[]): boolean =>
    events.length > 30 &&
    [...universeOf(events, 'uuid').values.values()].every((values) => values.length >= 2);
  const sets = fc.sample(eventSets('uuid'), { seed: 4, numRuns: runs(100) });
  return sets.find(isRich) ?? assert.fail('no generated set is large enough');
}

test('MessagePack answers, decoded by another library, equal the JSON ones', (t) => {
  let entries = 0;
  const sets = fc.tuple(
    fc
      .constantFrom('uuid' as const, 'any' as const)
      .chain((mode) => fc.tuple(fc.constant(mode), eventSets(mode))),
    fc.array(fc.tuple(recipes, conflictRecipes), { maxLength: 4 }),
    fc.integer({ min: 1, max: 5 }),
  );
  const assertAgree = (result: ReadResult): void => {
    const read = readOf(result);
    const [json, packed] = [read.execute('json'), read.execute('msgpack')];
    assertSameList(unpackedListOf(packed), listOf(json));
    assert.equal(packed.total, json.total);
    assert.equal(packed.nextCursor, json.nextCursor);
    entries += json.count;
  };
  fc.assert(
    fc.property(sets, ([[mode, events], asked, limit]) => {
      const view = viewOfEvents(events, mode);
      assertAgree(view.all([], STRICT));
      assertAgree(view.all([['limit', `${limit}`]], STRICT));
      assertAgree(view.types([], STRICT));
      assertAgree(view.conflicts([], STRICT));
      for (const [recipe, conflictRecipe] of asked) {
        const request = requestOf(recipe, universeOf(events, mode));
        if (request.faults.length > 0) continue;
        assertAgree(view.schedule(request.pairs, STRICT));
        assertAgree(view.conflicts([...request.pairs, ...conflictPairsOf(conflictRecipe)], STRICT));
      }
    }),
    { seed: 20241010, numRuns: runs(100) },
  );
  t.ok(entries > runs(2000), `${entries} entries compared`);
  t.end();
});

test('MessagePack frames arrays of every length class', (t) => {
  const base: Omit<NormalisedEvent, 'id'> = {
    time: 0,
    endTime: 60_000,
    title: 'x'.repeat(70_000),
    roomId: 'r',
    courseId: null,
    studyGroup: null,
    lecturer: 'é'.repeat(20),
    type: '\u{1F600}'.repeat(70),
    groupId: null,
    lecturerId: null,
  };
  // fixarray ends at 15, array 16 at 65,535; strings change at 31, 255 and 65,535 bytes.
  for (const length of [1, 15, 16, 17]) {
    const events = Array.from({ length }, (_, i) => ({ ...base, id: `e${i}` }));
    const view = viewOfEvents(events, 'any');
    const read = readOf(view.all([], STRICT));
    t.same(unpackedListOf(read.execute('msgpack')), listOf(read.execute('json')), `${length} events`);
    const conflicts = readOf(view.conflicts([], STRICT));
    t.same(unpackedListOf(conflicts.execute('msgpack')), listOf(conflicts.execute('json')));
  }
  const many = Array.from({ length: 65_536 }, (_, i) => ({
    ...base,
    title: null,
    type: `${i}`,
    id: `e${i}`,
    endTime: 0,
  }));
  for (const length of SLOW ? [65_535, 65_536] : [65_536]) {
    const view = viewOfEvents(many.slice(0, length), 'any');
    for (const result of [view.all([], STRICT), view.types([], STRICT)]) {
      t.equal(unpackedListOf(readOf(result).execute('msgpack')).length, length);
    }
  }
  t.end();
});

test('an entity tag is weak, and is equal exactly for equivalent queries', (t) => {
  const events = richSet();
  const view = viewOfEvents(events, 'uuid');
  const universe = universeOf(events, 'uuid');
  const meaningByTag = new Map<string, string>();
  const tagByMeaning = new Map<string, string>();
  let again = 0;
  for (const recipe of fc.sample(recipes, { seed: 20241011, numRuns: runs(1500) })) {
    for (const spelling of [recipe.spelling, recipe.spelling + 1, recipe.spelling + 4]) {
      const request = requestOf({ ...recipe, spelling }, universe);
      if (request.faults.length > 0) continue;
      const repeated = spelling % 2 === 0 ? request.pairs.filter(([name]) => !name.endsWith('Time')) : [];
      const tag = tagOf(view.schedule([...repeated.reverse(), ...request.pairs], STRICT));
      assert.match(tag, /^W\/"[\x21\x23-\x7E]+"$/);
      const meaning = meaningOf(request.query);
      if (tagByMeaning.has(meaning)) again++;
      assert.equal(tagByMeaning.get(meaning) ?? tag, tag, `equal for ${meaning}`);
      assert.equal(meaningByTag.get(tag) ?? meaning, meaning, 'different for different queries');
      tagByMeaning.set(meaning, tag);
      meaningByTag.set(tag, meaning);
    }
  }
  t.ok(tagByMeaning.size > runs(1000), `${tagByMeaning.size} different queries`);
  t.ok(again > runs(1000), `${again} other ways of writing them`);
  t.end();
});

test('a conflict tag is equal exactly for the same scope, kinds and merging', (t) => {
  const events = richSet();
  const view = viewOfEvents(events, 'uuid');
  const universe = universeOf(events, 'uuid');
  const tags = new Map<string, string>();
  for (const [recipe, conflictRecipe] of fc.sample(fc.tuple(recipes, conflictRecipes), {
    seed: 20241012,
    numRuns: runs(1000),
  })) {
    const request = requestOf(recipe, universe);
    if (request.faults.length > 0) continue;
    const kinds = [...new Set(selectedKinds(conflictRecipe))].sort();
    const meaning = JSON.stringify([meaningOf(request.query), kinds, conflictRecipe.merge ?? 'true']);
    const tag = tagOf(view.conflicts([...conflictPairsOf(conflictRecipe), ...request.pairs], STRICT));
    assert.equal(tags.get(meaning) ?? tag, tag, `equal for ${meaning}`);
    tags.set(meaning, tag);
  }
  t.equal(new Set(tags.values()).size, tags.size, 'different for different requests');
  t.ok(tags.size > runs(300), `${tags.size} different requests`);
  t.end();
});

test('tags differ by representation, endpoint, page and user', (t) => {
  const view = viewOfEvents(richSet(), 'uuid');
  const [event] = eventsInOrder(richSet());
  assert.ok(event);
  const studyGroup: FieldFilter = { field: 'studyGroup', values: ['LEC'] };
  const type: FieldFilter = { field: 'type', values: ['LEC'] };
  const both: FieldFilter = { field: 'type', values: ['LEC', 'lec'] };
  const firstPage: ParameterPairs = [['limit', '3']];
  const cursor = readOf(view.all(firstPage, STRICT)).execute('json').nextCursor;
  assert.ok(cursor !== null);
  const reads: Record<string, ReadResult> = {
    schedule: view.schedule([['type', 'LEC']], STRICT),
    'another field with the same value': view.schedule([['studyGroup', 'LEC']], STRICT),
    types: view.types([], STRICT),
    conflicts: view.conflicts([], STRICT),
    'the first page': view.all(firstPage, STRICT),
    'a longer page': view.all([['limit', '4']], STRICT),
    'the second page': view.all([...firstPage, ['cursor', cursor]], STRICT),
    'all after the first page': view.all([['cursor', cursor]], STRICT),
    'a user': view.personal([], STRICT, [studyGroup]),
    'a user in another field': view.personal([], STRICT, [type]),
    'a user with two values': view.personal([], STRICT, [both]),
    'a user with two fields': view.personal([], STRICT, [studyGroup, type]),
    'a user without identities': view.personal([], STRICT, []),
    'a user with a filter': view.personal([['type', 'LEC']], STRICT, [studyGroup]),
  };
  const tags = new Map<string, string>();
  for (const [name, result] of Object.entries(reads)) {
    for (const format of ['json', 'msgpack'] as const) {
      const tag = readOf(result).entityTag(format);
      t.equal(readOf(result).entityTag(format), tag, `${name} as ${format} has one tag`);
      t.equal(tags.get(tag), undefined, `and no other has it`);
      tags.set(tag, `${name} as ${format}`);
    }
  }
  t.equal(
    tagOf(view.conflicts([], STRICT)),
    tagOf(
      view.conflicts(conflictPairsOf({ by: ['room', 'group', 'lecturer', 'room'], merge: 'true' }), STRICT),
    ),
    'defaults written out are the same request',
  );
  t.equal(
    tagOf(view.schedule([['format', 'json']], STRICT)),
    tagOf(view.schedule([], STRICT)),
    'how the representation was chosen does not matter',
  );
  t.end();
});

test('replicas have equal tags for records in any order; any change of content changes the tags', (t) => {
  const events = richSet();
  const tagsOf = (view: View): string[] =>
    [view.all([], STRICT), view.types([], STRICT), view.conflicts([], STRICT)].map(tagOf);
  const original = tagsOf(viewOfEvents(events, 'uuid'));
  t.same(tagsOf(viewOfEvents([...events].reverse(), 'uuid')), original);
  const [first, ...others] = events;
  assert.ok(first);
  const other = '11111111-1111-4111-8111-111111111111';
  const changes: Record<string, Partial<NormalisedEvent>> = {
    id: { id: other },
    time: { time: first.time - 1 },
    endTime: { endTime: first.endTime + 1 },
    title: { title: 'changed' },
    roomId: { roomId: other },
    courseId: { courseId: other },
    studyGroup: { studyGroup: 'changed' },
    lecturer: { lecturer: 'changed' },
    type: { type: 'changed' },
    groupId: { groupId: other },
    lecturerId: { lecturerId: other },
  };
  const seen = new Set(original);
  for (const [field, change] of Object.entries(changes)) {
    const tags = tagsOf(viewOfEvents([{ ...first, ...change }, ...others], 'uuid'));
    t.notOk(
      tags.some((tag) => seen.has(tag)),
      `${field} is covered`,
    );
    for (const tag of tags) seen.add(tag);
  }
  t.notOk(
    tagsOf(viewOfEvents(others, 'uuid')).some((tag) => seen.has(tag)),
    'one event fewer',
  );
  t.end();
});
