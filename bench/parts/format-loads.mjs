/** The loads of a calendar and of CSV, each against other work with the same data. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { rowOf } from '../rows.mjs';
import { readEvents } from '../sets.mjs';
import { median } from '../statistics.mjs';
import { calendarText } from './calendar-text.mjs';

const RATIO_MAX = 1.5;
const PATTERN_RATIO_MAX = 1.2;
const NESTED_RATIO_MAX = 5;
const PATTERN_WEEKS = 15;
const PROGRAM = fileURLToPath(new URL('../processes/compare-loads.mjs', import.meta.url));
const run = promisify(execFile);

/** The records of NDJSON as CSV. */
async function* csvOf(file) {
  let fields = null;
  const cell = (value) =>
    value === null || value === undefined ? '' : `"${String(value).replaceAll('"', '""')}"`;
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const record = JSON.parse(line);
    if (fields === null) {
      fields = Object.keys(record);
      yield `${fields.join(',')}\r\n`;
    }
    yield `${fields.map((field) => cell(record[field])).join(',')}\r\n`;
  }
}

/** Patterns, and the rows of all their dates. */
function patternTexts(count) {
  const days = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri'];
  const first = Date.UTC(2026, 8, 28);
  const two = (number) => String(number).padStart(2, '0');
  const idOf = (n) => {
    const hex = createHash('md5').update(String(n)).digest('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  };
  const patterns = [];
  const rows = [];
  for (let n = 0; n < count; n++) {
    const lesson = { title: `Course ${n % 500}`, roomId: idOf(n % 200), studyGroup: `G${n % 300}` };
    const [start, end] = [`${two(8 + (n % 9))}:00`, `${two(8 + (n % 9))}:45`];
    const day = n % days.length;
    const weeks = `1-${PATTERN_WEEKS}`;
    patterns.push(JSON.stringify({ id: idOf(n), ...lesson, day: days[day], start, end, weeks }));
    for (let week = 0; week < PATTERN_WEEKS; week++) {
      const date = new Date(first + (7 * week + day) * 86_400_000).toISOString().slice(0, 10);
      const id = idOf(count + PATTERN_WEEKS * n + week);
      rows.push(JSON.stringify({ id, ...lesson, time: `${date} ${start}`, endTime: `${date} ${end}` }));
    }
  }
  return [patterns, rows].map((lines) => `${lines.join('\n')}\n`);
}

/** Rules that change no row of CSV, and the same rows without. */
const PLAIN_RULES = { identifiers: 'derived' };
const MAPPED_RULES = {
  ...PLAIN_RULES,
  fieldMap: {
    studyGroup: { from: 'studyGroup', split: ';' },
    lecturer: { from: 'lecturer', match: '^(?<value>[^,(]+)' },
    type: { from: 'type', values: { LEC: 'Lecture', LAB: 'Lab', SEM: 'Seminar', TUT: 'Tutorial' } },
  },
};

/** A document of courses with their lessons within. */
function nestedText(events) {
  const courses = new Map();
  for (const event of events) {
    const { title } = event;
    if (!courses.has(title)) courses.set(title, { title, lessons: [] });
    courses.get(title).lessons.push(event);
  }
  return JSON.stringify({ courses: [...courses.values()] });
}
const NESTED_RECORDS = 'courses.lessons';

/** @param {import('../session.mjs').Session} session */
export async function measureFormatLoads(session) {
  const isQuick = session.settings.quick;
  const events = isQuick ? 2000 : 50_000;
  const folder = mkdtempSync(join(tmpdir(), 'lectern-loads-'));
  const measure = async (name, set, target, ...argv) => {
    const { stdout } = await run(process.execPath, [PROGRAM, ...argv.map(String)]);
    const { ownMs, otherMs } = JSON.parse(stdout);
    const about = { group: 'format', name, set, unit: 'ratio', target };
    const detail = { ms: median(ownMs), againstMs: median(otherMs) };
    session.say(`  ${name}: ${detail.ms.toFixed(0)} ms against ${detail.againstMs.toFixed(0)} ms`);
    session.add(
      rowOf(
        about,
        ownMs.map((ms, n) => ms / otherMs[n]),
        detail,
      ),
    );
  };
  try {
    const calendar = join(folder, 'calendar.ics');
    const count = (number) => number.toLocaleString('en');
    for (const [isZoned, ending] of [
      [false, ''],
      [true, ', with TZID'],
    ]) {
      writeFileSync(calendar, calendarText(events, isZoned));
      await measure(
        `load of ${count(events)} calendar events against parsing alone by ical.js${ending}`,
        'medium',
        RATIO_MAX,
        ...[calendar, isQuick ? 1 : 9, isQuick ? 0 : 4],
      );
    }
    const ndjson = await session.sets.file('large');
    const csv = join(folder, 'large.csv');
    await pipeline(csvOf(ndjson), createWriteStream(csv));
    await measure(
      `load of ${count(session.settings.events.large)} rows of CSV against the same NDJSON`,
      'large',
      RATIO_MAX,
      ...[csv, isQuick ? 1 : 5, isQuick ? 0 : 1, ndjson],
    );
    await measure(
      `load of ${count(session.settings.events.large)} rows of CSV by split, match and values against the same rows without`,
      'large',
      RATIO_MAX,
      ...[csv, isQuick ? 1 : 5, isQuick ? 0 : 1, csv],
      ...[MAPPED_RULES, PLAIN_RULES].map((each) => JSON.stringify(each)),
    );
    const nested = join(folder, 'nested.json');
    // 50,000 events are 20 MB.
    const text = nestedText(readEvents(await session.sets.file('medium')).slice(0, events));
    writeFileSync(nested, text);
    await measure(
      `${(text.length / 1e6).toFixed(0)} MB of nested JSON to rows by a path of JSONata against JSON.parse`,
      'medium',
      NESTED_RATIO_MAX,
      ...[nested, isQuick ? 1 : 5, isQuick ? 0 : 1, ''],
      JSON.stringify({ identifiers: 'uuid', records: NESTED_RECORDS }),
    );
    const patterns = isQuick ? 500 : 10_000;
    const [weekly, dated] = ['weekly', 'dated'].map((file) => join(folder, `${file}.ndjson`));
    const texts = patternTexts(patterns);
    writeFileSync(weekly, texts[0]);
    writeFileSync(dated, texts[1]);
    const rules = { identifiers: 'uuid', timeZone: 'Europe/Berlin' };
    const when = { day: 'day', start: 'start', end: 'end', weeks: 'weeks' };
    const terms = { term: { firstDay: '2026-09-28', weeks: PATTERN_WEEKS } };
    await measure(
      `load of ${count(patterns)} weekly patterns against the rows of their dates`,
      'medium',
      PATTERN_RATIO_MAX,
      ...[weekly, isQuick ? 1 : 9, isQuick ? 0 : 4, dated],
      ...[{ ...rules, when, terms }, rules].map((each) => JSON.stringify(each)),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
