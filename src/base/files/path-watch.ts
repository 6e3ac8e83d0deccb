import { FILE_POLL_MS } from '../limits.js';
import { SilentFileSystem, statInTime, statNow } from './file-calls.js';

/** A changed file must stay unchanged this long before it is read. Writers flush more often. */
const FILE_SETTLE_MS = 200;

export interface WatchOptions {
  readonly pollMs?: number;
  /** How long a file must stay unchanged before its change is reported. Default FILE_SETTLE_MS. */
  readonly settleMs?: number;
  /** The longest time of a check. Default LOOK_MS_MAX. */
  readonly lookMsMax?: number;
  /** The least pause after a check, as a multiple of its duration. Default 0: a slow file system costs nothing. */
  readonly pauseFactor?: number;
}

/**
 * Polls, because system notifications follow inodes instead of paths, and network file systems send none. A check that
 * fails is a change, so that whoever reads the file finds the reason and tells it; the next success is another change.
 */
export class PathWatch {
  readonly ready: Promise<unknown>;
  readonly #look: () => Promise<string>;
  readonly #onChange: () => void;
  readonly #pollMs: number;
  readonly #settleMs: number;
  readonly #pauseFactor: number;
  #known: string | null;
  #found: string | null;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param look gives the present state; must end in time, and rejects if it cannot tell
   * @param state the present state; null: read it first
   */
  constructor(
    look: () => Promise<string>,
    state: string | null,
    onChange: () => void,
    { pollMs = FILE_POLL_MS, settleMs = FILE_SETTLE_MS, pauseFactor = 0 }: WatchOptions,
  ) {
    this.#look = look;
    this.#known = state;
    this.#found = state;
    this.#onChange = onChange;
    this.#pollMs = pollMs;
    this.#settleMs = settleMs;
    this.#pauseFactor = pauseFactor;
    this.ready = state === null ? this.#lookAgain() : Promise.resolve();
    if (state !== null) this.#lookIn(pollMs);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #lookAgain(): Promise<void> {
    const beganMs = performance.now();
    let tookMs = 0;
    let state: string;
    try {
      state = await this.#look();
      tookMs = performance.now() - beganMs;
    } catch (error) {
      state = String(error);
    }
    if (this.#isClosed) return;
    const isSettled = state === this.#found && state !== this.#known && this.#known !== null;
    if (isSettled || this.#known === null) this.#known = state;
    this.#found = state;
    const pauseMs = state === this.#known ? this.#pollMs : this.#settleMs;
    this.#lookIn(Math.max(pauseMs, this.#pauseFactor * tookMs));
    if (isSettled) this.#onChange();
  }

  #lookIn(ms: number): void {
    this.#timer = setTimeout(() => void this.#lookAgain(), ms).unref();
  }
}

/** Calls back when the file at a path has changed and settled, compared with its state now. */
export function watchPath(path: string, onChange: () => void, options: WatchOptions = {}): PathWatch {
  return new PathWatch(() => lookAtPath(path, options.lookMsMax), stateNow(path), onChange, options);
}

/** The state of a file; if there is none, the code of the fault. Rejects if its file system does not answer. */
function lookAtPath(path: string, msMax?: number): Promise<string> {
  return statInTime(path, msMax).then(stateOf, failureCode);
}

function stateNow(path: string): string {
  try {
    const state = statNow(path);
    return state === null ? 'ENOENT' : stateOf(state);
  } catch (error) {
    return error instanceof SilentFileSystem ? String(error) : failureCode(error);
  }
}

/** A text that changes whenever a file or a list of names changes. */
export function stateOf(status: { dev: bigint; ino: bigint; size: bigint; mtimeNs: bigint }): string {
  return `${status.dev}-${status.ino}-${status.size}-${status.mtimeNs}`;
}

/** The code of an error of the system. Other errors are thrown. */
export function failureCode(error: unknown): string {
  if (error instanceof Error && 'code' in error) return String(error.code);
  throw error;
}
