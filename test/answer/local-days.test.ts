/**
 * Days and times of a query in a time zone. Inside, because each zone is tried at each change of its clocks,
 * without a timetable.
 */
import { test } from 'tap';
import { Temporal } from 'temporal-polyfill';
import { parseParameters } from '../../src/answer/parameters.js';
import { parseInstant } from '../../src/base/model/time.js';
import { Zone } from '../../src/base/model/zone.js';
import { readOf, STRICT, viewOfEvents } from './reading.js';

const HOUR_MS = 3_600_000;
const FACTS = { identifiers: 'any', hasValue: () => false } as const;

type Given = Readonly<Record<string, string>>;

function parse(given: Given, timeZone?: string, endpoint: 'schedule' | 'all' = 'schedule') {
  return parseParameters(endpoint, Object.entries(given), { ...STRICT, timeZone }, FACTS);
}

function windowOf(given: Given, timeZone?: string): { startMs: number; endMs: number } {
  const result = parse(given, timeZone);
  if ('faults' in result) throw new Error(JSON.stringify(result.faults));
  const { startMs, endMs } = result.parameters;
  return { startMs, endMs };
}

/** `code parameter: detail` of each fault. */
function toldBy(given: Given): string[] {
  const result = parse(given);
  return 'faults' in result
    ? result.faults.map((each) => `${each.code} ${each.parameter}: ${each.detail}`)
    : [];
}

/** date, days, zone, first instant of the window, its hours */
const DAYS: readonly [string, string, string, string, number][] = [
  ['2026-10-24', '1', 'Europe/Berlin', '2026-10-23T22:00:00Z', 24],
  ['2026-10-25', '1', 'Europe/Berlin', '2026-10-24T22:00:00Z', 25],
  ['2026-03-29', '1', 'Europe/Berlin', '2026-03-28T23:00:00Z', 23],
  ['2026-10-19', '7', 'Europe/Berlin', '2026-10-18T22:00:00Z', 169],
  ['2026-01-01', '365', 'Europe/Berlin', '2025-12-31T23:00:00Z', 8760],
  ['2024-01-01', '366', 'Europe/Berlin', '2023-12-31T23:00:00Z', 8784],
  ['2026-10-25', '1', 'UTC', '2026-10-25T00:00:00Z', 24],
  // Half an hour.
  ['2026-04-05', '1', 'Australia/Lord_Howe', '2026-04-04T13:00:00Z', 24.5],
  ['2026-10-04', '1', 'Australia/Lord_Howe', '2026-10-03T13:30:00Z', 23.5],
  // The day between these two was skipped.
  ['2011-12-29', '1', 'Pacific/Apia', '2011-12-29T10:00:00Z', 24],
  ['2011-12-31', '1', 'Pacific/Apia', '2011-12-30T10:00:00Z', 24],
  ['2011-12-29', '3', 'Pacific/Apia', '2011-12-29T10:00:00Z', 48],
  ['2011-12-30', '2', 'Pacific/Apia', '2011-12-30T10:00:00Z', 24],
  // Winter time during Ramadan.
  ['2026-02-15', '1', 'Africa/Casablanca', '2026-02-14T23:00:00Z', 25],
  ['2026-03-22', '1', 'Africa/Casablanca', '2026-03-22T00:00:00Z', 23],
  // Clocks skip midnight: the day begins at 01:00.
  ['2018-11-04', '1', 'America/Sao_Paulo', '2018-11-04T03:00:00Z', 23],
  ['2018-02-17', '1', 'America/Sao_Paulo', '2018-02-17T02:00:00Z', 25],
  // Clocks show midnight twice: the day begins with the first.
  ['2026-11-01', '1', 'America/Havana', '2026-11-01T04:00:00Z', 25],
  ['9999-12-30', '1', 'UTC', '9999-12-30T00:00:00Z', 24],
  ['9999-12-31', '1', 'Etc/GMT-14', '9999-12-30T10:00:00Z', 24],
  ['0000-01-01', '1', 'UTC', '0000-01-01T00:00:00Z', 24],
  ['0000-01-01', '1', 'Etc/GMT+12', '0000-01-01T12:00:00Z', 24],
];

test('local days begin at their first instant and last 23 to 25 hours', (t) => {
  for (const [date, days, timeZone, start, hours] of DAYS) {
    const { startMs, endMs } = windowOf({ date, days, timeZone });
    t.equal(startMs, parseInstant(start), `${date} in ${timeZone} begins at ${start}`);
    t.equal((endMs - startMs) / HOUR_MS, hours, `${days} days have ${hours} hours`);
  }
  t.end();
});

