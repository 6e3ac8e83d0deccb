import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs';
import { endianness, totalmem } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { crc32 } from 'node:zlib';
import { pack, unpack } from 'msgpackr';
import { LecternError } from '../errors.js';
import { IMAGE_HEADER_BYTES_MAX, IMAGE_MEMORY_SHARE_MAX, IMAGE_REASON_CHARACTERS_MAX } from '../limits.js';
import type { SnapshotImage } from './image.js';
import { IMAGE_FORMAT_VERSION, IMAGE_FORMATS_READ, presentParts } from './image-format.js';
import { NO_AMBIGUOUS_TIMES } from './summary.js';
import { NO_UNSERVED_FIELDS } from './unserved-fields.js';

/**
 * A snapshot image on disk: one file, so that a restart serves at once.
 *
 * ```
 * 8 bytes   magic
 * 4 bytes   length of the header, little endian
 * 4 bytes   CRC-32 of the header, little endian
 * header    MessagePack: versions, seed, summary, and of every array its path, type, length and CRC-32
 * arrays    one after the other, each from a multiple of 8 bytes on
 * ```
 *
 * Every byte is covered by a comparison, a checksum or the length. check-image.ts says whether the content is an image.
 */
const MAGIC = Buffer.from('LECTERN\u001a', 'latin1');
const PREFIX_BYTES = 16;
const ALIGNMENT_BYTES = 8;
/** Node transfers at most 2 GiB at a time. */
const PIECE_BYTES = 256 * 1024 * 1024;

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

/**
 * Writes a temporary file and renames it: readers see the old or the new image, even if this process dies. Synchronous.
 *
 * @param keep earlier images to keep, as `path.1` (the newest) to `path.<keep>`
 * @throws LecternError `image-not-written`; the temporary file is removed
 */
export function writeImageFile(
  path: string,
  image: SnapshotImage,
  sourceVersion: string | null,
  keep = 0,
  source: ImageSource | null = null,
  beside: Beside | null = null,
): void {
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
  try {
    refuseForeign(path);
    removeAbandoned(path);
    replaceFile(path, [head, ...arrays.map(({ bytes }) => bytes)], keep);
  } catch (error) {
    if (error instanceof LecternError || !(error instanceof Error && 'code' in error)) throw error;
    throw unwritten(path, FAILURES[String(error.code)] ?? error.message, error);
  }
}

