/** Weekly patterns as a load reads them: from bytes to events. */
import fc from 'fast-check';
import { test } from 'tap';
import type { ReadRules, Term, WeeklyPattern } from '../../../src/base/model/read-rules.js';
import { loadImage } from '../../../src/refresh/thread/load-image.js';
import { recordChunks } from '../../../src/refresh/thread/record-chunks.js';
import { runTaskHere } from '../../../src/refresh/thread/task.js';
import { type Inspection, inspectImage } from '../../../src/snapshot/image.js';
import type { SnapshotSummary } from '../../../src/snapshot/summary.js';
import { readRecords } from '../../../src/source/formats/read-records.js';
import { preparePatterns } from '../../../src/source/map-value.js';
import { withoutWeekdays } from '../../../src/source/pattern/weekdays.js';
import { patternFaults } from '../../../src/source/pattern/weekly-rows.js';
import type { Source } from '../../../src/source/source.js';
import { runs } from '../../hard/size.js';
import { fastTest } from '../../hard/slow-test.js';
import { datesOfPattern } from '../../oracle/patterns.js';
import { inPieces } from '../collect.js';

interface Loaded {
  readonly events: Record<string, unknown>[];
  readonly summary: SnapshotSummary;
  readonly faults: string[];
  readonly conflicts: Inspection['conflicts'];
}

const TERM: Term = { firstDay: '2026-09-28', weeks: 12, except: ['2026-11-04'] };

function sourceOf(text: string): Source {
  return {
    name: 'test',
    async load(sink, options) {
      const reading = { ...options, sourceName: 'test', bytesTotal: null };
      return { ...(await readRecords(inPieces(Buffer.from(text), 0), sink, reading)), version: null };
    },
  };
}

async function load(text: string, rules: Partial<ReadRules>): Promise<Loaded> {
  const all: ReadRules = {
    identifiers: 'derived',
    timeZone: 'Europe/London',
    terms: { autumn: TERM },
    ...rules,
  };
  const { image } = await loadImage(sourceOf(text), all);
  const { summary } = image;
  const rows = Buffer.from(image.rows.bytes).toString();
  return {
    events: JSON.parse(rows) as Record<string, unknown>[],
    summary,
    faults: summary.rejections.map(({ detail }) => detail),
    conflicts: inspectImage(image).conflicts,
  };
}

const WHEN: WeeklyPattern = { day: 'day', start: 'start', end: 'end', weeks: 'weeks' };

/** The dates and times of one record of NDJSON. */
async function timesOf(
  record: Readonly<Record<string, unknown>>,
  when: Partial<WeeklyPattern> = {},
  more: Partial<ReadRules> = {},
): Promise<string[]> {
  const given = { id: 'a', day: 'Mon', start: '09:00', end: '10:00', weeks: null, ...record };
  const { events, faults } = await load(`${JSON.stringify(given)}\n`, {
    when: { ...WHEN, ...when },
    ...more,
  });
  if (faults.length > 0) return faults;
  return events.map(({ time, endTime }) => `${time}`.slice(0, 16) + `${endTime}`.slice(10, 16));
}

/** The days of the month of the events, which begin on 28 September. */
async function daysOf(
  record: Readonly<Record<string, unknown>>,
  when: Partial<WeeklyPattern> = {},
): Promise<string> {
  return (await timesOf(record, when)).map((text) => text.slice(5, 10)).join(' ');
}

