/** Ordinary events that reach the sink as bytes make the same snapshot as decoded ones. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import type { IdentifierMode } from '../../../src/model/event.js';
import { CalendarReader } from '../../../src/source/calendar/calendar-reader.js';
import { mappedSink } from '../../../src/source/field-map.js';
import type { RecordSink, Source } from '../../../src/source/source.js';
import { loadImage } from '../../../src/thread/load-image.js';
import { size } from '../../hard/size.js';
import { calendarOf } from './calendars.js';

interface Outcome {
  readonly summary: object;
  readonly rows: Buffer;
  readonly undecoded: number;
}

async function load(
  bytes: Buffer,
  identifiers: IdentifierMode,
  pieceBytes: number,
  isDecoded: boolean,
): Promise<Outcome> {
  const rules = { identifiers, from: '2026-01-01', to: '2026-12-31' } as const;
  let undecoded = 0;
  const source: Source = {
    name: 'test',
    async load(sink) {
      const mapped = mappedSink(sink, 'icalendar', rules, 'test');
      const counting: RecordSink = {
        record: (value, position) => mapped.record(value, position),
        reject: (rejection) => mapped.reject(rejection),
        notes: sink.notes,
        undecoded: isDecoded
          ? undefined
          : (...given) => {
              const isTaken = mapped.undecoded?.(...given) ?? false;
              if (isTaken) undecoded++;
              return isTaken;
            },
      };
      const reader = new CalendarReader('test', counting, rules);
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        const piece = Buffer.from(bytes.subarray(at, at + pieceBytes));
        reader.push(piece);
        // The reader must not use a piece later.
        piece.fill(0xc1);
      }
      reader.finish();
      for (const _step of reader.rest()) reader.records;
      return { format: 'icalendar', gzipped: false, bytesRead: reader.records, version: null };
    },
  };
  const { image } = await loadImage(source, rules, { hashSeed: [1, 2] });
  const { builtAtMs, buildMs, ...summary } = image.summary;
  return { summary, rows: Buffer.from(image.rows.bytes), undecoded };
}

async function outcome(...given: Parameters<typeof load>): Promise<Outcome | string> {
  try {
    return await load(...given);
  } catch (error) {
    return (error as Error).message;
  }
}

const ORDINARY = [
  'UID:a-1@example.edu',
  'DTSTART:20260914T060000Z',
  'DTEND:20260914T073000Z',
  'SUMMARY:Linear Algebra',
  'LOCATION:Building 3\\, room 12',
  'DTSTAMP:20260101T000000Z',
];

/** Each may replace a line, or stand before it. */
const LINES = [
  'UID:b',
  'UID:Ü',
  'UID:a\\,b',
  'UID:',
  'uid:c',
  'DTSTART;TZID=Europe/Berlin:20261025T023000',
  'DTSTART;TZID=Europe/Berlin:20260914T080000',
  'DTSTART;TZID=Own:20260914T080000',
  'DTSTART;VALUE=DATE:20260914',
  'DTSTART:20260914T080000',
  'DTSTART:20260931T080000Z',
  'DTEND;TZID="America/New_York":20260914T080000',
  'DTEND:20250914T080000Z',
  'DURATION:PT1H',
  'RRULE:FREQ=WEEKLY;COUNT=3',
  'RECURRENCE-ID:20260914T060000Z',
  'STATUS:CANCELLED',
  'STATUS:CONFIRMED',
  'STATUS: cancelled',
  'SUMMARY:',
  'SUMMARY;LANGUAGE=de:Größe "und" \\; Einheit\\nzwei \\\\ \\x',
  'SUMMARY:folded\r\n  here and\r\n\tthere',
  'SUMMARY:tab\there',
  'LOCATION:2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
  'LOCATION:2C3C9BFD-5DA4-5A45-8BDB-5C0FE7902417',
  `LOCATION:${'long '.repeat(30)}`,
  'CATEGORIES:Lecture,Exam',
  'CATEGORIES:A\\,B,C',
  'ORGANIZER;CN="Ada: Lovelace":mailto:ada@example.edu',
  "ORGANIZER;CN=^n^'x:mailto:x@example.edu",
  'ORGANIZER:mailto:ada@example.edu',
  'ATTENDEE;CN=First;ROLE=CHAIR:mailto:1@example.edu',
  'ATTENDEE;CN="Very long na\r\n me":mailto:2@example.edu',
  'X-WR-CALNAME:Own name',
  'X-WR-TIMEZONE:Europe/Berlin',
  'PERSON:nobody',
  'ID:other',
  'X-UNCLOSED;A="b:c',
  'no colon',
  'DESCRIPTION;A="x:y";B=z:a fold\r\n  :here',
  'DESCRIPTION:stray \r return',
  'BEGIN:VALARM\r\nTRIGGER:-PT5M\r\nEND:VALARM',
  'END:VEVENT',
  'end:vevent',
  'END:VEVENT \r\nBEGIN:VEVENT',
  'BEGIN:VEVENT',
  'BEGIN:VTIMEZONE\r\nTZID:Own\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\nTZOFFSETFROM:+0300\r\nTZOFFSETTO:+0300\r\nEND:STANDARD\r\nEND:VTIMEZONE',
  '',
];

