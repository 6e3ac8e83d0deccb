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