fastTest('weekdays and weeks become one event for each date, at the local time', async (t) => {
  const csv = `course;kind;weekday;from;to;when;place;class
ALG;Lecture;Mon;09:00;11:00;1-6,8-12;Hall 1;A
ALG;Lab;Tue;14:00;16:00;odd;Lab 2;A1
ALG;Lab;Tue;14:00;16:00;even;Lab 2;A2
PHY;Lecture;Wed;10:00;12:00;;Hall 2;A
`;
  const { events, summary, faults, conflicts } = await load(csv, {
    fieldMap: { title: 'course', courseId: 'course', type: 'kind', roomId: 'place', studyGroup: 'class' },
    when: { day: 'weekday', start: 'from', end: 'to', weeks: 'when' },
  });
  t.strictSame(faults, []);
  t.equal(summary.events, 34);
  const of = (title: string, group: string): unknown[] =>
    events.filter((event) => event.title === title && event.studyGroup === group).map(({ time }) => time);
  const lectures = of('ALG', 'A');
  t.equal(lectures.length, 11);
  t.equal(lectures[0], '2026-09-28T08:00:00.000Z');
  t.equal(lectures[4], '2026-10-26T09:00:00.000Z', 'after the change of the clock');
  t.strictSame(
    of('ALG', 'A1').map((time) => String(time).slice(0, 10)),
    ['2026-09-29', '2026-10-13', '2026-10-27', '2026-11-10', '2026-11-24', '2026-12-08'],
    'odd weeks count from the first week of the term, which is week 40 of the year',
  );
  t.equal(of('ALG', 'A2')[0], '2026-10-06T13:00:00.000Z');
  t.equal(of('PHY', 'A').length, 11, 'a day without lessons is left out');
  t.strictSame(conflicts.unmerged, { group: 0, lecturer: 0, room: 0 }, 'odd and even weeks never meet');
  t.match(summary.patterns, { records: 4, events: 34, excepted: 1 });
});

fastTest('weeks are read as people write them', async (t) => {
  const first = '09-28';
  const all = '09-28 10-05 10-12 10-19 10-26 11-02 11-09 11-16 11-23 11-30 12-07 12-14';
  const at = (...weeks: number[]): string => weeks.map((week) => all.split(' ')[week - 1]).join(' ');
  for (const [weeks, expected] of [
    ['1', first],
    [1, first],
    ['', all],
    [null, all],
    ['1-3, 5', at(1, 2, 3, 5)],
    ['1\u20133;5', at(1, 2, 3, 5)],
    ['10,11\u201112', at(10, 11, 12)],
    ['1 \u2212 2', at(1, 2)],
    ['1\uff5e2', at(1, 2)],
    ['weeks 1-2', at(1, 2)],
    ['--', all],
    [[1, 3, 12], at(1, 3, 12)],
    [['1-2', '4'], at(1, 2, 4)],
    [[], all],
    ['Odd', at(1, 3, 5, 7, 9, 11)],
    ['gerade', at(2, 4, 6, 8, 10, 12)],
    ['\u043d\u0435\u0447\u0451\u0442\u043d\u0430\u044f', at(1, 3, 5, 7, 9, 11)],
    ['1-6 (even)', at(2, 4, 6)],
    ['1-4\u5468(\u5355)', at(1, 3)],
    [{ start: '2026-10-05', end: '2026-11-20', weekInterval: 2 }, at(2, 4, 6, 8)],
    [{ start: '2026-10-05', end: '2026-11-20', weeks: [1, 2, 5] }, at(2, 3, 6)],
  ] as const) {
    t.equal(await daysOf({ weeks }), expected, JSON.stringify(weeks));
  }
  t.equal(await daysOf({ weeks: [2, 3] }, { cycle: 4 }), at(2, 3, 6, 7, 10, 11), 'numbers come round');
});

fastTest('values and patterns of the file read what no reader of weeks and days knows', async (t) => {
  const weeks = { from: 'weeks', values: { A: 'odd', B: 'even', AB: null } };
  t.equal(await daysOf({ weeks: 'A' }, { weeks }), '09-28 10-12 10-26 11-09 11-23 12-07');
  t.equal(await daysOf({ weeks: 'AB' }, { weeks }), await daysOf({}));
  t.equal(await daysOf({ weeks: '2' }, { weeks }), '10-05', 'others are kept');
  const strict = { weeks: { ...weeks, otherwise: 'reject' } } as const;
  t.match(await timesOf({ weeks: 'C' }, strict), [/^weeks is "C"; expected one of "A", "B", "AB"/]);
  const rules: ReadRules = {
    identifiers: 'any',
    when: { ...WHEN, day: { from: 'day', match: '[A-Z][a-z]+$' } },
  };
  await preparePatterns(rules);
  t.equal(await daysOf({ day: 'every Tue', weeks: '1' }, rules.when), '09-29');
  const faults = patternFaults({ when: { ...WHEN, weeks: { from: 'weeks', split: ',' } } });
  t.match(faults, [{ path: ['when', 'weeks'], message: /an event has one weeks/ }]);
});

