/** What the HTTP layer needs of a logger; a pino logger is one. Fields never hold tokens or header values. */
export interface Logger {
  /** What happens in normal operation. */
  info(fields: object, message: string): void;
  /** What an operator should look at; the service goes on. */
  warn(fields: object, message: string): void;
  /** A fault of the service itself. */
  error(fields: object, message: string): void;
  /** Lines that were dropped because the output did not take them, for the metrics. Loggers that drop none need not have it. */
  linesDropped?(): number;
}
