/** The loads of a calendar and of CSV, each against other work with the same data. */
import { execFile } from 'node:child_process';
import { createReadStream, createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { rowOf } from '../rows.mjs';
import { median } from '../statistics.mjs';
import { calendarText } from './calendar-text.mjs';

const RATIO_MAX = 1.5;
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

/** @param {import('../session.mjs').Session} session */
export async function measureFormatLoads(session) {
  const isQuick = session.settings.quick;
  const events = isQuick ? 2000 : 50_000;
  const folder = mkdtempSync(join(tmpdir(), 'lectern-loads-'));
  const measure = async (name, set, ...argv) => {
    const { stdout } = await run(process.execPath, [PROGRAM, ...argv.map(String)]);
    const { ownMs, otherMs } = JSON.parse(stdout);
    const about = { group: 'format', name, set, unit: 'ratio', target: RATIO_MAX };
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
    writeFileSync(calendar, calendarText(events, false));
    const count = (number) => number.toLocaleString('en');
    await measure(
      `load of ${count(events)} calendar events against parsing alone by ical.js`,
      'medium',
      ...[calendar, isQuick ? 1 : 9, isQuick ? 0 : 4],
    );
    const ndjson = await session.sets.file('large');
    const csv = join(folder, 'large.csv');
    await pipeline(csvOf(ndjson), createWriteStream(csv));
    await measure(
      `load of ${count(session.settings.events.large)} rows of CSV against the same NDJSON`,
      'large',
      ...[csv, isQuick ? 1 : 5, isQuick ? 0 : 1, ndjson],
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