const event = fc.record({
  changes: fc.array(
    fc.record({ at: fc.nat({ max: 6 }), line: fc.constantFrom(...LINES), isAdded: fc.boolean() }),
    { maxLength: 4 },
  ),
  number: fc.nat({ max: 30 }),
});

function linesOf({
  changes,
  number,
}: {
  changes: { at: number; line: string; isAdded: boolean }[];
  number: number;
}) {
  const lines = ORDINARY.map((line) => line.replace('a-1@', `a-${number}@`));
  for (const { at, line, isAdded } of changes) lines.splice(at, isAdded ? 0 : 1, line);
  return ['BEGIN:VEVENT', ...lines, 'END:VEVENT'];
}

const calendar = fc.record({
  head: fc.constantFrom([], ['X-WR-CALNAME:Group "Ä"'], ['X-WR-TIMEZONE:Europe/Berlin'], ['X-WR-CALNAME:']),
  events: fc.array(event, { maxLength: 8 }),
  between: fc.constantFrom('', 'X-WR-TIMEZONE:America/New_York', 'BEGIN:VTODO\r\nEND:VTODO', 'NAME:later'),
  identifiers: fc.constantFrom('uuid', 'any', 'derived'),
  pieceBytes: fc.constantFrom(1, 50, 700, 100_000),
  end: fc.constantFrom('\r\n', '\n', '\r\r\n'),
  isLatin1: fc.boolean(),
});

test('events read as bytes make the same snapshot as decoded events', async (t) => {
  let undecoded = 0;
  await fc.assert(
    fc.asyncProperty(calendar, async ({ head, events, between, identifiers, pieceBytes, end, isLatin1 }) => {
      const lines = events.flatMap((each, n) => (n === 3 ? [between, ...linesOf(each)] : linesOf(each)));
      const text = calendarOf(...head, ...lines).replaceAll('\r\n', end);
      const bytes = Buffer.from(text, isLatin1 ? 'latin1' : 'utf8');
      const given = [bytes, identifiers as IdentifierMode, pieceBytes] as const;
      const found = await outcome(...given, false);
      const expected = await outcome(...given, true);
      if (typeof found === 'object') undecoded += found.undecoded;
      const { undecoded: _, ...rest } = typeof found === 'object' ? found : { undecoded: 0, problem: found };
      const { undecoded: __, ...right } =
        typeof expected === 'object' ? expected : { undecoded: 0, problem: expected };
      assert.deepEqual(rest, right, text);
    }),
    { numRuns: size(100, 10_000, 400), seed: 11 },
  );
  t.ok(undecoded > size(40, 200, 200), `${undecoded} events were not decoded`);
});
