import fc from 'fast-check';
import { test } from 'tap';
import { parseLocalTime } from '../../src/base/model/local-time.js';
import type { DateOrder } from '../../src/base/model/read-rules.js';
import { createInstantReader } from '../../src/normalise/normalise.js';
import { runs } from '../hard/size.js';
import { fastTest } from '../hard/slow-test.js';

/** The time in ISO 8601, without an offset or with that of the text; or the fault. */
function read(text: string, order: DateOrder | undefined): string {
  const local = parseLocalTime(text, order);
  if (typeof local === 'string') return local;
  const iso = new Date(local.localMs).toISOString().slice(0, -1);
  if (local.offsetMs === null) return iso;
  return `${iso} offset ${local.offsetMs / 60_000} min`;
}

const AUGUST = '2024-08-31T08:00:00.000';
const AFTERNOON = '2024-08-31T16:00:00.000';

const GOOD: readonly [order: DateOrder | undefined, text: string, value: string][] = [
  [undefined, '2024-08-31T08:00', AUGUST],
  [undefined, '2024-08-31 08:00', AUGUST],
  [undefined, '2024-08-31t08:00:00', AUGUST],
  [undefined, '2024-08-31 8:00', AUGUST],
  [undefined, '2024-08-31 0800', AUGUST],
  [undefined, '2024-08-31 4:00PM', AFTERNOON],
  [undefined, '2024-08-31, 16:00', AFTERNOON],
  [undefined, '  2024-08-31   08:00 ', AUGUST],
  [undefined, '2024-08-31T08:00:00.5', '2024-08-31T08:00:00.500'],
  [undefined, '2024-08-31T08:00:00,123999', '2024-08-31T08:00:00.123'],
  [undefined, '2024-12-31T24:00', '2025-01-01T00:00:00.000'],
  [undefined, '2024-12-31 24:00:00', '2025-01-01T00:00:00.000'],
  [undefined, '2024-08-31 08:00Z', `${AUGUST} offset 0 min`],
  [undefined, '2024-08-31 08:00+02:00', `${AUGUST} offset 120 min`],
  [undefined, '2024-08-31 08:00:00 -0530', `${AUGUST} offset -330 min`],
  [undefined, '2024-08-31T08:00:00-09:30', `${AUGUST} offset -570 min`],
  [undefined, '2024-08-31 08:00:00+02', `${AUGUST} offset 120 min`],
  [undefined, '2024-02-29 00:00', '2024-02-29T00:00:00.000'],
  [undefined, '0000-01-01 00:00', '0000-01-01T00:00:00.000'],
  [undefined, '9999-12-31 23:59:59.999', '9999-12-31T23:59:59.999'],
  ['dmy', '31.08.2024 8:00', AUGUST],
  ['dmy', '31.8.2024 08:00', AUGUST],
  ['dmy', '31/08/2024 08:00', AUGUST],
  ['dmy', '31-8-24 8:00', AUGUST],
  ['dmy', '31.08.24 8.00', AUGUST],
  ['dmy', '31.08.2024 8.00.00', AUGUST],
  ['dmy', '31.08.2024 0800', AUGUST],
  ['dmy', '31.08.2024T8:00', AUGUST],
  ['dmy', '31.08.2024, 08:00:00', AUGUST],
  ['dmy', '31.08.2024 16:00+02:00', `${AFTERNOON} offset 120 min`],
  ['dmy', '01.02.2024 00:00', '2024-02-01T00:00:00.000'],
  ['dmy', '31.08.69 08:00', '2069-08-31T08:00:00.000'],
  ['dmy', '31.08.00 08:00', '2000-08-31T08:00:00.000'],
  ['dmy', '2024-08-31 08:00', AUGUST],
  ['mdy', '8/31/2024 4:00 PM', AFTERNOON],
  ['mdy', '8/31/2024 4:00pm', AFTERNOON],
  ['mdy', '8/31/2024 4:00\u202fPM', AFTERNOON],
  ['mdy', '8/31/2024 4:00\u00a0PM', AFTERNOON],
  ['mdy', '8/31/2024 4 PM', AFTERNOON],
  ['mdy', '08/31/24 4:00:00 PM', AFTERNOON],
  ['mdy', '8/31/2024 12:00 AM', '2024-08-31T00:00:00.000'],
  ['mdy', '8/31/2024 12:59 AM', '2024-08-31T00:59:00.000'],
  ['mdy', '8/31/2024 12:00 PM', '2024-08-31T12:00:00.000'],
  ['mdy', '8/31/2024 11:59 PM', '2024-08-31T23:59:00.000'],
  ['mdy', '01-02-2024 00:00', '2024-01-02T00:00:00.000'],
  [undefined, '2024-08-31 08:00 Uhr', AUGUST],
  [undefined, '2024-08-31 8 Uhr', AUGUST],
  [undefined, '2024-08-31 8h', AUGUST],
  [undefined, '2024-08-31 16h00', AFTERNOON],
  ['dmy', 'Sa, 31.08.2024 8:00', AUGUST],
  ['dmy', 'samedi 31/08/2024 08:00', AUGUST],
  [undefined, 'Sat 2024-08-31 08:00', AUGUST],
  [undefined, '31-Aug-2024 08:00', AUGUST],
  [undefined, '31-AUG-24 08:00', AUGUST],
  [undefined, 'Sat 31 August 2024 08:00', AUGUST],
  [undefined, '31. August 2024, 8:00', AUGUST],
  [undefined, '31 ao\u00fbt 2024 8:00', AUGUST],
  [undefined, '31 de agosto de 2024 8:00', AUGUST],
  [undefined, '31 \u0441\u0435\u0440\u043f\u043d\u044f 2024 8:00', AUGUST],
  [undefined, 'August 31, 2024 4:00 PM', AFTERNOON],
  ['ymd', '2024/8/31 8:00', AUGUST],
  ['ymd', '2024.08.31 08:00', AUGUST],
  ['ymd', '24-08-31 08:00', AUGUST],
];

