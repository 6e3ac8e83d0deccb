import { createHash } from 'node:crypto';
import type { IdentifierMode } from '../model/event.js';
import type { FieldImage, RowsImage } from './image.js';

/** Changes whenever the meaning of the hashed bytes does. */
const SCHEME = 'lectern-content-1';
/** 128 bits: enough that two data sets never share a version. */
const VERSION_BYTES = 16;

/**
 * Identifies the content of a snapshot: everything that can change an answer, so that replicas and restarts with the
 * same data agree on entity tags. That is the rows, and the one indexed field that rows do not show.
 */
export function contentVersionOf(
  identifiers: IdentifierMode,
  rows: RowsImage,
  lecturerId: FieldImage,
): string {
  const hash = createHash('sha256');
  hash.update(`${SCHEME}\n${identifiers}\n${lecturerId.codes.length}\n`);
  hash.update(rows.bytes);
  hash.update(lecturerId.dictionary.bytes);
  hash.update(lecturerId.dictionary.start);
  hash.update(lecturerId.codes);
  return hash.digest().subarray(0, VERSION_BYTES).toString('base64url');
}
