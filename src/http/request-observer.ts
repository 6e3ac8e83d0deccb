import { ROUTE_LABELS } from '../metrics/cells.js';
import type { Meter } from '../metrics/meter.js';
import type { AnswerObserver, Exchange } from './exchange.js';
import type { Logger } from './logger.js';

/** Counts answers, and writes some of them to the log. */
class RequestObserver implements AnswerObserver {
  readonly #meter: Meter | null;
  readonly #logShare: number;
  readonly #log: Logger;

  constructor(meter: Meter | null, logShare: number, log: Logger) {
    this.#meter = meter;
    this.#logShare = logShare;
    this.#log = log;
  }

  answered({ req, route, beganMs }: Exchange, status: number, bytes: number): void {
    const durationMs = performance.now() - beganMs;
    this.#meter?.answered(route, status, bytes, durationMs);
    // Random, since a share of every so many would miss whatever comes at the same pace.
    if (this.#logShare === 0 || Math.random() >= this.#logShare) return;
    const fields = {
      method: req.method,
      route: ROUTE_LABELS[route],
      status,
      durationMs: Math.round(durationMs * 1000) / 1000,
      bytes,
    };
    try {
      this.#log.info(fields, 'request');
    } catch {
      // The answer is out; a logger that fails must not become a fault of the request.
    }
  }
}

/** @returns null where nothing is to be done, so that no clock is read */
export function observerOf(meter: Meter | null, accessLogShare: number, log: Logger): AnswerObserver | null {
  return meter === null && accessLogShare === 0 ? null : new RequestObserver(meter, accessLogShare, log);
}