const NOTHING = 'it is not a date and a time of day';
const ORDER = 'the order of its day, month and year is unknown: set dateOrder';
const RANGE = 'its time of day looks like a range or has an offset';
const TIME = 'its time of day is not like';

const BAD: readonly [order: DateOrder | undefined, text: string, fault: string][] = [
  [undefined, '', NOTHING],
  [undefined, '1725091200', NOTHING],
  [undefined, '08:00', NOTHING],
  [undefined, 'tomorrow 08:00', NOTHING],
  ['dmy', 'room 31.08.2024 08:00', NOTHING],
  [undefined, '31 foo 2024 08:00', NOTHING],
  [undefined, '31-Feb-2024 08:00', '2024-02 has no day 31'],
  [undefined, '31-Aug-85 08:00', 'the century of the year 85 is not known'],
  [undefined, '20240831T080000', NOTHING],
  [undefined, '2024-08-31x08:00', NOTHING],
  [undefined, '2024-08-311 08:00', NOTHING],
  [undefined, '2024-08-31', 'it is a date: add a time of day'],
  [undefined, '31.08.2024 08:00', ORDER],
  [undefined, '8/31/2024 8:00', ORDER],
  [undefined, '2024/08/31 8:00', ORDER],
  [undefined, '2024-8-31 8:00', ORDER],
  [undefined, '2024-02-30 08:00', '2024-02 has no day 30'],
  [undefined, '2023-02-29 08:00', '2023-02 has no day 29'],
  [undefined, '1900-02-29 08:00', '1900-02 has no day 29'],
  [undefined, '2024-13-01 08:00', 'month 13 does not exist'],
  [undefined, '2024-00-01 08:00', 'month 00 does not exist'],
  [undefined, '2024-08-00 08:00', '2024-08 has no day 00'],
  [undefined, '2024-08-31 24:01', 'hour 24 does not exist'],
  [undefined, '2024-08-31 24:00:01', 'hour 24 does not exist'],
  [undefined, '2024-08-31 2400', 'hour 24 does not exist'],
  [undefined, '2024-08-31 08:60', 'minute 60 does not exist'],
  [undefined, '2024-08-31 08:00:60', 'second 60 cannot be represented'],
  [undefined, '2024-08-31 8', TIME],
  [undefined, '2024-08-31 800', TIME],
  [undefined, '2024-08-31 08:0', TIME],
  [undefined, '2024-08-31 08:00.00', TIME],
  [undefined, '2024-08-31 08:00 CEST', TIME],
  [undefined, '2024-08-31 08:00-09:30', RANGE],
  [undefined, '2024-08-31T08:00-09:30', RANGE],
  [undefined, '2024-08-31 0800-0930', RANGE],
  [undefined, '2024-08-31 08:00 -10', RANGE],
  [undefined, '2024-08-31 8:00 - 9:30', TIME],
  [undefined, '2024-08-31 08:00:00-09:30:00', TIME],
  [undefined, '2024-08-31 08:00+24:00', 'offset +24:00 does not exist'],
  [undefined, '2024-08-31 08:00+02:60', 'offset +02:60 does not exist'],
  ['dmy', '31.08.2024', 'it is a date: add a time of day'],
  ['dmy', '31.02.2024 8:00', '2024-02 has no day 31, read as day, month, year'],
  ['dmy', '8/31/2024 8:00', 'month 31 does not exist, read as day, month, year'],
  ['dmy', '2024.08.31 8:00', 'it does not have the order day, month, year'],
  ['dmy', '31.08.2024 24:00', 'hour 24 does not exist'],
  ['dmy', '31.08.202 8:00', NOTHING],
  ['dmy', '31.08.70 8:00', 'the century of the year 70 is not known: write four digits'],
  ['dmy', '31.08.99 8:00', 'the century of the year 99 is not known: write four digits'],
  ['dmy', '31.08-2024 8:00', NOTHING],
  ['dmy', '31.08. 8:00', NOTHING],
  ['mdy', '31.08.2024 8:00', 'month 31 does not exist, read as month, day, year'],
  ['mdy', '8/31/2024 13:00 PM', 'hour 13 does not exist with AM or PM'],
  ['mdy', '8/31/2024 0:30 AM', 'hour 0 does not exist with AM or PM'],
  ['ymd', '31.08.2024 8:00', 'it does not have the order year, month, day'],
  ['ymd', '24-31-08 8:00', 'month 31 does not exist, read as year, month, day'],
];

