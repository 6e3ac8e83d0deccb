/**
 * Compares loading a calendar with only parsing it by ical.js; both take turns in one process. Also measures
 * how long recurrence rules take. Needs a build.
 *
 *     node bench/calendars.mjs [events] [rounds]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ICAL from 'ical.js';
import { RRuleTemporal } from 'rrule-temporal';
import { CalendarReader } from '../dist/source/calendar/calendar-reader.js';
import { FieldTable } from '../dist/source/field-map.js';
import { fileSource } from '../dist/source/file.js';
import { loadImage } from '../dist/thread/load-image.js';
import { calendarText } from './parts/calendar-text.mjs';
import { spreadOf } from './statistics.mjs';

const EVENTS = Number(process.argv[2] ?? 50_000);
const ROUNDS = Number(process.argv[3] ?? 5);

async function cpuMs(task) {
  const before = process.cpuUsage();
  await task();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const show = ({ median, min, max }) => `${median.toFixed(2)} (${min.toFixed(2)} to ${max.toFixed(2)})`;

async function compareLoads(folder) {
  for (const isZoned of [false, true]) {
    const file = join(folder, 'calendar.ics');
    const text = calendarText(EVENTS, isZoned);
    writeFileSync(file, text);
    const parses = [];
    const loads = [];
    const load = async () => {
      const { image } = await loadImage(fileSource(file), { identifiers: 'uuid' });
      if (image.summary.events !== EVENTS) throw new Error(`${image.summary.events} events were loaded`);
    };
    for (let round = 0; round < ROUNDS; round++) {
      parses.push(await cpuMs(() => ICAL.parse(text)));
      loads.push(await cpuMs(load));
    }
    const name = isZoned ? 'with TZID' : 'in UTC';
    console.log(`${EVENTS} events ${name}, ${(text.length / 1e6).toFixed(1)} MB`);
    console.log(`  ical.js parses in   ${show(spreadOf(parses))} ms of CPU`);
    console.log(`  Lectern loads in    ${show(spreadOf(loads))} ms of CPU`);
    console.log(`  ratio               ${show(spreadOf(loads.map((ms, n) => ms / parses[n])))}`);
  }
}

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

const folder = mkdtempSync(join(tmpdir(), 'lectern-calendars-'));
try {
  compareRules();
  await compareLoads(folder);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
