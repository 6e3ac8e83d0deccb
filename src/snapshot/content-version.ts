import { createHash, hash as hashOnce } from 'node:crypto';
import type { IdentifierMode } from '../model/event.js';
import { INDEXED_FIELDS, NAMED_FIELDS } from '../model/fields.js';
import { shared } from '../structures/slabs.js';
import type { RowsImage, SlotsImage, SnapshotImage } from './image.js';

/** Raise this number when the meaning of the hashed bytes changes. */
const SCHEME = 'lectern-content-5';
const VERSION_BYTES = 16;
/** The first bytes of a SHA-256, as many as the version needs. */
export const WEEK_DIGEST_BYTES: number = VERSION_BYTES;
/** Weeks of the Unix epoch, which begin on a Thursday. */
const WEEK_MS = 7 * 24 * 3_600_000;
const HIDDEN_FIELDS = INDEXED_FIELDS.filter((field) => !field.output);

export function weekOf(startMs: number): number {
  return Math.floor(startMs / WEEK_MS);
}

/**
 * Equal data has equal versions, in replicas, after restarts and after patches. The version hashes the
 * digests of the weeks, and the filters and names that rows do not show.
 */
export function contentVersionOf(
  identifiers: IdentifierMode,
  { rows, weekDigests, fields, names }: Omit<SnapshotImage, 'summary' | 'hashSeed'>,
): string {
  const hash = createHash('sha256');
  hash.update(`${SCHEME}\n${identifiers}\n${rows.start.length - 1}\n${weekDigests.length}\n`);
  hash.update(weekDigests);
  const hidden = [
    ...HIDDEN_FIELDS.map(({ name }) => [name, fields[name]] as const),
    ...NAMED_FIELDS.map(({ name }) => [`names of ${name}`, names[name]] as const),
  ];
  for (const [name, { dictionary, codes }] of hidden) {
    hash.update(`\n${name}\n${dictionary.bytes.length}\n${codes.length}\n`);
    hash.update(dictionary.start);
    hash.update(dictionary.bytes);
    hash.update(codes);
  }
  return hash.digest().subarray(0, VERSION_BYTES).toString('base64url');
}

/** A week in which events start, with their ordinals [first, end). */
export interface Week {
  readonly week: number;
  readonly first: number;
  readonly end: number;
}

/** The weeks in which events start, in order. */
export function weeksOf({ startMs, first }: Pick<SlotsImage, 'startMs' | 'first'>): Week[] {
  const weeks: { week: number; first: number; end: number }[] = [];
  for (let slot = 0; slot < startMs.length; slot++) {
    const week = weekOf(startMs[slot]!);
    const last = weeks.at(-1);
    if (last?.week === week) last.end = first[slot + 1]!;
    else weeks.push({ week, first: first[slot]!, end: first[slot + 1]! });
  }
  return weeks;
}

/** @param known digests of weeks with unchanged rows */
export function digestWeeks(
  slots: Pick<SlotsImage, 'startMs' | 'first'>,
  { bytes, start }: RowsImage,
  known: (week: number) => Uint8Array | undefined = () => undefined,
): Uint8Array {
  const weeks = weeksOf(slots);
  const digests = shared.uint8(weeks.length * WEEK_DIGEST_BYTES);
  for (const [n, { week, first, end }] of weeks.entries()) {
    // Without the last separator, which depends on the next row.
    const rows = bytes.subarray(start[first], start[end]! - 1);
    const digest = known(week) ?? hashOnce('sha256', rows, 'buffer').subarray(0, WEEK_DIGEST_BYTES);
    digests.set(digest, n * WEEK_DIGEST_BYTES);
  }
  return digests;
}
