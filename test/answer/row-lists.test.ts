/** Whole lists of rows in each format. Inside, because no answer shows whether it came from kept rows. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { generateEvents } from '../../bench/generate.mjs';
import type { Answer } from '../../src/answer/answer.js';
import { KeptRows, SliceClock } from '../../src/answer/kept-rows.js';
import { csvForm } from '../../src/answer/line-rows.js';
import { type ParameterPairs, SnapshotView, type View } from '../../src/answer/view.js';
import { BODY_WHOLE_BYTES_MAX } from '../../src/base/limits.js';
import type { NormalisedEvent, TimetableEvent } from '../../src/base/model/event.js';
import type { AnyFormatName } from '../../src/base/model/format.js';
import { createNormaliser } from '../normalise/objects.js';
import { allConflicts } from '../oracle/conflicts.js';
import { csvOf, icsOf, ndjsonOf, pageRowsOf } from '../oracle/representations.js';
import { eventSets } from './generated-events.js';
import { recipes, requestOf, universeOf } from './generated-requests.js';
import { nastyTexts } from './nasty-texts.js';
import { bytesOf, listOf, readOf, STRICT, snapshotOfEvents, viewOfEvents } from './reading.js';

const ORACLES: {
  readonly [Name in AnyFormatName]?: (
    events: readonly TimetableEvent[],
    all: readonly NormalisedEvent[],
  ) => string;
} = {
  ndjson: ndjsonOf,
  csv: csvOf,
  ics: icsOf,
  html: pageRowsOf,
};
const NAMES = Object.keys(ORACLES) as AnyFormatName[];

const NO_EVENTS: readonly NormalisedEvent[] = [];
let lastJson = '';
let lastAll = NO_EVENTS;
let lastTexts: (string | undefined)[] = [];

const textOf = (answer: Answer): string =>
  new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytesOf(answer));

/** The part of a page between its constant parts. */
const tableOf = (page: string): string =>
  page.slice(page.indexOf('<tbody>') + '<tbody>'.length, page.lastIndexOf('</tbody>'));

/**
 * Asserts that every representation equals its oracle's.
 *
 * @param all every event of the data set, if rooms or courses have names
 * @returns the number of events
 */
function assertSame(
  answerAs: (format: AnyFormatName) => Answer,
  all: readonly NormalisedEvent[] = NO_EVENTS,
): number {
  const json = answerAs('json');
  const events = listOf(json) as TimetableEvent[];
  const jsonText = textOf(json);
  // Large lists come several times.
  if (jsonText !== lastJson || all !== lastAll || all.length > 0)
    lastTexts = NAMES.map((name) => ORACLES[name]?.(events, all));
  [lastJson, lastAll] = [jsonText, all];
  for (const [n, name] of NAMES.entries()) {
    const answer = answerAs(name);
    const expected = lastTexts[n];
    const text = name === 'html' ? tableOf(textOf(answer)) : textOf(answer);
    if (text !== expected) assert.equal(text, expected);
    assert.deepEqual([answer.total, answer.count], [json.total, json.count]);
    assert.equal(answer.nextCursor, json.nextCursor);
  }
  return events.length;
}

function eventWith(text: string | null, n: number): NormalisedEvent {
  const texts = { title: text, studyGroup: text, lecturer: text, type: text };
  const ids = { roomId: null, courseId: null, groupId: null, lecturerId: null };
  return { id: `e${n}`, time: n * 1000, endTime: n * 60_000, ...texts, ...ids };
}

const generated = (count: number): NormalisedEvent[] => {
  const normalise = createNormaliser('uuid');
  return [...generateEvents({ events: count, seed: 8 })].map((record, n) => {
    const event = normalise(record, { record: n + 1 });
    assert.ok(!('code' in event));
    return event;
  });
};