for (const [order, text, value] of GOOD) {
  test(`${order ?? 'no order'}: ${JSON.stringify(text)}`, async (t) => t.equal(read(text, order), value));
}

for (const [order, text, fault] of BAD) {
  fastTest(`refused, ${order ?? 'no order'}: ${JSON.stringify(text)}`, async (t) => {
    const found = read(text, order);
    t.ok(found.startsWith(fault), found);
  });
}

test('every date is read as the right day in every order', async (t) => {
  const part = (n: number, isPadded: boolean): string => (isPadded ? String(n).padStart(2, '0') : String(n));
  const day = fc.date({ min: new Date('1970-01-01'), max: new Date('2199-12-31'), noInvalidDate: true });
  fc.assert(
    fc.property(
      day,
      fc.boolean(),
      fc.constantFrom('.', '/', '-'),
      fc.constantFrom<DateOrder>('dmy', 'mdy', 'ymd'),
      (date, isPadded, separator, order) => {
        const parts = {
          y: String(date.getUTCFullYear()),
          m: part(date.getUTCMonth() + 1, isPadded),
          d: part(date.getUTCDate(), isPadded),
        };
        const written = [...order].map((letter) => parts[letter as 'y' | 'm' | 'd']).join(separator);
        const expected = `${date.toISOString().slice(0, 10)}T07:05:00.000`;
        t.equal(read(`${written} 7:05`, order), expected, written);
      },
    ),
    { seed: 18, numRuns: runs(300) },
  );
});

test('no text makes the reader throw or takes long', async (t) => {
  const reader = createInstantReader(
    { dateOrder: 'dmy', timeZone: 'Europe/Berlin' },
    { gaps: 0, overlaps: 0 },
  );
  fc.assert(
    fc.property(fc.stringMatching(/^[0-9.:\-/ TZ+AMPamp]{0,30}$/), (text) => {
      const instant = reader(text);
      t.ok(typeof instant === 'string' || Number.isSafeInteger(instant));
    }),
    { seed: 18, numRuns: runs(2000) },
  );
  const beganMs = process.cpuUsage().user / 1000;
  for (const piece of [' ', '1', '1.', '1:', '+', 'T', ' +']) reader(`31.08.2024 ${piece.repeat(500_000)}`);
  const tookMs = process.cpuUsage().user / 1000 - beganMs;
  t.ok(tookMs < 2000, `${tookMs} ms`);
});
