/** Directories against a scan of all events, on generated and real timetables. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import type { DirectoryEntry, IdentifierMode, NormalisedEvent } from '../../src/model/event.js';
import { DIRECTORIES, type DirectoryName } from '../../src/model/fields.js';
import { createNormaliser, isRejection } from '../../src/normalise/normalise.js';
import type { ReadResult } from '../../src/view/answer.js';
import type { ParameterPairs, View } from '../../src/view/view.js';
import { compareEntries, directoryOracle } from '../oracle/directories.js';
import { eventsInOrder } from '../oracle/events.js';
import { type OracleQuery, pageOf } from '../oracle/schedule.js';
import { eventSets } from './generated-events.js';
import { recipes, requestOf, spellInstant, universeOf } from './generated-requests.js';
import { namedRecordsOf } from './named-records.js';
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
import { findDataSets, NO_DATA } from './real-sets.js';

const NAMES: readonly DirectoryName[] = DIRECTORIES.map(({ name }) => name);
const NO_QUERY = { filters: [], startMs: null, endMs: null };

/** Parts of ids and names that are there, in another case and in another form, and some that are not. */
const searches = fc.option(
  fc.record({ pick: fc.nat(), from: fc.nat(20), length: fc.integer({ min: 1, max: 8 }), way: fc.nat(3) }),
  { freq: 2 },
);

function searchOf(
  entries: readonly DirectoryEntry[],
  { pick, from, length, way }: { pick: number; from: number; length: number; way: number },
): string | null {
  const texts = entries.flatMap(({ id, name }) => [id, name]).filter((text) => text !== null);
  const characters = [...(texts[pick % Math.max(1, texts.length)] ?? 'nothing')];
  const begin = from % characters.length;
  const part = characters.slice(begin, begin + length).join('');
  const spelled = [part, part.toUpperCase(), part.toLowerCase(), part.normalize('NFD')][way] ?? part;
  // Only marks: nothing is left to search for, which is a fault.
  return /^\p{M}*$/u.test(spelled.normalize('NFD')) ? null : spelled;
}

for (const mode of ['uuid', 'any'] as const satisfies IdentifierMode[]) {
  test(`directories are what a scan of all events finds (identifiers: ${mode})`, {
    timeout: 120_000,
  }, async (t) => {
    const seen = { compared: 0, some: 0, withoutId: 0, withoutName: 0, searched: 0 };
    const sets = fc.tuple(
      eventSets(mode, { repeats: true }),
      fc.array(fc.tuple(recipes, searches), { minLength: 1, maxLength: 6 }),
    );
    fc.assert(
      fc.property(sets, ([events, asked]) => {
        const view = viewOfEvents(events, mode);
        const ordered = eventsInOrder(events);
        const universe = universeOf(ordered, mode);
        for (const name of NAMES) {
          const everything = directoryOracle(ordered, name, NO_QUERY);
          assertWhole(readOf(view.directory(name, [], STRICT)), everything);
          for (const [recipe, search] of asked) {
            const request = requestOf(recipe, universe);
            const q = search === null ? null : searchOf(everything, search);
            const pairs: ParameterPairs = q === null ? request.pairs : [...request.pairs, ['q', q]];
            const result = view.directory(name, pairs, STRICT);
            if (request.faults.length > 0) {
              assertFaults(result, request.faults);
              continue;
            }
            const expected = directoryOracle(ordered, name, request.query, q);
            assertWhole(readOf(result), expected);
            assertWhole(readOf(result), expected, 'msgpack');
            seen.compared++;
            if (expected.length > 0 && expected.length < everything.length) seen.some++;
            if (expected.length > 0 && q !== null) seen.searched++;
            seen.withoutId += expected.filter(({ id }) => id === null).length;
            seen.withoutName += expected.filter((entry) => entry.name === null).length;
          }
        }
      }),
      { seed: 20240904, numRuns: 160 },
    );
    t.comment(JSON.stringify(seen));
    for (const [what, count] of Object.entries(seen)) t.ok(count > 30, `${what}: ${count}`);
  });

  test(`pages of directories follow one another (identifiers: ${mode})`, async (t) => {
    let pages = 0;
    const sets = fc.tuple(eventSets(mode), fc.constantFrom(...NAMES), fc.integer({ min: 1, max: 3 }));
    fc.assert(
      fc.property(sets, ([events, name, limit]) => {
        const view = viewOfEvents(events, mode);
        const expected = directoryOracle(eventsInOrder(events), name, NO_QUERY);
        const read = (pairs: ParameterPairs): ReadResult => view.directory(name, pairs, STRICT);
        assertSameList(followPages(read, [], limit, expected.length), expected);
        pages += Math.ceil(expected.length / limit);
      }),
      { seed: 20240905, numRuns: 120 },
    );
    t.ok(pages > 150, `${pages} pages`);
  });

  test(`a page goes on where the one before ended, also in another snapshot (identifiers: ${mode})`, async (t) => {
    let compared = 0;
    const sets = fc.tuple(eventSets(mode), eventSets(mode), fc.constantFrom(...NAMES), fc.nat());
    fc.assert(
      fc.property(sets, ([before, after, name, pick]) => {
        const first = directoryOracle(eventsInOrder(before), name, NO_QUERY);
        if (first.length < 2) return;
        const limit = 1 + (pick % (first.length - 1));
        const cursor = cursorOf(viewOfEvents(before, mode), name, [['limit', String(limit)]]);
        const last = first[limit - 1] as DirectoryEntry;
        const all = directoryOracle(eventsInOrder(after), name, NO_QUERY);
        const { page } = pageOf(all, all.length, last, compareEntries);
        const read = readOf(viewOfEvents(after, mode).directory(name, [['cursor', cursor]], STRICT));
        assertSameList(listOf(read.execute('json')), page);
        compared++;
      }),
      { seed: 20240906, numRuns: 150 },
    );
    t.ok(compared > 50, `${compared} pages`);
  });
}

