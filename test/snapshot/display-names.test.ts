/** Display names of rooms, courses, groups and lecturers: the kept names and their sources. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'tap';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { NAMED_FIELDS, type NamedFieldName } from '../../src/base/model/fields.js';
import { compare } from '../../src/change/compare.js';
import { loadImage } from '../../src/refresh/thread/load-image.js';
import { isSameImage, type SnapshotImage } from '../../src/snapshot/image.js';
import { readImageFile, writeImageFile } from '../../src/snapshot/image-file.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';
import { fileSource } from '../../src/source/file.js';
import { MemorySource } from '../../src/source/memory-source.js';
import { mergedSource } from '../../src/source/merged.js';
import { eventSets } from '../answer/generated-events.js';
import { namedRecordsOf } from '../answer/named-records.js';
import { snapshotOfEvents } from '../answer/reading.js';
import { findDataSets, NO_DATA } from '../answer/real-sets.js';
import { runs } from '../hard/size.js';
import { fastTest } from '../hard/slow-test.js';
import { eventsInOrder } from '../oracle/events.js';
import { nameOracle } from '../oracle/names.js';
import { memorySource } from '../source/collect.js';
import { eventOf, idOf, imageOf, stored } from './images.js';

function nameIn(snapshot: Snapshot, field: NamedFieldName, value: string): string | null {
  return snapshot.nameOf(field, snapshot.field(field).dictionary.codeOf(value));
}

const ROOM = '2c3c9bfd-5da4-5a45-8bdb-000000000000';

function namesOf(snapshot: Snapshot, field: NamedFieldName): Record<string, string | null> {
  return Object.fromEntries(
    snapshot.valuesOf(field).map((value, code) => {
      const name = snapshot.nameOf(field, code);
      assert.equal(nameIn(snapshot, field, value), name);
      return [value, name];
    }),
  );
}

function roomNameOf(...names: (string | null)[]): string | null {
  const events = names.map((roomName, n) => eventOf(n, { roomId: ROOM, roomName }));
  return nameIn(new Snapshot(imageOf(events)), 'roomId', ROOM);
}

const RULES: readonly (readonly [why: string, names: (string | null)[], expected: string | null])[] = [
  ['no event has a name', [null, null], null],
  ['one event of several has a name', [null, 'Aula', null], 'Aula'],
  ['the most frequent name wins', ['B', 'A', 'B'], 'B'],
  ['null does not count', [null, null, null, 'B'], 'B'],
  ['equally frequent: the first by code point', ['b', 'a', 'a', 'b', 'c'], 'a'],
  ['equally frequent: code points, not UTF-16 units', ['\u{1F600}', '\uFF5E'], '\uFF5E'],
  ['a name and a longer one that begins with it', ['Aula 2', 'Aula'], 'Aula'],
  ['an empty text is no name', ['', '', 'A'], 'A'],
  ['only empty texts', ['', ''], null],
];

for (const [why, names, expected] of RULES) {
  fastTest(`a room gets its name: ${why}`, async (t) => {
    t.equal(roomNameOf(...names), expected);
    t.equal(roomNameOf(...names.toReversed()), expected, 'in the other order');
  });
}

fastTest(
  'a group without groupName has the name of its studyGroup, and a lecturer the name lecturer',
  async (t) => {
    const events = [
      eventOf(0, { groupId: 'g1', studyGroup: 'A', lecturerId: 'l1', lecturer: 'Doe' }),
      eventOf(1, {
        groupId: 'g1',
        studyGroup: 'A',
        groupName: 'First years',
        lecturerId: 'l1',
        lecturer: null,
      }),
      eventOf(2, { groupId: 'g2', studyGroup: 'B', lecturerId: 'l2', lecturer: null }),
      eventOf(3, { groupId: null, studyGroup: 'C', groupName: 'of no group', lecturer: 'Roe' }),
    ];
    const snapshot = new Snapshot(imageOf(events));
    t.strictSame(namesOf(snapshot, 'groupId'), { g1: 'First years', g2: 'B' });
    t.strictSame(namesOf(snapshot, 'lecturerId'), { l1: 'Doe', l2: null });
    t.equal(nameIn(snapshot, 'roomId', 'no such room'), null);
    t.equal(snapshot.nameOf('roomId', 999), null);
  },
);

for (const mode of ['uuid', 'any'] as const) {
  test(`names agree with the oracle, identifiers: ${mode}`, async (t) => {
    let named = 0;
    fc.assert(
      fc.property(eventSets(mode, { repeats: true }), (events) => {
        const snapshot = snapshotOfEvents(events, mode);
        const ordered = eventsInOrder(events);
        for (const { name: field } of NAMED_FIELDS) {
          for (const [value, name] of Object.entries(namesOf(snapshot, field))) {
            assert.equal(name, nameOracle(ordered, field, value), `${field} ${value}`);
            if (name !== null) named++;
          }
        }
      }),
      { seed: 12, numRuns: runs(400) },
    );
    t.ok(named > runs(1000), `${named} names`);
  });

  test(`the order of records never changes a byte, identifiers: ${mode}`, async (t) => {
    fc.assert(
      fc.property(eventSets(mode), fc.infiniteStream(fc.nat()), (events, keys) => {
        const shuffled = events
          .map((event) => [keys.next().value as number, event] as const)
          .sort(([a], [b]) => a - b)
          .map(([, event]) => event);
        const [one, other] = [imageOf(events), imageOf(shuffled)];
        assert.ok(isSameImage(one, other));
        assert.equal(one.summary.id, other.summary.id);
      }),
      { seed: 13, numRuns: runs(150) },
    );
    t.pass();
  });
}

fastTest('a changed name makes a new snapshot in which no event changed', async (t) => {
  const named = (roomName: string | null): SnapshotImage =>
    imageOf([eventOf(0, { roomId: ROOM, roomName }), eventOf(1, { roomId: ROOM }), eventOf(2)]);
  const ids = new Set<string>();
  for (const name of [null, 'A', 'B']) ids.add(named(name).summary.id);
  t.equal(ids.size, 3);
  t.notOk(isSameImage(named('A'), named('B')));
  t.notOk(isSameImage(named('A'), named(null)));
  t.ok(isSameImage(named('A'), named('A')));
  t.equal(named('').summary.id, named(null).summary.id, 'an empty text is no name');
  const change = compare(new Snapshot(named('A')), new Snapshot(named('B')), 10);
  t.match(change, { added: 0, removed: 0, changed: 0 });
  t.not(change.from, change.to);
});

const recordOf = (n: number, more: object): object => ({
  id: idOf(n),
  time: '2024-09-02T08:00:00Z',
  endTime: '2024-09-02T10:00:00Z',
  ...more,
});

const identifiers = 'uuid';

/** The first records have no names, as in sources that added them late. */
const LATE = Array.from({ length: 40 }, (_, n) =>
  recordOf(n, { roomId: ROOM, ...(n < 25 ? {} : { roomName: n % 2 === 1 ? 'Cafe\u0301 "1"' : 'Z' }) }),
);

