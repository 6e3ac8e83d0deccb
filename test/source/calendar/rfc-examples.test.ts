/** Every example of RFC 5545 sections 3.3.10 and 3.8.5.3. The dates are those of the RFC, where it gives them. */
import { test } from 'tap';
import { eventOf, readCalendar, startsOf } from './calendars.js';

const NEW_YORK = 'America/New_York';

interface Example {
  readonly name: string;
  /** Default 19970902T090000. */
  readonly start?: string;
  readonly lines: readonly string[];
  /** The expected dates by year, such as `Sep 2,4; Oct 1-3`. Times are 09:00. */
  readonly dates?: Readonly<Record<number, string>>;
  /** The expected times in place of dates, such as `1997-09-02 09:00`. */
  readonly times?: readonly string[];
  /** For endless examples: the last compared day. */
  readonly before?: string;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function timesOf({ dates = {}, times }: Example): readonly string[] {
  if (times !== undefined) return times;
  const all: string[] = [];
  for (const [year, text] of Object.entries(dates)) {
    for (const part of text.split('; ')) {
      const [month = '', days = ''] = part.split(' ');
      for (const range of days.split(',')) {
        const [first = '', last = first] = range.split('-');
        for (let day = Number(first); day <= Number(last); day++) {
          const number = String(MONTHS.indexOf(month) + 1).padStart(2, '0');
          all.push(`${year}-${number}-${String(day).padStart(2, '0')} 09:00`);
        }
      }
    }
  }
  return all;
}

const EVERY_TWENTY_MINUTES = ['1997-09-02', '1997-09-03'].flatMap((day) =>
  ['09', '10', '11', '12', '13', '14', '15', '16'].flatMap((hour) =>
    ['00', '20', '40'].map((minute) => `${day} ${hour}:${minute}`),
  ),
);

const EXAMPLES: readonly Example[] = [
  { name: 'daily for 10 occurrences', lines: ['RRULE:FREQ=DAILY;COUNT=10'], dates: { 1997: 'Sep 2-11' } },
  {
    name: 'daily until December 24, 1997',
    lines: ['RRULE:FREQ=DAILY;UNTIL=19971224T000000Z'],
    dates: { 1997: 'Sep 2-30; Oct 1-31; Nov 1-30; Dec 1-23' },
  },
  {
    name: 'every other day, forever',
    lines: ['RRULE:FREQ=DAILY;INTERVAL=2'],
    dates: {
      1997: 'Sep 2,4,6,8,10,12,14,16,18,20,22,24,26,28,30; Oct 2,4,6,8,10,12,14,16,18,20,22,24,26,28,30; Nov 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29; Dec 1,3',
    },
    before: '1997-12-04',
  },
  {
    name: 'every 10 days, 5 occurrences',
    lines: ['RRULE:FREQ=DAILY;INTERVAL=10;COUNT=5'],
    dates: { 1997: 'Sep 2,12,22; Oct 2,12' },
  },
  ...[
    'RRULE:FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA',
    'RRULE:FREQ=DAILY;UNTIL=20000131T140000Z;BYMONTH=1',
  ].map((rule) => ({
    name: `every day in January, for 3 years: ${rule}`,
    start: '19980101T090000',
    lines: [rule],
    dates: { 1998: 'Jan 1-31', 1999: 'Jan 1-31', 2000: 'Jan 1-31' },
  })),
  {
    name: 'weekly for 10 occurrences',
    lines: ['RRULE:FREQ=WEEKLY;COUNT=10'],
    dates: { 1997: 'Sep 2,9,16,23,30; Oct 7,14,21,28; Nov 4' },
  },
  {
    name: 'weekly until December 24, 1997',
    lines: ['RRULE:FREQ=WEEKLY;UNTIL=19971224T000000Z'],
    dates: { 1997: 'Sep 2,9,16,23,30; Oct 7,14,21,28; Nov 4,11,18,25; Dec 2,9,16,23' },
  },
  {
    name: 'every other week, forever',
    lines: ['RRULE:FREQ=WEEKLY;INTERVAL=2;WKST=SU'],
    dates: { 1997: 'Sep 2,16,30; Oct 14,28; Nov 11,25; Dec 9,23', 1998: 'Jan 6,20; Feb 3,17' },
    before: '1998-02-20',
  },
  ...[
    'RRULE:FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH',
    'RRULE:FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH',
  ].map((rule) => ({
    name: `weekly on Tuesday and Thursday for five weeks: ${rule}`,
    lines: [rule],
    dates: { 1997: 'Sep 2,4,9,11,16,18,23,25,30; Oct 2' },
  })),
  {
    name: 'every other week on Monday, Wednesday, and Friday until December 24, 1997',
    start: '19970901T090000',
    lines: ['RRULE:FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR'],
    dates: {
      1997: 'Sep 1,3,5,15,17,19,29; Oct 1,3,13,15,17,27,29,31; Nov 10,12,14,24,26,28; Dec 8,10,12,22',
    },
  },
  {
    name: 'every other week on Tuesday and Thursday, for 8 occurrences',
    lines: ['RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH'],
    dates: { 1997: 'Sep 2,4,16,18,30; Oct 2,14,16' },
  },
  {
    name: 'monthly on the first Friday for 10 occurrences',
    start: '19970905T090000',
    lines: ['RRULE:FREQ=MONTHLY;COUNT=10;BYDAY=1FR'],
    dates: { 1997: 'Sep 5; Oct 3; Nov 7; Dec 5', 1998: 'Jan 2; Feb 6; Mar 6; Apr 3; May 1; Jun 5' },
  },
  {
    name: 'monthly on the first Friday until December 24, 1997',
    start: '19970905T090000',
    lines: ['RRULE:FREQ=MONTHLY;UNTIL=19971224T000000Z;BYDAY=1FR'],
    dates: { 1997: 'Sep 5; Oct 3; Nov 7; Dec 5' },
  },
  {
    name: 'every other month on the first and last Sunday of the month for 10 occurrences',
    start: '19970907T090000',
    lines: ['RRULE:FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU'],
    dates: { 1997: 'Sep 7,28; Nov 2,30', 1998: 'Jan 4,25; Mar 1,29; May 3,31' },
  },
  {
    name: 'monthly on the second-to-last Monday of the month for 6 months',
    start: '19970922T090000',
    lines: ['RRULE:FREQ=MONTHLY;COUNT=6;BYDAY=-2MO'],
    dates: { 1997: 'Sep 22; Oct 20; Nov 17; Dec 22', 1998: 'Jan 19; Feb 16' },
  },
  {
    name: 'monthly on the third-to-the-last day of the month, forever',
    start: '19970928T090000',
    lines: ['RRULE:FREQ=MONTHLY;BYMONTHDAY=-3'],
    dates: { 1997: 'Sep 28; Oct 29; Nov 28; Dec 29', 1998: 'Jan 29; Feb 26' },
    before: '1998-03-01',
  },
  {
    name: 'monthly on the 2nd and 15th of the month for 10 occurrences',
    lines: ['RRULE:FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15'],
    dates: { 1997: 'Sep 2,15; Oct 2,15; Nov 2,15; Dec 2,15', 1998: 'Jan 2,15' },
  },
  {
    name: 'monthly on the first and last day of the month for 10 occurrences',
    start: '19970930T090000',
    lines: ['RRULE:FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1'],
    dates: { 1997: 'Sep 30; Oct 1,31; Nov 1,30; Dec 1,31', 1998: 'Jan 1,31; Feb 1' },
  },
  {
    name: 'every 18 months on the 10th thru 15th of the month for 10 occurrences',
    start: '19970910T090000',
    lines: ['RRULE:FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15'],
    dates: { 1997: 'Sep 10-15', 1999: 'Mar 10-13' },
  },
  {
    name: 'every Tuesday, every other month',
    lines: ['RRULE:FREQ=MONTHLY;INTERVAL=2;BYDAY=TU'],
    dates: { 1997: 'Sep 2,9,16,23,30; Nov 4,11,18,25', 1998: 'Jan 6,13,20,27; Mar 3,10,17,24,31' },
    before: '1998-04-15',
  },
  {
    name: 'yearly in June and July for 10 occurrences',
    start: '19970610T090000',
    lines: ['RRULE:FREQ=YEARLY;COUNT=10;BYMONTH=6,7'],
    dates: Object.fromEntries([1997, 1998, 1999, 2000, 2001].map((year) => [year, 'Jun 10; Jul 10'])),
  },
  {
    name: 'every other year on January, February, and March for 10 occurrences',
    start: '19970310T090000',
    lines: ['RRULE:FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3'],
    dates: {
      1997: 'Mar 10',
      1999: 'Jan 10; Feb 10; Mar 10',
      2001: 'Jan 10; Feb 10; Mar 10',
      2003: 'Jan 10; Feb 10; Mar 10',
    },
  },
  {
    name: 'every third year on the 1st, 100th, and 200th day for 10 occurrences',
    start: '19970101T090000',
    lines: ['RRULE:FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200'],
    dates: {
      1997: 'Jan 1; Apr 10; Jul 19',
      2000: 'Jan 1; Apr 9; Jul 18',
      2003: 'Jan 1; Apr 10; Jul 19',
      2006: 'Jan 1',
    },
  },
  {
    name: 'every 20th Monday of the year, forever',
    start: '19970519T090000',
    lines: ['RRULE:FREQ=YEARLY;BYDAY=20MO'],
    dates: { 1997: 'May 19', 1998: 'May 18', 1999: 'May 17' },
    before: '2000-01-01',
  },
  {
    name: 'Monday of week number 20, forever',
    start: '19970512T090000',
    lines: ['RRULE:FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO'],
    dates: { 1997: 'May 12', 1998: 'May 11', 1999: 'May 17' },
    before: '2000-01-01',
  },
  {
    name: 'every Thursday in March, forever',
    start: '19970313T090000',
    lines: ['RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=TH'],
    dates: { 1997: 'Mar 13,20,27', 1998: 'Mar 5,12,19,26', 1999: 'Mar 4,11,18,25' },
    before: '2000-01-01',
  },
  {
    name: 'every Thursday, but only during June, July, and August, forever',
    start: '19970605T090000',
    lines: ['RRULE:FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8'],
    dates: {
      1997: 'Jun 5,12,19,26; Jul 3,10,17,24,31; Aug 7,14,21,28',
      1998: 'Jun 4,11,18,25; Jul 2,9,16,23,30; Aug 6,13,20,27',
      1999: 'Jun 3,10,17,24; Jul 1,8,15,22,29; Aug 5,12,19,26',
    },
    before: '2000-01-01',
  },
  {
    name: 'every Friday the 13th, forever',
    lines: ['EXDATE;TZID=America/New_York:19970902T090000', 'RRULE:FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13'],
    dates: { 1998: 'Feb 13; Mar 13; Nov 13', 1999: 'Aug 13', 2000: 'Oct 13' },
    before: '2001-01-01',
  },
  {
    name: 'the first Saturday that follows the first Sunday of the month, forever',
    start: '19970913T090000',
    lines: ['RRULE:FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13'],
    dates: { 1997: 'Sep 13; Oct 11; Nov 8; Dec 13', 1998: 'Jan 10; Feb 7; Mar 7; Apr 11; May 9; Jun 13' },
    before: '1998-07-01',
  },
  {
    name: 'every 4 years, the first Tuesday after a Monday in November, forever',
    start: '19961105T090000',
    lines: ['RRULE:FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8'],
    dates: { 1996: 'Nov 5', 2000: 'Nov 7', 2004: 'Nov 2' },
    before: '2005-01-01',
  },
  {
    name: 'the third instance into the month of Tuesday, Wednesday, or Thursday, for the next 3 months',
    start: '19970904T090000',
    lines: ['RRULE:FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3'],
    dates: { 1997: 'Sep 4; Oct 7; Nov 6' },
  },
  {
    name: 'the second-to-last weekday of the month',
    start: '19970929T090000',
    lines: ['RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2'],
    dates: { 1997: 'Sep 29; Oct 30; Nov 27; Dec 30', 1998: 'Jan 29; Feb 26; Mar 30' },
    before: '1998-04-01',
  },
  {
    // The RFC prints UNTIL=19970902T170000Z, which is 13:00 there; an erratum corrects it.
    name: 'every 3 hours from 9:00 AM to 5:00 PM on a specific day',
    lines: ['RRULE:FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T210000Z'],
    times: ['1997-09-02 09:00', '1997-09-02 12:00', '1997-09-02 15:00'],
  },
  {
    name: 'the same with the end that the RFC prints',
    lines: ['RRULE:FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T170000Z'],
    times: ['1997-09-02 09:00', '1997-09-02 12:00'],
  },
  {
    name: 'every 15 minutes for 6 occurrences',
    lines: ['RRULE:FREQ=MINUTELY;INTERVAL=15;COUNT=6'],
    times: ['09:00', '09:15', '09:30', '09:45', '10:00', '10:15'].map((time) => `1997-09-02 ${time}`),
  },
  {
    name: 'every hour and a half for 4 occurrences',
    lines: ['RRULE:FREQ=MINUTELY;INTERVAL=90;COUNT=4'],
    times: ['09:00', '10:30', '12:00', '13:30'].map((time) => `1997-09-02 ${time}`),
  },
  ...[
    'RRULE:FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,20,40',
    'RRULE:FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11,12,13,14,15,16',
  ].map((rule) => ({
    name: `every 20 minutes from 9:00 AM to 4:40 PM every day: ${rule}`,
    lines: [rule],
    times: EVERY_TWENTY_MINUTES,
    before: '1997-09-04',
  })),
  {
    name: 'weeks that begin on Monday',
    start: '19970805T090000',
    lines: ['RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO'],
    dates: { 1997: 'Aug 5,10,19,24' },
  },
  {
    name: 'weeks that begin on Sunday',
    start: '19970805T090000',
    lines: ['RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU'],
    dates: { 1997: 'Aug 5,17,19,31' },
  },
  {
    name: 'section 3.3.10: every Sunday in January at 8:30 and 9:30, every other year',
    start: '19970105T083000',
    lines: ['RRULE:FREQ=YEARLY;INTERVAL=2;BYMONTH=1;BYDAY=SU;BYHOUR=8,9;BYMINUTE=30'],
    times: ['1997-01-05', '1997-01-12', '1997-01-19', '1997-01-26']
      .concat('1999-01-03', '1999-01-10', '1999-01-17', '1999-01-24', '1999-01-31')
      .flatMap((day) => [`${day} 08:30`, `${day} 09:30`]),
    before: '2001-01-01',
  },
  {
    name: 'section 3.3.10: the last work day of the month',
    start: '19970930T090000',
    lines: ['RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1'],
    dates: { 1997: 'Sep 30; Oct 31; Nov 28; Dec 31', 1998: 'Jan 30; Feb 27; Mar 31' },
    before: '1998-04-01',
  },
  {
    name: 'section 3.3.10: ten occurrences on every other day',
    lines: ['RRULE:FREQ=DAILY;COUNT=10;INTERVAL=2'],
    dates: { 1997: 'Sep 2,4,6,8,10,12,14,16,18,20' },
  },
  {
    name: 'dates that do not exist are ignored',
    start: '20070115T090000',
    lines: ['RRULE:FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5'],
    dates: { 2007: 'Jan 15,30; Feb 15; Mar 15,30' },
  },
];

for (const example of EXAMPLES) {
  test(example.name, (t) => {
    const { start = '19970902T090000', lines, before = '2010-01-01' } = example;
    const text = eventOf(`DTSTART;TZID=${NEW_YORK}:${start}`, ...lines);
    const read = readCalendar(text, { from: '1990-01-01', to: `${before}T05:00:00Z` });
    t.strictSame(read.rejections, []);
    t.strictSame(startsOf(read, NEW_YORK), timesOf(example));
    t.equal(new Set(read.events.map(({ id }) => id)).size, read.events.length, 'identifiers are distinct');
    t.end();
  });
}

/** Sections 3.8.5.1 and 3.8.5.2. */
test('EXDATE removes occurrences; RDATE adds dates, times and periods', (t) => {
  const read = readCalendar(
    eventOf(
      `DTSTART;TZID=${NEW_YORK}:19970902T090000`,
      'DURATION:PT1H',
      'RRULE:FREQ=DAILY;COUNT=3',
      'EXDATE:19970903T130000Z',
      'RDATE:19970714T123000Z',
      `RDATE;TZID=${NEW_YORK}:19970714T083000`,
      'RDATE;VALUE=PERIOD:19960403T020000Z/19960403T040000Z,19960404T010000Z/PT3H',
    ),
    { from: '1990-01-01', to: '2000-01-01' },
  );
  t.strictSame(
    read.events.map(({ DTSTART, DTEND }) => `${DTSTART} ${DTEND}`),
    [
      '1996-04-03T02:00:00.000Z 1996-04-03T04:00:00.000Z',
      '1996-04-04T01:00:00.000Z 1996-04-04T04:00:00.000Z',
      '1997-07-14T12:30:00.000Z 1997-07-14T13:30:00.000Z',
      '1997-09-02T13:00:00.000Z 1997-09-02T14:00:00.000Z',
      '1997-09-04T13:00:00.000Z 1997-09-04T14:00:00.000Z',
    ],
  );
  t.strictSame(read.rejections, []);
  t.end();
});
