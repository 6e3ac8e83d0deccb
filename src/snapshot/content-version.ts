import { createHash, hash as hashOnce } from 'node:crypto';
import type { IdentifierMode } from '../base/model/event.js';
import { INDEXED_FIELDS, NAMED_FIELDS } from '../base/model/fields.js';
import { DAY_MS } from '../base/model/time.js';
import { shared } from '../base/structures/slabs.js';
import { HIDDEN_FIELDS } from './columns.js';
import { columnsOf, type RowsImage, type SlotsImage, type SnapshotImage } from './image.js';

/** Raise this number when the meaning of the hashed bytes changes. */
const SCHEME = 'lectern-content-6';
const VERSION_BYTES = 16;
/** The first bytes of a SHA-256, as many as the version needs. */
export const DAY_DIGEST_BYTES: number = VERSION_BYTES;
const HIDDEN_FILTERS = INDEXED_FIELDS.filter((field) => !field.output);

/** Days of UTC, counted from 1970. */
export function dayOf(startMs: number): number {
  return Math.floor(startMs / DAY_MS);
}

/**
 * Equal data has equal versions, in replicas, after restarts and after patches. The version is a hash of the
 * digests of all days, and of the filters, names and lessons that rows do not show.
 */
export function contentVersionOf(
  identifiers: IdentifierMode,
  { rows, dayDigests, fields, columns, names }: Omit<SnapshotImage, 'summary' | 'hashSeed'>,
): string {
  const hash = createHash('sha256');
  hash.update(`${SCHEME}\n${identifiers}\n${rows.start.length - 1}\n${dayDigests.length}\n`);
  hash.update(dayDigests);
  const hidden = [
    ...HIDDEN_FILTERS.map(({ name }) => [name, fields[name]] as const),
    ...NAMED_FIELDS.map(({ name }) => [`names of ${name}`, names[name]] as const),
    ...(columns.lessonId.codes.length === 0 ? [] : [['lessonId', columns.lessonId] as const]),
  ];
  for (const [name, { dictionary, codes }] of hidden) {
    hash.update(`\n${name}\n${dictionary.bytes.length}\n${codes.length}\n`);
    hash.update(dictionary.start);
    hash.update(dictionary.bytes);
    hash.update(codes);
  }
  return hash.digest().subarray(0, VERSION_BYTES).toString('base64url');
}

/**
 * SHA-256 of the columns that no row shows, and of the times of change, in hexadecimal. The id of the content does not
 * cover all of them.
 */
export function hiddenDigestOf(image: SnapshotImage): string {
  const all = columnsOf(image);
  const digest = createHash('sha256').update(image.modified);
  for (const { name } of HIDDEN_FIELDS) {
    const { dictionary, codes } = all[name]!;
    digest.update(`${name}\n${dictionary.bytes.length}\n${codes.length}\n`);
    digest.update(dictionary.start).update(dictionary.bytes).update(codes);
  }
  return digest.digest('hex');
}

/** A day in which events start, with their ordinals [first, end). */
export interface Day {
  readonly day: number;
  readonly first: number;
  readonly end: number;
}

/** The days in which events start, in order. */
export function daysOf({ startMs, first }: Pick<SlotsImage, 'startMs' | 'first'>): Day[] {
  const days: { day: number; first: number; end: number }[] = [];
  for (let slot = 0; slot < startMs.length; slot++) {
    const day = dayOf(startMs[slot]!);
    const last = days.at(-1);
    if (last?.day === day) last.end = first[slot + 1]!;
    else days.push({ day, first: first[slot]!, end: first[slot + 1]! });
  }
  return days;
}

/** @param known digests of days with unchanged rows */
export function digestDays(
  slots: Pick<SlotsImage, 'startMs' | 'first'>,
  { bytes, start }: RowsImage,
  known: (day: number) => Uint8Array | undefined = () => undefined,
): Uint8Array {
  const days = daysOf(slots);
  const digests = shared.uint8(days.length * DAY_DIGEST_BYTES);
  for (const [n, { day, first, end }] of days.entries()) {
    // Without the last separator, which depends on the next row.
    const rows = bytes.subarray(start[first], start[end]! - 1);
    const digest = known(day) ?? hashOnce('sha256', rows, 'buffer').subarray(0, DAY_DIGEST_BYTES);
    digests.set(digest, n * DAY_DIGEST_BYTES);
  }
  return digests;
}
