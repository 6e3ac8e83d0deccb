import type { BigIntStats } from 'node:fs';
import { type FileHandle, stat } from 'node:fs/promises';
import { LecternError } from '../errors.js';
import { FILE_IDLE_MS_MAX, FILE_POLL_MS, FILE_TOTAL_MS_MAX } from '../limits.js';
import { openRegularFile } from './open-file.js';
import { unreadable } from './unreadable.js';

/** What may stand at a path, and how long it may take. */
export interface FileLimits {
  /** Whether a named pipe may stand at the path. Default: where one does when the timetable is opened. */
  readonly isPipe?: boolean | undefined;
  /** Between two pieces of the file. Default FILE_IDLE_MS_MAX; a pipe has the whole time. */
  readonly idleMsMax?: number | undefined;
  /** The whole load. Default FILE_TOTAL_MS_MAX. */
  readonly totalMsMax?: number | undefined;
}

/**
 * Gives up a file that does not answer: one on a network file system that hangs, a pipe that nothing writes to, a file that never
 * ends. While it is waited for, its path is looked at every second: where another file stands there, the one that was opened is
 * given up at once.
 *
 * What was given up may still wait for the system. Its end must not be awaited.
 */
export class FilePatience {
  readonly #path: string;
  readonly #name: string;
  readonly #idleMsMax: number;
  readonly #totalMsMax: number;
  readonly #beganMs: number = performance.now();
  #opened: Pick<BigIntStats, 'dev' | 'ino'> | null = null;
  #hasGivenUp = false;
  #bytes = 0;

  /** @param name for messages */
  constructor(path: string, limits: FileLimits, name: string = path) {
    this.#path = path;
    this.#name = name;
    this.#totalMsMax = limits.totalMsMax ?? FILE_TOTAL_MS_MAX;
    this.#idleMsMax = Math.min(limits.idleMsMax ?? FILE_IDLE_MS_MAX, this.#totalMsMax);
  }

  /** Opens the regular file at the path, and closes it after use. What cannot be opened is `source-unreadable`. */
  async use<Result>(use: (handle: FileHandle) => Promise<Result>): Promise<Result> {
    const opening = openRegularFile(this.#path);
    // It may still be opened, long after it was given up.
    const handle = await this.wait(opening).catch((error: unknown) => {
      opening.then((late) => late.close()).catch(() => {});
      throw error instanceof LecternError ? error : unreadable(this.#name, error);
    });
    try {
      return await use(handle);
    } finally {
      const closed = handle.close();
      if (this.#hasGivenUp) closed.catch(() => {});
      else await closed;
    }
  }

  /** From now on the path has to lead to this file. */
  opened(status: Pick<BigIntStats, 'dev' | 'ino'>): void {
    this.#opened = status;
  }

  /** Settles as the promise does, or rejects with `source-unreadable`. */
  wait<Value>(promise: Promise<Value>): Promise<Value> {
    const beganMs = performance.now();
    return new Promise((resolve, reject) => {
      let isLooking = false;
      const giveUp = (problem: string): void => {
        clearInterval(timer);
        reject(this.#giveUp(problem));
      };
      const timer = setInterval(
        () => {
          const nowMs = performance.now();
          if (nowMs - this.#beganMs >= this.#totalMsMax) giveUp(this.#tooLong());
          else if (nowMs - beganMs >= this.#idleMsMax) {
            giveUp(`nothing came for ${inSeconds(this.#idleMsMax)}, after ${this.#bytes} bytes`);
          } else if (!isLooking) {
            isLooking = true;
            void this.#isReplaced().then((isReplaced) => {
              isLooking = false;
              if (isReplaced) giveUp('it was replaced by another file while it was read');
            });
          }
        },
        Math.min(FILE_POLL_MS, Math.ceil(this.#idleMsMax / 4)),
      );
      promise.then(resolve, reject).finally(() => clearInterval(timer));
    });
  }

  /** The pieces of the file, as long as they come. */
  async *pieces(pieces: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const { done, value } = await this.wait(pieces.next());
        if (done) return;
        if (performance.now() - this.#beganMs >= this.#totalMsMax) throw this.#giveUp(this.#tooLong());
        this.#bytes += value.length;
        yield value;
      }
    } finally {
      const end = pieces.return(undefined);
      if (this.#hasGivenUp) end.catch(() => {});
      else await end;
    }
  }

  /** A file that is gone is read to its end: it was whole, and there is no other. */
  async #isReplaced(): Promise<boolean> {
    const opened = this.#opened;
    if (opened === null) return false;
    try {
      const now = await stat(this.#path, { bigint: true });
      return now.ino !== opened.ino || now.dev !== opened.dev;
    } catch {
      return false;
    }
  }

  #tooLong(): string {
    return `it was not read whole within ${inSeconds(this.#totalMsMax)}, after ${this.#bytes} bytes`;
  }

  #giveUp(problem: string): LecternError {
    this.#hasGivenUp = true;
    return new LecternError('source-unreadable', `cannot read ${this.#name}: ${problem}`);
  }
}

function inSeconds(ms: number): string {
  return `${ms / 1000} s`;
}
