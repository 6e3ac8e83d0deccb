import { LecternError } from '../errors.js';
import { ROW_BYTES_MAX } from '../limits.js';
import type { NormalisedEvent } from '../model/event.js';
import { OUTPUT_FIELDS } from '../model/fields.js';
import { formatInstant } from '../model/time.js';
import { viewOf } from '../structures/byte-strings.js';
import { buildHashTable, type HashIndexImage } from '../structures/hash-index.js';
import type { KeyedHash } from '../structures/keyed-hash.js';
import { shared } from '../structures/slabs.js';
import { DAY_DIGEST_BYTES, dayOf, daysOf, digestDays } from './content-version.js';
import type { RowsImage, SlotsImage } from './image.js';
import type { Edit } from './patch-edit.js';
import { PACKED_ROW_FRAME_BYTES, packedByteLength } from './rows.js';

const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const COMMA = 0x2c;
const PACKED_INSTANT_BYTES = packedByteLength(formatInstant(0));

/** @throws LecternError `source-too-large` when the rows do not fit into one arena */
export function patchRows(rows: RowsImage, { splice, events, rows: texts }: Edit): RowsImage {
  const lengths = texts.map(({ length }) => length);
  const bytesAfter = lengthAfter(rows.start, splice.gone, lengths);
  if (bytesAfter > ROW_BYTES_MAX) {
    throw new LecternError(
      'source-too-large',
      `the ${splice.after} events take ${bytesAfter} bytes as JSON; one snapshot holds at most ${ROW_BYTES_MAX}`,
    );
  }
  const start = splice.starts(rows.start, lengths);
  const packedStart = splice.starts(rows.packedStart, events.map(packedLength));
  const bytes = shared.uint8(Math.max('[]'.length, bytesAfter));
  splice.copyPieces(rows.start, rows.bytes, start, bytes);
  for (const [n, text] of texts.entries()) bytes.set(text, start[splice.come[n]!]);
  bytes[0] = OPENING_BRACKET;
  const lastBefore = splice.newPlaceOf(splice.before - 1);
  if (lastBefore !== -1) bytes[start[lastBefore + 1]! - 1] = COMMA;
  bytes[bytes.length - 1] = CLOSING_BRACKET;
  return { bytes, start, packedStart };
}

function lengthAfter(start: Uint32Array, gone: Uint32Array, lengths: readonly number[]): number {
  let length = start[start.length - 1]!;
  for (const ordinal of gone) length -= start[ordinal + 1]! - start[ordinal]!;
  for (const more of lengths) length += more;
  return length;
}

function packedLength(event: NormalisedEvent): number {
  let length = PACKED_ROW_FRAME_BYTES;
  for (const { name } of OUTPUT_FIELDS) {
    const value = event[name];
    length += typeof value === 'number' ? PACKED_INSTANT_BYTES : packedByteLength(value);
  }
  return length;
}

/** Hashes only the days with removed or added events. */
export function patchDigests(
  before: { readonly slots: SlotsImage; readonly dayDigests: Uint8Array },
  { splice, events }: Edit,
  slots: SlotsImage,
  rows: RowsImage,
): Uint8Array {
  const changed = new Set(events.map(({ time }) => dayOf(time)));
  const known = new Map<number, Uint8Array>();
  let g = 0;
  for (const [n, { day, end }] of daysOf(before.slots).entries()) {
    const at = n * DAY_DIGEST_BYTES;
    const hasLost = g < splice.gone.length && splice.gone[g]! < end;
    while (g < splice.gone.length && splice.gone[g]! < end) g++;
    if (hasLost || changed.has(day)) continue;
    known.set(day, before.dayDigests.subarray(at, at + DAY_DIGEST_BYTES));
  }
  return digestDays(slots, rows, (day) => known.get(day));
}

export function patchIds(ids: HashIndexImage, { splice, events }: Edit, hash: KeyedHash): HashIndexImage {
  const come = events.map(({ id }) => {
    const bytes = Buffer.from(id, 'utf8');
    return hash.bytes(viewOf(bytes), 0, bytes.length) >>> 0;
  });
  const isInPlace = !splice.isShifted && splice.after === splice.before;
  if (isInPlace && come.every((value, n) => value === ids.hashes[splice.come[n]!])) return ids;
  const hashes = splice.copy(ids.hashes, shared.uint32(splice.after));
  for (const [n, value] of come.entries()) hashes[splice.come[n]!] = value;
  return { hashes, table: buildHashTable(hashes) };
}
