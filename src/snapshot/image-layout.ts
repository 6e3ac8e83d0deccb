import { endianness } from 'node:os';
import { crc32 } from 'node:zlib';
import { pack, unpack } from 'msgpackr';
import type { SnapshotImage } from './image.js';

/** The format of image files. Others are refused. Raise it with every change of the arrays once it was released. */
export const IMAGE_FORMAT = 1;

/**
 * A snapshot image as bytes: a file for restarts, or an object in a store.
 *
 * ```
 * 8 bytes   magic
 * 4 bytes   length of the header, little endian
 * 4 bytes   CRC-32 of the header, little endian
 * header    MessagePack: versions, seed, summary, and for every array its path, type, length and CRC-32
 * arrays    one after the other; each begins at a multiple of 8 bytes
 * changes   only in a file for restarts: see change/change.ts
 * ```
 *
 * Every byte is covered by a comparison, a checksum or the length. check-image.ts checks the content.
 */
export const MAGIC: Buffer = Buffer.from('LECTERN\u001a', 'latin1');
const PREFIX_BYTES = 16;
const ALIGNMENT_BYTES = 8;

const ARRAY_TYPES = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array } as const;
type ArrayType = keyof typeof ARRAY_TYPES;

interface Header extends Pick<SnapshotImage, 'hashSeed' | 'summary'>, Omit<StoredImage, 'image'> {
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
  /** The sequence of the image's publication; null if there is none. */
  readonly sequence: number | null;
  /** The source's version, for conditional requests; null if there is none. */
  readonly sourceVersion: string | null;
  readonly source: ImageSource | null;
  /** Plain data and bytes that only their writer understands. */
  readonly beside: object | null;
}

/** The bytes of an image, in pieces without copies of its arrays. */
export function imagePieces({ image, sequence, sourceVersion, source, beside }: StoredImage): Uint8Array[] {
  const { summary, hashSeed, ...parts } = image;
  const arrays = arraysOf(parts, []);
  const header: Header = {
    formatVersion: IMAGE_FORMAT,
    byteOrder: endianness(),
    sequence,
    sourceVersion,
    source,
    beside,
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
}

/**
 * Reads the bytes of an image into shared memory. Yields pieces in the order of their bytes. The caller fills each piece
 * before it asks for the next one. checkImage checks the content.
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
  if (headerBytes > bytesTotal - PREFIX_BYTES) throw new Error('its header is damaged');
  const packed = Buffer.alloc(headerBytes);
  yield pieceOf(packed);
  if (crc32(packed) !== prefix.readUInt32LE(12)) throw new Error('its header is damaged');
  const header = unpack(packed) as Header;
  const { formatVersion, byteOrder, arrays, summary, hashSeed, ...stored } = header;
  if (formatVersion !== IMAGE_FORMAT)
    throw new Error(`its format version is ${formatVersion}; this version of Lectern reads ${IMAGE_FORMAT}`);
  if (byteOrder !== endianness()) throw new Error(`its byte order is ${byteOrder}`);
  const parts: Record<string, unknown> = {};
  let offset = PREFIX_BYTES + headerBytes;
  for (const entry of arrays) {
    if (!(entry.byteLength <= bytesTotal - offset)) throw new Error('it ends early');
    const padding = Buffer.alloc(paddingAt(offset));
    yield pieceOf(padding);
    if (padding.some((byte) => byte !== 0)) throw new Error('its padding is damaged');
    const bytes = Buffer.from(new SharedArrayBuffer(entry.byteLength));
    const check = (): void => {
      if (crc32(bytes) !== entry.crc) throw new Error(`its array ${entry.path.join('.')} is damaged`);
    };
    yield { bytes, check };
    place(parts, entry.path, new ARRAY_TYPES[entry.type](bytes.buffer as ArrayBufferLike as ArrayBuffer));
    offset += padding.length + entry.byteLength;
  }
  const image = { ...parts, summary, hashSeed } as unknown as SnapshotImage;
  return { ...stored, image };
}

/**
 * Reads an image from chunks of any length. Each byte is copied once, to its final place.
 *
 * @param bytesTotal of the image, whose hash the caller compares
 * @throws Error for bytes that are not an image, before the chunks have ended; the error of the chunks
 */
export async function imageOfChunks(
  chunks: AsyncIterator<Uint8Array>,
  bytesTotal: number,
): Promise<StoredImage> {
  const reading = readingImage(bytesTotal);
  let chunk: Uint8Array = new Uint8Array(0);
  let piece = reading.next();
  for (; piece.done !== true; piece = reading.next()) {
    const { bytes } = piece.value;
    // Terminates: each round takes bytes or a chunk, or throws.
    for (let filled = 0; filled < bytes.length; ) {
      if (chunk.length === 0) {
        const next = await chunks.next();
        if (next.done) throw new Error('it ends early');
        // V8 copies to shared memory a byte at a time unless both places are aligned alike.
        chunk = next.value.byteOffset % ALIGNMENT_BYTES === 0 ? next.value : new Uint8Array(next.value);
      }
      const part = chunk.subarray(0, bytes.length - filled);
      bytes.set(part, filled);
      filled += part.length;
      chunk = chunk.subarray(part.length);
    }
  }
  if (chunk.length > 0 || !(await chunks.next()).done) throw new Error('it is longer than it should be');
  return piece.value;
}

function pieceOf(bytes: Buffer): ImagePiece {
  return { bytes, check: () => {} };
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
    // A name such as __proto__ must not reach an object that others share.
    if (!Object.hasOwn(at, name)) at[name] = {};
    at = at[name] as Record<string, unknown>;
  }
  at[path.at(-1) ?? ''] = array;
}
