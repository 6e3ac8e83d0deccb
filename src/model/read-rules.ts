import type { IdentifierMode } from './event.js';

/** What the values of a data set mean. Plain data: it crosses threads. */
export interface ReadRules {
  readonly identifiers: IdentifierMode;
  /** By event field: a column, a dotted path, or a template of them, such as `{date}T{start}`. */
  readonly fieldMap?: Readonly<Record<string, string>> | undefined;
  /** Order of the parts of dates that are not ISO 8601. */
  readonly dateOrder?: 'ymd' | 'dmy' | 'mdy' | undefined;
  /** IANA time zone of times without an offset, which are rejected without it. */
  readonly timeZone?: string | undefined;
  /** Of text formats, as TextDecoder names it. Default: UTF-8, or UTF-16 with a byte order mark. */
  readonly encoding?: string | undefined;
  /** ISO 8601 dates: recurrences of calendars are expanded from the first day up to before the second. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}