fastTest('weekdays are known in many languages, as letters, and several in one cell', async (t) => {
  const on = (...days: number[]): string =>
    days.map((day) => new Date(Date.UTC(2026, 8, 28 + day)).toISOString().slice(5, 10)).join(' ');
  for (const [day, expected] of [
    ['monday', on(0)],
    ['Tues', on(1)],
    ['Mi', on(2)],
    ['Donnerstag', on(3)],
    ['vendredi', on(4)],
    ['\u5468\u516d', on(5)],
    ['\u65e5\u66dc\u65e5', on(6)],
    ['\u0441\u0440\u0435\u0434\u0430', on(2)],
    ['\u0421\u0431', on(5)],
    ['mi\u00e9rcoles', on(2)],
    ['MIERCOLES', on(2)],
    ['2\u00aa feira', on(0)],
    ['SALI', on(1)],
    ['Pazar', on(6)],
    ['\u05d9\u05d5\u05dd \u05d1', on(0)],
    ['laugardagur', on(5)],
    ['MWF', on(0, 2, 4)],
    ['TuTh', on(1, 3)],
    ['TR', on(1, 3)],
    ['Pazartesi \u00c7ar\u015famba', on(0, 2)],
    [['Mon', 'Wed'], on(0, 2)],
    ['lundi et jeudi', on(0, 3)],
    ['Mo und Mi', on(0, 2)],
    ['Mon, Wed and Fri', on(0, 2, 4)],
    ['Mon-Fri', on(0, 1, 2, 3, 4)],
    ['Mo \u2013 Fr', on(0, 1, 2, 3, 4)],
    ['Mo-Mi, Fr', on(0, 1, 2, 4)],
    ['Mo und Mi-Fr', on(0, 2, 3, 4)],
    ['Monday to Friday', on(0, 1, 2, 3, 4)],
    ['Mon, Wed thru Fri', on(0, 2, 3, 4)],
    ['Montag bis Mittwoch', on(0, 1, 2)],
    ['lundi au mercredi', on(0, 1, 2)],
    ['lunes a viernes', on(0, 1, 2, 3, 4)],
    ['segunda-feira a sexta-feira', on(0, 1, 2, 3, 4)],
    ['seg a qua', on(0, 1, 2)],
    ['pond\u011bl\u00ed a st\u0159eda', on(0, 2)],
    ['ma t/m vr', on(0, 1, 2, 3, 4)],
    ['Mo Do Fr', on(0, 3, 4)],
    ['pon do pt', on(0, 1, 2, 3, 4)],
    ['\u043f\u043d-\u043f\u0442', on(0, 1, 2, 3, 4)],
    ['\u5468\u4e00\u81f3\u5468\u4e94', on(0, 1, 2, 3, 4)],
    ['\u6708\u301c\u6c34', on(0, 1, 2)],
    ['Pazartesi - Sal\u0131', on(0, 1)],
    ['L-V', on(0, 1, 2, 3, 4)],
    ['Sat-Sun', on(5, 6)],
  ] as const) {
    t.equal(await daysOf({ day, weeks: 1 }), expected, String(day));
  }
});

