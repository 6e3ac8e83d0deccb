/**
 * Answers that clients have not read to their end. Each keeps its snapshot in memory, so when too many snapshots are
 * kept, readers of the oldest are cut off.
 */
import type { Socket } from 'node:net';
import { SNAPSHOTS_SENT_MAX } from '../../base/limits.js';
import type { Exchange } from '../exchange.js';

export class AnswersUnderWay {
  /** Answers by snapshot, the oldest snapshot first. */
  readonly #answers = new Map<object, Set<Exchange>>();
  /** Callbacks by connection, so that each connection needs only one listener. */
  readonly #ends = new WeakMap<object, Set<() => void>>();
  readonly #onCutOff: () => void;

  constructor(onCutOff: () => void) {
    this.#onCutOff = onCutOff;
  }

  get snapshotCount(): number {
    return this.#answers.size;
  }

  /**
   * Call this right after the sending of an answer has begun. @param snapshot any object that identifies the
   * snapshot
   */
  add(exchange: Exchange, snapshot: object): void {
    const { req, lane } = exchange;
    const res = lane === null ? exchange.makeResponse() : null;
    const isTaken =
      res === null ? req.socket.writableLength === 0 : res.writableEnded && res.writableLength === 0;
    // If the client left while its token was verified, no event reports the end.
    if (isTaken || res?.destroyed || req.socket?.destroyed) return;
    let answers = this.#answers.get(snapshot);
    if (answers === undefined) {
      answers = new Set();
      this.#answers.set(snapshot, answers);
      if (this.#answers.size > SNAPSHOTS_SENT_MAX) this.#cutOffOldest();
    }
    answers.add(exchange);
    if (res === null) {
      // This callback runs when all earlier bytes were sent or have failed.
      req.socket.write('', () => this.#delete(snapshot, exchange));
      return;
    }
    const ends = this.#endsOf(req.socket);
    const end = (): void => {
      res.off('finish', end);
      res.off('close', end);
      ends?.delete(end);
      this.#delete(snapshot, exchange);
    };
    res.once('finish', end);
    res.once('close', end);
    // Node does not close answers whose turn has not come.
    ends?.add(end);
  }

  /** A framework's adapter may provide no socket, or a socket without events. */
  #endsOf(socket: Partial<Socket> | null | undefined): Set<() => void> | undefined {
    if (socket === null || typeof socket?.once !== 'function') return undefined;
    const known = this.#ends.get(socket);
    if (known !== undefined) return known;
    const ends = new Set<() => void>();
    this.#ends.set(socket, ends);
    socket.once('close', () => {
      for (const end of ends) end();
    });
    return ends;
  }

  #delete(snapshot: object, exchange: Exchange): void {
    const answers = this.#answers.get(snapshot);
    if (answers?.delete(exchange) && answers.size === 0) this.#answers.delete(snapshot);
  }

  #cutOffOldest(): void {
    const [oldest] = this.#answers;
    if (oldest === undefined) return;
    const [snapshot, answers] = oldest;
    this.#answers.delete(snapshot);
    for (const exchange of answers) {
      const { req, lane, ownsSocket } = exchange;
      if (req.socket?.destroyed || (lane === null && exchange.makeResponse().destroyed)) continue;
      // After a plain close the system would keep the unsent bytes until the client reads them.
      if (ownsSocket) req.socket.resetAndDestroy();
      else exchange.makeResponse().destroy();
      this.#onCutOff();
    }
  }
}
