import type { FormatName } from '../encode/format.js';
import type { ParameterFault } from '../errors.js';

/**
 * The body of an answer: one or more byte chunks to be written in order. Chunks may be views of the snapshot's shared
 * memory and must not be changed.
 */
export interface Body {
  readonly byteLength: number;
  readonly chunks: readonly Uint8Array[];
}

/** A list that was read: counts, the next page, and the bytes in one representation. */
export interface Answer {
  /** Matching entries on all pages. */
  readonly total: number;
  /** Entries on this page. */
  readonly count: number;
  /** The cursor of the next page, or null where this is the last. */
  readonly nextCursor: string | null;
  readonly body: Body;
}

/**
 * A request that has been parsed against one snapshot and can be answered from it, and only from it. The entity tag
 * is known without executing anything.
 */
export interface Read {
  /** Null where Accept decides. */
  readonly format: FormatName | null;
  /** A weak entity tag, `W/"…"`, of the snapshot's content, the canonical query and the representation. */
  entityTag(format: FormatName): string;
  execute(format: FormatName): Answer;
}

/** Either a read, or every fault of the parameters at once. */
export type ReadResult = { readonly read: Read } | { readonly faults: readonly ParameterFault[] };
