import type { ConflictEntry } from '../model/event.js';
import { CONFLICT_DIMENSIONS } from '../model/fields.js';
import { formatInstant } from '../model/time.js';
import { Dictionary } from '../structures/dictionary.js';
import { shared } from '../structures/slabs.js';
import {
  jsonByteLength,
  packedArrayHeaderLength,
  packedByteLength,
  packedIntegerLength,
} from './byte-lengths.js';
import type { ClustersImage, RowsImage } from './image.js';

export type UnmeasuredClusters = Omit<ClustersImage, 'jsonBytes' | 'packedBytes'>;

const NAMES: readonly (keyof ConflictEntry)[] = ['by', 'key', 'startTime', 'endTime', 'peak', 'events'];
const INSTANT = formatInstant(0);
/** Of JSON: braces, brackets, a name and a colon for each value, commas, both instants. */
const JSON_FRAME_BYTES =
  4 +
  NAMES.reduce((sum, name) => sum + jsonByteLength(name) + 1, NAMES.length - 1) +
  2 * jsonByteLength(INSTANT);
/** Of MessagePack: the map's header, the names, both instants. */
const PACKED_FRAME_BYTES =
  NAMES.reduce((sum, name) => sum + packedByteLength(name), 1) + 2 * packedByteLength(INSTANT);

/** How long the entry of each cluster is in either representation, its events included, without separators. */
export function entryByteLengths(
  clusters: UnmeasuredClusters,
  rows: RowsImage,
): Pick<ClustersImage, 'jsonBytes' | 'packedBytes'> {
  const { by, key, keys, peak, first, events } = clusters;
  const dictionary = new Dictionary(keys);
  const keyCount = keys.start.length - 1;
  const texts = Array.from({ length: keyCount }, (_, code) => dictionary.valueOf(code));
  const jsonKey = Uint32Array.from(texts, jsonByteLength);
  const packedKey = Uint32Array.from(texts, packedByteLength);
  const jsonBytes = shared.uint32(peak.length);
  const packedBytes = shared.uint32(peak.length);
  for (let cluster = 0; cluster < peak.length; cluster++) {
    const dimension = CONFLICT_DIMENSIONS[by[cluster]!]!.by;
    const size = first[cluster + 1]! - first[cluster]!;
    let json = JSON_FRAME_BYTES + jsonByteLength(dimension) + jsonKey[key[cluster]!]! + size - 1;
    json += String(peak[cluster]!).length;
    let packed = PACKED_FRAME_BYTES + packedByteLength(dimension) + packedKey[key[cluster]!]!;
    packed += packedIntegerLength(peak[cluster]!) + packedArrayHeaderLength(size);
    for (let e = first[cluster]!; e < first[cluster + 1]!; e++) {
      const ordinal = events[e]!;
      json += rows.start[ordinal + 1]! - rows.start[ordinal]! - 1;
      packed += rows.packedStart[ordinal + 1]! - rows.packedStart[ordinal]!;
    }
    jsonBytes[cluster] = json;
    packedBytes[cluster] = packed;
  }
  return { jsonBytes, packedBytes };
}