fastTest('the other weekdays of a source tell what a short name or a number means', async (t) => {
  const first = async (
    days: readonly (string | number)[],
    when: Partial<WeeklyPattern> = {},
  ): Promise<string> => {
    const lines = days.map((day, n) =>
      JSON.stringify({ id: String(n), day, start: '09:00', end: '10:00', weeks: 1, title: `${n}` }),
    );
    const { events, faults, summary } = await load(lines.join('\n'), { when: { ...WHEN, ...when } });
    const dates = days.map((_, n) => String(events.find(({ title }) => title === `${n}`)?.time).slice(8, 10));
    return [
      ...dates,
      ...faults,
      ...(summary.patterns?.readings ?? []).flatMap((each) => (/^\d$/.test(each) ? [`from ${each}`] : [])),
    ].join(' ');
  };
  t.equal(await first(['ma', 'wo', 'vr']), '28 30 02', 'in Dutch, ma is Monday');
  t.equal(await first(['ma', 'me', 'ven']), '29 30 02', 'in French, ma is Tuesday');
  t.match(await first(['Mon to Xyz']), /"Mon to Xyz": it is a range of days in no known language/);
  t.match(
    await first(['ma']),
    /day "ma": it is Tuesday \(fr, es, it\) or Monday \(nl, sv\); expected a name that has one meaning/,
  );
  for (const [days, problem] of [
    [['Do', 'do.'], 'Thursday (de, nl) or Sunday (es, pt, it)'],
    [['Di'], 'Tuesday (de, nl) or Sunday (fr)'],
    [['Sa'], 'Saturday (en, de, fr, es, pt, it, letters) or Tuesday (tr)'],
    [['So'], 'Sunday (de, sv) or Saturday (pl, cs)'],
    [['M', 'm'], 'Monday (en, nl, sv, letters) or Tuesday (es)'],
    [['L'], 'Monday (fr, es, it) or Saturday (sv)'],
    [['S'], 'Saturday (fr, es, it, letters) or Sunday (sv) or Tuesday (tr)'],
  ] as const) {
    const refused = days.map((day) => `day "${day}": it is ${problem}; expected a name that has one meaning`);
    const found = await first(days);
    t.ok(refused.every((each) => found.includes(each)) && !/^\d/.test(found), `${days}: ${found}`);
  }
  t.equal(await first(['Do', 'Fr']), '01 02', 'in German, Do is Thursday');
  t.equal(await first(['Do', 'Lu']), '04 28', 'in Spanish and Italian, do is Sunday');
  t.equal(await first(['Di', 'Mi']), '29 30', 'in German, Di is Tuesday');
  t.equal(await first(['di', 'je']), '04 01', 'in French, di is Sunday');
  t.equal(await first(['pn', 'wt', 'śr', 'cz', 'pt', 'sb', 'nd']), '28 29 30 01 02 03 04', 'in Polish');
  t.equal(await first(['pn']), '28', 'in Polish, not in Lithuanian');
  t.match(await first(['maanantai', 'tiistai', 'ke', 'pe']), '28 29 30 02', 'in Finnish, pe is Friday');
  t.match(
    await first(['ma', 'tis', 'to', 'pe']),
    /day "pe": it is a weekday in .*, but the others are in sv; expected a longer name/,
  );
  t.equal(await first(['hétfő', 'Sze', 'V']), '28 30 04', 'in Hungarian, V is Sunday');
  const monday = { dayOne: 'monday' } as const;
  t.equal(await first([1, 2, 5], monday), '28 29 02 from 1');
  t.equal(await first([1, 0, 5], monday), '29 28 03 from 0', 'a 0 after other days');
  t.equal(await first([1, 7], { dayOne: 'sunday' }), '04 03 from 1');
  t.equal(await first([0, 6], { dayOne: 'sunday' }), '04 03 from 0');
  t.match(await first([0, 7], monday), /day "7": other days are counted from 0; expected 0 to 6/);
  t.match(await first([1]), /say which day is the first, with dayOne/);
});

