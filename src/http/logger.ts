/** The logger of the HTTP layer, such as a pino logger. Fields never hold tokens or header values. */
export interface Logger {
  /** Events of normal operation. */
  info(fields: object, message: string): void;
  /** Faults that an operator should inspect; the service continues. */
  warn(fields: object, message: string): void;
  /** A fault of the service itself. */
  error(fields: object, message: string): void;
  /** Number of dropped lines, for the metrics. Loggers that never drop lines do not need it. */
  linesDropped?(): number;
}

/** Reports a lasting fault once, and its end once, although each attempt fails with the same reason. */
export class LastingFault {
  #reason: string | null = null;

  /** Whether this reason was not reported by the attempt before. */
  isNew(reason: string): boolean {
    const isNew = reason !== this.#reason;
    this.#reason = reason;
    return isNew;
  }

  /** Whether a fault was reported that has now ended. */
  ends(): boolean {
    const ends = this.#reason !== null;
    this.#reason = null;
    return ends;
  }
}