const ZONES = [
  'Europe/Berlin',
  'America/Sao_Paulo',
  'America/Havana',
  'America/St_Johns',
  'America/Asuncion',
  'America/Scoresbysund',
  'Australia/Lord_Howe',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Asia/Beirut',
  'Asia/Amman',
  'Asia/Tehran',
  'Pacific/Apia',
  'Pacific/Kwajalein',
  'Antarctica/Troll',
];

test('days begin as in Temporal, around each clock change since 1972', (t) => {
  let gaps = 0;
  for (const name of ZONES) {
    const zone = new Zone(name);
    const wrong: string[] = [];
    let at = Temporal.ZonedDateTime.from(`1972-01-01T00:00[${name}]`);
    for (;;) {
      const next = at.getTimeZoneTransition('next');
      if (next === null || next.year > 2040) break;
      for (let add = -2; add <= 2; add++) {
        const date = next.toPlainDate().add({ days: add });
        const start = date.toZonedDateTime(name);
        const midnight = date.toZonedDateTime('UTC').epochMilliseconds;
        if (zone.startOfDay(midnight) !== start.epochMilliseconds) wrong.push(date.toString());
        if (start.hour > 0) gaps++;
      }
      at = next;
    }
    t.same(wrong, [], name);
  }
  t.ok(gaps > 100, `${gaps} days begin later than midnight`);
  t.end();
});

test('if clocks skip midnight, the day begins after the gap', (t) => {
  // Clocks went from 23:30 to 00:30.
  const start = Temporal.PlainDate.from('1919-03-31').toZonedDateTime('America/Toronto').epochMilliseconds;
  t.equal(windowOf({ date: '1919-03-31', timeZone: 'America/Toronto' }).startMs, start);
  t.equal(new Date(start).toISOString(), '1919-03-31T04:30:00.000Z');
  t.end();
});

test('the default is one day in the zone of the service', (t) => {
  t.same(windowOf({ date: '2026-10-25' }), windowOf({ date: '2026-10-25', days: '1', timeZone: 'UTC' }));
  t.same(
    windowOf({ date: '2026-10-25' }, 'Europe/Berlin'),
    windowOf({ date: '2026-10-25', timeZone: 'europe/berlin' }),
  );
  t.same(
    windowOf({ date: '2026-10-25', timeZone: 'Asia/Tokyo' }, 'Europe/Berlin'),
    windowOf({ startTime: '2026-10-25T00:00:00+09:00', endTime: '2026-10-26T00:00:00+09:00' }),
  );
  t.end();
});

const FAULTS: readonly [Given, readonly RegExp[]][] = [
  [{ date: '2026-02-30' }, [/^malformed-date date: "2026-02-30" is not a date: 2026-02 has no day 30$/]],
  [{ date: '2025-02-29' }, [/^malformed-date date/]],
  [{ date: '2026-13-01' }, [/^malformed-date date.*month 13 does not exist$/]],
  [{ date: '25.10.2026' }, [/^malformed-date date.*not a date such as 2026-10-25$/]],
  [{ date: '2026-10-25T00:00:00Z' }, [/^malformed-date date/]],
  [{ date: '10000-01-01' }, [/^malformed-date date/]],
  [{ date: '' }, [/^empty-value date/]],
  [{ date: '', days: '2' }, [/^empty-value date/]],
  [{ date: '2026-10-25', days: '0' }, [/^malformed-number days: "0" is not a whole number from 1 to 366$/]],
  [{ date: '2026-10-25', days: '367' }, [/^malformed-number days/]],
  [{ date: '2026-10-25', days: '1.5' }, [/^malformed-number days/]],
  [{ date: '2026-10-25', days: '-1' }, [/^malformed-number days/]],
  [
    { date: '9999-12-31', days: '2' },
    [/^malformed-number days: 2 days from 9999-12-31 in UTC are not within/],
  ],
  ...['UTC', 'Etc/GMT+1', 'America/New_York'].map((timeZone): [Given, RegExp[]] => [
    { date: '9999-12-31', timeZone },
    [/^malformed-date date: the day from 9999-12-31 in \S+ is not within the years 0000 to 9999 of UTC$/],
  ]),
  ...['Etc/GMT-1', 'Asia/Tokyo'].map((timeZone): [Given, RegExp[]] => [
    { date: '0000-01-01', timeZone },
    [/^malformed-date date: the day from 0000-01-01 in \S+ is not within the years 0000 to 9999 of UTC$/],
  ]),
  [
    { date: '2026-10-25', timeZone: 'Berlin' },
    [/^unknown-time-zone timeZone: .* did you mean Europe\/Berlin\?$/],
  ],
  [{ date: '2026-10-25', timeZone: 'Europe/Berlim' }, [/did you mean Europe\/Berlin\?$/]],
  [{ date: '2026-10-25', timeZone: 'America/New York' }, [/did you mean America\/New_York\?$/]],
  [{ date: '2026-10-25', timeZone: 'xyz' }, [/expected a name such as Europe\/Berlin$/]],
  [
    { date: '2026-10-25', timeZone: 'bst' },
    [
      /^unknown-time-zone timeZone: "bst" is an abbreviation that may mean several zones; expected a name such as Europe\/Berlin$/,
    ],
  ],
  [{ date: '2026-10-25', timeZone: '+01:00' }, [/^unknown-time-zone timeZone/]],
  [{ date: '2026-10-25', timeZone: 'x'.repeat(8000) }, [/^unknown-time-zone timeZone: .{1,200}$/]],
  [{ days: '2' }, [/^wrong-combination days: days has no effect without date/]],
  [{ timeZone: 'UTC' }, [/^wrong-combination timeZone: timeZone has no effect without date/]],
  [
    { days: '0', timeZone: 'x' },
    [/number days/, /zone timeZone/, /combination days/, /combination timeZone/],
  ],
  [
    { date: '2026-10-25', startTime: '2026-10-25T00:00:00Z' },
    [/^wrong-combination startTime: startTime cannot be given with date/],
  ],
  [
    { date: '2026-10-25', startTime: '2026-10-25T00:00:00Z', endTime: '2026-10-26T00:00:00Z' },
    [/^wrong-combination startTime/, /^wrong-combination endTime/],
  ],
  [
    { date: '2011-12-30', timeZone: 'Pacific/Apia' },
    [/^empty-window date: 2011-12-30 did not exist in Pacific\/Apia: clocks skipped it$/],
  ],
];

