import type { IdentifierMode } from './event.js';

/**
 * For each event field: a column, a dotted path, or a template such as `{date}T{start}`. Under the name of a
 * format, such as `csv`: a map for this format only, whose entries win.
 */
export type FieldMap = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

export const DATE_ORDERS = ['ymd', 'dmy', 'mdy'] as const;

/** Order of the parts of a date: year, month, day. */
export type DateOrder = (typeof DATE_ORDERS)[number];

/** How the values of a data set are read. Plain data that crosses threads. */
export interface ReadRules {
  readonly identifiers: IdentifierMode;
  readonly fieldMap?: FieldMap | undefined;
  /** Order of the parts of dates that are not ISO 8601. */
  readonly dateOrder?: DateOrder | undefined;
  /** IANA time zone of times without an offset. Without a time zone such times are rejected. */
  readonly timeZone?: string | undefined;
  /** Encoding of text formats, by its name for TextDecoder. Default: UTF-8, or UTF-16 with a byte order mark. */
  readonly encoding?: string | undefined;
  /** ISO 8601 dates: recurring events are expanded from the day `from` to the day before `to`. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}
