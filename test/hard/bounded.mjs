/**
 * A process that serves 200 good events and then runs a load in limited memory. Prints the outcome as one
 * line of JSON: how the load ended, what is served afterwards, and the peak memory of the process.
 *
 * node bounded.mjs <index.js> <job as JSON>
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { endlessRecords, goodEvents } from './endless.mjs';

const [, , index, text] = process.argv;
const { openTimetable } = await import(index);
const { kind, options, folder, address, hostile } = JSON.parse(text);

const good = goodEvents();
const goodText = good.map((each) => `${JSON.stringify(each)}\n`).join('');
const path = `${folder}/served`;
let isHostile = false;

function sourceOf() {
  switch (kind) {
    case 'file':
      writeFileSync(path, goodText);
      return path;
    case 'several':
      writeFileSync(path, goodText);
      return {
        kind: 'merged',
        specs: [
          { kind: 'file', path },
          { kind: 'http', url: address },
        ],
      };
    case 'address':
      return { kind: 'http', url: address, totalMsMax: 60_000 };
    case 'lecturers':
      writeFileSync(path, goodText);
      return { kind: 'file', path, lecturerIds: `${folder}/lecturers.json` };
    case 'records':
      return {
        name: 'records',
        load: () => ({ records: isHostile ? endlessRecords() : good, version: null }),
      };
    case 'async-records':
      return {
        name: 'records',
        load: () => ({
          records: isHostile
            ? (async function* () {
                for (const each of endlessRecords()) yield each;
              })()
            : good,
          version: null,
        }),
      };
    case 'stdin':
      return '-';
  }
}

// Standard input can be read once; the snapshot served before it comes from disk, written by a run with another input.
if (kind === 'stdin') {
  const path = `${folder}/image`;
  const { Readable } = await import('node:stream');
  const real = Object.getOwnPropertyDescriptor(process, 'stdin');
  Object.defineProperty(process, 'stdin', {
    value: Readable.from([Buffer.from(goodText)]),
    configurable: true,
  });
  const first = openTimetable({ source: '-', snapshotFile: path });
  await first.ready;
  await first.close();
  Object.defineProperty(process, 'stdin', real);
  options.snapshotFile = path;
}
if (kind === 'lecturers') writeFileSync(`${folder}/lecturers.json`, '{}');
const timetable = openTimetable({ source: sourceOf(), watch: false, ...options });
await timetable.ready;
const before = timetable.all().total;
isHostile = true;
if (hostile !== undefined) {
  renameSync(hostile, kind === 'lecturers' ? `${folder}/lecturers.json` : path);
}
const refusals = [];
timetable.on('refused', ({ refusal }) => refusals.push(refusal.code));
process.stderr.write('serving\n');
const beganMs = performance.now();
let outcome;
if (kind === 'stdin') {
  // The snapshot from disk is served, and standard input is already being read.
  outcome = await new Promise((resolve) => {
    timetable.on('loaded', ({ result }) => resolve({ result, reason: timetable.source.lastError }));
  });
} else outcome = await timetable.refresh();
const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
console.log(
  JSON.stringify({
    ...outcome,
    refusals,
    before,
    after: timetable.all().total,
    state: timetable.source,
    ms: Math.round(performance.now() - beganMs),
    peakMib: Math.round(Number(peak) / 1024),
  }),
);
await timetable.close();
process.exit(0);