test('each fault is reported once, with its correction', (t) => {
  for (const [given, expected] of FAULTS) {
    const told = toldBy(given);
    t.equal(told.length, expected.length, `${JSON.stringify(given).slice(0, 100)}: ${told.join(' | ')}`);
    t.match(told, expected);
  }
  const all = parse({ date: '2026-10-25' }, undefined, 'all');
  t.match(all, { faults: [{ code: 'unknown-parameter', parameter: 'date' }] });
  t.end();
});

test('many zones do not disturb local days', (t) => {
  const names = Intl.supportedValuesOf('timeZone');
  t.ok(names.length > 100);
  for (const timeZone of [...names, ...names.slice(0, 10)]) {
    const start = Temporal.PlainDate.from('2026-07-01').toZonedDateTime(timeZone).epochMilliseconds;
    if (windowOf({ date: '2026-07-01', timeZone }).startMs !== start) t.fail(timeZone);
  }
  t.end();
});

test('equal windows have one entity tag', (t) => {
  const view = viewOfEvents([], 'any');
  const tagOf = (given: Given): string =>
    readOf(view.schedule(Object.entries(given), STRICT)).entityTag('json');
  const day = tagOf({ date: '2026-10-25', timeZone: 'Europe/Berlin' });
  t.equal(tagOf({ startTime: '2026-10-25T00:00:00+02:00', endTime: '2026-10-26T00:00:00+01:00' }), day);
  t.equal(tagOf({ timeZone: 'Europe/Paris', date: '2026-10-25', days: '1' }), day);
  t.not(tagOf({ date: '2026-10-25' }), day);
  t.end();
});

test('today is the local day of its zone at the time of the request', (t) => {
  for (const [at, zone, day] of [
    ['2026-10-24T21:59:59.999Z', 'Europe/Berlin', '2026-10-24'],
    ['2026-10-24T22:00:00.000Z', 'Europe/Berlin', '2026-10-25'],
    ['2026-10-25T22:59:59.999Z', 'Europe/Berlin', '2026-10-25'],
    ['2026-10-25T23:00:00.000Z', 'Europe/Berlin', '2026-10-26'],
    ['2026-12-31T10:00:00.000Z', 'Pacific/Kiritimati', '2027-01-01'],
    ['2026-01-01T11:59:59.999Z', 'Etc/GMT+12', '2025-12-31'],
  ] as const) {
    const options = { ...STRICT, timeZone: zone, now: () => Date.parse(at) };
    const result = parseParameters('schedule', [['date', 'today']], options, FACTS);
    if ('faults' in result) throw new Error(JSON.stringify(result.faults));
    const { startMs, endMs, isRelative } = result.parameters;
    t.same({ startMs, endMs }, windowOf({ date: day, timeZone: zone }), `${at} in ${zone}`);
    t.equal(isRelative, true);
  }
  t.same(toldBy({ startTime: 'now', endTime: '2020-01-01T00:00:00Z' }).length, 1, 'now is after 2020');
  t.match(toldBy({ date: 'Today' }), [/^malformed-date date: "Today" is not a date/]);
  t.match(toldBy({ startTime: 'NOW' }), [/^malformed-time startTime: "NOW" is not a time/]);
  t.end();
});