fastTest('times of day are read as people write them', async (t) => {
  for (const [record, when, expected] of [
    [{ start: '1200', end: '1330' }, {}, 'T11:00T12:30'],
    [{ start: 900, end: 1030 }, {}, 'T08:00T09:30'],
    [{ start: '8:10 - 8:55' }, { end: undefined }, 'T07:10T07:55'],
    [{ start: '11:30/13:29' }, { end: undefined }, 'T10:30T12:29'],
    [{ start: '1:00 \u2013 2:15 PM' }, { end: undefined }, 'T12:00T13:15'],
    [{ start: '8:10 - 8:55', end: '9:00 - 9:45' }, {}, 'T07:10T08:45'],
    [{ start: '2000-01-01T09:00:00', end: '2000-01-01T10:50:00' }, {}, 'T08:00T09:50'],
    [{ length: 45 }, { end: undefined, minutes: 'length' }, 'T08:00T08:45'],
    [{}, { end: undefined, minutes: 90 }, 'T08:00T09:30'],
    [{ start: '23:30' }, { end: undefined, minutes: 60 }, 'T22:30T23:30'],
    [{ start: '22:00', end: '24:00' }, {}, 'T21:00T23:00'],
    [{ start: '8:00-9:30', end: '9:30' }, {}, 'T07:00T08:30'],
    [{ start: '8:00-9:30', length: 90 }, { end: undefined, minutes: 'length' }, 'T07:00T08:30'],
    [{ start_min: 540, endMinutes: '630' }, { start: 'start_min', end: 'endMinutes' }, 'T08:00T09:30'],
    [{ minutos: 1020 }, { start: 'minutos', end: undefined, minutes: 50 }, 'T16:00T16:50'],
    [{ Termin: 1020 }, { start: 'Termin', end: undefined, minutes: 50 }, 'T09:20T10:10'],
    [{ 'Start (min)': '9:00' }, { start: 'Start (min)' }, 'T08:00T09:00'],
  ] as const) {
    t.strictSame(
      await timesOf({ weeks: 1, ...record }, when),
      [`2026-09-28${expected}`],
      JSON.stringify(record),
    );
  }
  t.strictSame(
    await timesOf({ weeks: 1, day: 'Mon Wed', start: '11:30/13:29 08:30/10:29' }, { end: undefined }),
    ['2026-09-28T10:30T12:29', '2026-09-30T07:30T09:29'],
    'each day has its own time',
  );
  t.strictSame(
    await timesOf({ weeks: 1, day: 'Wed-Fri 8:00-9:00' }, { start: 'day', end: undefined }),
    ['2026-09-30T07:00T08:00', '2026-10-01T07:00T08:00', '2026-10-02T07:00T08:00'],
    'a range of days beside its time',
  );
});

fastTest('valid days and terms come from columns or from the rules', async (t) => {
  const dated = { dateOrder: 'dmy' } as const;
  t.match(await timesOf({ valid: '14.12.2026' }, { validFrom: 'valid' }, dated), ['2026-12-14T09:00T10:00']);
  t.match(await timesOf({}, { validUntil: '2026-10-04' }), ['2026-09-28T08:00T09:00']);
  t.match(
    await timesOf(
      { from: '2027-01-04', to: '2027-01-12', weeks: 2 },
      { validFrom: 'from', validUntil: 'to' },
      { terms: {} },
    ),
    ['2027-01-11T09:00T10:00'],
    'without a term, weeks count from the first day',
  );
  const terms = { a: { firstDay: '2026-09-28', weeks: 1 }, b: { firstDay: '2027-01-04', weeks: 1 } };
  t.match(await timesOf({ half: 'b' }, { term: 'half' }, { terms }), ['2027-01-04T09:00T10:00']);
  t.match(await timesOf({}, { term: 'a' }, { terms }), ['2026-09-28T08:00T09:00']);
  const recess = { autumn: { firstDay: '2026-09-28', weeks: 3, breaks: ['2026-10-03/2026-10-11'] } };
  t.match(
    await timesOf({ weeks: '1-2' }, {}, { terms: recess }),
    ['2026-09-28T08:00T09:00', '2026-10-12T08:00T09:00'],
    'a break has no number',
  );
});

