import { test } from 'tap';
import { Temporal } from 'temporal-polyfill';
import { CALENDAR_STEPS_MAX } from '../../../src/base/limits.js';
import { Zone } from '../../../src/base/model/zone.js';
import {
  CalendarZone,
  RuledZone,
  readZoneRules,
  zoneOfName,
} from '../../../src/source/calendar/event-timing.js';
import { WINDOWS_ZONES } from '../../../src/source/calendar/windows-zones.js';
import { SLOW } from '../../hard/size.js';
import { fastTest } from '../../hard/slow-test.js';

const HOUR_MS = 3_600_000;

fastTest('every Windows zone name means a zone that Node knows', (t) => {
  t.ok(Object.keys(WINDOWS_ZONES).length >= 135);
  for (const [windows, iana] of Object.entries(WINDOWS_ZONES)) {
    t.ok(zoneOfName(windows) !== null && zoneOfName(iana) !== null, windows);
  }
  // Names that contain their offset.
  for (const [name, hours] of [
    ['UTC-11', -11],
    ['UTC-02', -2],
    ['UTC+13', 13],
    ['Dateline Standard Time', -12],
    ['utc', 0],
  ] as const) {
    t.equal(zoneOfName(name)?.localOf(0), hours * HOUR_MS, name);
  }
  t.end();
});

fastTest('other names are no zones', (t) => {
  for (const name of [
    '',
    '/',
    'Mars/Olympus',
    '/mozilla.org/20050126_1/',
    '+01:00',
    'Europe',
    '../Berlin',
    '__proto__',
  ]) {
    t.equal(zoneOfName(name), null, name);
  }
  t.end();
});

fastTest('abbreviations are no zones, although Node knows them; other short names have one meaning', (t) => {
  for (const name of ['BST', 'AST', 'ECT', 'IST', 'ART', 'EST', 'CET', 'cet', '/x/BST']) {
    t.equal(zoneOfName(name), null, name);
    t.doesNotThrow(() => new Intl.DateTimeFormat('en', { timeZone: name.replace('/x/', '') }), name);
    if (!name.startsWith('/')) t.throws(() => new Zone(name), RangeError);
  }
  for (const [name, sameAs] of [
    ['GMT', 'UTC'],
    ['uct', 'UTC'],
    ['EST5EDT', 'America/New_York'],
    ['Japan', 'Asia/Tokyo'],
    ['PRC', 'Asia/Shanghai'],
    ['US/Eastern', 'America/New_York'],
  ] as const) {
    for (const at of [Date.UTC(2026, 0), Date.UTC(2026, 6)]) {
      t.equal(zoneOfName(name)?.localOf(at), zoneOfName(sameAs)?.localOf(at), name);
    }
  }
  t.end();
});

test('cached days without a clock change keep every time right', (t) => {
  for (const name of [
    'Europe/Berlin',
    'America/St_Johns',
    'Australia/Lord_Howe',
    'Africa/Casablanca',
    'Pacific/Apia',
  ]) {
    const zone = new Zone(name);
    const calendar = new CalendarZone(new Zone(name));
    let wrong = 0;
    let ambiguous = 0;
    for (
      let localMs = Date.UTC(SLOW ? 2010 : 2024, 0);
      localMs < Date.UTC(SLOW ? 2030 : 2027, 0);
      localMs += 5.5 * HOUR_MS
    ) {
      const expected = zone.instantOf(localMs);
      const found = calendar.instantOf(localMs);
      if (found.instantMs !== expected.instantMs || found.kind !== expected.kind) wrong++;
    }
    for (
      let at = Temporal.ZonedDateTime.from(`2010-01-01T00:00[${name}]`).getTimeZoneTransition('next');
      at !== null && at.year < (SLOW ? 2030 : 2016);
      at = at.getTimeZoneTransition('next')
    ) {
      const middleMs = at.toPlainDateTime().toZonedDateTime('UTC').epochMilliseconds;
      for (let localMs = middleMs - 30 * HOUR_MS; localMs < middleMs + 30 * HOUR_MS; localMs += HOUR_MS / 4) {
        const expected = zone.instantOf(localMs);
        const found = calendar.instantOf(localMs);
        if (found.instantMs !== expected.instantMs || found.kind !== expected.kind) wrong++;
        if (found.kind !== 'exact') ambiguous++;
      }
    }
    t.equal(wrong, 0, name);
    t.ok(ambiguous > 0, name);
  }
  t.end();
});

const read = (observances: Parameters<typeof readZoneRules>[0]): ReturnType<typeof readZoneRules> =>
  readZoneRules(observances, { left: CALENDAR_STEPS_MAX });

fastTest('the rules of a VTIMEZONE agree with the zone it describes', (t) => {
  const rules = read([
    {
      start: '20070311T020000',
      offsetFrom: '-0500',
      offsetTo: '-0400',
      rules: ['FREQ=YEARLY;BYMONTH=3;BYDAY=2SU'],
      dates: [],
    },
    {
      start: '20071104T020000',
      offsetFrom: '-0400',
      offsetTo: '-0500',
      rules: ['FREQ=YEARLY;BYMONTH=11;BYDAY=1SU'],
      dates: [],
    },
  ]);
  if (typeof rules === 'string') throw new Error(rules);
  const ruled = new RuledZone(rules);
  const newYork = new Zone('America/New_York');
  for (let localMs = Date.UTC(2007, 5); localMs < Date.UTC(2030, 0); localMs += 7.5 * HOUR_MS) {
    const expected = newYork.instantOf(localMs);
    const found = ruled.instantOf(localMs);
    if (found.instantMs !== expected.instantMs || found.kind !== expected.kind) {
      t.fail(new Date(localMs).toISOString());
    }
  }
  t.equal(ruled.offsetMsAt(0), -5 * HOUR_MS, 'before the first change');
  const start = { start: '20070311T020000', offsetFrom: '-0500', offsetTo: '-0400', rules: [], dates: [] };
  for (const [broken, problem] of [
    [{ start: '' }, /^its DTSTART: /],
    [{ start: '20070311T020000Z' }, 'a DTSTART in it is not a local time'],
    [{ offsetTo: '' }, /^its TZOFFSETFROM and TZOFFSETTO/],
    [{ offsetFrom: '+2500' }, /^its TZOFFSETFROM and TZOFFSETTO/],
    [{ rules: ['FREQ=NEVER'] }, 'its RRULE: its FREQ is unknown'],
    [{ rules: ['FREQ=SECONDLY'] }, 'it has more than 4000 clock changes, the limit'],
    [{ rules: ['FREQ=SECONDLY;BYSETPOS=2'] }, 'its rules take more than 500000 steps, the limit'],
    [{ dates: ['20070230T020000'] }, /^its RDATE: /],
  ] as const) {
    t.match(read([{ ...start, ...broken }]), problem, JSON.stringify(broken));
  }
  t.equal(read([]), 'it has no STANDARD or DAYLIGHT');
  const since1601 = ['03', '11'].map((month) => ({
    ...start,
    start: `1601${month}01T020000`,
    rules: ['FREQ=YEARLY;BYDAY=1SU'],
  }));
  t.match(read(since1601), { instants: { length: 998 } });
  t.end();
});
