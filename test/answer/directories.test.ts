import fc from 'fast-check';
import { test } from 'tap';
import type { ReadResult } from '../../src/answer/answer.js';
import type { ParameterPairs } from '../../src/answer/view.js';
import type { DirectoryEntry, IdentifierMode } from '../../src/base/model/event.js';
import type { DirectoryName } from '../../src/base/model/fields.js';
import { runs, SLOW } from '../hard/size.js';
import { fastTest } from '../hard/slow-test.js';
import { compareEntries, directoryOracle } from '../oracle/directories.js';
import { eventsInOrder } from '../oracle/events.js';
import { pageOf } from '../oracle/schedule.js';
import { eventOf } from '../snapshot/images.js';
import { eventSets } from './generated-events.js';
import { recipes, requestOf, universeOf } from './generated-requests.js';
import {
  assertFaults,
  assertSameList,
  assertWhole,
  directoryCursorOf,
  entriesOf,
  followPages,
  listOf,
  readOf,
  STRICT,
  viewOfEvents,
} from './reading.js';

const NAMES: readonly DirectoryName[] = ['rooms', 'courses', 'groups', 'lecturers'];
const NO_QUERY = { filters: [], startMs: null, endMs: null };

/** Parts of existing ids and names, in another case and form, and some that do not exist. */
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
  // With only marks, no text is left to search for, which is a fault.
  return /^\p{M}*$/u.test(spelled.normalize('NFD')) ? null : spelled;
}

for (const mode of ['uuid', 'any'] as const satisfies IdentifierMode[]) {
  test(`directories agree with a scan of all events (identifiers: ${mode})`, async (t) => {
    const seen = { compared: 0, some: 0, withoutId: 0, withoutName: 0, searched: 0 };
    const sets = fc.tuple(
      eventSets(mode, { repeats: true }),
      fc.array(fc.tuple(recipes, searches), { minLength: 1, maxLength: 8 }),
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
      { seed: 20240904, numRuns: runs(250) },
    );
    t.comment(JSON.stringify(seen));
    for (const [what, count] of Object.entries(seen)) t.ok(count > runs(75), `${what}: ${count}`);
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
      { seed: 20240905, numRuns: runs(200) },
    );
    t.ok(pages > runs(300), `${pages} pages`);
  });

  test(`a page continues where the previous one ended, even in another snapshot (identifiers: ${mode})`, async (t) => {
    let compared = 0;
    const sets = fc.tuple(eventSets(mode), eventSets(mode), fc.constantFrom(...NAMES), fc.nat());
    fc.assert(
      fc.property(sets, ([before, after, name, pick]) => {
        const first = directoryOracle(eventsInOrder(before), name, NO_QUERY);
        if (first.length < 2) return;
        const limit = 1 + (pick % (first.length - 1));
        const cursor = directoryCursorOf(viewOfEvents(before, mode), name, [['limit', String(limit)]]);
        const last = first[limit - 1] as DirectoryEntry;
        const all = directoryOracle(eventsInOrder(after), name, NO_QUERY);
        const { page } = pageOf(all, all.length, last, compareEntries);
        const read = readOf(viewOfEvents(after, mode).directory(name, [['cursor', cursor]], STRICT));
        assertSameList(listOf(read.execute('json')), page);
        compared++;
      }),
      { seed: 20240906, numRuns: runs(150) },
    );
    t.ok(compared > runs(50), `${compared} pages`);
  });
}

fastTest('an entry has an id and a name, or null; nulls come last', async (t) => {
  const events = [
    eventOf(0, { groupId: 'g2', groupName: 'B', studyGroup: 'x', lecturer: 'Roe', lecturerId: null }),
    eventOf(1, { groupId: 'g1', groupName: 'B', studyGroup: 'x', lecturer: 'Doe', lecturerId: 'l2' }),
    eventOf(2, { groupId: 'g3', studyGroup: 'A', lecturer: null, lecturerId: 'l1' }),
    eventOf(3, { groupId: 'g4', studyGroup: null, lecturer: '', lecturerId: null }),
    eventOf(4, { groupId: null, studyGroup: 'B', lecturer: 'Doe', lecturerId: null }),
    eventOf(5, { groupId: null, studyGroup: '', lecturer: 'Doe', lecturerId: 'l2' }),
    eventOf(6, { groupId: null, studyGroup: null, lecturer: null, lecturerId: null }),
  ];
  const view = viewOfEvents(events, 'any');
  t.strictSame(entriesOf(view, 'groups'), [
    { id: 'g3', name: 'A', events: 1 },
    { id: 'g1', name: 'B', events: 1 },
    { id: 'g2', name: 'B', events: 1 },
    { id: null, name: 'B', events: 1 },
    { id: 'g4', name: null, events: 1 },
  ]);
  t.strictSame(entriesOf(view, 'lecturers'), [
    { id: 'l2', name: 'Doe', events: 2 },
    { id: null, name: 'Doe', events: 1 },
    { id: null, name: 'Roe', events: 1 },
    { id: 'l1', name: null, events: 1 },
  ]);
  t.strictSame(entriesOf(view, 'courses'), []);
});

