/** Calendars with arbitrary bytes: good events are served, bad ones reported, and everything ends soon. */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { LecternError } from '../../../src/base/errors.js';
import { CALENDAR_KEPT_BYTES_MAX, RECORD_BYTES_MAX } from '../../../src/base/limits.js';
import { CalendarReader } from '../../../src/source/calendar/calendar-reader.js';
import { FieldTable } from '../../../src/source/field-map.js';
import { sniff } from '../../../src/source/formats/read-records.js';
import { size } from '../../hard/size.js';
import { calendarOf, eventOf, type ReadCalendar, readCalendar } from './calendars.js';

const RULES = { from: '2026-01-01', to: '2027-12-31', timeZone: 'Europe/Berlin' };

const lesson = (uid: string, ...lines: readonly string[]): string[] => [
  'BEGIN:VEVENT',
  `UID:${uid}`,
  'DTSTART:20260914T060000Z',
  ...lines,
  'END:VEVENT',
];

const SMALL = calendarOf(
  'X-WR-CALNAME:Physik für Anfänger',
  ...lesson('a', 'SUMMARY:Größe und\r\n  Einheit', 'RRULE:FREQ=WEEKLY;COUNT=3', 'EXDATE:20260921T060000Z'),
  ...lesson('b', 'SUMMARY:Übung'),
);

function outcome(
  text: string | Uint8Array,
  pieceBytes = 0,
): Pick<ReadCalendar, 'events' | 'rejections'> | string {
  try {
    const { events, rejections } = readCalendar(text, RULES, pieceBytes);
    return { events, rejections };
  } catch (error) {
    if (error instanceof LecternError) return error.message;
    throw error;
  }
}

test('the size of pieces and the kind of line ends make no difference', (t) => {
  const whole = outcome(SMALL);
  t.match(whole, { rejections: [], events: { length: 3 } });
  for (let bytes = 1; bytes < 80; bytes++) t.strictSame(outcome(SMALL, bytes), whole, `${bytes}`);
  for (const end of ['\n', '\r\r\n']) {
    const other = SMALL.replaceAll('\r\n', end);
    for (const bytes of [0, 1, 2, 3, 7]) t.strictSame(outcome(other, bytes), whole);
  }
  t.strictSame(outcome(SMALL.replaceAll('\r\nUID', '\r\n\r\nUID')), whole, 'empty lines');
  t.strictSame(outcome(SMALL.trimEnd()), whole, 'no end of the last line');
  const folded = Buffer.from(SMALL).toString('latin1').replace('\xc3\x9cbung', '\xc3\r\n \x9cbung');
  t.strictSame(outcome(Buffer.from(folded, 'latin1')), whole, 'a fold within a character');
  t.end();
});

test('a calendar cut at any place is refused', (t) => {
  const bytes = Buffer.from(SMALL);
  const end = SMALL.lastIndexOf('END:VCALENDAR') + 'END:VCALENDAR'.length;
  const complete = Buffer.byteLength(SMALL.slice(0, end));
  for (let length = 1; length < complete; length++) {
    const found = outcome(bytes.subarray(0, length));
    if (typeof found !== 'string') t.fail(`cut after ${length} bytes`);
  }
  t.equal(
    outcome(bytes.subarray(0, bytes.indexOf('SUMMARY:Ü'.slice(0, 8), bytes.indexOf('UID:b')))),
    'test: the source ends inside VEVENT, which begins on line 13; expected END:VCALENDAR',
  );
  t.type(outcome(bytes.subarray(0, complete)), 'object');
  t.end();
});

/** The structure of a calendar, with served and rejected events. */
const STRUCTURES: readonly (readonly [
  name: string,
  lines: readonly string[],
  uids: readonly string[],
  faults: readonly RegExp[],
])[] = [
  ['an event without its end', ['BEGIN:VEVENT', 'UID:x', ...lesson('a')], ['a'], [/END:VEVENT is missing/]],
  [
    'the last event without its end',
    [...lesson('a'), ...lesson('x').slice(0, -1)],
    ['a'],
    [/END:VEVENT is missing/],
  ],
  [
    'an end without a begin',
    ['END:VEVENT', ...lesson('a')],
    ['a'],
    [/line 4 ends VEVENT, which did not begin/],
  ],
  [
    'an alarm without its end',
    [...lesson('x', 'BEGIN:VALARM', 'TRIGGER:-PT5M'), ...lesson('a')],
    ['a'],
    [/END:VALARM is missing/],
  ],
  ['another end within an event', [...lesson('x', 'END:VTODO'), ...lesson('a')], ['a'], [/ends VTODO/]],
  ['a to-do without its end', ['BEGIN:VTODO', 'UID:x', ...lesson('a')], ['a'], []],
  ['a zone without its end', ['BEGIN:VTIMEZONE', 'TZID:x', ...lesson('a')], ['a'], []],
  ['small letters', ['begin:vevent', 'uid:a', 'dtstart:20260914T060000Z', 'end:vevent'], ['a'], []],
  ['unknown components', ['BEGIN:X-A', ...lesson('x').slice(1, -1), 'END:X-A', ...lesson('a')], ['a'], []],
];

