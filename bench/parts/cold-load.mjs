/** The cost of a cold load, compared with a loop that only splits the lines and calls JSON.parse. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { memoryForLoad } from '../../dist/refresh/memory-room.js';
import { LOAD_ROWS, rowOf, tellWithout } from '../rows.mjs';
import { median } from '../statistics.mjs';

/** The largest memory of loads of 1,000,000 and 3,000,000 events, for each event. */
const EVENT_BYTES = 800;
/** A load of millions takes minutes. */
const LONG_EVENTS_MIN = 3_000_000;
const LONG_ROUNDS_MAX = 3;
const run = promisify(execFile);
const at = (name) => fileURLToPath(new URL(`../processes/${name}`, import.meta.url));

/** @returns {Promise<{ events: number, userMicros: number, systemMicros: number, seconds: number }>} */
async function measureProcess(program, source) {
  const { stdout } = await run(process.execPath, [at(program), source]);
  const { user, system, ...rest } = JSON.parse(stdout);
  return { ...rest, userMicros: user, systemMicros: system, cpuMicros: user + system };
}

/** The large set, and those of --loads. @param {import('../session.mjs').Session} session */
export async function measureColdLoads(session) {
  const { events, loads } = session.settings;
  await measureColdLoad(session, 'large', events.large);
  for (const count of loads) await measureColdLoad(session, `${count.toLocaleString('en')} events`, count);
}

async function measureColdLoad(session, set, events) {
  if (!session.wants(...Object.values(LOAD_ROWS))) return;
  const boundBytes = memoryForLoad();
  if (events * EVENT_BYTES > boundBytes) {
    const gb = (bytes) => `${(bytes / 1e9).toFixed(1)} GB`;
    const reason = `a load may take ${gb(boundBytes)} here, and this one needs ${gb(events * EVENT_BYTES)}`;
    session.say(tellWithout(LOAD_ROWS.processor, set, reason));
    return;
  }
  const source = await session.sets.file(set, events);
  const rounds = Math.min(session.settings.coldLoads, events < LONG_EVENTS_MIN ? Infinity : LONG_ROUNDS_MAX);
  const parses = [];
  const loads = [];
  for (let round = 0; round < rounds; round++) {
    parses.push(await measureProcess('parse-lines.mjs', source));
    loads.push(await measureProcess('load-set.mjs', source));
    if (parses.at(-1).events !== loads.at(-1).events) {
      throw new Error(`of ${parses.at(-1).events} lines ${loads.at(-1).events} were loaded`);
    }
  }
  session.measurements.push({
    name: LOAD_ROWS.processor,
    set,
    servers: [
      { name: 'JSON.parse of every line', rounds: parses },
      { name: 'Lectern', rounds: loads },
    ],
  });
  const of = (all, field) => median(all.map((each) => each[field]));
  const ratios = (field) => loads.map((each, n) => each[field] / parses[n][field]);
  const about = { group: 'load', set, unit: 'times' };
  session.add(
    rowOf({ ...about, name: LOAD_ROWS.processor, target: 1.6 }, ratios('cpuMicros'), {
      cpuSeconds: of(loads, 'cpuMicros') / 1e6,
      parseCpuSeconds: of(parses, 'cpuMicros') / 1e6,
    }),
  );
  session.add(
    rowOf({ ...about, name: LOAD_ROWS.time, target: 1.1 }, ratios('seconds'), {
      readySeconds: of(loads, 'seconds'),
      parseSeconds: of(parses, 'seconds'),
    }),
  );
  const shares = loads.map((each) => each.peakBytes / each.boundBytes);
  session.add(
    rowOf({ ...about, name: LOAD_ROWS.memory, target: 1 }, shares, { peakBytes: of(loads, 'peakBytes') }),
  );
}
