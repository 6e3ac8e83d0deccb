import type { BigIntStats } from 'node:fs';
import { type FileHandle, stat } from 'node:fs/promises';
import { LecternError } from '../errors.js';
import { FILE_IDLE_MS_MAX, FILE_POLL_MS, FILE_TOTAL_MS_MAX } from '../limits.js';
import { fileUnreadable, openRegularFile } from './open-file.js';

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
 * Gives up a file that hangs, never ends, or is replaced by another one at its path. What was given up may still wait for the
 * system, so its end is not awaited.
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

  constructor(path: string, limits: FileLimits, name: string = path) {
    this.#path = path;
    this.#name = name;
    this.#totalMsMax = limits.totalMsMax ?? FILE_TOTAL_MS_MAX;
    this.#idleMsMax = Math.min(limits.idleMsMax ?? FILE_IDLE_MS_MAX, this.#totalMsMax);
  }

  /** Opens the regular file at the path, and closes it after use. */
  async use<Result>(use: (handle: FileHandle) => Promise<Result>): Promise<Result> {
    const opening = openRegularFile(this.#path);
    const handle = await this.wait(opening).catch((error: unknown) => {
      // It may still be opened, long after it was given up.
      opening.then((late) => late.close()).catch(() => {});
      throw error instanceof LecternError ? error : fileUnreadable(this.#name, error);
    });
    try {
      return await use(handle);
    } finally {
      await this.#end(handle.close());
    }
  }

  /** From now on the path has to lead to this file. */
  opened(status: Pick<BigIntStats, 'dev' | 'ino'>): void {
    this.#opened = status;
  }

  /** Settles as the promise does, or rejects with `source-unreadable`. */
  async wait<Value>(promise: Promise<Value>): Promise<Value> {
    const beganMs = performance.now();
    const pollMs = Math.min(FILE_POLL_MS, Math.ceil(this.#idleMsMax / 4));
    let timer: NodeJS.Timeout | undefined;
    const givenUp = new Promise<never>((_, reject) => {
      let isLooking = false;
      timer = setInterval(() => {
        const nowMs = performance.now();
        if (nowMs - this.#beganMs >= this.#totalMsMax) reject(this.#tooLong());
        else if (nowMs - beganMs >= this.#idleMsMax) {
          reject(this.#giveUp(`nothing came for ${this.#idleMsMax / 1000} s, after ${this.#bytes} bytes`));
        } else if (!isLooking) {
          isLooking = true;
          void this.#isReplaced().then((isReplaced) => {
            isLooking = false;
            if (isReplaced) reject(this.#giveUp('it was replaced by another file while it was read'));
          });
        }
      }, pollMs);
    });
    try {
      return await Promise.race([promise, givenUp]);
    } finally {
      clearInterval(timer);
    }
  }

  /** The pieces of the file. One that grows beyond `bytesMax`, perhaps for ever, has changed. */
  async *pieces(
    pieces: AsyncGenerator<Uint8Array>,
    bytesMax: number = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const { done, value } = await this.wait(pieces.next());
        if (done) return;
        if (performance.now() - this.#beganMs >= this.#totalMsMax) throw this.#tooLong();
        this.#bytes += value.length;
        if (this.#bytes > bytesMax) throw changedWhileRead(this.#name);
        yield value;
      }
    } finally {
      await this.#end(pieces.return(undefined));
    }
  }

  /** A file that is gone counts as not replaced, and is read to its end. */
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

  async #end(end: Promise<unknown>): Promise<void> {
    if (this.#hasGivenUp) end.catch(() => {});
    else await end;
  }

  #tooLong(): LecternError {
    const problem = `it was not read whole within ${this.#totalMsMax / 1000} s, after ${this.#bytes} bytes`;
    return this.#giveUp(problem);
  }

  #giveUp(problem: string): LecternError {
    this.#hasGivenUp = true;
    return new LecternError('source-unreadable', `cannot read ${this.#name}: ${problem}`);
  }
}

export function changedWhileRead(name: string, cause?: unknown): LecternError {
  const message = `cannot read ${name}: it changed while it was read`;
  return new LecternError('source-unreadable', message, { cause });
}
