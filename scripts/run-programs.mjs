/** Runs compiled test programs, several at a time, and reports each as it ends. */
import { spawn } from 'node:child_process';
import { availableParallelism, constants, getPriority, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** tap ends a program with the names of its pending tests; this is the time left for that. */
const GRACE_MS = 10_000;
/**
 * Threads that load have PRIORITY_BELOW_NORMAL, and would get next to nothing beside other programs of normal priority.
 * This is just above it.
 */
const NICENESS = constants.priority.PRIORITY_BELOW_NORMAL - 1;

/**
 * @param {readonly string[]} programs paths from the project's folder, in the order of their starts
 * @param {import('./test-report.mjs').Report} report
 * @param {{ jobs?: number, seconds: number, env?: Record<string, string> }} options `jobs`: programs at a time, by
 * default two more than cores, because many tests wait; `seconds` is the time limit of a program
 */
export async function runPrograms(programs, report, { jobs = availableParallelism() + 2, seconds, env }) {
  const waiting = [...programs];
  if (jobs > 1) setPriority(Math.max(getPriority(), NICENESS));
  /** Names by child process. */
  const running = new Map();
  const endAll = (signal) => {
    for (const [child, name] of running) {
      process.stderr.write(`still running: ${name}\n`);
      endGroup(child);
    }
    process.exit(signal === 'SIGINT' ? 130 : 143);
  };
  process.once('SIGINT', endAll).once('SIGTERM', endAll);

  async function runNext() {
    for (let program = waiting.shift(); program !== undefined; program = waiting.shift()) {
      const child = spawn(...timed([process.execPath, program]), {
        cwd: ROOT,
        env: { ...process.env, TAP_TIMEOUT: String(seconds), ...env },
        stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
        // A group of its own, so that the time limit also ends what the program started.
        detached: true,
      });
      running.set(child, nameOf(program));
      const timer = setTimeout(endGroup, seconds * 1000 + GRACE_MS, child);
      const used = processorSeconds(child.stdio[3]);
      await report.read(child, nameOf(program), { tellsTests: false, used });
      clearTimeout(timer);
      running.delete(child);
    }
  }
  await Promise.all(Array.from({ length: jobs }, runNext));
  process.off('SIGINT', endAll).off('SIGTERM', endAll);
}

/** A shell tells the processor time of a program and of all that it started and awaited; Node cannot. */
const TIMED = '"$@" 3>&-; code=$?; times >&3; exit $code';
const timed = (argv) =>
  process.platform === 'win32' ? [argv[0], argv.slice(1)] : ['sh', ['-c', TIMED, 'sh', ...argv]];

/** @returns {Promise<number>} NaN if nothing was told */
async function processorSeconds(stream) {
  let text = '';
  for await (const chunk of stream) text += chunk;
  // The last line has user and system time of children, as in 1m2.34s.
  const times = [...(text.trim().split('\n').at(-1) ?? '').matchAll(/(\d+)m([\d.]+)s/g)];
  return times.length === 0
    ? Number.NaN
    : times.reduce((sum, [, minutes, seconds]) => sum + 60 * minutes + Number(seconds), 0);
}

function endGroup(child) {
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}

/** The source of a compiled test file; a program of several files has the name of its folder and a number. */
const nameOf = (program) =>
  program
    .replace(/^\.tests\/(.*)\/together-(\d+)\.test\.js$/, 'test/$1, $2')
    .replace(/^\.tests\/(.*\.test)\.js$/, 'test/$1.ts');
