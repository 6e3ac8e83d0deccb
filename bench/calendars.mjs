/**
 * How long recurrence rules take, beside rrule-temporal. Needs a build.
 *
 *     node bench/calendars.mjs
 */
import { RRuleTemporal } from 'rrule-temporal';
import { CalendarReader } from '../dist/source/calendar/calendar-reader.js';
import { FieldTable } from '../dist/source/field-map.js';

const RULES = [
  ['FREQ=WEEKLY;BYDAY=MO,WE', '20250901T080000Z'],
  ['FREQ=DAILY;COUNT=20000', '19900101T080000Z'],
  ['FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1', '19970902T090000Z'],
  ['FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31', '20260201T000000Z'],
  ['FREQ=SECONDLY', '20260101T000000Z'],
  ['FREQ=SECONDLY;COUNT=1000000000', '20200101T000000Z'],
];
const FROM = '2025-11-23';
const TO = '2028-11-23';

/** The least processor time of five runs. */
function leastMs(task) {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round++) {
    const before = process.cpuUsage();
    task();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least.toFixed(1).padStart(7);
}

function compareRules() {
  for (const [rule, start] of RULES) {
    let events = 0;
    let refused = '';
    const own = leastMs(() => {
      events = 0;
      refused = '';
      const sink = { row: () => events++, fault: (...why) => (refused = JSON.stringify(why)) };
      const table = new FieldTable(sink, 'icalendar');
      const reader = new CalendarReader('bench', table, { identifiers: 'uuid', from: FROM, to: TO });
      const lines = ['BEGIN:VCALENDAR', 'BEGIN:VEVENT', 'UID:1', 'SUMMARY:x', `DTSTART:${start}`];
      lines.push('DURATION:PT1H', `RRULE:${rule}`, 'END:VEVENT', 'END:VCALENDAR', '');
      reader.push(Buffer.from(lines.join('\r\n')));
      reader.finish();
      // The reader gives recurring events here, in as many turns as the caller takes.
      for (const _ of reader.rest());
    });
    let other = '';
    const theirs = leastMs(() => {
      try {
        const expansion = new RRuleTemporal({
          rruleString: `DTSTART:${start}\nRRULE:${rule}`,
          maxIterations: 100_000,
          maxCandidateEvaluations: 100_000,
        });
        other = `${expansion.between(new Date(FROM), new Date(TO), true).length}`;
      } catch (error) {
        other = error.message;
      }
    });
    console.log(`${rule}: Lectern ${own} ms, ${events} events; rrule-temporal ${theirs} ms, ${other}`);
  }
}

compareRules();
