import { viewOf } from '../structures/byte-strings.js';
import type { DictionaryBuilder } from '../structures/dictionary.js';
import { jsonByteLength, packedByteLength } from './byte-lengths.js';

/** What each distinct value of a field puts into a row, by code, and its lengths. That of null stands behind the last. */
export interface ValueBytes {
  /** The piece of value c is bytes [start[c], start[c + 1]): its JSON and what stands around it. */
  readonly view: DataView;
  readonly start: Uint32Array;
  /** Of value c in MessagePack, without its name. */
  readonly packedLength: Uint32Array;
}

/**
 * @param before what stands before the value in a row
 * @param behind what stands behind it
 */
export function valueBytesOf(dictionary: DictionaryBuilder, before: string, behind: string): ValueBytes {
  const frameBytes = Buffer.byteLength(before) + Buffer.byteLength(behind);
  const count = dictionary.size + 1;
  const start = new Uint32Array(count + 1);
  const packedLength = new Uint32Array(count);
  for (let code = 0; code < count; code++) {
    const value = dictionary.valueOf(code);
    start[code + 1] = start[code]! + frameBytes + jsonByteLength(value);
    packedLength[code] = packedByteLength(value);
  }
  const bytes = Buffer.allocUnsafe(start[count]!);
  for (let code = 0; code < count; code++) {
    bytes.write(before + JSON.stringify(dictionary.valueOf(code)) + behind, start[code]!, 'utf8');
  }
  return { view: viewOf(bytes), start, packedLength };
}
