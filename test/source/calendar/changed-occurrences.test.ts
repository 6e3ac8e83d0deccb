/** RECURRENCE-ID: occurrences that are moved, changed or cancelled, and versions of events. */
import { test } from 'tap';
import { calendarOf, readCalendar } from './calendars.js';

const WINDOW = { from: '2026-01-01', to: '2027-12-31' };

const MASTER = [
  'BEGIN:VEVENT',
  'UID:m',
  'DTSTART;TZID=Europe/Berlin:20261012T080000',
  'DTEND;TZID=Europe/Berlin:20261012T093000',
  'RRULE:FREQ=WEEKLY;COUNT=5',
  'SUMMARY:Algebra',
  'END:VEVENT',
];
const override = (rid: string, ...lines: string[]): string[] => [
  'BEGIN:VEVENT',
  'UID:m',
  `RECURRENCE-ID${rid}`,
  ...lines,
  'END:VEVENT',
];
const MOVED = override(
  ';TZID=Europe/Berlin:20261026T080000',
  'DTSTART;TZID=Europe/Berlin:20261027T100000',
  'DTEND;TZID=Europe/Berlin:20261027T110000',
  'SUMMARY:Algebra (moved)',
);
const PLAIN = [
  '2026-10-12T06:00Z',
  '2026-10-19T06:00Z',
  '2026-10-26T07:00Z',
  '2026-11-02T07:00Z',
  '2026-11-09T07:00Z',
];

/** Starts in order, each with the identifier of its original occurrence. */
function startsAndIds(...lines: string[]): string[] {
  const plain = readCalendar(calendarOf(...MASTER), WINDOW).events.map(({ id }) => id);
  return readCalendar(calendarOf(...lines), WINDOW)
    .events.map(
      ({ DTSTART = '', SUMMARY, id }) => `${DTSTART.slice(0, 16)}Z ${SUMMARY} ${plain.indexOf(id) + 1}`,
    )
    .sort();
}

test('a changed occurrence may stand before or after its event, and keeps its identifier', (t) => {
  t.strictSame(
    startsAndIds(...MASTER),
    PLAIN.map((start, n) => `${start} Algebra ${n + 1}`),
  );
  const expected = PLAIN.map((start, n) => `${start} Algebra ${n + 1}`);
  expected[2] = '2026-10-27T09:00Z Algebra (moved) 3';
  t.strictSame(startsAndIds(...MASTER, ...MOVED), expected);
  t.strictSame(startsAndIds(...MOVED, ...MASTER), expected);
  const inUtc = override(':20261026T070000Z', 'DTSTART:20261027T090000Z', 'SUMMARY:Algebra (moved)');
  t.strictSame(startsAndIds(...MASTER, ...inUtc), expected, 'by an instant of UTC');
  t.end();
});

test('a cancelled occurrence is left out, even if only a date names it', (t) => {
  const expected = PLAIN.map((start, n) => `${start} Algebra ${n + 1}`);
  expected.splice(2, 1);
  const rid = ';TZID=Europe/Berlin:20261026T080000';
  t.strictSame(startsAndIds(...MASTER, ...override(rid, 'STATUS:CANCELLED')), expected);
  const excluded = [...MASTER.slice(0, 5), 'EXDATE;VALUE=DATE:20261026', ...MASTER.slice(5)];
  t.strictSame(startsAndIds(...excluded), expected, 'EXDATE with a date');
  t.end();
});

test('a date as RECURRENCE-ID is a local day of the changed occurrence', (t) => {
  const expected = PLAIN.map((start, n) => `${start} Algebra ${n + 1}`);
  const rid = ';VALUE=DATE:20261026';
  const late = override(rid, 'DTSTART;TZID=Europe/Berlin:20261026T230000', 'SUMMARY:Algebra');
  t.strictSame(startsAndIds(...MASTER, ...late), expected.with(2, '2026-10-26T22:00Z Algebra 3'));
  expected.splice(2, 1);
  t.strictSame(startsAndIds(...MASTER, ...override(rid, 'STATUS:CANCELLED')), expected);
  t.end();
});

