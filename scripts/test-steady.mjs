/**
 * Runs the fast tests again and again, on the idle machine and then beside a load that takes all cores, and prints what
 * failed, with counts:
 *
 *     npm run test:steady -- [<runs on the idle machine, 20>] [<runs beside the load, 5>] [<part of a path> …]
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { buildTests, writePrograms } from './build-tests.mjs';
import { build } from './ensure-built.mjs';
import { runPrograms } from './run-programs.mjs';
import { Report } from './test-report.mjs';
import { SELECTIONS } from './test-selections.mjs';

const RUNS = { idle: 20, loaded: 5 };
/** The load ends by itself when this program is gone, or after so many seconds. */
const LOAD_SECONDS_MAX = 3600;
const BURN = `const endMs = Date.now() + ${LOAD_SECONDS_MAX * 1000};
  while (process.ppid === ${process.pid} && Date.now() < endMs) for (let n = 0; n < 1e7; n++);`;

const counts = process.argv.slice(2).filter((each) => /^\d+$/.test(each));
const parts = process.argv.slice(2).filter((each) => !/^\d+$/.test(each));
const [idle, loaded] = [Number(counts[0] ?? RUNS.idle), Number(counts[1] ?? RUNS.loaded)];

if (!build()) process.exit(1);
const files = (await buildTests())
  .filter(SELECTIONS.fast.has)
  .filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)));
const programs = writePrograms(files, SELECTIONS.fast.isTogether);
const failedRuns = [];
for (let n = 0; n < idle + loaded; n++) {
  const isLoaded = n >= idle;
  const load = isLoaded ? Array.from({ length: availableParallelism() }, burn) : [];
  let text = '';
  const report = new Report((part) => {
    text += part;
  });
  await runPrograms(programs, report, SELECTIONS.fast);
  for (const child of load) child.kill('SIGKILL');
  report.finish();
  const name = isLoaded ? `beside a load, run ${n - idle + 1} of ${loaded}` : `run ${n + 1} of ${idle}`;
  const failures = report.failed > 0 ? text.slice(text.indexOf('\nFailed:\n') + 9) : '';
  process.stdout.write(`${name}: ${text.trimEnd().split('\n').at(-1)}\n${failures}`);
  if (report.failed > 0) failedRuns.push({ isLoaded, text: failures });
}

const failuresIn = (runs) => runs.map(({ text }) => text).join('');
const names = [...failuresIn(failedRuns).matchAll(/^ {2}(?! )(.*)$/gm)].map(([, failure]) => failure);
for (const failure of new Set(names)) {
  process.stdout.write(`${names.filter((each) => each === failure).length} times: ${failure}\n`);
}
const green = (isLoaded) => failedRuns.filter((run) => run.isLoaded === isLoaded).length;
process.stdout.write(
  `green: ${idle - green(false)} of ${idle}; beside a load ${loaded - green(true)} of ${loaded}\n`,
);
process.exitCode = failedRuns.length === 0 ? 0 : 1;

function burn() {
  return spawn(process.execPath, ['-e', BURN], { stdio: 'ignore' });
}
