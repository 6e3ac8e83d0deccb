/** What the HTTP layer needs of a logger; a pino logger is one. Fields never hold tokens or header values. */
export interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** Lines that were dropped since nobody took them, for the metrics. A logger that drops none need not have it. */
  linesDropped?(): number;
}
