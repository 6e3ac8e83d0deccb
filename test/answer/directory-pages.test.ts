/** Pages of directories, their sizes, tags and plans. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import type { ReadResult } from '../../src/answer/answer.js';
import type { ParameterPairs, View } from '../../src/answer/view.js';
import { BODY_WHOLE_BYTES_MAX, CURSOR_CHARACTERS_MAX, NAME_UNITS_MAX } from '../../src/base/limits.js';
import type { DirectoryEntry, NormalisedEvent } from '../../src/base/model/event.js';
import type { DirectoryName } from '../../src/base/model/fields.js';
import { fastTest } from '../hard/slow-test.js';
import { createNormaliser, isRejection } from '../normalise/objects.js';
import { compareEntries, directoryOracle } from '../oracle/directories.js';
import { eventsInOrder } from '../oracle/events.js';
import type { OracleQuery } from '../oracle/schedule.js';
import { eventOf } from '../snapshot/images.js';
import { recipes, requestOf, spellInstant, universeOf } from './generated-requests.js';
import { namedRecordsOf } from './named-records.js';
import {
  assertSameList,
  assertWhole,
  directoryCursorOf,
  entriesOf,
  followPages,
  listOf,
  readOf,
  STRICT,
  unpackedListOf,
  viewOfEvents,
} from './reading.js';
import { findDataSets, NO_DATA } from './real-sets.js';

const NAMES: readonly DirectoryName[] = ['rooms', 'courses', 'groups', 'lecturers'];
const NO_QUERY = { filters: [], startMs: null, endMs: null };

fastTest('the longest names have cursors, and stay apart even if they differ only at the end', async (t) => {
  const long = '\u0001国'.repeat((NAME_UNITS_MAX - 2) / 2);
  const names = ['é', 'a', '\n', '国'].map((end) => `${long}国${end}`);
  const view = viewOfEvents(
    [...names, ...names].map((roomName, n) => eventOf(n, { roomId: `r${n}`, roomName })),
    'any',
  );
  const all = entriesOf(view, 'rooms');
  t.equal(all.length, 8);
  const read = (pairs: ParameterPairs): ReadResult => view.directory('rooms', pairs, STRICT);
  t.strictSame(followPages(read, [], 1, 8), all);
  t.strictSame(followPages(read, [], 3, 8), all);
  const cursor = directoryCursorOf(view, 'rooms', [['limit', '3']]);
  t.ok(cursor.length <= CURSOR_CHARACTERS_MAX, `${cursor.length}`);
  const after = (...ends: string[]): number => {
    const others = ends.map((end, n) => eventOf(n, { roomId: `r${n}`, roomName: `${long}国${end}` }));
    return entriesOf(viewOfEvents(others, 'any'), 'rooms', [['cursor', cursor]]).length;
  };
  t.equal(after('a', 'é'), 1, 'the entry of the cursor was removed: its id');
  t.equal(after('\n', 'b'), 1, 'the entry of the cursor was removed: its name');
});

fastTest('a large directory comes in slices, equal in both formats', async (t) => {
  const events = Array.from({ length: 9000 }, (_, n) =>
    eventOf(n, { courseId: `Course ${n % 8999}`, courseName: n % 7 === 0 ? null : `"${n}" Übung 😀\n` }),
  );
  const view = viewOfEvents(events, 'any');
  const read = readOf(view.directory('courses', [], STRICT));
  const json = read.execute('json');
  const chunks = [...json.body.makeChunks()];
  t.ok((json.body.byteLength ?? 0) > BODY_WHOLE_BYTES_MAX && chunks.length > 4, `${chunks.length} chunks`);
  const list = listOf(json) as DirectoryEntry[];
  t.equal(list.length, 8999);
  t.strictSame(unpackedListOf(read.execute('msgpack')), list);
  t.strictSame([...list].sort(compareEntries), list);
  t.equal(
    list.reduce((sum, { events: count }) => sum + count, 0),
    9000,
  );
});

fastTest('numbers of events of any length are written in both formats', async (t) => {
  const counts = [1, 9, 10, 99, 100, 127, 128, 255, 256, 999, 1000, 9999, 65_536];
  const events: NormalisedEvent[] = [];
  for (const count of counts) {
    for (let n = 0; n < count; n++) events.push(eventOf(events.length, { roomId: `r${count}` }));
  }
  const read = readOf(viewOfEvents(events, 'any').directory('rooms', [], STRICT));
  const list = listOf(read.execute('json')) as DirectoryEntry[];
  t.strictSame(
    list.map(({ events: count }) => count).sort((a, b) => a - b),
    counts,
  );
  t.strictSame(unpackedListOf(read.execute('msgpack')), list);
});

fastTest('the entity tag covers only query, search, format and names', async (t) => {
  const events = (roomName: string): NormalisedEvent[] => [eventOf(0, { roomName }), eventOf(1)];
  const tag = (view: View, name: DirectoryName, ...pairs: (readonly [string, string])[]): string =>
    readOf(view.directory(name, pairs, STRICT)).entityTag('json');
  const view = viewOfEvents(events('A'), 'uuid');
  const tags = [
    tag(view, 'rooms'),
    tag(view, 'courses'),
    tag(view, 'rooms', ['q', 'a']),
    tag(view, 'rooms', ['q', 'b']),
    tag(view, 'rooms', ['type', 'a']),
    tag(view, 'rooms', ['limit', '1']),
    tag(view, 'rooms', ['cursor', directoryCursorOf(view, 'rooms', [['limit', '1']])]),
    tag(viewOfEvents(events('B'), 'uuid'), 'rooms'),
    readOf(view.directory('rooms', [], STRICT)).entityTag('msgpack'),
    readOf(view.schedule([], STRICT)).entityTag('json'),
  ];
  t.equal(new Set(tags).size, tags.length);
  t.equal(tag(view, 'rooms', ['q', 'Á']), tag(view, 'rooms', ['q', 'a']), 'the search form counts');
  t.equal(tag(viewOfEvents(events('A').reverse(), 'uuid'), 'rooms'), tags[0], 'a replica agrees');
});

fastTest('plans say how events are counted', async (t) => {
  const view = viewOfEvents(
    Array.from({ length: 40 }, (_, n) => eventOf(n)),
    'uuid',
  );
  const planOf = (...pairs: (readonly [string, string])[]): unknown => {
    const explained = view.explain(pairs, STRICT, 'rooms');
    assert.ok('plan' in explained);
    return [explained.plan, explained.total, explained.count];
  };
  t.strictSame(planOf(), [
    'LEAD all events: 40 candidates\nCOUNT 4 rooms by the lengths of posting lists',
    4,
    4,
  ]);
  t.strictSame(planOf(['type', 'Lab'], ['limit', '2']), [
    'LEAD type of 1 value: 14 postings\nCOUNT 4 rooms by the codes of the events found',
    4,
    2,
  ]);
});

const DATA_SETS = findDataSets();
if (DATA_SETS.length === 0) test(NO_DATA, async (t) => t.comment(NO_DATA));
for (const dataSet of DATA_SETS) {
  test(`directories of real data agree with the oracle: ${dataSet.name}`, async (t) => {
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
      { seed: 7, numRuns: ordered.length < 5000 ? 200 : 40 },
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
