import { KEY_ROWS_BYTES_MAX } from '../base/limits.js';
import type { Rows } from '../snapshot/rows.js';
import type { Selection } from './selection.js';

/** A row in one representation. */
interface Layout {
  /** The number of this layout among all layouts. */
  readonly number: number;
  /** Set if a row depends on more than its own event, such as names and clashes. */
  readonly isOfSnapshot?: true;
  /** Returns the offset after the row. */
  write(rows: Rows, ordinal: number, target: Buffer, offset: number): number;
}

/** A layout for which the snapshot has the lengths of rows. */
export interface MeasuredLayout extends Layout {
  readonly sums: 'start' | 'packedStart';
}

/**
 * `write` returns {@link NO_ROOM} if the target may be too short. `sums` is null if a row's length is known
 * only after writing it.
 */
export interface ListLayout extends Layout {
  readonly sums: 'start' | null;
  /** Set if a row depends on the rows beside it: gives the layout for the rows of a list or an answer. */
  readonly among?: (rows: Selection) => ListLayout;
}

export type RowLayout = MeasuredLayout | ListLayout;

export const NO_ROOM = -1;
/** Layouts are numbered from 0. */
export const LAYOUTS_MAX = 8;

let scratch: Buffer | null = null;

/**
 * Memory for rows without known lengths. Copy the bytes at once, because the next answer reuses the memory.
 */
export function scratchForRows(): Buffer {
  scratch ??= Buffer.allocUnsafeSlow(KEY_ROWS_BYTES_MAX);
  return scratch;
}
