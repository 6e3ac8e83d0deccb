import { KEY_ROWS_BYTES_MAX } from '../limits.js';
import type { Rows } from '../snapshot/rows.js';

/** A row in one representation. */
interface Layout {
  /** Its place among all layouts. */
  readonly number: number;
  /** Returns the offset after the row. */
  write(rows: Rows, ordinal: number, target: Buffer, offset: number): number;
}

/** The snapshot knows the lengths of rows. */
export interface MeasuredLayout extends Layout {
  readonly sums: 'start' | 'packedStart';
}

/** Only writing a row gives its length: `write` returns {@link NO_ROOM} if the target may be too short. */
export interface UnmeasuredLayout extends Layout {
  readonly sums: null;
}

export type RowLayout = MeasuredLayout | UnmeasuredLayout;

export const NO_ROOM = -1;
/** Layouts are numbered from 0. */
export const LAYOUTS_MAX = 8;

let scratch: Buffer | null = null;

/** Memory for rows without known lengths. Copy them at once: the next answer reuses it. */
export function scratchForRows(): Buffer {
  scratch ??= Buffer.allocUnsafeSlow(KEY_ROWS_BYTES_MAX);
  return scratch;
}
