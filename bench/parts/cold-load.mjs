/** The cost of a cold load, compared with a loop that only splits the lines and calls JSON.parse. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ROW_NAMES, rowOf } from '../rows.mjs';
import { median } from '../statistics.mjs';

const RATIO_MAX = 1.6;
const run = promisify(execFile);
const at = (name) => fileURLToPath(new URL(`../processes/${name}`, import.meta.url));

/** @returns {Promise<{ events: number, userMicros: number, systemMicros: number, seconds: number }>} */
async function measureProcess(program, source) {
  const { stdout } = await run(process.execPath, [at(program), source]);
  const { user, system, ...rest } = JSON.parse(stdout);
  return { ...rest, userMicros: user, systemMicros: system, cpuMicros: user + system };
}

/** @param {import('../session.mjs').Session} session */
export async function measureColdLoads(session) {
  if (!session.wants(ROW_NAMES.coldLoad)) return;
  const source = await session.sets.file('large');
  const parses = [];
  const loads = [];
  for (let round = 0; round < session.settings.coldLoads; round++) {
    parses.push(await measureProcess('parse-lines.mjs', source));
    loads.push(await measureProcess('load-set.mjs', source));
    if (parses.at(-1).events !== loads.at(-1).events) {
      throw new Error(`of ${parses.at(-1).events} lines ${loads.at(-1).events} were loaded`);
    }
  }
  session.measurements.push({
    name: ROW_NAMES.coldLoad,
    set: 'large',
    servers: [
      { name: 'JSON.parse of every line', rounds: parses },
      { name: 'Lectern', rounds: loads },
    ],
  });
  const seconds = (rounds) => median(rounds.map(({ cpuMicros }) => cpuMicros)) / 1e6;
  session.add(
    rowOf(
      { group: 'load', name: ROW_NAMES.coldLoad, set: 'large', unit: 'times', target: RATIO_MAX },
      loads.map(({ cpuMicros }, n) => cpuMicros / parses[n].cpuMicros),
      {
        cpuSeconds: seconds(loads),
        parseCpuSeconds: seconds(parses),
        readySeconds: median(loads.map((each) => each.seconds)),
      },
    ),
  );
}
