/**
 * Rows that are kept side by side equal those of the snapshot. Inside, because no answer shows what is kept.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { generateEvents } from '../../bench/generate.mjs';
import { JSON_LAYOUT } from '../../src/answer/json.js';
import { MESSAGE_PACK_LAYOUT } from '../../src/answer/msgpack.js';
import { RowCache } from '../../src/answer/row-cache.js';
import type { ListLayout, RowLayout } from '../../src/answer/row-layout.js';
import { type ParameterPairs, SnapshotView } from '../../src/answer/view.js';
import { BODY_WHOLE_BYTES_MAX } from '../../src/base/limits.js';
import { FEED_PAGE, FORMATS } from '../../src/base/model/format.js';
import type { Snapshot } from '../../src/snapshot/snapshot.js';
import { runs } from '../hard/size.js';
import { fastTest } from '../hard/slow-test.js';
import { createNormaliser } from '../normalise/objects.js';
import { bytesOf, readOf, STRICT, snapshotOfEvents } from './reading.js';

const NAMES = [...FORMATS, FEED_PAGE].map(({ name }) => name);
const normalise = createNormaliser('uuid');
const events = [...generateEvents({ events: 3000, seed: 5 })].map((record, n) => {
  const event = normalise(record, { record: n + 1 });
  assert.ok(!('code' in event));
  return event;
});
const snapshot = snapshotOfEvents(events, 'uuid');

const originOf = (snapshot: Snapshot, code: number) => {
  const field = snapshot.field('studyGroup');
  return { lists: [{ field, code }], listOf: null, positions: null, first: 0 };
};

test('answers are byte-identical with gathered rows and with kept lists', (t) => {
  const views = [0, 30_000, undefined].map((bytes) => new SnapshotView(snapshot, undefined, bytes));
  const few = [0, 1, 2, 3, 5, 8, 13, 21].map((n) => events[n * 40]).filter((event) => event !== undefined);
  const request = fc.record({
    event: fc.constantFrom(...few),
    second: fc.constantFrom(...few),
    filters: fc.subarray(['roomId', 'courseId', 'studyGroup', 'lecturerId', 'type'] as const),
    doubled: fc.boolean(),
    personal: fc.boolean(),
    fromHours: fc.option(fc.integer({ min: -30, max: 400 })),
    hours: fc.integer({ min: 1, max: 2000 }),
    limit: fc.option(fc.integer({ min: 1, max: 20 })),
    format: fc.constantFrom(...NAMES),
  });
  // Chunks of earlier answers: later answers must not overwrite them.
  const kept: { readonly chunks: readonly Uint8Array[]; readonly bytes: Buffer }[] = [];
  fc.assert(
    fc.property(request, ({ event, second, filters, doubled, personal, fromHours, hours, limit, format }) => {
      const pairs: [string, string][] = [];
      for (const name of filters) {
        for (const value of new Set([event[name], ...(doubled ? [second[name]] : [])])) {
          if (value !== null) pairs.push([name, value]);
        }
      }
      if (fromHours !== null) {
        const startMs = event.time + fromHours * 3_600_000;
        pairs.push(['startTime', new Date(startMs).toISOString()]);
        pairs.push(['endTime', new Date(startMs + hours * 3_600_000).toISOString()]);
      }
      if (limit !== null) pairs.push(['limit', String(limit)]);
      const identities = [
        {
          field: 'studyGroup' as const,
          values: [event.studyGroup ?? 'none', second.studyGroup ?? 'none'].sort(),
        },
        { field: 'lecturerId' as const, values: [event.lecturerId ?? second.lecturerId ?? 'none'] },
      ];
      const answers = views.map((view) => {
        const given: ParameterPairs = pairs;
        const result = personal ? view.personal(given, STRICT, identities) : view.schedule(given, STRICT);
        return readOf(result).execute(format);
      });
      const [expected, ...others] = answers;
      assert.ok(expected !== undefined);
      const bytes = bytesOf(expected);
      for (const answer of others) {
        assert.equal(answer.total, expected.total);
        assert.equal(answer.nextCursor, expected.nextCursor);
        assert.ok(bytesOf(answer).equals(bytes), 'the bytes');
        kept.push({ chunks: [...answer.body.makeChunks()], bytes });
      }
    }),
    { seed: 21, numRuns: runs(3000) },
  );
  for (const { chunks, bytes } of kept) if (!Buffer.concat(chunks).equals(bytes)) t.fail('written over');
  t.pass('every generated case');
  t.end();
});

fastTest('a list is kept once the number of rows requested from it reaches its length', (t) => {
  const cache = new RowCache(snapshot.rows, 10_000_000);
  const field = snapshot.field('studyGroup');
  const origin = originOf(snapshot, 0);
  const size = field.postingCount(0);
  t.ok(size > 3);
  t.equal(cache.find(origin, JSON_LAYOUT, size - 1), null);
  t.equal(cache.listCount, 0);
  t.ok(cache.find(origin, JSON_LAYOUT, 1));
  t.equal(cache.listCount, 1);
  t.equal(cache.find(origin, MESSAGE_PACK_LAYOUT, 1), null, 'each representation for itself');
  cache.clear();
  t.equal(cache.bytes, 0);
  t.equal(cache.find(origin, JSON_LAYOUT, 1), null);
  t.end();
});

fastTest('each request counts the used rows of its lists and adds at most one list', (t) => {
  const cache = new RowCache(snapshot.rows, 10_000_000);
  const field = snapshot.field('studyGroup');
  const codes = [0, 1, 2];
  const sizes = codes.map((code) => field.postingCount(code));
  const count = sizes.reduce((sum, size) => sum + size, 0);
  const origin = {
    lists: codes.map((code) => ({ field, code })),
    listOf: Uint32Array.from(sizes.flatMap((size, n) => Array<number>(size).fill(n))),
    positions: Uint32Array.from(
      sizes.flatMap((size) => Array.from({ length: size }, (_, position) => position)),
    ),
    first: 0,
  };
  for (const lists of [1, 2]) {
    t.equal(cache.find(origin, JSON_LAYOUT, count), null);
    t.equal(cache.listCount, lists);
  }
  t.equal(cache.find(origin, JSON_LAYOUT, count)?.length, 3);
  const few = {
    ...origin,
    listOf: Uint32Array.from([0, 0, 0, 1]),
    positions: Uint32Array.from([0, 1, 2, 0]),
  };
  const other = new RowCache(snapshot.rows, 10_000_000);
  for (let n = 0; n + 1 < (sizes[1] ?? 0); n++) other.find(few, JSON_LAYOUT, 4);
  t.equal(other.listCount, 1, 'only the first was asked for often enough');
  t.end();
});

fastTest('the cache stays within its bound in bytes, and keeps used lists', (t) => {
  const bytesMax = 300_000;
  const cache = new RowCache(snapshot.rows, bytesMax);
  const field = snapshot.field('studyGroup');
  const often = originOf(snapshot, 3);
  const size = field.postingCount(3);
  t.ok(cache.find(often, JSON_LAYOUT, size));
  let lists = 0;
  for (let round = 0; round < 50; round++) {
    for (let code = 0; code < field.dictionary.size; code++) {
      for (const layout of [JSON_LAYOUT, MESSAGE_PACK_LAYOUT]) {
        cache.find(originOf(snapshot, code), layout, field.postingCount(code));
        if (cache.bytes > bytesMax) t.fail(`${cache.bytes} bytes`);
        if (cache.find(often, JSON_LAYOUT, 1) === null) t.fail('what is used all the time was lost');
        lists = Math.max(lists, cache.listCount);
      }
    }
  }
  t.ok(lists > 1 && lists < field.dictionary.size, `${lists} of ${field.dictionary.size} lists`);
  t.end();
});

fastTest('calendars with lessons are made from kept lists, too', (t) => {
  const rows = events.slice(0, 600).flatMap((event, n) =>
    [0, 1, 2].map((other) => ({
      ...event,
      id: `${other}${event.id.slice(1)}`,
      studyGroup: events[n + other]?.studyGroup ?? null,
      lessonId: n % 5 === 0 ? null : event.id,
    })),
  );
  const withLessons = snapshotOfEvents(rows, 'uuid');
  const [kept, plain] = [undefined, 0].map((bytes) => new SnapshotView(withLessons, undefined, bytes));
  const [event] = rows.slice(300);
  assert.ok(event !== undefined && kept !== undefined && plain !== undefined);
  const window = [event.time - 3 * 86_400_000, event.time + 4 * 86_400_000].map((ms) =>
    new Date(ms).toISOString(),
  );
  const asked: ParameterPairs[] = [
    [['studyGroup', event.studyGroup ?? '']],
    [['roomId', event.roomId ?? '']],
    [
      ['roomId', event.roomId ?? ''],
      ...['startTime', 'endTime'].map((name, n) => [name, `${window[n]}`] as const),
    ],
    [
      ['roomId', event.roomId ?? ''],
      ['clashes', 'mark'],
    ],
    [
      ['roomId', event.roomId ?? ''],
      ['studyGroup', event.studyGroup ?? ''],
    ],
    [
      ['roomId', event.roomId ?? ''],
      ['limit', '2'],
    ],
    [...new Set(rows.map(({ roomId }) => roomId ?? ''))].slice(0, 2).map((room) => ['roomId', room] as const),
    [],
    [['clashes', 'mark']],
  ];
  for (const pairs of asked) {
    const expected = bytesOf(readOf(plain.schedule(pairs, STRICT)).execute('ics'));
    for (let n = 0; n < 3; n++) {
      const bytes = bytesOf(readOf(kept.schedule(pairs, STRICT)).execute('ics'));
      t.ok(bytes.equals(expected), `${pairs.join(' ')}, time ${n + 1}`);
    }
  }
  const { hits } = kept.rowCache;
  for (const pairs of asked) bytesOf(readOf(kept.schedule(pairs, STRICT)).execute('ics'));
  t.equal(
    kept.rowCache.hits - hits,
    4,
    'of one list: those of the group, the room, the window and with marks',
  );
  t.end();
});

/** A layout without known lengths that counts the rows it writes. */
function countingLayout(number: number) {
  const counted = { rows: 0 };
  const layout: ListLayout = {
    number,
    sums: null,
    write(rows, ordinal, target, offset) {
      counted.rows++;
      return JSON_LAYOUT.write(rows, ordinal, target, offset);
    },
  };
  return { layout, counted };
}