fastTest('each fault of a record is a sentence', async (t) => {
  for (const [record, when, expected] of [
    [{ weeks: '31-6' }, {}, 'weeks "31-6": 31-6 ends before it begins'],
    [{ weeks: '1-13' }, {}, 'weeks "1-13": week 13 is beyond the term autumn, which has 12 weeks'],
    [{ weeks: 5 }, { cycle: 4 }, 'weeks "5": week 5 is beyond the cycle, which has 4 weeks'],
    [
      { weeks: '1-11/2' },
      {},
      'weeks "1-11/2": "1-11/2" has several meanings; expected weeks such as 1-6,8-12, or odd 1-11',
    ],
    [
      { weeks: '7+' },
      {},
      'weeks "7+": "7+" has several meanings; expected weeks such as 1-6,8-12, or odd 1-11',
    ],
    [{ weeks: 'often' }, {}, 'weeks "often": "often" is neither a week nor weeks such as 1-6 or odd'],
    [{ weeks: '0-3' }, {}, 'weeks "0-3": week 0 does not exist: weeks are counted from 1'],
    [{ weeks: '1-999' }, {}, 'weeks "1-999": week 999 does not exist: expected at most 106'],
    [
      { weeks: '{}' },
      {},
      'weeks "{}": an object of weeks needs start and end, which are dates such as 2026-09-28',
    ],
    [{ day: 'Moonday' }, {}, 'day "Moonday": it is no day of the week in any known language'],
    [
      { day: '8' },
      { dayOne: 'monday' },
      'day "8": days of the week are numbered from 0 to 6, or from 1 to 7',
    ],
    [{ day: '' }, {}, 'the day is missing; expected a day of the week'],
    [{ day: '--' }, {}, 'the day is missing; expected a day of the week'],
    [
      { start: '10:00', end: '09:00' },
      {},
      'end 09:00 is before start 10:00; expected it to be equal or later',
    ],
    [
      { start: '10:00' },
      { end: undefined },
      'start has no end; expected a range such as 8:10 - 8:55, or end or minutes in when',
    ],
    [{ start: '24:00' }, {}, 'start 24:00 is the end of the day; expected 00:00 with the next day'],
    [
      { start: '8:00-9:30', end: '10:00' },
      {},
      'the range in start ends at 09:30, but end gives 10:00; expected equal ends, or one of the two in when',
    ],
    [
      { start: '8:00-9:30' },
      { end: undefined, minutes: 60 },
      'the range in start ends at 09:30, but minutes gives 09:00; expected equal ends, or one of the two in when',
    ],
    [
      { start: 570 },
      {},
      'start "570": minute 70 does not exist; minutes since midnight need a column whose name says so, such as start_minutes',
    ],
    [{ start_min: 1500 }, { start: 'start_min' }, 'start "1500": a day has 1440 minutes'],
    [{ start: 'noon' }, {}, 'start "noon": its time of day is not like 8:00, 08:00:00, 0800 or 4:00 PM'],
    [
      { day: 'Mon Wed', start: '8:00, 9:00, 10:00' },
      {},
      'the record has 2 days, 3 times; expected one time, or one for each day, and at most 28',
    ],
    [
      { day: 'Wed', weeks: 6 },
      {},
      'the pattern has no date: Wednesday in weeks "6" does not occur in the term autumn; all 1 are in except',
    ],
    [
      { from: '2027-01-01' },
      { validFrom: 'from' },
      'the pattern has no date: Monday does not occur in the term autumn',
    ],
    [
      { from: '1.1.27' },
      { validFrom: 'from' },
      /^validFrom "1.1.27": the order of its day, month and year is unknown/,
    ],
    [{ half: 'spring' }, { term: 'half' }, 'there is no term "spring"; the terms are autumn'],
  ] as const) {
    t.match(await timesOf(record, when), [expected], JSON.stringify(record));
  }
});

fastTest('all faults of the rules are told at once, with their places', (t) => {
  const faults = (rules: Partial<ReadRules>): string[] =>
    patternFaults({ timeZone: 'UTC', ...rules }).map(({ path, message }) => `${path.join('.')}: ${message}`);
  t.strictSame(faults({ when: WHEN, terms: { autumn: TERM } }), []);
  t.strictSame(
    faults({
      terms: {
        autumn: {
          ...TERM,
          except: ['soon', '2026-10-02/2026-10-01'],
        },
      },
    }),
    [
      'terms.autumn.except.0: except "soon": expected a date such as 2026-11-04, or a range such as 2026-10-26/2026-10-30',
      'terms.autumn.except.1: except "2026-10-02/2026-10-01": it ends before it begins',
    ],
  );
  t.strictSame(
    faults({
      when: { day: 'day', start: '{a' },
      fieldMap: { time: 'x' },
      timeZone: undefined,
    }),
    [
      'when.start: start is "{a": "{" has no partner: write {column}, or {{ for a brace',
      'when: when needs a term: describe it under terms with firstDay and weeks, or give validFrom and validUntil',
      'when: fields has time beside when; expected one of the two, because when makes the times',
      'when: when needs timeZone, because its times of day are local, such as timeZone: Europe/Berlin',
    ],
  );
  t.end();
});

