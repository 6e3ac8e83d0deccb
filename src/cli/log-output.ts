import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { LOG_BYTES_MAX } from '../limits.js';
import { pauseSync } from '../thread/pause.js';

/** How often it is tried again whether the lines that wait are taken: 64 KiB of a pipe each time are 3 MB a second. */
const RETRY_MS = 20;
/** Longest that the end waits for somebody to take the last lines. */
const FLUSH_MS_MAX = 500;
const FLUSH_POLL_MS = 5;

/**
 * The log's destination. Lines are written at once, so that none is lost with the process; where nobody takes them they wait,
 * up to LOG_BYTES_MAX, and what comes then is dropped and counted. Writing never waits, but for a file's disk, and for
 * a terminal that cannot be opened anew.
 */
export class LogOutput {
  readonly #fd: number;
  /** The first may be the rest of a line of which a part has been written. */
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  /** Of these, those that nobody was told of. */
  #untold = 0;
  #timer: NodeJS.Timeout | null = null;
  /** Why the last write failed: `EAGAIN` where somebody may take more in a moment. */
  #reason: string | undefined;
  /** Called when lines are taken again, with the number of those that were dropped in between. */
  onResumed: (dropped: number) => void = () => {};

  /** @param fd that never blocks, or of a file */
  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Lines that nobody will ever read. */
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

  /** Writes what waits, and waits for a moment while nobody takes it. pino calls this after a fatal record. */
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
 * Standard error, so that writing to it does not block. Node makes pipes and sockets so by itself, once they are used; but whoever
 * shares them can change that, and terminals it makes blocking on purpose. Pipes and terminals can be opened anew,
 * where that is allowed.
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
