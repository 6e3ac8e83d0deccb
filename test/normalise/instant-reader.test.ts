import fc from 'fast-check';
import { test } from 'tap';
import { Temporal } from 'temporal-polyfill';
import type { ReadRules } from '../../src/base/model/read-rules.js';
import { createInstantReader } from '../../src/normalise/normalise.js';

type TimeRules = Pick<ReadRules, 'dateOrder' | 'timeZone'>;

function readAll(
  rules: TimeRules,
  texts: readonly string[],
): { values: string[]; gaps: number; overlaps: number } {
  const ambiguous = { gaps: 0, overlaps: 0 };
  const read = createInstantReader(rules, ambiguous);
  const values = texts.map((text) => {
    const instant = read(text);
    return typeof instant === 'number' ? new Date(instant).toISOString() : instant;
  });
  return { values, ...ambiguous };
}

const BERLIN: TimeRules = { timeZone: 'Europe/Berlin', dateOrder: 'dmy' };

const CHANGES: readonly [rules: TimeRules, text: string, value: string, kind: 'gaps' | 'overlaps' | null][] =
  [
    [BERLIN, '31.08.2024 8:00', '2024-08-31T06:00:00.000Z', null],
    [BERLIN, '31.12.2024 8:00', '2024-12-31T07:00:00.000Z', null],
    [BERLIN, '31.03.2024 01:59:59', '2024-03-31T00:59:59.000Z', null],
    [BERLIN, '31.03.2024 02:00', '2024-03-31T01:00:00.000Z', 'gaps'],
    [BERLIN, '31.03.2024 02:30', '2024-03-31T01:30:00.000Z', 'gaps'],
    [BERLIN, '31.03.2024 02:59:59', '2024-03-31T01:59:59.000Z', 'gaps'],
    [BERLIN, '31.03.2024 03:00', '2024-03-31T01:00:00.000Z', null],
    [BERLIN, '27.10.2024 01:59:59', '2024-10-26T23:59:59.000Z', null],
    [BERLIN, '27.10.2024 02:00', '2024-10-27T00:00:00.000Z', 'overlaps'],
    [BERLIN, '27.10.2024 02:59:59', '2024-10-27T00:59:59.000Z', 'overlaps'],
    [BERLIN, '27.10.2024 03:00', '2024-10-27T02:00:00.000Z', null],
    [BERLIN, '27.10.2024 02:30+01:00', '2024-10-27T01:30:00.000Z', null],
    [BERLIN, '2024-10-27T02:30:00Z', '2024-10-27T02:30:00.000Z', null],
    [{ timeZone: 'America/New_York' }, '2024-03-10 02:30', '2024-03-10T07:30:00.000Z', 'gaps'],
    [{ timeZone: 'Australia/Lord_Howe' }, '2024-04-07 01:45', '2024-04-06T14:45:00.000Z', 'overlaps'],
    [{ timeZone: 'Asia/Kolkata' }, '2024-08-31T08:00', '2024-08-31T02:30:00.000Z', null],
    [{ timeZone: 'Pacific/Apia' }, '2011-12-30 12:00', '2011-12-30T22:00:00.000Z', 'gaps'],
    [{ timeZone: 'Europe/Berlin' }, '2024-12-31T24:00', '2024-12-31T23:00:00.000Z', null],
  ];

for (const [rules, text, value, kind] of CHANGES) {
  test(`${text} in ${rules.timeZone}`, async (t) => {
    const expected = { gaps: 0, overlaps: 0, ...(kind === null ? {} : { [kind]: 2 }) };
    t.strictSame(
      readAll(rules, [text, text]),
      { values: [value, value], ...expected },
      'also when read again',
    );
  });
}

test('a fault names the setting that would allow the time', async (t) => {
  const zone =
    /^it has no offset: end it with "Z" or "\+hh:mm", or set timeZone \(on the command line --time-zone /;
  const order = /^the order of its day, month and year is unknown: set dateOrder .*--date-order/;
  const faults: readonly [rules: TimeRules, text: string, fault: RegExp][] = [
    [{}, '2024-08-31T08:00:00', zone],
    [{}, '2024-08-31 08:00', zone],
    [{}, '31.08.2024 08:00', order],
    [{}, '2024-08-31 08:00Z', /^it is not an RFC 3339 date-time/],
    [{}, '2024-08-31', /^it is a date: add a time of day and an offset/],
    [{}, '1725091200', /^it is not an RFC 3339 date-time/],
    [{}, '2024-02-30T08:00:00Z', /^2024-02 has no day 30$/],
    [{ dateOrder: 'dmy' }, '31.08.2024 08:00', zone],
    [{ timeZone: 'Europe/Berlin' }, '31.08.2024 08:00', order],
    [BERLIN, '31.02.2024 08:00', /has no day 31/],
    [BERLIN, '01.01.0000 00:00', /^in UTC it lies outside the years 0000 to 9999$/],
  ];
  for (const [rules, text, fault] of faults) t.match(readAll(rules, [text]).values[0], fault, text);
});

test('local times agree with Temporal, and are counted', async (t) => {
  const zones = [
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Tehran',
    'Africa/Casablanca',
  ];
  const minute = fc.integer({ min: Date.UTC(2015, 0) / 60_000, max: Date.UTC(2026, 0) / 60_000 });
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.array(minute, { minLength: 20, maxLength: 20 }),
      (timeZone, minutes) => {
        const texts = minutes.map((each) => new Date(each * 60_000).toISOString().slice(0, 16));
        const expected = texts.map((text) =>
          new Date(
            Temporal.PlainDateTime.from(text).toZonedDateTime(timeZone).epochMilliseconds,
          ).toISOString(),
        );
        t.strictSame(readAll({ timeZone }, texts).values, expected);
      },
    ),
    { seed: 18, numRuns: 60 },
  );
});