fastTest('ids follow the record and the date, so that they stay when weeks and times change', async (t) => {
  const ids = async (record: object, more: Partial<ReadRules> = {}): Promise<Map<string, unknown>> => {
    const text = JSON.stringify({
      id: 'lesson 1',
      day: 'Mon',
      start: '09:00',
      end: '10:00',
      weeks: '',
      ...record,
    });
    const { events } = await load(text, { when: WHEN, ...more });
    return new Map(events.map(({ time, id }) => [String(time).slice(0, 10), id]));
  };
  const before = await ids({});
  const after = await ids({ start: '08:00', weeks: '2-12' });
  t.equal(new Set(before.values()).size, 12);
  for (const [date, id] of after) t.equal(id, before.get(date), date);
  const other = await ids({ id: 'lesson 2' });
  t.equal(new Set([...before.values(), ...other.values()]).size, 24);
  const uuid = '0f8fad5b-d9cb-469f-a165-70867728950e';
  t.equal((await ids({ id: uuid }, { identifiers: 'uuid' })).size, 12);
  t.equal((await ids({ id: uuid }, { identifiers: 'any' })).size, 12);
});

fastTest('values of several meetings, groups and lessons come together', async (t) => {
  const record = {
    id: 'a',
    day: 'Mon Wed',
    start: '9:00-10:00 11:00-12:00',
    rooms: 'A1 B2',
    groups: ['G1', 'G2'],
  };
  const rules = {
    fieldMap: { roomId: { from: 'rooms', split: ' ' }, studyGroup: 'groups' },
    when: { day: 'day', start: 'start' },
    terms: { autumn: { firstDay: '2026-09-28', weeks: 1 } },
    identifiers: 'any',
  } as const;
  const { events, conflicts } = await load(JSON.stringify(record), rules);
  const shown = events.map(
    ({ time, roomId, studyGroup }) => `${String(time).slice(8, 13)} ${roomId} ${studyGroup}`,
  );
  t.strictSame(
    shown.sort(),
    ['28T08 A1 G1', '28T08 A1 G2', '30T10 B2 G1', '30T10 B2 G2'],
    'each meeting has its room',
  );
  t.strictSame(conflicts.merged, { group: 0, lecturer: 0, room: 0 }, 'the rows of a date are one lesson');
  t.equal(new Set(events.map(({ id }) => id)).size, 4);
  const both = ['a', 'b'].map((id) => JSON.stringify({ ...record, id, lesson: 'one' }));
  const joined = await load(both.join('\n'), {
    ...rules,
    fieldMap: { ...rules.fieldMap, lessonId: 'lesson' },
  });
  t.equal(joined.conflicts.merged.room, 0, 'a lessonId of the source counts for each date');
});

fastTest(
  'a change of records changes all dates of each, and reads weekdays as the whole load did',
  async (t) => {
    const lesson = (id: string, day: number, weeks: string): object => ({
      id,
      day,
      weeks,
      start: '9:00',
      end: '10:00',
    });
    const rules: ReadRules = {
      identifiers: 'any',
      timeZone: 'UTC',
      terms: { autumn: { firstDay: '2026-09-28', weeks: 3 } },
      when: { ...WHEN, dayOne: 'monday' },
    };
    const first = [lesson('a', 0, ''), lesson('b', 1, '1-2'), lesson('c', 2, '1')].map((each) =>
      JSON.stringify(each),
    );
    const { image: served } = await loadImage(sourceOf(first.join('\n')), rules);
    t.equal(served.summary.events, 6);
    const task = {
      task: 'patch',
      name: 'test',
      rules,
      served,
      past: [],
      removals: ['a'],
      version: '2',
    } as const;
    const bounds = { memoryBytesMax: 2 ** 29 };
    const chunks = recordChunks([lesson('b', 1, '2-3'), lesson('d', 3, '3')]);
    const done = (await runTaskHere({ ...task, bounds }, {}, chunks)) as { readonly image: typeof served };
    const events = JSON.parse(Buffer.from(done.image.rows.bytes).toString()) as Record<string, unknown>[];
    t.strictSame(
      events.map(({ time }) => String(time).slice(5, 10)),
      ['09-30', '10-06', '10-13', '10-15'],
      'day 3 is Thursday, because days are counted from 0',
    );
  },
);