fastTest('a data set that has only study groups has a directory of them', async (t) => {
  const view = viewOfEvents(
    ['B', 'A', 'B'].map((studyGroup, n) => eventOf(n, { studyGroup })),
    'uuid',
  );
  t.strictSame(entriesOf(view, 'groups'), [
    { id: null, name: 'A', events: 1 },
    { id: null, name: 'B', events: 2 },
  ]);
});

const HALLS = [
  'Salle Éluard',
  'Straße 7',
  'ΟΔΟΣ',
  'İstanbul',
  'Łódź',
  'ﬁne arts',
  'a.b (c)*',
  'Ångström',
  '教室 12',
];

const SEARCHES: readonly (readonly [q: string, found: readonly string[]])[] = [
  ['eluard', ['Salle Éluard']],
  ['ÉLUARD', ['Salle Éluard']],
  ['E\u0301luard', ['Salle Éluard']],
  ['lle él', ['Salle Éluard']],
  ['strasse', ['Straße 7']],
  ['STRASSE', ['Straße 7']],
  ['STRAẞE', ['Straße 7']],
  ['straße', ['Straße 7']],
  ['οδος', ['ΟΔΟΣ']],
  ['οδοσ', ['ΟΔΟΣ']],
  ['δοΣ', ['ΟΔΟΣ']],
  ['istan', ['İstanbul']],
  ['ISTAN', ['İstanbul']],
  ['lodz', []],
  ['łodz', ['Łódź']],
  ['FINE', ['ﬁne arts']],
  ['b (c)*', ['a.b (c)*']],
  ['.*', []],
  ['ANGSTROM', ['Ångström']],
  ['\u212Bngstr', ['Ångström']],
  ['室', ['教室 12']],
  ['7 ', []],
  ['hall-0', ['Salle Éluard']],
  ['HALL-0', ['Salle Éluard']],
  // The search forms of two values are adjacent; a match across both must not count.
  ['hall-0hall-1', []],
  ['0hall', []],
];

for (const [q, found] of SEARCHES) {
  fastTest(`q=${q} finds ${found.join() || 'nothing'}`, async (t) => {
    const view = viewOfEvents(
      HALLS.map((roomName, n) => eventOf(n, { roomId: `Hall-${n}`, roomName })),
      'any',
    );
    t.strictSame(
      entriesOf(view, 'rooms', [['q', q]]).map(({ name }) => name),
      found,
    );
  });
}

test('searching ignores case for every letter, as regular expressions do', async (t) => {
  const letters = Array.from({ length: 0x1e944 }, (_, code) => code)
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code))
    .filter((letter) => /\p{L}/u.test(letter) && letter.toUpperCase() !== letter.toLowerCase())
    // An iota subscript is a mark, and its upper case is a letter.
    .filter((letter) => !letter.normalize('NFD').includes('\u0345'))
    .filter((_, n) => SLOW || n % 4 === 0);
  t.ok(letters.length > runs(2000), `${letters.length} letters`);
  const view = viewOfEvents(
    letters.map((roomName, n) => eventOf(n, { roomId: `Room ${n}`, roomName: roomName.normalize('NFC') })),
    'any',
  );
  const missed = letters.filter((letter) => {
    const wanted = letter.normalize('NFC');
    return [letter.toUpperCase(), letter.toLowerCase()].some(
      (q) => !entriesOf(view, 'rooms', [['q', q]]).some(({ name }) => name === wanted),
    );
  });
  t.strictSame(missed, []);
});

fastTest('directories refuse faulty parameters', async (t) => {
  const view = viewOfEvents([eventOf(0), eventOf(1)], 'uuid');
  const cursor = directoryCursorOf(view, 'rooms', [['limit', '1']]);
  const fault = (pairs: ParameterPairs): unknown => {
    const result = view.directory('courses', pairs, STRICT);
    return 'faults' in result && result.faults.map(({ parameter, code }) => `${parameter} ${code}`);
  };
  t.strictSame(fault([['q', '']]), ['q empty-value']);
  t.strictSame(fault([['q', '\u0301']]), ['q empty-value']);
  t.strictSame(fault([['q', '\ud800']]), ['q malformed-text']);
  t.strictSame(fault([['q', 'a'.repeat(201)]]), ['q value-too-long']);
  t.strictSame(fault([['q', 'ß'.repeat(101)]]), ['q value-too-long'], 'ß is searched as ss');
  t.strictSame(fault([['q', '\u0301'.repeat(7000)]]), ['q value-too-long'], 'long texts are not folded');
  t.same(entriesOf(view, 'rooms', [['q', 'a'.repeat(200)]]), []);
  t.same(entriesOf(view, 'rooms', [['q', 'ß'.repeat(100)]]), []);
  t.strictSame(
    fault([
      ['q', 'a'],
      ['q', 'b'],
    ]),
    ['q repeated-parameter'],
  );
  t.strictSame(fault([['cursor', cursor]]), ['cursor malformed-cursor'], 'a cursor of another directory');
  for (const other of ['W10', Buffer.from('["courses",1,null]').toString('base64url')]) {
    t.strictSame(fault([['cursor', other]]), ['cursor malformed-cursor']);
  }
  t.strictSame(fault([['by', 'room']]), ['by unknown-parameter']);
  t.strictSame(fault([['roomName', 'x']]), ['roomName unknown-parameter']);
});