fastTest('lines and objects give the same normalised names', async (t) => {
  const path = join(t.testdir(), 'records.ndjson');
  writeFileSync(path, LATE.map((record) => `${JSON.stringify(record)}\n`).join(''));
  const byLines = (await loadImage(fileSource(path), { identifiers })).image;
  const byObjects = (await loadImage(memorySource(LATE), { identifiers })).image;
  t.equal(nameIn(new Snapshot(byLines), 'roomId', ROOM), 'Caf\u00e9 "1"');
  t.equal(byLines.summary.id, byObjects.summary.id);
  // Only a file has a time of its own.
  t.ok(isSameImage({ ...byLines, modified: byObjects.modified }, byObjects));
  const use = byLines.summary.fields.find(({ name }) => name === 'roomName');
  t.strictSame(use, { name: 'roomName', values: 2, events: 15 });
  t.strictSame(byLines.summary.unserved, { fields: [], others: 0 });
});

fastTest('a name of another type is a fault of its record', async (t) => {
  const source = memorySource([recordOf(1, { roomId: ROOM, roomName: { de: 'Saal' } })], 'one');
  const { summary } = (await loadImage(source, { identifiers })).image;
  t.match(summary.rejections, [{ code: 'wrong-type', field: 'roomName' }]);
});

fastTest('after a merge, only served records decide the names', async (t) => {
  const one = memorySource([recordOf(1, { roomId: ROOM, roomName: 'Old' })], 'one');
  const two = memorySource([recordOf(1, { roomId: ROOM, roomName: 'New' })], 'two');
  const { image } = await loadImage(mergedSource([one, two]), { identifiers });
  t.equal(nameIn(new Snapshot(image), 'roomId', ROOM), 'New');
});

fastTest('a changed record in memory changes the name', async (t) => {
  const memory = new MemorySource([recordOf(1, { roomId: ROOM, roomName: 'Old' }), recordOf(2, {})]);
  const nameNow = async (): Promise<string | null> => {
    const { records } = memory.load({
      previous: null,
      served: null,
      signal: new AbortController().signal,
    }) as {
      records: Iterable<unknown>;
    };
    const { image } = await loadImage(memorySource(records), { identifiers });
    return nameIn(new Snapshot(image), 'roomId', ROOM);
  };
  memory.apply({ upsert: [recordOf(2, { title: 'x' })] });
  t.equal(await nameNow(), 'Old');
  memory.apply({ upsert: [recordOf(1, { roomId: ROOM, roomName: 'New' })] });
  t.equal(await nameNow(), 'New');
});

const EVENTS: readonly NormalisedEvent[] = Array.from({ length: 40 }, (_, n) =>
  eventOf(n, { roomName: n % 4 === 3 ? null : `Room ${n % 4}`, groupId: `g${n % 3}` }),
);

fastTest('names survive a snapshot file', async (t) => {
  const path = join(t.testdir(), 'image');
  const image = imageOf(EVENTS);
  writeImageFile(path, stored(image));
  const read = readImageFile(path).image;
  t.ok(isSameImage(read, image));
  for (const { name } of NAMED_FIELDS) {
    t.strictSame(namesOf(new Snapshot(read), name), namesOf(new Snapshot(image), name));
  }
});

const DATA_SETS = findDataSets();
if (DATA_SETS.length === 0) test(NO_DATA, async (t) => t.comment(NO_DATA));
for (const dataSet of DATA_SETS) {
  test(`names of real data agree with the oracle: ${dataSet.name}`, async (t) => {
    const records = namedRecordsOf(dataSet);
    const { image } = await loadImage(memorySource(records, dataSet.name), { identifiers });
    const snapshot = new Snapshot(image);
    const expected = new Map<unknown, unknown>();
    for (const record of records) {
      expected.set(record.roomId, record.roomName);
      expected.set(record.courseId, record.courseName);
      expected.set(record.groupId, record.groupName);
    }
    for (const field of ['roomId', 'courseId', 'groupId'] as const) {
      const names = namesOf(snapshot, field);
      t.ok(Object.keys(names).length > 0);
      const other = Object.entries(names).filter(([value, name]) => expected.get(value) !== name);
      t.strictSame(other, [], field);
    }
  });
}
