import { endianness } from 'node:os';
import { crc32 } from 'node:zlib';
import { pack, unpack } from 'msgpackr';
import { IMAGE_HEADER_BYTES_MAX } from '../limits.js';
import type { SnapshotImage } from './image.js';
import { IMAGE_FORMAT_VERSION, IMAGE_FORMATS_READ, presentParts } from './image-format.js';
import { NO_AMBIGUOUS_TIMES } from './summary.js';
import { NO_UNSERVED_FIELDS } from './unserved-fields.js';

/**
 * A snapshot image as bytes: a file for restarts, or an object in a store.
 *
 * ```
 * 8 bytes   magic
 * 4 bytes   length of the header, little endian
 * 4 bytes   CRC-32 of the header, little endian
 * header    MessagePack: versions, seed, summary, and for every array its path, type, length and CRC-32
 * arrays    one after the other; each begins at a multiple of 8 bytes
 * ```
 *
 * Every byte is covered by a comparison, a checksum or the length. check-image.ts checks whether the content
 * is an image.
 */
export const MAGIC: Buffer = Buffer.from('LECTERN\u001a', 'latin1');
const PREFIX_BYTES = 16;
const ALIGNMENT_BYTES = 8;

const ARRAY_TYPES = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array } as const;
type ArrayType = keyof typeof ARRAY_TYPES;

interface Header
  extends Pick<SnapshotImage, 'hashSeed' | 'summary'>,
    Pick<StoredImage, 'sourceVersion' | 'source'> {
  /** Absent in early files of this version. */
  readonly beside?: unknown;
  readonly formatVersion: number;
  readonly byteOrder: string;
  readonly arrays: readonly ArrayEntry[];
}

interface ArrayEntry {
  readonly path: readonly string[];
  readonly type: ArrayType;
  readonly byteLength: number;
  readonly crc: number;
}

export interface ImageSource {
  readonly name: string;
  readonly digest: string;
}

export interface StoredImage {
  readonly image: SnapshotImage;
  /** The source's version, for conditional requests; null if there is none. */
  readonly sourceVersion: string | null;
  readonly source: ImageSource | null;
  readonly beside: Beside | null;
}

/** Additions to the image in a file: plain data and bytes that only their writer understands. */
export interface Beside {
  readonly meta: object;
  readonly arrays: readonly (Uint8Array | Uint32Array)[];
}

/** The bytes of an image, in pieces without copies of its arrays. */
export function imagePieces({ image, sourceVersion, source, beside }: StoredImage): Uint8Array[] {
  const { summary, hashSeed, ...parts } = image;
  const arrays = arraysOf(beside === null ? parts : { ...parts, beside: beside.arrays }, []);
  const header: Header = {
    formatVersion: IMAGE_FORMAT_VERSION,
    byteOrder: endianness(),
    sourceVersion,
    source,
    beside: beside?.meta ?? null,
    hashSeed,
    summary,
    arrays: arrays.map(({ bytes: _, ...entry }) => entry),
  };
  const packed = pack(header);
  const head = Buffer.concat([MAGIC, Buffer.alloc(PREFIX_BYTES - MAGIC.length), packed]);
  head.writeUInt32LE(packed.length, 8);
  head.writeUInt32LE(crc32(packed), 12);
  const pieces: Uint8Array[] = [];
  let offset = 0;
  for (const piece of [head, ...arrays.map(({ bytes }) => bytes)]) {
    pieces.push(Buffer.alloc(paddingAt(offset)), piece);
    offset += paddingAt(offset) + piece.length;
  }
  return pieces;
}

/** The next bytes of an image, for the caller to fill. */
export interface ImagePiece {
  readonly bytes: Buffer;
  /**
   * Compares the filled bytes with their checksum. A caller that compares a hash of all bytes need not call it.
   *
   * @throws Error for damaged bytes
   */
  readonly check: () => void;
  /**
   * Whether the next piece can be requested before this one is filled. True for the rows, on which no other array
   * depends. In earlier formats false, because their conversion may read the rows.
   */
  readonly mayWait: boolean;
}

/**
 * Reads the bytes of an image into shared memory. Yields pieces in the order of their bytes. The caller fills each piece
 * before it asks for the next one, unless the piece may wait. After the last piece, no byte may be left. readCheckedImage
 * checks the content.
 *
 * @param bytesTotal bounds the memory
 * @throws Error for bytes that are not an image
 */
