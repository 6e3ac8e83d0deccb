import type { CodeColumn } from './code-column.js';
import { shared } from './slabs.js';

/** Posting list c is ordinals [start[c], start[c + 1]): ascending, without repeats. */
export interface PostingListsImage {
  readonly start: Uint32Array;
  readonly ordinals: Uint32Array;
}

/**
 * Builds the posting lists of one column by counting sort: O(rows + codes).
 *
 * @param codes for each ordinal its code; any other number stands for null
 * @param codeCount codes run from 0 to codeCount - 1
 */
export function buildPostingLists(codes: CodeColumn, codeCount: number): PostingListsImage {
  const start = shared.uint32(codeCount + 1);
  let total = 0;
  for (let ordinal = 0; ordinal < codes.length; ordinal++) {
    const code = codes[ordinal]!;
    if (code >= codeCount) continue;
    start[code + 1]!++;
    total++;
  }
  for (let code = 0; code < codeCount; code++) start[code + 1]! += start[code]!;
  const next = start.slice(0, codeCount);
  const ordinals = shared.uint32(total);
  for (let ordinal = 0; ordinal < codes.length; ordinal++) {
    const code = codes[ordinal]!;
    if (code < codeCount) ordinals[next[code]!++] = ordinal;
  }
  return { start, ordinals };
}
