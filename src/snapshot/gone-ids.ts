import { shared } from '../structures/slabs.js';
import { jsonByteLength, packedByteLength } from './byte-lengths.js';
import { writePackedTextHeader } from './packed-text.js';

/**
 * Ids of events that the present snapshot does not have, numbered in order of code points. Written once in each
 * representation, so that a request copies them as it copies rows.
 */
export interface GoneIds {
  /** One JSON array. Id n is bytes [start[n], start[n + 1] - 1): behind it stands a comma, or the closing bracket. */
  readonly json: { readonly bytes: Uint8Array; readonly start: Uint32Array };
  /** Id n is bytes [start[n], start[n + 1]). */
  readonly packed: { readonly bytes: Uint8Array; readonly start: Uint32Array };
}

export const NO_GONE_IDS: GoneIds = {
  json: { bytes: Uint8Array.of(0x5b, 0x5d), start: Uint32Array.of(1) },
  packed: { bytes: new Uint8Array(0), start: Uint32Array.of(0) },
};

/** Bytes that {@link writeGoneIds} takes, and a little more. */
export function goneIdsBytes(ids: readonly string[]): number {
  let bytes = 64;
  for (const id of ids) bytes += jsonByteLength(id) + packedByteLength(id) + 9;
  return bytes;
}

/** @param ids in order of code points */
export function writeGoneIds(ids: readonly string[]): GoneIds {
  const text = Buffer.from(JSON.stringify(ids), 'utf8');
  const json = { bytes: shared.uint8(text.length), start: shared.uint32(ids.length + 1) };
  json.bytes.set(text);
  const packedStart = shared.uint32(ids.length + 1);
  json.start[0] = 1;
  for (const [n, id] of ids.entries()) {
    json.start[n + 1] = json.start[n]! + jsonByteLength(id) + 1;
    packedStart[n + 1] = packedStart[n]! + packedByteLength(id);
  }
  const packed = { bytes: shared.uint8(packedStart[ids.length]!), start: packedStart };
  const target = Buffer.from(packed.bytes.buffer, packed.bytes.byteOffset, packed.bytes.length);
  let at = 0;
  for (const id of ids) {
    at = writePackedTextHeader(target, at, Buffer.byteLength(id, 'utf8'));
    at += target.write(id, at, 'utf8');
  }
  return { json, packed };
}
