import { type ListLayout, NO_ROOM } from './row-layout.js';
import type { RowListForm } from './row-lists.js';

const LINE_FEED = 0x0a;
const NOTHING = Buffer.alloc(0);

/** A line feed replaces the comma. */
const NDJSON_LAYOUT: ListLayout = {
  number: 2,
  sums: 'start',
  write({ bytes, start }, ordinal, target, offset) {
    const end = start[ordinal + 1]! - 1;
    const at = offset + end - start[ordinal]!;
    if (at >= target.length) return NO_ROOM;
    bytes.copy(target, offset, start[ordinal]!, end);
    target[at] = LINE_FEED;
    return at + 1;
  },
};

export const NDJSON: RowListForm = { layout: NDJSON_LAYOUT, opening: NOTHING, closing: NOTHING };