/** Asks for half of each list in turn. @returns how many of the last requests of each list were hits */
function askForAll(cache: RowCache, layout: RowLayout, rounds: number): number {
  const field = snapshot.field('studyGroup');
  let hits = 0;
  for (let round = 1; round <= rounds; round++) {
    for (let code = 0; code < field.dictionary.size; code++) {
      const half = Math.ceil(field.postingCount(code) / 2);
      const isHit = cache.find(originOf(snapshot, code), layout, half) !== null;
      if (round === rounds && isHit) hits++;
    }
  }
  return hits;
}

fastTest('lists of a format that is asked for no more make room for those of another', (t) => {
  const { size } = snapshot.field('studyGroup').dictionary;
  const whole = new RowCache(snapshot.rows, 100_000_000);
  const { layout } = countingLayout(3);
  t.equal(askForAll(whole, layout, 3), size);
  // Room for the lists of one format, with hardly more.
  const cache = new RowCache(snapshot.rows, Math.ceil(whole.bytes * 1.1));
  for (const number of [0, 1, 2, 3, 4]) {
    const other = countingLayout(number);
    const hits = askForAll(cache, other.layout, 16);
    t.ok(hits > 0.9 * size, `format ${number}: ${hits} of ${size} lists`);
    t.ok(other.counted.rows < 1.2 * snapshot.eventCount, `${other.counted.rows} rows were written once`);
  }
  t.end();
});

