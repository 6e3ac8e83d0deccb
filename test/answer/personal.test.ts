import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import type { FieldFilter } from '../../src/answer/query.js';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import type { IndexedFieldName } from '../../src/base/model/fields.js';
import { runs } from '../hard/size.js';
import { compareText, eventsInOrder, recordOf } from '../oracle/events.js';
import { personalOracle } from '../oracle/personal.js';
import { eventSets } from './generated-events.js';
import { recipes, requestOf, universeOf } from './generated-requests.js';
import {
  assertFaults,
  assertSameList,
  assertWhole,
  followPages,
  readOf,
  STRICT,
  viewOfEvents,
} from './reading.js';

/** What claims and enrolments may select on, and the keys of conflicts. */
const INDEXED: readonly IndexedFieldName[] = [
  'roomId',
  'courseId',
  'studyGroup',
  'lecturer',
  'type',
  'groupId',
  'lecturerId',
];

interface IdentityRecipe {
  readonly field: IndexedFieldName;
  readonly picks: readonly number[];
}

const identityRecipes: fc.Arbitrary<IdentityRecipe[]> = fc.uniqueArray(
  fc.record({
    field: fc.constantFrom(...INDEXED),
    picks: fc.array(fc.nat(1000), { minLength: 1, maxLength: 3 }),
  }),
  { selector: (identity) => identity.field, maxLength: 4 },
);

/**
 * Identities in the canonical form that authentication gives: code point order, without repeats. Some values
 * match nothing.
 */
function identitiesOf(asked: readonly IdentityRecipe[], events: readonly NormalisedEvent[]): FieldFilter[] {
  return asked.map(({ field, picks }) => {
    const values = [
      ...new Set(events.map((event) => event[field]).filter((value) => value !== null)),
      'no such value',
    ];
    const picked = new Set(picks.map((pick) => values[pick % values.length] as string));
    return { field, values: [...picked].sort(compareText) };
  });
}

test('personal answers hold the union of the identities, narrowed by the filters', (t) => {
  let compared = 0;
  let answeredSome = 0;
  const sets = fc.tuple(
    eventSets('any'),
    fc.array(fc.tuple(identityRecipes, recipes, fc.integer({ min: 1, max: 5 })), {
      minLength: 1,
      maxLength: 8,
    }),
  );
  fc.assert(
    fc.property(sets, ([events, asked]) => {
      const view = viewOfEvents(events, 'any');
      const ordered = eventsInOrder(events);
      const universe = universeOf(ordered, 'any');
      for (const [identityRecipe, recipe, limit] of asked) {
        const identities = identitiesOf(identityRecipe, ordered);
        const request = requestOf(recipe, universe);
        const result = view.personal(request.pairs, STRICT, identities);
        compared++;
        if (request.faults.length > 0) {
          assertFaults(result, request.faults);
          continue;
        }
        const expected = personalOracle(ordered, request.query, identities).map(recordOf);
        if (expected.length > 0 && expected.length < ordered.length) answeredSome++;
        assertWhole(readOf(result), expected);
        const personal = (pairs: Parameters<typeof view.all>[0]) => view.personal(pairs, STRICT, identities);
        assertSameList(followPages(personal, request.pairs, limit, expected.length), expected);
      }
    }),
    { seed: 20240910, numRuns: runs(300) },
  );
  t.ok(compared > runs(1000), `${compared} requests compared`);
  t.ok(answeredSome > runs(200), `${answeredSome} of them selected some events, but not all`);
  t.end();
});

test('identities without events give an empty list, never everything', (t) => {
  fc.assert(
    fc.property(eventSets('uuid'), (events) => {
      const view = viewOfEvents(events, 'uuid');
      assertWhole(readOf(view.personal([], STRICT, [])), []);
      const unknown = INDEXED.map((field) => ({ field, values: ['no such value'] }));
      assertWhole(readOf(view.personal([], STRICT, unknown)), []);
    }),
    { seed: 20240911, numRuns: runs(50) },
  );
  t.end();
});

test('an identity in an unused field selects nothing and is not a fault', (t) => {
  const [event] =
    fc.sample(eventSets('uuid'), { seed: 1, numRuns: runs(50) }).find((set) => set.length > 0) ?? [];
  assert.ok(event);
  const bare: NormalisedEvent = { ...event, groupId: null, studyGroup: 'G', lecturerId: null };
  const view = viewOfEvents([bare], 'uuid');
  const nobody: FieldFilter = { field: 'groupId', values: ['50f0c54d-dfa5-5be7-8774-a1c7cb322252'] };
  assertWhole(readOf(view.personal([], STRICT, [nobody])), []);
  const both: FieldFilter[] = [{ field: 'studyGroup', values: ['G'] }, nobody];
  assertWhole(readOf(view.personal([], STRICT, both)), [recordOf(bare)]);
  t.end();
});