export function* readingImage(bytesTotal: number): Generator<ImagePiece, StoredImage, void> {
  if (bytesTotal < PREFIX_BYTES) throw new Error('it is not a snapshot file');
  const prefix = Buffer.alloc(PREFIX_BYTES);
  yield pieceOf(prefix);
  if (!prefix.subarray(0, MAGIC.length).equals(MAGIC)) throw new Error('it is not a snapshot file');
  const headerBytes = prefix.readUInt32LE(8);
  if (headerBytes > IMAGE_HEADER_BYTES_MAX) throw new Error('its header is damaged');
  const packed = Buffer.alloc(Math.min(headerBytes, bytesTotal));
  yield pieceOf(packed);
  if (crc32(packed) !== prefix.readUInt32LE(12)) throw new Error('its header is damaged');
  const header = unpack(packed) as Header;
  const { formatVersion, byteOrder, arrays, summary, hashSeed, sourceVersion, source } = header;
  if (!IMAGE_FORMATS_READ.includes(formatVersion)) {
    const read = IMAGE_FORMATS_READ.join(' and ');
    throw new Error(`its format version is ${formatVersion}; this version of Lectern reads ${read}`);
  }
  if (byteOrder !== endianness()) throw new Error(`its byte order is ${byteOrder}`);
  // No prototype: names from the file must not reach inherited properties.
  const parts = Object.create(null) as Record<string, unknown>;
  let offset = PREFIX_BYTES + headerBytes;
  for (const entry of arrays) {
    if (!(entry.byteLength <= bytesTotal - offset)) throw new Error('it ends early');
    const padding = Buffer.alloc(paddingAt(offset));
    yield pieceOf(padding);
    if (padding.some((byte) => byte !== 0)) throw new Error('its padding is damaged');
    const bytes = Buffer.from(new SharedArrayBuffer(entry.byteLength));
    const name = entry.path.join('.');
    const check = (): void => {
      if (crc32(bytes) !== entry.crc) throw new Error(`its array ${name} is damaged`);
    };
    yield { bytes, check, mayWait: name === 'rows.bytes' && formatVersion === IMAGE_FORMAT_VERSION };
    place(parts, entry.path, new ARRAY_TYPES[entry.type](bytes.buffer as ArrayBufferLike as ArrayBuffer));
    offset += padding.length + entry.byteLength;
  }
  if (sourceVersion !== null && typeof sourceVersion !== 'string') {
    throw new Error('its header names no version of the source');
  }
  if (source !== null && (typeof source.name !== 'string' || typeof source.digest !== 'string')) {
    throw new Error('its header names no source');
  }
  const { beside: kept = {}, ...ofImage } = parts;
  // Early files of this version lack these two counts.
  const { unserved = NO_UNSERVED_FIELDS, ambiguousTimes = NO_AMBIGUOUS_TIMES } = summary;
  const image = presentParts(formatVersion, {
    ...ofImage,
    summary: { ...summary, unserved, ambiguousTimes },
    hashSeed,
  }) as unknown as SnapshotImage;
  const hasBeside = typeof header.beside === 'object' && header.beside !== null;
  const beside = hasBeside
    ? { meta: header.beside as object, arrays: Object.values(kept as object) as Beside['arrays'] }
    : null;
  return { image, sourceVersion, source, beside };
}

function pieceOf(bytes: Buffer): ImagePiece {
  return { bytes, check: () => {}, mayWait: false };
}

function paddingAt(offset: number): number {
  return (ALIGNMENT_BYTES - (offset % ALIGNMENT_BYTES)) % ALIGNMENT_BYTES;
}

function arraysOf(part: unknown, path: readonly string[]): (ArrayEntry & { bytes: Buffer })[] {
  if (ArrayBuffer.isView(part)) {
    const type = (Object.keys(ARRAY_TYPES) as ArrayType[]).find((name) => part instanceof ARRAY_TYPES[name]);
    if (type === undefined) throw new Error(`${path.join('.')} is an array of an unknown type`);
    const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
    return [{ path, type, byteLength: bytes.length, crc: crc32(bytes), bytes }];
  }
  return Object.entries(part as object).flatMap(([name, inner]) => arraysOf(inner, [...path, name]));
}

function place(parts: Record<string, unknown>, path: readonly string[], array: unknown): void {
  let at = parts;
  for (const name of path.slice(0, -1)) {
    at[name] ??= Object.create(null);
    at = at[name] as Record<string, unknown>;
  }
  at[path.at(-1) ?? ''] = array;
}
