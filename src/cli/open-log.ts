import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type DestinationStream, type Logger, pino } from 'pino';
import { LOG_BYTES_MAX } from '../base/limits.js';
import { pauseSync } from '../base/model/clock.js';
import { valueOrDefault } from '../options/resolve.js';
import { LOG_LEVEL_DEFAULT, LOG_LEVEL_OF_DEVELOPMENT } from '../options/table.js';
import { printable } from './printable.js';

/** The settings of the log, not yet checked. */
export interface LogSettings {
  readonly dev?: unknown;
  readonly accessLog?: unknown;
  readonly logLevel?: unknown;
}

export interface OpenLog {
  readonly log: Logger & { readonly linesDropped: () => number };
  readonly output: LogOutput;
  readonly isDevelopment: boolean;
}

/** Opens the log before the settings are checked, because it reports their faults. Bad settings of the log count as missing. */
export function openLog({ dev, accessLog, logLevel }: LogSettings): OpenLog {
  const isDevelopment = dev === true;
  // Development mode reports on standard output, so its log has only requests.
  const isQuiet = isDevelopment && !(Number(accessLog) > 0);
  const level = valueOrDefault('logLevel', logLevel, isQuiet ? LOG_LEVEL_OF_DEVELOPMENT : LOG_LEVEL_DEFAULT);
  const output = openStandardError();
  const log = Object.assign(pino({ level, base: null }, output), { linesDropped: () => output.dropped });
  output.onResumed = (lines) =>
    log.warn({ lines }, 'log lines were dropped: standard error was not read in time');
  return { log, output, isDevelopment };
}

/**
 * Time between two tries to write waiting lines. If each try fills a pipe of 64 KiB, this pause gives 3 MB a
 * second.
 */
const RETRY_MS = 20;
/** Longest wait on exit until the reader takes the last lines. */
const FLUSH_MS_MAX = 500;
const FLUSH_POLL_MS = 5;

/** A destination for pino, which flushes it after a fatal record. */
interface LogDestination extends DestinationStream {
  flushSync(): void;
}

/**
 * Writes lines at once, so that a crash loses none. If the reader is slow, up to LOG_BYTES_MAX of lines wait;
 * later lines are dropped and counted. Writing blocks only for files, and for terminals that cannot be
 * reopened.
 */
export class LogOutput implements LogDestination {
  readonly #fd: number;
  /** Lines to write; the first may be the rest of a line. */
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  dropped = 0;
  /** Dropped lines already reported by `onResumed`. */
  #droppedTold = 0;
  #timer: NodeJS.Timeout | null = null;
  /** Code of the last failure. `EAGAIN`: the reader may accept more in a moment. */
  #reason: string | undefined;
  /** Called with the number of dropped lines once writing works again. */
  onResumed: (dropped: number) => void = () => {};

  /** @param fd a file, or a descriptor that never blocks */
  constructor(fd: number) {
    this.#fd = fd;
  }

  write(line: string): void {
    const bytes = Buffer.from(printable(line));
    if (this.#waiting.length === 0) {
      const rest = this.#take(bytes);
      if (rest.length > 0) this.#keep(rest);
    } else if (this.#waitingBytes + bytes.length <= LOG_BYTES_MAX) this.#keep(bytes);
    else this.dropped++;
  }

  /** Writes the waiting lines; a slow reader has FLUSH_MS_MAX to take them. */
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

  /** Returns true when no line waits. */
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
    const dropped = this.dropped - this.#droppedTold;
    this.#droppedTold = this.dropped;
    if (dropped > 0) this.onResumed(dropped);
    return this.#waiting.length === 0;
  }

  /** Returns the bytes that were not written. */
  #take(bytes: Buffer): Buffer {
    try {
      return bytes.subarray(writeSync(this.#fd, bytes));
    } catch (error) {
      // Every failure may be temporary, such as a full disk.
      this.#reason = (error as NodeJS.ErrnoException).code;
      return bytes;
    }
  }
}

/**
 * Reopens standard error if possible, so that writing does not block. Node makes terminals blocking, and
 * other processes can make a shared pipe blocking.
 */
function openStandardError(): LogOutput {
  const { fd } = process.stderr;
  if (!isatty(fd) && !fstatSync(fd).isFIFO()) return new LogOutput(fd);
  try {
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
    return new LogOutput(openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY));
  } catch {
    return new LogOutput(fd);
  }
}
