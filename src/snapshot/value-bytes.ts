import type { DictionaryBuilder } from '../structures/dictionary.js';
import { jsonByteLength, packedByteLength } from './byte-lengths.js';

/** The JSON of each distinct value of a field, by code, and its lengths. */
export interface ValueBytes {
  /** Value c is bytes [start[c], start[c + 1]). */
  readonly bytes: Uint8Array;
  readonly start: Uint32Array;
  /** Of value c in MessagePack. */
  readonly packedLength: Uint32Array;
}

export function valueBytesOf(dictionary: DictionaryBuilder): ValueBytes {
  const start = new Uint32Array(dictionary.size + 1);
  const packedLength = new Uint32Array(dictionary.size);
  for (let code = 0; code < dictionary.size; code++) {
    const value = dictionary.valueOf(code);
    start[code + 1] = start[code]! + jsonByteLength(value);
    packedLength[code] = packedByteLength(value);
  }
  const bytes = Buffer.allocUnsafe(start[dictionary.size]!);
  for (let code = 0; code < dictionary.size; code++) {
    bytes.write(JSON.stringify(dictionary.valueOf(code)), start[code]!, 'utf8');
  }
  return { bytes, start, packedLength };
}