test('THISANDFUTURE moves all later occurrences by the same amount', (t) => {
  const later = override(
    ';RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261019T080000',
    'DTSTART;TZID=Europe/Berlin:20261020T100000',
    'DTEND;TZID=Europe/Berlin:20261020T103000',
    'SUMMARY:Tuesday',
  );
  const expected = [
    '2026-10-12T06:00Z Algebra 1',
    '2026-10-20T08:00Z Tuesday 2',
    '2026-10-27T09:00Z Algebra (moved) 3',
    '2026-11-03T09:00Z Tuesday 4',
    '2026-11-10T09:00Z Tuesday 5',
  ];
  t.strictSame(startsAndIds(...MASTER, ...later, ...MOVED), expected);
  const { events } = readCalendar(calendarOf(...later, ...MASTER), WINDOW);
  const lengths = events.map(
    ({ DTSTART = '', DTEND = '' }) => (Date.parse(DTEND) - Date.parse(DTSTART)) / 60_000,
  );
  t.strictSame(lengths.sort(), [30, 30, 30, 30, 90]);
  const ended = override(';RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261026T080000', 'STATUS:CANCELLED');
  t.strictSame(startsAndIds(...MASTER, ...ended), [
    '2026-10-12T06:00Z Algebra 1',
    '2026-10-19T06:00Z Algebra 2',
  ]);
  t.end();
});

test('the version of an event or occurrence with the highest SEQUENCE wins', (t) => {
  const version = (sequence: number, hour: string): string[] =>
    override(
      ';TZID=Europe/Berlin:20261026T080000',
      `SEQUENCE:${sequence}`,
      `DTSTART;TZID=Europe/Berlin:20261026T${hour}0000`,
      `SUMMARY:v${sequence}`,
    );
  for (const versions of [
    [...version(2, '12'), ...version(1, '11')],
    [...version(1, '11'), ...version(2, '12')],
  ]) {
    const { events, rejections } = readCalendar(calendarOf(...MASTER, ...versions), WINDOW);
    t.equal(events.length, 5);
    t.ok(events.some(({ SUMMARY }) => SUMMARY === 'v2'));
    t.match(rejections, [{ code: 'duplicate-id' }]);
  }
  const newer = MASTER.map((line) => (line === 'SUMMARY:Algebra' ? 'SUMMARY:Analysis\r\nSEQUENCE:3' : line));
  for (const masters of [
    [...newer, ...MASTER],
    [...MASTER, ...newer],
  ]) {
    const { events, rejections } = readCalendar(calendarOf(...masters), WINDOW);
    t.strictSame([...new Set(events.map(({ SUMMARY }) => SUMMARY))], ['Analysis']);
    t.equal(rejections.length, 1);
  }
  t.end();
});

test('an occurrence is served without its event, and outside the rule', (t) => {
  t.equal(readCalendar(calendarOf(...MOVED), WINDOW).events.length, 1);
  const stray = override(';TZID=Europe/Berlin:20261013T080000', 'DTSTART:20261013T090000Z', 'SUMMARY:extra');
  t.equal(readCalendar(calendarOf(...MASTER, ...stray), WINDOW).events.length, 6);
  t.end();
});

test('identifiers are equal in every load and any order', (t) => {
  const other = MASTER.map((line) => line.replace('UID:m', 'UID:n'));
  const idsOf = (...lines: string[]): (string | undefined)[] =>
    readCalendar(calendarOf(...lines), WINDOW)
      .events.map(({ id }) => id)
      .sort();
  t.strictSame(idsOf(...MASTER, ...other, ...MOVED), idsOf(...MOVED, ...other, ...MASTER));
  const nameless = ['BEGIN:VEVENT', 'DTSTART:20260914T060000Z', 'SUMMARY:x', 'END:VEVENT'];
  const [first, second] = readCalendar(
    calendarOf(...nameless, ...nameless.map((line) => line.replace('x', 'y'))),
  ).events;
  t.not(first?.id, second?.id, 'events without a UID are known by their content');
  t.end();
});
