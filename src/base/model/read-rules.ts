import type { IdentifierMode } from './event.js';

/** What becomes of a text that `values` does not name. */
export const OTHERWISE = ['keep', 'reject', 'null'] as const;

/** How one value is made from a column: by steps that follow in the order of these members. */
export interface FieldValue {
  /** A column, a dotted path, or a template such as `{date}T{start}`. */
  readonly from: string;
  /** The text between several values. Values are trimmed; empty ones, `-` and `--` are left out. */
  readonly split?: string | undefined;
  /** The dotted path to the value within each element of an array. */
  readonly each?: string | undefined;
  /**
   * A pattern in the syntax of RE2. The value is its group `value`, or else the whole match; a text without a match
   * has no value.
   */
  readonly match?: string | undefined;
  /** The value for each text; null for no value. */
  readonly values?: Readonly<Record<string, string | null>> | undefined;
  /** What becomes of other texts. Default: keep. */
  readonly otherwise?: (typeof OTHERWISE)[number] | undefined;
}

/** Where a field's value is found: the `from` of a {@link FieldValue} without steps, or all of it. */
export type MapValue = string | FieldValue;

/** For each event field, where it is found. Under the name of a format, such as `csv`: a map for this format only, whose entries win. */
export type FieldMap = Readonly<Record<string, MapValue | Readonly<Record<string, MapValue>>>>;

export const DATE_ORDERS = ['ymd', 'dmy', 'mdy'] as const;

/** Order of the parts of a date: year, month, day. */
export type DateOrder = (typeof DATE_ORDERS)[number];

/** A term. Week 1 is the seven days from `firstDay`. */
export interface Term {
  /** ISO 8601 date. */
  readonly firstDay: string;
  readonly weeks: number;
  /** Days without lessons: ISO 8601 dates, and ranges such as `2026-10-26/2026-10-30`. */
  readonly except?: readonly string[] | undefined;
  /** Days as in `except`. A week whose first day is among them has no lessons and no number. */
  readonly breaks?: readonly string[] | undefined;
}

export const FIRST_DAYS = ['monday', 'sunday'] as const;

/**
 * Records that give a lesson by weekday and weeks instead of by date. Its values are found as in a field map; a record
 * has one of each.
 */
export interface WeeklyPattern {
  /** Names, abbreviations or numbers of weekdays. */
  readonly day: MapValue;
  /** Times of day, or ranges such as `8:10 - 8:55`. */
  readonly start: MapValue;
  /** Default: the end of the ranges in `start`. */
  readonly end?: MapValue | undefined;
  /** Instead of `end`: the length of a lesson, or its column. */
  readonly minutes?: string | number | undefined;
  /** Numbers of weeks. Default: all weeks. */
  readonly weeks?: MapValue | undefined;
  /** The name of a term, or a column with such names. Default: the only term. */
  readonly term?: MapValue | undefined;
  /** Week numbers come round after this number of weeks. */
  readonly cycle?: number | undefined;
  /** The first and the last day of the lessons: dates, or columns with dates. */
  readonly validFrom?: string | undefined;
  readonly validUntil?: string | undefined;
  /** The first day of weekdays that are numbers. */
  readonly dayOne?: (typeof FIRST_DAYS)[number] | undefined;
}

/** What became of the patterns of one load. */
export interface PatternNotes {
  /** Records that became events. */
  records: number;
  events: number;
  /** Dates left out because of `except`. */
  excepted: number;
  /** How weekdays are read: the languages that have all their names, or the number from which they are counted. */
  readings: readonly string[];
}

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
  /** The character between the cells of CSV. Default: guessed. */
  readonly delimiter?: string | undefined;
  /**
   * The line of the header of CSV, or the names of the columns without a header; false for numbered names; guess for the
   * line of the header, and for numbered names if the first line looks like data, which is otherwise refused unless the
   * field map has numbered names.
   */
  readonly header?: readonly string[] | number | boolean | 'guess' | undefined;
  /** A JSONata expression that gives the records of one JSON document. */
  readonly records?: string | undefined;
  /** ISO 8601 dates: recurring events are expanded from the day `from` to the day before `to`. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly when?: WeeklyPattern | undefined;
  /** Where a timetable file has its `fields`, `when`, `records` and `header`, by path: `timetable.yaml:7:12`. For messages. */
  readonly places?: Readonly<Record<string, string>> | undefined;
  /** Text before each title. */
  readonly prefix?: string | undefined;
  /** Identifiers by the name of a lecturer, compared in Unicode NFC. They fill a missing `lecturerId`. */
  readonly lecturerIds?: Readonly<Record<string, string>> | undefined;
  /** The terms of `when`, by name. */
  readonly terms?: Readonly<Record<string, Term>> | undefined;
}

/** The rules, with the given ones of a source in their place. */
export function overlaid(rules: ReadRules, own: Partial<ReadRules>): ReadRules {
  return { ...rules, ...Object.fromEntries(Object.entries(own).filter(([, rule]) => rule !== undefined)) };
}
