import type { HashSeed } from '../structures/keyed-hash.js';
import type { SnapshotSummary } from './summary.js';

/**
 * The format of image files that this version writes. Raise this number with every change of the arrays or
 * their meaning.
 */
export const IMAGE_FORMAT_VERSION = 9;

/** The content of an image file: the summary and the seed of the header, and the arrays by name. */
export interface ImageParts extends Readonly<Record<string, unknown>> {
  readonly summary: SnapshotSummary;
  readonly hashSeed: HashSeed;
}

/**
 * Every format that this version reads, with a function that converts it to the present format. A version
 * that raises the format also reads the previous format, so that a fleet can be upgraded and rolled back
 * while it serves. The conversion keeps the id, because the content is the same.
 */
const READ_AS_PRESENT: Readonly<Record<number, (parts: ImageParts) => ImageParts>> = {
  9: (parts) => parts,
};

/** Formats of image files that this version reads, ascending. */
export const IMAGE_FORMATS_READ: readonly number[] = Object.keys(READ_AS_PRESENT).map(Number);

/** The parts in the present format; null if this version cannot read the file's format. */
export function presentParts(format: number, parts: ImageParts): ImageParts | null {
  return Object.hasOwn(READ_AS_PRESENT, format) ? (READ_AS_PRESENT[format]?.(parts) ?? null) : null;
}