function replaceFile(path: string, parts: readonly Uint8Array[], keep: number): void {
  // Processes in two containers with a shared folder can have equal numbers.
  const temporary = `${path}.${process.pid}-${threadId}-${randomBytes(4).toString('hex')}.tmp`;
  try {
    withOpen(openSync(temporary, 'wx', 0o600), (file) => {
      let offset = 0;
      for (const bytes of parts) {
        offset += writeAll(file, Buffer.alloc(paddingAt(offset)));
        offset += writeAll(file, bytes);
      }
      fsyncSync(file);
    });
    if (keep > 0) keepEarlier(path, keep);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  withOpen(openSync(dirname(path), 'r'), fsyncSync);
}

/** Only a snapshot file or an empty file is replaced, because a mistyped path must not destroy a file. */
function refuseForeign(path: string): void {
  const status = statSync(path, { throwIfNoEntry: false });
  if (status === undefined) return;
  if (status.isDirectory()) throw unwritten(path, 'it is a directory');
  // Checked before the size, because pipes and devices have none.
  if (!status.isFile()) throw unwritten(path, 'the path is not a regular file and is not overwritten');
  if (status.size === 0) return;
  const head = Buffer.alloc(MAGIC.length);
  withOpen(openSync(path, 'r'), (file) => readSync(file, head, 0, head.length, 0));
  if (head.equals(MAGIC)) return;
  throw unwritten(
    path,
    'the file at this path is not a snapshot file and is not overwritten; expected a path for snapshots only',
  );
}

/** Removes files of killed writers. A container reuses process numbers, so files older than this process are removed, too. */
function removeAbandoned(path: string): void {
  const folder = dirname(path);
  const prefix = `${basename(path)}.`;
  const beganMs = Date.now() - process.uptime() * 1000;
  for (const name of readdirSync(folder).filter((each) => each.startsWith(prefix))) {
    const writer = /^(\d+)-\d+(?:-[0-9a-f]{8})?\.tmp$/.exec(name.slice(prefix.length))?.[1];
    if (writer === undefined) continue;
    const temporary = join(folder, name);
    const modifiedMs = statSync(temporary, { throwIfNoEntry: false })?.mtimeMs ?? beganMs;
    const isAbandoned = Number(writer) === process.pid ? modifiedMs < beganMs : !isRunning(Number(writer));
    if (isAbandoned) rmSync(temporary, { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists but belongs to another user.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

/** The image stays at `path` throughout. */
function keepEarlier(path: string, keep: number): void {
  if (!existsSync(path)) return;
  for (let n = keep - 1; n >= 1; n--) {
    if (existsSync(`${path}.${n}`)) renameSync(`${path}.${n}`, `${path}.${n + 1}`);
  }
  rmSync(`${path}.1`, { force: true });
  linkSync(path, `${path}.1`);
}

/**
 * Reads an image into shared memory; readCheckedImage checks its content.
 *
 * @param mustBeOwn the file must belong to this account or root and not be world-writable
 * @throws LecternError `image-unusable`; `source-unreadable` when the file cannot be opened
 */
export function readImageFile(path: string, mustBeOwn = false): StoredImage {
  let opened: number;
  try {
    // O_NONBLOCK: opening a pipe must not wait for its writer.
    opened = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    throw unreadable(path, error);
  }
  return withOpen(opened, (file) => {
    try {
      const status = fstatSync(file);
      if (status.isDirectory()) throw unusable(path, 'it is a directory');
      if (!status.isFile()) throw unusable(path, 'it is not a regular file');
      if (mustBeOwn) refuseOthersFile(path, status);
      return read(file, path, status.size);
    } catch (error) {
      if (error instanceof LecternError) throw error;
      throw unusable(path, error instanceof Error ? error.message : String(error));
    }
  });
}

function read(file: number, path: string, fileBytes: number): StoredImage {
  const prefix = readExactly(file, Buffer.alloc(PREFIX_BYTES), path);
  if (!prefix.subarray(0, MAGIC.length).equals(MAGIC)) throw unusable(path, 'it is not a snapshot file');
  const headerBytes = prefix.readUInt32LE(8);
  if (headerBytes > IMAGE_HEADER_BYTES_MAX) throw unusable(path, 'its header is damaged');
  refuseTooLarge(path, fileBytes);
  const packed = readExactly(file, Buffer.alloc(Math.min(headerBytes, fileBytes)), path);
  if (crc32(packed) !== prefix.readUInt32LE(12)) throw unusable(path, 'its header is damaged');
  const header = unpack(packed) as Header;
  const { formatVersion, byteOrder, arrays, summary, hashSeed, sourceVersion, source } = header;
  if (!IMAGE_FORMATS_READ.includes(formatVersion)) {
    const read = IMAGE_FORMATS_READ.join(' and ');
    throw unusable(path, `its format version is ${formatVersion}; this version of Lectern reads ${read}`);
  }
  if (byteOrder !== endianness()) throw unusable(path, `its byte order is ${byteOrder}`);
  // No prototype, so that names from the file cannot reach inherited properties.
  const parts = Object.create(null) as Record<string, unknown>;
  let offset = PREFIX_BYTES + headerBytes;
  for (const entry of arrays) {
    if (!(entry.byteLength <= fileBytes - offset)) throw unusable(path, 'it ends early');
    const padding = readExactly(file, Buffer.alloc(paddingAt(offset)), path);
    if (padding.some((byte) => byte !== 0)) throw unusable(path, 'its padding is damaged');
    const bytes = Buffer.from(new SharedArrayBuffer(entry.byteLength));
    readExactly(file, bytes, path);
    if (crc32(bytes) !== entry.crc) throw unusable(path, `its array ${entry.path.join('.')} is damaged`);
    place(parts, entry.path, new ARRAY_TYPES[entry.type](bytes.buffer as ArrayBufferLike as ArrayBuffer));
    offset += padding.length + entry.byteLength;
  }
  if (readSync(file, Buffer.alloc(1), 0, 1, null) !== 0)
    throw unusable(path, 'it is longer than it should be');
  if (sourceVersion !== null && typeof sourceVersion !== 'string') {
    throw unusable(path, 'its header names no version of the source');
  }
  if (source !== null && (typeof source.name !== 'string' || typeof source.digest !== 'string')) {
    throw unusable(path, 'its header names no source');
  }
  const { beside: kept = {}, ...ofImage } = parts;
  // Early files of this version lack these.
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

function withOpen<Result>(file: number, use: (file: number) => Result): Result {
  try {
    return use(file);
  } finally {
    closeSync(file);
  }
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

function writeAll(file: number, bytes: Uint8Array): number {
  let written = 0;
  // Terminates: each write takes a byte or throws.
  while (written < bytes.length) {
    written += writeSync(file, bytes, written, Math.min(PIECE_BYTES, bytes.length - written));
  }
  return bytes.length;
}

function readExactly(file: number, bytes: Buffer, path: string): Buffer {
  let filled = 0;
  // Terminates: each read gives a byte, or the file has ended.
  while (filled < bytes.length) {
    const count = readSync(file, bytes, filled, Math.min(PIECE_BYTES, bytes.length - filled), null);
    if (count === 0) throw unusable(path, 'it ends early');
    filled += count;
  }
  return bytes;
}

const FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'its folder was removed',
  ELOOP: 'its symbolic links form a loop',
  ENAMETOOLONG: 'its name is too long; about 30 characters are added while it is written',
  EBUSY: 'it is a mount point; mount its folder instead',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
  ENOTDIR: 'a part of its path is not a directory',
  EISDIR: 'it is a directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space is left on the device',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'it would exceed the limit on file sizes',
  EIO: 'the device failed (input/output error)',
};

function unreadable(path: string, cause: unknown): LecternError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
  const reason = code === 'ENOENT' ? 'there is no such file' : (FAILURES[code] ?? code);
  return new LecternError('source-unreadable', `cannot read the snapshot file ${path}: ${reason}`, { cause });
}

/** Must be one line for any content of the file. */
export function unusable(path: string, reason: string): LecternError {
  const line = reason.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?');
  const shown =
    line.length > IMAGE_REASON_CHARACTERS_MAX ? `${line.slice(0, IMAGE_REASON_CHARACTERS_MAX)}…` : line;
  return new LecternError('image-unusable', `the snapshot file ${path} cannot be used: ${shown}`);
}

function unwritten(path: string, reason: string, cause?: unknown): LecternError {
  const message = `the snapshot file ${path} could not be written: ${reason}`;
  return new LecternError('image-not-written', message, { cause });
}

/** @param status of the open file, because the path may lead elsewhere by now */
function refuseOthersFile(path: string, { uid, mode }: Stats): void {
  const user = process.geteuid?.();
  if (user === undefined) return;
  if (uid !== user && uid !== 0) {
    throw unusable(path, `it belongs to user ${uid}; expected user ${user}, as this process, or root`);
  }
  if ((mode & constants.S_IWOTH) !== 0) throw unusable(path, 'it is world-writable; expected mode 0600');
}

/** A sparse file takes no space on disk, but could exhaust the reader's memory. */
function refuseTooLarge(path: string, fileBytes: number): void {
  const constrained = process.constrainedMemory();
  const memoryBytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  if (fileBytes <= IMAGE_MEMORY_SHARE_MAX * memoryBytes) return;
  throw unusable(path, `it has ${fileBytes} bytes; this machine has ${memoryBytes} bytes of memory`);
}
