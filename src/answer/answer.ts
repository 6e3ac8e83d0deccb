import type { AnyFormatName, FormatName } from '../base/model/format.js';
import type { Body } from './body.js';
import type { ReadFaults } from './parameters.js';
import type { FeedHead } from './row-lists.js';

/** A list read from a view: counts, the next page, and the bytes in one format. */
export interface Answer {
  /** Matching entries on all pages. */
  readonly total: number;
  /** Entries on this page. */
  readonly count: number;
  /** The cursor of the next page, or null if this is the last. */
  readonly nextCursor: string | null;
  /** This page. */
  readonly body: Body;
}

/** The last step of a read: writes the result. */
export type Encode = (format: AnyFormatName) => Answer;

/**
 * A request that was parsed against one snapshot, and is answered only from it. The entity tag is known
 * before the query is executed.
 */
export interface Read {
  /** Null if Accept decides. */
  readonly format: FormatName | null;
  /** Whether the request means another window later, so that its answer must not be kept for its address. */
  readonly isRelative: boolean;
  /** When the answer last changed, in epoch milliseconds; null if more than the content of the timetable decides it. */
  readonly modifiedMs: number | null;
  /** A weak entity tag, `W/"…"`, of the snapshot's content, the canonical query and the representation. */
  entityTag(format: AnyFormatName): string;
  /** Finds and writes the page. @param feed the head of the feed, if the list is a feed */
  execute(format: AnyFormatName, feed?: FeedHead): Answer;
}

/** A read; or all faults of the parameters; or one sentence on why the requested snapshot or event is unknown. */
export type ReadResult =
  | {
      readonly read: Read;
    }
  | ReadFaults
  | {
      /** Why the snapshot is not known. */
      readonly gone: string;
    }
  | {
      /** Why the event is unknown. */
      readonly missing: string;
    };