test('broken structure costs only its own events', (t) => {
  for (const [name, lines, uids, faults] of STRUCTURES) {
    const { events, rejections } = readCalendar(calendarOf(...lines), RULES);
    t.strictSame(
      events.map(({ UID }) => UID),
      uids,
      name,
    );
    t.equal(rejections.length, faults.length, name);
    for (const [n, fault] of faults.entries()) t.match(rejections[n]?.detail, fault, name);
  }
  t.end();
});

test('text that is not a calendar is refused, with its line', (t) => {
  const good = calendarOf(...lesson('a'));
  t.equal(
    outcome(`${good}<html>`),
    'test: line 9: found "<html>" outside of a calendar; expected BEGIN:VCALENDAR',
  );
  t.match(outcome(`${good}BEGIN:VEVENT\r\nEND:VEVENT`), 'line 9: found BEGIN:VEVENT outside of a calendar');
  const nested = Array.from({ length: 100_000 }, () => 'BEGIN:A').join('\r\n');
  t.match(outcome(calendarOf(nested)), /more than 16 components are nested/);
  t.equal(outcome('BEGIN:VCALENDAR\r\nEND:VCALENDAR') instanceof Object, true, 'no events');
  t.end();
});

test('a calendar is recognised by its beginning', (t) => {
  for (const text of [
    'BEGIN:VCALENDAR\r\n',
    'begin:vcalendar\n',
    '\ufeffBEGIN:VCALENDAR',
    '\r\n\n BEGIN:VCALENDAR',
  ]) {
    t.match(sniff(Buffer.from(text)), { format: 'icalendar' }, JSON.stringify(text));
  }
  t.match(sniff(Buffer.from('BEGIN:VCARD\r\n')), { problem: /expected NDJSON/ });
  t.end();
});

test('a report names every fault of times and rules', (t) => {
  const faultsOf = (...lines: readonly string[]): readonly string[][] =>
    readCalendar(eventOf(...lines), RULES).rejections.map(({ code, field, detail, more = [] }) =>
      [{ code, field, detail }, ...more].map((fault) => `${fault.code} ${fault.detail.split(' ')[0]}`),
    );
  const rules = ['RRULE:FREQ=WEEKLY;BYDAY=XX', 'EXRULE:FREQ=NEVER'];
  t.strictSame(faultsOf('DTSTART:20260931T080000Z', 'DTEND:20260914T250000Z', ...rules), [
    [
      'malformed-time DTSTART',
      'malformed-time DTEND',
      'malformed-recurrence RRULE',
      'malformed-recurrence EXRULE',
    ],
  ]);
  t.strictSame(faultsOf('DTSTART:20260931T080000Z', 'DURATION:1 hour'), [
    ['malformed-time DTSTART', 'malformed-time DURATION'],
  ]);
  t.strictSame(faultsOf('DTSTART:20260930T080000Z', ...rules.toReversed()), [
    ['malformed-recurrence EXRULE', 'malformed-recurrence RRULE'],
  ]);
  t.strictSame(faultsOf('DTSTART:20260930T080000Z', 'DTEND:20260929T080000Z'), [['end-before-start DTEND']]);
  t.end();
});

test('an attached file of any size costs nothing', (t) => {
  const file = `ATTACH;ENCODING=BASE64;VALUE=BINARY:${'QUJD'.repeat(RECORD_BYTES_MAX / 2)}`;
  for (const lines of [
    [file],
    [file, file.toLowerCase()],
    [`X-1:${'y'.repeat(RECORD_BYTES_MAX / 2)}`, file],
  ]) {
    const found = outcome(calendarOf(...lesson('x', ...lines, 'SUMMARY:Algebra'), ...lesson('a')), 65_536);
    t.match(found, { events: [{ UID: 'x', SUMMARY: 'Algebra' }, { UID: 'a' }], rejections: [] });
  }
  t.end();
});

test('text that is not UTF-8, or an event that is too long, costs one event', (t) => {
  const latin1 = Buffer.from(calendarOf(...lesson('x', 'SUMMARY:\xdcbung'), ...lesson('a')), 'latin1');
  t.match(outcome(latin1), {
    events: [{ UID: 'a' }],
    rejections: [{ code: 'malformed-text', position: { line: 4 } }],
  });
  const long = 'x'.repeat(RECORD_BYTES_MAX);
  const folded = `DESCRIPTION:${'0123456789\r\n '.repeat(RECORD_BYTES_MAX / 10 + 1)}`;
  const several = Array.from({ length: 40 }, (_, n) => `X-${n}:${'y'.repeat(30_000)}`);
  for (const lines of [[`DESCRIPTION:${long}`], [folded], several]) {
    for (const pieceBytes of [0, 65_536]) {
      const found = outcome(calendarOf(...lesson('x', ...lines), ...lesson('a')), pieceBytes);
      t.match(found, { events: [{ UID: 'a' }], rejections: [{ code: 'record-too-large' }] });
    }
  }
  const kept = outcome(calendarOf(...lesson('x', `DESCRIPTION:${long.slice(0, -1000)}`)));
  t.match(kept, { events: [{ UID: 'x' }], rejections: [] });
  t.end();
});