test('event lists agree with the oracles in every format', async (t) => {
  let events = 0;
  const sets = fc
    .constantFrom('uuid' as const, 'any' as const)
    .chain((mode) => fc.tuple(fc.constant(mode), eventSets(mode)));
  fc.assert(
    fc.property(
      fc.tuple(sets, fc.array(recipes, { maxLength: 4 }), fc.integer({ min: 1, max: 5 })),
      ([[mode, set], asked, limit]) => {
        const view = viewOfEvents(set, mode);
        events += assertSame((format) => readOf(view.all([], STRICT)).execute(format), set);
        assertSame((format) => readOf(view.all([['limit', `${limit}`]], STRICT)).execute(format), set);
        for (const recipe of asked) {
          const request = requestOf(recipe, universeOf(set, mode));
          if (request.faults.length > 0) continue;
          // From the second time on, rows come from the cache.
          for (let time = 0; time < 3; time++) {
            assertSame((format) => readOf(view.schedule(request.pairs, STRICT)).execute(format), set);
          }
        }
      },
    ),
    { seed: 20241101, numRuns: 100 },
  );
  t.ok(events > 1500, `${events} events compared`);
});

test('calendars mark events in a conflict on request', async (t) => {
  let marked = 0;
  fc.assert(
    fc.property(eventSets('uuid'), fc.integer({ min: 1, max: 9 }), (set, limit) => {
      const view = viewOfEvents(set, 'uuid');
      const clashes = new Set(allConflicts(set, true).flatMap((entry) => entry.events.map(({ id }) => id)));
      for (const pairs of [[], [['limit', `${limit}`] as const]]) {
        const events = listOf(readOf(view.all(pairs, STRICT)).execute('json')) as TimetableEvent[];
        const [plain, marking] = [pairs, [...pairs, ['clashes', 'mark'] as const]].map((each) =>
          readOf(view.all(each, STRICT)),
        );
        assert.ok(plain && marking);
        assert.equal(textOf(marking.execute('ics')), icsOf(events, set, clashes));
        assert.equal(textOf(plain.execute('ics')), icsOf(events, set));
        assert.notEqual(plain.entityTag('ics'), marking.entityTag('ics'));
        assert.equal(plain.entityTag('csv'), marking.entityTag('csv'));
        assert.equal(textOf(plain.execute('csv')), textOf(marking.execute('csv')));
        marked += events.filter(({ id }) => clashes.has(id)).length;
      }
    }),
    { seed: 20241102, numRuns: 100 },
  );
  t.ok(marked > 300, `${marked} marked events`);
});

test('texts with quotes, line breaks, control characters and UTF-8 of every length survive', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.option(nastyTexts), { minLength: 1, maxLength: 6 }), (texts) => {
      const view = viewOfEvents(texts.map(eventWith), 'any');
      assertSame((format) => readOf(view.all([], STRICT)).execute(format));
    }),
    { seed: 7, numRuns: 500 },
  );
  t.pass('every generated text');
});

const everyEvent = (view: View, format: AnyFormatName, pairs: ParameterPairs = []): Answer =>
  readOf(view.all(pairs, STRICT)).execute(format);

test('large lists are made in parts, and all their rows are kept if they fit', async (t) => {
  const snapshot = snapshotOfEvents(generated(6000), 'uuid');
  const rowBytes = snapshot.rows.bytes.length;
  for (const [cacheBytes, isKept] of [
    [undefined, true],
    [0, false],
    [rowBytes, false],
    [rowBytes * 2, true],
  ] as const) {
    const view = new SnapshotView(snapshot, undefined, cacheBytes);
    for (let time = 0; time < 2; time++) assertSame((format) => everyEvent(view, format));
    const csv = everyEvent(view, 'csv').body;
    t.equal(csv.byteLength !== null, isKept, `${cacheBytes} bytes of cache`);
    t.ok(view.rowCache.bytes <= (cacheBytes ?? Number.POSITIVE_INFINITY));
    const since = new Date(Date.UTC(2000, 0)).toISOString();
    for (const chunk of everyEvent(view, 'csv', [['limit', '5000']]).body.makeChunks()) {
      t.ok(chunk.length <= BODY_WHOLE_BYTES_MAX);
    }
    assertSame((format) => readOf(view.schedule([['startTime', since]], STRICT)).execute(format));
    assertSame((format) => everyEvent(view, format, [['limit', '5999']]));
  }
});

