import { KEY_ROWS_BYTES_MAX } from '../limits.js';
import type { Rows } from '../snapshot/rows.js';

/** A row in one representation. */
interface Layout {
  /** Its place among all layouts. */
  readonly number: number;
  /** Rows depend on more of the snapshot than their event. */
  readonly isOfSnapshot?: true;
  /** Returns the offset after the row. */
  write(rows: Rows, ordinal: number, target: Buffer, offset: number): number;
}

/** The snapshot knows the lengths of rows. */
export interface MeasuredLayout extends Layout {
  readonly sums: 'start' | 'packedStart';
}

/** `write` returns {@link NO_ROOM} if the target may be too short. `sums` is null if only writing a row gives its length. */
export interface ListLayout extends Layout {
  readonly sums: 'start' | null;
}

export type RowLayout = MeasuredLayout | ListLayout;

export const NO_ROOM = -1;
/** Layouts are numbered from 0. */
export const LAYOUTS_MAX = 8;

let scratch: Buffer | null = null;

/** Memory for rows without known lengths. Copy them at once: the next answer reuses it. */
export function scratchForRows(): Buffer {
  scratch ??= Buffer.allocUnsafeSlow(KEY_ROWS_BYTES_MAX);
  return scratch;
}
