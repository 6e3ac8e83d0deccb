import { BODY_WHOLE_BYTES_MAX, DIRECT_HEAD_BYTES_MAX } from '../limits.js';
import { Slabs } from '../structures/slabs.js';
import type { SharedSlices } from './shared-slices.js';

/** The body of an answer. Its bytes may be views of the snapshot's shared memory and must not be changed. */
export interface Body {
  readonly byteLength: number;
  /** The bytes, in order. Those of a large body are made one by one while they are gone through, anew each time. */
  readonly chunks: Iterable<Uint8Array>;
  /** Whether there are DIRECT_HEAD_BYTES_MAX bytes before the only chunk, in the same memory, for a head. */
  readonly hasHeadRoom?: true;
  /** Of a body that is made in slices: the chunks, shared with all who ask for a body of this name. */
  chunksFrom?(shared: SharedSlices, name: string): Iterable<Uint8Array>;
}

const SLAB_BYTES = 128 * 1024;
/** With its head; a longer one gets a block. A reader that does not take its answer keeps a whole slab from being freed. */
const CUT_BYTES_MAX = SLAB_BYTES / 8;
const smallBodies = new Slabs(allocateUncleared, SLAB_BYTES, CUT_BYTES_MAX);

/** Blocks have room for a head and a body of this length, or of twice that, and so on. */
const BLOCK_BODY_BYTES_MIN = 2 * CUT_BYTES_MAX;
/** Free blocks that are kept of each class: mostly one is in use. All of them are 1 MiB. */
const FREE_BLOCKS_MAX = 2;
/** By class: of the shortest blocks first. */
const freeBlocks: ArrayBuffer[][] = Array.from({ length: classOf(BODY_WHOLE_BYTES_MAX) + 1 }, () => []);

function classOf(bodyBytes: number): number {
  return 32 - Math.clz32((bodyBytes - 1) / BLOCK_BODY_BYTES_MIN);
}

function allocateUncleared(byteLength: number): ArrayBuffer {
  return Buffer.allocUnsafeSlow(byteLength).buffer;
}

/** Memory for a body, not cleared, with room for a head before it. */
export function allocateBody(byteLength: number): Buffer {
  const allBytes = DIRECT_HEAD_BYTES_MAX + byteLength;
  if (allBytes <= CUT_BYTES_MAX) {
    const slab = smallBodies.cut(allBytes);
    return Buffer.from(slab, smallBodies.offset + DIRECT_HEAD_BYTES_MAX, byteLength);
  }
  const number = classOf(byteLength);
  const free = freeBlocks[number];
  const bodyBytesMax = free === undefined ? byteLength : BLOCK_BODY_BYTES_MIN << number;
  const block = free?.pop() ?? allocateUncleared(DIRECT_HEAD_BYTES_MAX + bodyBytesMax);
  return Buffer.from(block, DIRECT_HEAD_BYTES_MAX, byteLength);
}

/**
 * Gives all that {@link allocateBody} gave back for the next body, which finds it in the processor's cache. Only once the
 * kernel has taken the bytes and nothing refers to them any more.
 */
export function releaseBody(bytes: Uint8Array): void {
  const { buffer, byteOffset, length } = bytes;
  const allBytes = DIRECT_HEAD_BYTES_MAX + length;
  if (allBytes <= CUT_BYTES_MAX) {
    smallBodies.giveBack(buffer, byteOffset - DIRECT_HEAD_BYTES_MAX, allBytes);
    return;
  }
  const free = freeBlocks[classOf(length)];
  if (free !== undefined && free.length < FREE_BLOCKS_MAX) free.push(buffer as ArrayBuffer);
}

/** A body of all that {@link allocateBody} gave. */
export function madeBody(bytes: Buffer): Body {
  return { byteLength: bytes.length, chunks: [bytes], hasHeadRoom: true };
}

/** The same, made when its chunks are first asked for: an answer to HEAD needs only the length. */
export function laterBody(byteLength: number, make: () => Buffer): Body {
  let chunks: readonly [Uint8Array] | null = null;
  return {
    byteLength,
    hasHeadRoom: true,
    get chunks() {
      chunks ??= [make()];
      return chunks;
    },
  };
}
