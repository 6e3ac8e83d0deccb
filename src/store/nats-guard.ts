import type { Socket } from 'node:net';
import { STORE_LINE_BYTES_MAX, STORE_MESSAGE_BYTES_MAX, STORE_OPERATIONS_MAX } from '../limits.js';
import { monotonicMs } from '../model/clock.js';

const NEW_LINE = 10;
/** MSG and HMSG, in either case. */
const IS_MESSAGE = /^h?msg\s/i;
const END_BYTES = 2;
/** The client answers a PING and parses an INFO. An honest server sends a few of them a minute. */
const CONTROL_COST = 100;

/**
 * Checks what a server sends before the client of NATS sees it: the client collects lines and messages of any length,
 * and answers any number of PING.
 */
export class NatsGuard {
  readonly #now: () => number;
  #line: Buffer[] = [];
  #lineBytes = 0;
  /** Bytes of the present message that have not come. */
  #left = 0;
  #operationsLeft: number = STORE_OPERATIONS_MAX;
  #spentMs: number;

  constructor(now: () => number = monotonicMs) {
    this.#now = now;
    this.#spentMs = now();
  }

  /** @throws Error if the server sends more than an honest one */
  check(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#left > 0) {
        const bytes = Math.min(this.#left, chunk.length - at);
        this.#left -= bytes;
        at += bytes;
        continue;
      }
      const end = chunk.indexOf(NEW_LINE, at);
      const to = end === -1 ? chunk.length : end + 1;
      this.#lineBytes += to - at;
      if (this.#lineBytes > STORE_LINE_BYTES_MAX)
        throw new Error(`the server sent a line of more than ${STORE_LINE_BYTES_MAX} bytes`);
      this.#line.push(chunk.subarray(at, to));
      at = to;
      if (end !== -1) this.#endLine();
    }
  }

  #endLine(): void {
    const line = Buffer.concat(this.#line).toString('latin1');
    this.#line = [];
    this.#lineBytes = 0;
    const isMessage = IS_MESSAGE.test(line);
    this.#spend(isMessage ? 1 : CONTROL_COST);
    if (!isMessage) return;
    const bytes = Number(line.trimEnd().split(/\s/).at(-1));
    if (!(bytes <= STORE_MESSAGE_BYTES_MAX))
      throw new Error(`the server sent a message of more than ${STORE_MESSAGE_BYTES_MAX} bytes`);
    this.#left = bytes + END_BYTES;
  }

  /** Allows STORE_OPERATIONS_MAX operations at once, and as many each second. */
  #spend(cost: number): void {
    const nowMs = this.#now();
    const gained = (STORE_OPERATIONS_MAX * (nowMs - this.#spentMs)) / 1000;
    this.#operationsLeft = Math.min(STORE_OPERATIONS_MAX, this.#operationsLeft + gained) - cost;
    this.#spentMs = nowMs;
    if (this.#operationsLeft < 0)
      throw new Error(
        `the server sent more than ${STORE_OPERATIONS_MAX / CONTROL_COST} control lines or ${STORE_OPERATIONS_MAX} messages a second`,
      );
  }
}

/** Ends the connection if its server sends too much. All bytes of a socket come through `push`. */
export function guardSocket(socket: Socket): void {
  const guard = new NatsGuard();
  const push = socket.push.bind(socket);
  socket.push = (chunk: Buffer | null) => {
    if (chunk === null) return push(null);
    try {
      guard.check(chunk);
    } catch (error) {
      // The client removes its listeners for moments, and an error without a listener would end the process.
      socket.on('error', () => {}).destroy(error as Error);
      return false;
    }
    return push(chunk);
  };
}
