/**
 * Answers that are being sent out of a snapshot, which stays in memory until they have gone. If snapshots are replaced faster than
 * clients read, the readers of the oldest are cut off.
 */
import type { Socket } from 'node:net';
import { SNAPSHOTS_SENT_MAX } from '../../limits.js';
import type { Exchange } from '../exchange.js';

export class AnswersUnderWay {
  /** By what they are sent from; the oldest first, since each comes in with its first answer. */
  readonly #answers = new Map<object, Set<Exchange>>();
  /** What ends the answers of a connection: it has one listener, however many answers wait in it. */
  readonly #ends = new WeakMap<object, Set<() => void>>();
  readonly #onCutOff: () => void;

  constructor(onCutOff: () => void) {
    this.#onCutOff = onCutOff;
  }

  get snapshotCount(): number {
    return this.#answers.size;
  }

  /** Call it right after an answer was handed over. @param snapshot an object that stands for the present one and no other */
  add(exchange: Exchange, snapshot: object): void {
    const { req, lone } = exchange;
    const res = lone === null ? exchange.makeResponse() : null;
    const isTaken =
      res === null ? req.socket.writableLength === 0 : res.writableEnded && res.writableLength === 0;
    // A client that left while its token was verified: neither connection nor answer will tell of an end.
    if (isTaken || res?.destroyed || req.socket?.destroyed) return;
    let answers = this.#answers.get(snapshot);
    if (answers === undefined) {
      answers = new Set();
      this.#answers.set(snapshot, answers);
      if (this.#answers.size > SNAPSHOTS_SENT_MAX) this.#cutOffOldest();
    }
    answers.add(exchange);
    if (res === null) {
      // Called when all before it has gone, or can go no more.
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
    // Node closes no answer whose turn has not come.
    ends?.add(end);
  }

  /** Adapters that make requests without a connection have no socket, or an object without events. */
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
      const { req, lone, ownsSocket } = exchange;
      if (req.socket?.destroyed || (lone === null && exchange.makeResponse().destroyed)) continue;
      // The system would otherwise keep what it has taken until the client reads it.
      if (ownsSocket) req.socket.resetAndDestroy();
      else exchange.makeResponse().destroy();
      this.#onCutOff();
    }
  }
}