test('rows are kept while they fit; further rows are written for each reader', async (t) => {
  const snapshot = snapshotOfEvents(generated(6000), 'uuid');
  const { rows } = snapshot;
  const { layout } = csvForm(snapshot);
  let room = 3;
  const kept = new KeptRows(rows, layout, () => room-- > 0);
  for (let number = 0; number < 3; number++) t.ok(kept.chunk(number));
  const { nextRow } = kept;
  t.equal(kept.chunk(3), null, 'given up');
  room = 9;
  t.equal(kept.chunk(3), null, 'for good');
  t.ok(kept.chunk(2), 'what is there stays');
  t.equal(kept.byteLength, null);
  t.equal(kept.nextRow, nextRow);
});

test('a slice ends when its time is over, and at least one row gets into it', async (t) => {
  const snapshot = snapshotOfEvents(generated(6000), 'uuid');
  const { rows } = snapshot;
  const { layout } = csvForm(snapshot);
  let nowMs = 0;
  // Each look takes a millisecond.
  const kept = new KeptRows(rows, layout, () => true, new SliceClock(() => nowMs++));
  const chunks: Buffer[] = [];
  for (let chunk = kept.chunk(0); chunk !== null; chunk = kept.chunk(chunks.length)) chunks.push(chunk);
  const whole = new KeptRows(rows, layout, () => true, new SliceClock(() => 0));
  const expected: Buffer[] = [];
  for (let chunk = whole.chunk(0); chunk !== null; chunk = whole.chunk(expected.length)) expected.push(chunk);
  t.ok(chunks.length > 5 * expected.length, `${chunks.length} chunks, with time ${expected.length}`);
  t.ok(Buffer.concat(chunks).equals(Buffer.concat(expected)), 'the same bytes');
  const slow = new KeptRows(rows, layout, () => true, new SliceClock(() => (nowMs += 1000)));
  t.ok((slow.chunk(0)?.length ?? 0) > 0);
  t.ok(
    chunks.every(({ buffer, length }) => buffer.byteLength === length),
    'no memory beside the rows',
  );
});

test('readers at different places of a list get the same bytes', async (t) => {
  const view = new SnapshotView(snapshotOfEvents(generated(6000), 'uuid'));
  const expected = csvOf(listOf(everyEvent(view, 'json')) as TimetableEvent[]);
  const readers = Array.from({ length: 4 }, () => ({
    chunks: everyEvent(view, 'csv').body.makeChunks()[Symbol.iterator](),
    bytes: [] as Uint8Array[],
  }));
  const random = [3, 0, 1, 1, 2, 0, 3, 3, 3, 1, 2];
  for (let step = 0; readers.length > 0; step++) {
    const at = (random[step % random.length] ?? 0) % readers.length;
    const reader = readers[at];
    assert.ok(reader);
    const { done, value } = reader.chunks.next();
    // A copy: a slice of a reader may be reused once it was sent.
    if (!done) reader.bytes.push(Buffer.from(value));
    else {
      t.ok(Buffer.concat(reader.bytes).toString() === expected);
      readers.splice(at, 1);
    }
  }
});

test('rows longer than a slice stay whole', async (t) => {
  const texts = [
    'x'.repeat(300_000),
    '"'.repeat(200_000),
    null,
    '\u{1F600}'.repeat(100_000),
    'é',
    ','.repeat(90_000),
  ];
  const view = viewOfEvents(texts.map(eventWith), 'any');
  t.equal(
    assertSame((format) => everyEvent(view, format)),
    texts.length,
  );
  assertSame((format) => everyEvent(view, format, [['limit', '3']]));
});

test('calendars have the names of rooms and courses', async (t) => {
  const fields = { roomId: 'r1', courseId: 'c1', roomName: 'Hall; north', courseName: 'Algebra' };
  const events = [null, 'Own title'].map((title, n) => ({ ...eventWith('LEC', n), ...fields, title }));
  const text = textOf(everyEvent(viewOfEvents(events, 'any'), 'ics'));
  t.equal(text.match(/^LOCATION:Hall\\; north\r$/gm)?.length, 2);
  t.same(text.match(/^SUMMARY:.*(?=\r$)/gm), ['SUMMARY:Algebra', 'SUMMARY:Own title']);
});

test('without events only the frame is written', async (t) => {
  const view = viewOfEvents([], 'uuid');
  t.equal(textOf(everyEvent(view, 'ndjson')), '');
  t.equal(
    textOf(everyEvent(view, 'csv')),
    'id,time,endTime,title,roomId,courseId,studyGroup,lecturer,type,groupId\r\n',
  );
});
