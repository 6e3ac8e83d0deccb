import { type BigIntStats, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { LOOK_MS_MAX } from '../limits.js';
import { inTime } from '../model/clock.js';

interface Waiting {
  begin(): void;
  fail(error: Error): void;
}

/** The file system of a path does not answer, or has not answered an earlier call. */
export class SilentFileSystem extends Error {}

/**
 * Calls to one file system, one at a time, and each with an end in time. A call that hangs keeps one of the four threads
 * that a process has for files, keys and compression. So until it returns, all other calls fail at once.
 */
class FileCalls {
  readonly #waiting: Waiting[] = [];
  #isRunning = false;
  /** The reason why calls fail; null if the last one returned in time. */
  #hang: SilentFileSystem | null = null;

  /** @throws SilentFileSystem if an earlier call has not returned */
  check(): void {
    if (this.#hang !== null) throw this.#hang;
  }

  /** @param onLate gets the result of a call that returns too late */
  async run<T>(call: () => Promise<T>, msMax: number, onLate?: (value: T) => void): Promise<T> {
    this.check();
    if (this.#isRunning) await new Promise<void>((begin, fail) => this.#waiting.push({ begin, fail }));
    this.#isRunning = true;
    const running = (async () => call())();
    const next = (): void => this.#next();
    running.then(next, next);
    return inTime(running, msMax, () => this.#hangs(), onLate);
  }

  #hangs(): SilentFileSystem {
    const hang = new SilentFileSystem('its file system does not answer');
    this.#hang = hang;
    for (const { fail } of this.#waiting.splice(0)) fail(hang);
    return hang;
  }

  #next(): void {
    this.#hang = null;
    const next = this.#waiting.shift();
    if (next === undefined) this.#isRunning = false;
    else next.begin();
  }
}

const callsByDevice = new Map<bigint | string | null, FileCalls>();
/** The last state of each path that was asked for: the paths of settings and of timetable files. */
const lastStates = new Map<string, BigIntStats>();

/**
 * Calls to the file system with this number; null for paths whose file system is not known yet. A text stands for calls
 * that others must not wait for.
 */
export function fileCallsOf(device: bigint | string | null): FileCalls {
  let calls = callsByDevice.get(device);
  if (calls === undefined) {
    calls = new FileCalls();
    callsByDevice.set(device, calls);
  }
  return calls;
}

/** `stat` with an end in time. @throws SilentFileSystem; the errors of `stat` */
export async function statInTime(path: string, msMax: number = LOOK_MS_MAX): Promise<BigIntStats> {
  const device = lastStates.get(path)?.dev ?? null;
  const state = await fileCallsOf(device).run(() => stat(path, { bigint: true }), msMax);
  lastStates.set(path, state);
  return state;
}

/**
 * `stat` with a call that blocks, unless the file system is known not to answer. For the start; later only just after
 * `statInTime`. Null if there is nothing.
 *
 * @throws SilentFileSystem; the errors of `stat`
 */
export function statNow(path: string): BigIntStats | null {
  fileCallsOf(lastStates.get(path)?.dev ?? null).check();
  return statSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
}

/** Whether there is a pipe, a folder or a device at this path. */
export function isNotRegular(path: string): boolean {
  try {
    return statNow(path)?.isFile() === false;
  } catch {
    return false;
  }
}

/** The state of a path now, or the last one if its file system does not answer. Null if there was none. */
export function lastStateOf(path: string): Promise<BigIntStats | null> {
  return statInTime(path).catch((error) =>
    error instanceof SilentFileSystem ? (lastStates.get(path) ?? null) : null,
  );
}
