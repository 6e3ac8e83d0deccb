import { hash } from 'node:crypto';
import { shared } from '../structures/slabs.js';
import type { Snapshot } from './snapshot.js';

/** Earlier records as flat data: a map of 100,000 entries takes 0.1 s to cross threads. */
export interface PastRecords {
  /** Id n is UTF-8 bytes [idStart[n], idStart[n + 1]). */
  readonly ids: Uint8Array;
  readonly idStart: Uint32Array;
  readonly digests: Uint8Array;
}

/** `digest` has DIGEST_BYTES latin1 characters; it is null if there was no record. */
export type PastRecord = readonly [id: string, digest: string | null];

/** With 96 bits, two records of one id never share a digest. */
export const DIGEST_BYTES = 12;
const NO_DIGEST = '\0'.repeat(DIGEST_BYTES);

export function rowDigest(snapshot: Snapshot, ordinal: number): string {
  return hash('sha1', snapshot.rows.rowOf(ordinal), 'binary').slice(0, DIGEST_BYTES);
}

export function writePastRecords(records: readonly PastRecord[]): PastRecords {
  const ids = Buffer.from(records.map(([id]) => id).join(''), 'utf8');
  const digests = Buffer.from(records.map(([, digest]) => digest ?? NO_DIGEST).join(''), 'latin1');
  const idStart = shared.uint32(records.length + 1);
  for (const [n, [id]] of records.entries()) idStart[n + 1] = idStart[n]! + Buffer.byteLength(id, 'utf8');
  return { ids: sharedCopy(ids), idStart, digests: sharedCopy(digests) };
}

export function pastRecordCount(records: PastRecords | null): number {
  return records === null ? 0 : records.idStart.length - 1;
}

export function* readPastRecords(records: PastRecords | null): Generator<PastRecord> {
  if (records === null) return;
  const { idStart } = records;
  const ids = bufferOf(records.ids);
  // One call decodes all ids if they are ASCII, as most are.
  const whole = ids.toString('latin1');
  const isAscii = Buffer.byteLength(whole, 'utf8') === ids.length;
  const digestOf = digestsOf(records);
  for (let n = 0; n < pastRecordCount(records); n++) {
    const [from, end] = [idStart[n]!, idStart[n + 1]!];
    yield [isAscii ? whole.slice(from, end) : ids.toString('utf8', from, end), digestOf(n)];
  }
}

/** Ordinals of events instead of their ids. An event that is gone has the ordinal -1 and its id. */
export function* pastEvents(
  records: PastRecords | null,
  present: Snapshot,
): Generator<readonly [ordinal: number, id: string, digest: string | null]> {
  if (records === null) return;
  const { idStart } = records;
  const ids = bufferOf(records.ids);
  const find = present.ordinalsOf(ids);
  const digestOf = digestsOf(records);
  for (let n = 0; n < pastRecordCount(records); n++) {
    const [from, end] = [idStart[n]!, idStart[n + 1]!];
    const ordinal = find(from, end);
    yield [ordinal, ordinal === -1 ? ids.toString('utf8', from, end) : '', digestOf(n)];
  }
}

function digestsOf({ digests }: PastRecords): (record: number) => string | null {
  const all = bufferOf(digests).toString('latin1');
  return (record) => {
    const digest = all.slice(record * DIGEST_BYTES, (record + 1) * DIGEST_BYTES);
    return digest === NO_DIGEST ? null : digest;
  };
}

/** Unlike a TextDecoder, a Buffer decodes shared memory. */
function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function sharedCopy(bytes: Uint8Array): Uint8Array {
  const copy = shared.uint8(bytes.length);
  copy.set(bytes);
  return copy;
}