function cursorOf(view: View, name: DirectoryName, pairs: ParameterPairs): string {
  const { nextCursor } = readOf(view.directory(name, pairs, STRICT)).execute('json');
  assert.ok(nextCursor !== null);
  return nextCursor;
}

const DATA_SETS = findDataSets();
if (DATA_SETS.length === 0) test(NO_DATA, async (t) => t.comment(NO_DATA));
for (const dataSet of DATA_SETS) {
  test(`directories of real data: ${dataSet.name}`, { timeout: 300_000 }, async (t) => {
    const normalise = createNormaliser('uuid');
    const events = namedRecordsOf(dataSet).map((record, n) => {
      const event = normalise(record, { record: n + 1 });
      assert.ok(!isRejection(event));
      return event;
    });
    const view = viewOfEvents(events, 'uuid');
    const ordered = eventsInOrder(events);
    const universe = universeOf(ordered, 'uuid');
    // In these sets no names disagree.
    const names = new Map<string | null, string | null | undefined>();
    for (const {
      roomId,
      roomName,
      courseId,
      courseName,
      groupId,
      groupName,
      lecturerId,
      lecturer,
    } of ordered) {
      names.set(roomId, roomName).set(courseId, courseName).set(groupId, groupName).set(lecturerId, lecturer);
    }
    const expectedOf = (name: DirectoryName, query: OracleQuery): DirectoryEntry[] =>
      directoryOracle(ordered, name, query, null, (id) => names.get(id) ?? null);
    for (const name of NAMES) {
      const whole = expectedOf(name, NO_QUERY);
      t.ok(whole.length > 0, `${whole.length} ${name}`);
      const read = (pairs: ParameterPairs): ReadResult => view.directory(name, pairs, STRICT);
      assertWhole(readOf(read([])), whole);
      assertWhole(readOf(read([])), whole, 'msgpack');
      assertSameList(followPages(read, [], 50, whole.length), whole);
    }
    fc.assert(
      fc.property(recipes, fc.constantFrom(...NAMES), (recipe, name) => {
        const { pairs, query, faults } = requestOf(recipe, universe);
        if (faults.length > 0) return;
        assertWhole(readOf(view.directory(name, pairs, STRICT)), expectedOf(name, query));
      }),
      { seed: 7, numRuns: ordered.length < 5000 ? 200 : 25 },
    );
    const weekMs = 7 * 24 * 3_600_000;
    const startMs = (ordered[0] as NormalisedEvent).time + weekMs;
    const window: ParameterPairs = [
      ['startTime', spellInstant(startMs, 5)],
      ['endTime', spellInstant(startMs + weekMs, 5)],
    ];
    const query = { filters: [], startMs, endMs: startMs + weekMs };
    assertWhole(readOf(view.directory('rooms', window, STRICT)), expectedOf('rooms', query));
  });
}