test('a damaged calendar never hangs and throws only documented errors', (t) => {
  const seen = { read: 0, events: 0, rejected: 0, refused: 0 };
  const good = Buffer.from(SMALL);
  const change = fc.record({
    at: fc.nat({ max: good.length - 1 }),
    length: fc.nat({ max: 12 }),
    bytes: fc.oneof(
      fc.uint8Array({ maxLength: 6 }),
      fc
        .constantFrom(
          '\r\n',
          ' ',
          ';',
          ':',
          '"',
          'BEGIN:VEVENT\r\n',
          'END:VEVENT\r\n',
          '=',
          ',',
          '9999999',
          '-',
          'Z',
        )
        .map((text) => new Uint8Array(Buffer.from(text))),
    ),
  });
  fc.assert(
    fc.property(
      fc.array(change, { minLength: 1, maxLength: 5 }),
      fc.nat({ max: 50 }),
      (changes, pieceBytes) => {
        let bytes: Buffer = good;
        for (const { at, length, bytes: put } of changes) {
          bytes = Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + length)]);
        }
        const before = process.cpuUsage();
        const found = outcome(bytes, pieceBytes);
        assert.ok(process.cpuUsage(before).user < 2_000_000);
        if (typeof found === 'string') {
          seen.refused++;
          assert.ok(found.length < 400, found);
          return;
        }
        seen.read++;
        seen.events += found.events.length;
        seen.rejected += found.rejections.length;
        for (const { DTSTART = '', DTEND = '' } of found.events)
          assert.ok(Date.parse(DTEND) >= Date.parse(DTSTART));
        assert.deepEqual(outcome(bytes), found);
      },
    ),
    { numRuns: size(2000, 100_000), seed: 5 },
  );
  t.ok(
    seen.read > 500 && seen.events > 500 && seen.rejected > 200 && seen.refused > 100,
    JSON.stringify(seen),
  );
  t.end();
});

/** Processor time to read a text, the least of three. */
function costMs(text: string): number {
  const bytes = Buffer.from(text);
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3; round++) {
    const before = process.cpuUsage();
    readCalendar(bytes, RULES, 65_536);
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

test('time grows at most in proportion to the input', (t) => {
  const overrides = (count: number): string =>
    calendarOf(
      ...lesson('m', 'RRULE:FREQ=MINUTELY;COUNT=8000'),
      ...Array.from({ length: count }, (_, n) => {
        const at = new Date(Date.UTC(2026, 8, 14, 6) + n * 60_000).toISOString().replace(/[-:]|\.000/g, '');
        return lesson('m', `RECURRENCE-ID;RANGE=THISANDFUTURE:${at}`);
      }).flat(),
    );
  const INPUTS: Readonly<Record<string, (count: number) => string>> = {
    'overrides of one UID': overrides,
    UIDs: (count) =>
      calendarOf(
        ...Array.from({ length: count }, (_, n) => lesson(`${n}`, 'RRULE:FREQ=DAILY;COUNT=2')).flat(),
      ),
    'events of one UID and start': (count) =>
      calendarOf(...Array.from({ length: count }, () => lesson('m', 'RRULE:FREQ=DAILY;COUNT=2')).flat()),
    'folds of one line': (count) => calendarOf(...lesson('m', `SUMMARY:${'a\r\n '.repeat(count * 20)}`)),
    'dates of one event': (count) =>
      calendarOf(...lesson('m', `RDATE:${'20260914T060000Z,'.repeat(count * 5)}20260915T060000Z`)),
    'zones with one name': (count) =>
      calendarOf('BEGIN:VTIMEZONE\r\nTZID:x\r\nEND:VTIMEZONE\r\n'.repeat(count).trim(), ...lesson('m')),
    calendars: (count) => calendarOf(...lesson('m')).repeat(count),
  };
  for (const [name, make] of Object.entries(INPUTS)) {
    const few = costMs(make(1000));
    const many = costMs(make(8000));
    t.ok(many < 30 + 24 * few, `${name}: 1,000 in ${few.toFixed(1)} ms, 8,000 in ${many.toFixed(1)} ms`);
  }
  t.end();
});

test('the number of kept recurring events is bounded', (t) => {
  const reader = new CalendarReader('test', new FieldTable({ row() {}, fault() {} }, 'icalendar'), {
    identifiers: 'uuid',
  });
  const text = lesson('m', `DESCRIPTION:${'x'.repeat(900_000)}`, 'RRULE:FREQ=DAILY')
    .concat('')
    .join('\r\n');
  reader.push(Buffer.from('BEGIN:VCALENDAR\r\n'));
  t.throws(
    () => {
      for (let bytes = 0; bytes < 2 * CALENDAR_KEPT_BYTES_MAX; bytes += text.length)
        reader.push(Buffer.from(text));
    },
    { code: 'source-too-large', message: /its recurring events take more than \d+ bytes, the limit/ },
  );
  t.end();
});
