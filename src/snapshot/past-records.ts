import { shared } from '../structures/slabs.js';

/**
 * What some events' records were: for each id a digest, or that there was no record. Flat, in shared memory: a map of
 * 100,000 entries takes the serving thread 0.1 s to receive from another thread, this takes it nothing.
 */
export interface PastRecords {
  /** Id n is UTF-8 bytes [idStart[n], idStart[n + 1]). */
  readonly ids: Uint8Array;
  readonly idStart: Uint32Array;
  /** DIGEST_BYTES for each; all zero where there was no record. */
  readonly digests: Uint8Array;
}

/** 96 bits of a hash: two records of one id never share them. */
export const DIGEST_BYTES = 12;
const NONE = '\0'.repeat(DIGEST_BYTES);

export class PastRecordsBuilder {
  readonly #ids: string[] = [];
  readonly #digests: string[] = [];

  get size(): number {
    return this.#ids.length;
  }

  /**
   * @param id not added before
   * @param digest DIGEST_BYTES characters of one byte each; null where there was no record
   */
  add(id: string, digest: string | null): void {
    this.#ids.push(id);
    this.#digests.push(digest ?? NONE);
  }

  finish(): PastRecords {
    const bytes = Buffer.from(this.#ids.join(''), 'utf8');
    const ids = shared.uint8(bytes.length);
    ids.set(bytes);
    const idStart = shared.uint32(this.#ids.length + 1);
    for (const [n, id] of this.#ids.entries()) idStart[n + 1] = idStart[n]! + Buffer.byteLength(id, 'utf8');
    const digests = shared.uint8(this.#digests.length * DIGEST_BYTES);
    digests.set(Buffer.from(this.#digests.join(''), 'latin1'));
    return { ids, idStart, digests };
  }
}

export function pastRecordCount(records: PastRecords): number {
  return records.idStart.length - 1;
}

/** Each id with its digest, or null. */
export function* readPastRecords(records: PastRecords): Generator<readonly [string, string | null]> {
  const ids = bufferOf(records.ids);
  const digests = bufferOf(records.digests);
  for (let n = 0; n < pastRecordCount(records); n++) {
    const digest = digests.toString('latin1', n * DIGEST_BYTES, (n + 1) * DIGEST_BYTES);
    yield [
      ids.toString('utf8', records.idStart[n]!, records.idStart[n + 1]!),
      digest === NONE ? null : digest,
    ];
  }
}

/** A Buffer decodes shared memory, a TextDecoder does not. */
function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