fastTest('columns that are not served count once for each record', async (t) => {
  const { summary } = await load(
    `id,day,start,end,Note\na,ma,09:00,10:00,x\nb,vr,09:00,10:00,x\nc,wo,09:00,10:00,y\n`,
    { when: { ...WHEN, weeks: undefined } },
  );
  t.equal(summary.events, 35);
  t.match(summary.unserved.fields, [{ name: 'Note', records: 3 }]);
});

const ZONES = [
  'Europe/London',
  'America/New_York',
  'Australia/Lord_Howe',
  'America/Santiago',
  'Africa/Casablanca',
];

test('generated patterns give the dates and instants of the slow twin', async (t) => {
  const pattern = fc.record({
    weekday: fc.nat(6),
    start: fc.nat(24 * 60 - 1),
    minutes: fc.integer({ min: 1, max: 600 }),
    weeks: fc.oneof(
      fc.constantFrom(null, 'odd' as const, 'even' as const),
      fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { minLength: 1 }),
    ),
  });
  const generated = fc.record({
    patterns: fc.array(pattern, { minLength: 1, maxLength: 8 }),
    zone: fc.constantFrom(...ZONES),
    // Terms of 30 to 45 weeks meet both changes of the clock.
    first: fc.integer({ min: 20_500, max: 20_900 }),
    weeks: fc.integer({ min: 30, max: 45 }),
    except: fc.array(fc.nat(300), { maxLength: 30 }),
    cycle: fc.constantFrom(0, 4, 5),
  });
  await fc.assert(
    fc.asyncProperty(generated, async ({ patterns, zone, first, weeks, except, cycle }) => {
      const day = (n: number): string => new Date((first + n) * 86_400_000).toISOString().slice(0, 10);
      const term = { firstDay: day(0), weeks, except: except.map(day) };
      const lines = patterns.map(({ weekday, start, minutes, weeks }, n) =>
        JSON.stringify({
          id: `${n}`,
          title: `${n}`,
          day: weekday,
          start: `${Math.floor(start / 60)}:${String(start % 60).padStart(2, '0')}`,
          minutes,
          weeks,
        }),
      );
      // A day 0 tells that days are counted from 0.
      lines.unshift(JSON.stringify({ id: 'first', title: 'first', day: 0, start: '0:00', minutes: 1 }));
      const { events } = await load(lines.join('\n'), {
        timeZone: zone,
        terms: { term },
        when: {
          day: 'day',
          start: 'start',
          minutes: 'minutes',
          weeks: 'weeks',
          dayOne: 'monday',
          ...(cycle === 0 ? {} : { cycle }),
        },
      });
      const twin = patterns.flatMap((each, n) =>
        datesOfPattern(term, { ...each, cycle }, zone)
          // Across a change of the clock, a time may come before one that was earlier: the load refuses such events.
          .filter(({ startMs, endMs }) => endMs >= startMs)
          .map(({ startMs, endMs }) => [n, startMs, endMs].join()),
      );
      const loaded = events
        .filter(({ title }) => title !== 'first')
        .map(({ title, time, endTime }) =>
          [title, Date.parse(String(time)), Date.parse(String(endTime))].join(),
        );
      t.strictSame(loaded.sort(), twin.sort());
      return loaded.join() === twin.join();
    }),
    { numRuns: runs(100) },
  );
});

test('white space in a cell with days and times takes linear time', (t) => {
  const cell = `Mon 9:00-10:00${' '.repeat(1000)}-`;
  withoutWeekdays(cell);
  const before = process.cpuUsage();
  for (let n = 0; n < 5000; n++) withoutWeekdays(cell);
  const tookMs = process.cpuUsage(before).user / 1000;
  t.ok(tookMs < 1000, `${tookMs} ms`);
  t.equal(withoutWeekdays('Mon 9:00-10:00 ,; and Wed 11:00-12:00 '), '9:00-10:00;11:00-12:00 ');
  t.end();
});
