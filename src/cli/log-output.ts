import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { LOG_BYTES_MAX } from '../limits.js';
import { pauseSync } from '../thread/pause.js';

/** How often the lines that wait are tried again: 64 KiB of a pipe each time are 3 MB a second. */
const RETRY_MS = 20;
/** Longest that the end waits until the last lines are taken. */
const FLUSH_MS_MAX = 500;
const FLUSH_POLL_MS = 5;

/**
 * The log's destination. Lines are written at once, so that a crash loses none. While they are not taken, up to LOG_BYTES_MAX of them
 * wait; lines beyond that are dropped and counted. Writing waits only for a file's disk, and for a terminal that cannot be opened anew.
 */
export class LogOutput {
  readonly #fd: number;
  /** The first may be the rest of a line of which a part has been written. */
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  /** Of these, those that were not reported yet. */
  #untold = 0;
  #timer: NodeJS.Timeout | null = null;
  /** Why the last write failed: `EAGAIN` where more may be taken in a moment. */
  #reason: string | undefined;
  /** Called when lines are taken again, with the number of those that were dropped in between. */
  onResumed: (dropped: number) => void = () => {};

  /** @param fd that never blocks, or of a file */
  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Lines that were never written. */
  get dropped(): number {
    return this.#dropped;
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#waiting.length === 0) {
      const rest = this.#take(bytes);
      if (rest.length > 0) this.#keep(rest);
    } else if (this.#waitingBytes + bytes.length <= LOG_BYTES_MAX) this.#keep(bytes);
    else {
      this.#dropped++;
      this.#untold++;
    }
  }

  /** Writes what waits, and waits for a moment while it is not taken. pino calls this after a fatal record. */
  flushSync(): void {
    const endMs = performance.now() + FLUSH_MS_MAX;
    while (!this.#drain() && this.#reason === 'EAGAIN' && performance.now() < endMs) {
      pauseSync(FLUSH_POLL_MS);
    }
  }

  #keep(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#retry();
  }

  #retry(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      if (!this.#drain()) this.#retry();
    }, RETRY_MS).unref();
  }

  /** @returns whether nothing waits any more */
  #drain(): boolean {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const rest = this.#take(first);
      this.#waitingBytes -= first.length - rest.length;
      if (rest.length > 0) {
        this.#waiting[0] = rest;
        return false;
      }
      this.#waiting.shift();
    }
    const dropped = this.#untold;
    this.#untold = 0;
    if (dropped > 0) this.onResumed(dropped);
    return this.#waiting.length === 0;
  }

  /** @returns what was not written */
  #take(bytes: Buffer): Buffer {
    try {
      return bytes.subarray(writeSync(this.#fd, bytes));
    } catch (error) {
      // Whatever it is, it may pass: a disk that is full, a reader that has gone.
      this.#reason = (error as NodeJS.ErrnoException).code;
      return bytes;
    }
  }
}

/**
 * Standard error, so that writing to it does not block. Node makes pipes and sockets non-blocking once they are used, but another
 * process that shares them can change that; terminals it makes blocking. Pipes and terminals are opened anew where that is allowed.
 */
export function openStandardError(): LogOutput {
  const { fd } = process.stderr;
  if (!isatty(fd) && !fstatSync(fd).isFIFO()) return new LogOutput(fd);
  try {
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
    return new LogOutput(openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY));
  } catch {
    return new LogOutput(fd);
  }
}