fastTest('a list for which there is no room is not written', (t) => {
  const { size } = snapshot.field('studyGroup').dictionary;
  const whole = new RowCache(snapshot.rows, 100_000_000);
  const { layout, counted } = countingLayout(3);
  askForAll(whole, layout, 3);
  const cache = new RowCache(snapshot.rows, Math.ceil(whole.bytes / 2));
  counted.rows = 0;
  const hits = askForAll(cache, layout, 100);
  t.ok(hits > 0.3 * size, `${hits} of ${size} lists are kept`);
  t.ok(counted.rows < 3 * snapshot.eventCount, `${counted.rows} rows were written in 100 rounds`);
  t.end();
});

fastTest('a list larger than the bound is never kept', (t) => {
  const cache = new RowCache(snapshot.rows, 100);
  const origin = originOf(snapshot, 0);
  for (let n = 0; n < 100; n++) t.equal(cache.find(origin, JSON_LAYOUT, 1000), null);
  t.equal(cache.bytes, 0);
  t.end();
});

fastTest('a large result is made in slices even if its lists are kept', (t) => {
  const field = snapshot.field('studyGroup');
  const codes = Array.from({ length: field.dictionary.size }, (_, code) => code)
    .sort((a, b) => field.postingCount(b) - field.postingCount(a))
    .slice(0, 8);
  const pairs = codes.map((code) => ['studyGroup', field.dictionary.valueOf(code)] as const);
  for (const name of NAMES) {
    const view = new SnapshotView(snapshot);
    const expected = bytesOf(
      readOf(new SnapshotView(snapshot, undefined, 0).schedule(pairs, STRICT)).execute(name),
    );
    t.ok(expected.length > BODY_WHOLE_BYTES_MAX, `${name} is large`);
    // Each lays out one list.
    for (let n = 0; n <= codes.length; n++) {
      const { body } = readOf(view.schedule(pairs, STRICT)).execute(name);
      const chunks = [...body.makeChunks()];
      t.ok(Buffer.concat(chunks).equals(expected));
      t.ok(
        chunks.every(({ length }) => length <= BODY_WHOLE_BYTES_MAX),
        'no piece is larger than a small body',
      );
    }
    t.ok(view.rowCache.hits > 0, `${name}: all are laid out in the end`);
  }
  t.end();
});
