import { isUtf8 } from 'node:buffer';
import { OUTPUT_FIELDS } from '../model/fields.js';
import { viewOf } from '../structures/byte-strings.js';
import type { KeyedHash } from '../structures/keyed-hash.js';
import { packedByteLength, packedTextLength } from './byte-lengths.js';
import type { RowsImage } from './image.js';
import { ID_OFFSET, PACKED_ROW_FRAME_BYTES, ROW_FRAME } from './rows.js';

const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const COMMA = 0x2c;

/** Between the quotes. Control characters are escaped: RFC 8259 section 7. */
const TEXT = String.raw`"([^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*)"`;
/** A row, a character a byte. It gives the texts of the fields; undefined for null. */
const VALUES = OUTPUT_FIELDS.map(({ name }) => (name === 'id' ? TEXT : `(?:${TEXT}|null)`));
const ROW = new RegExp(
  `^${ROW_FRAME.map((frame, n) => frame.replace(/[{}]/, '\\$&') + (VALUES[n] ?? '')).join('')}$`,
);

/** @returns for each ordinal the hash of its id */
export function checkRows(
  { bytes, start, packedStart }: RowsImage,
  count: number,
  hash: KeyedHash,
): Uint32Array {
  const hashes = new Uint32Array(count);
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const view = viewOf(source);
  if (source[0] !== OPENING_BRACKET) throw new Error('rows begin wrongly');
  if (source[source.length - 1] !== CLOSING_BRACKET) throw new Error('rows end wrongly');
  if (!isUtf8(source)) throw new Error('rows are not UTF-8');
  for (let ordinal = 0; ordinal < count; ordinal++) {
    const end = start[ordinal + 1]! - 1;
    const row = ROW.exec(source.toString('latin1', start[ordinal]!, end));
    if (row === null) throw new Error(`row ${ordinal} is no row`);
    const [, id = '', ...others] = row;
    const idStart = start[ordinal]! + ID_OFFSET;
    hashes[ordinal] = id.includes('\\')
      ? hashOf(unescaped(id), hash)
      : hash.bytes(view, idStart, idStart + id.length);
    let packed = PACKED_ROW_FRAME_BYTES + packedLengthOf(id);
    for (const text of others as (string | undefined)[]) packed += packedLengthOf(text);
    if (packedStart[ordinal + 1]! - packedStart[ordinal]! !== packed) {
      throw new Error(`row ${ordinal} has another length in MessagePack`);
    }
    if (ordinal + 1 < count && source[end] !== COMMA) throw new Error(`no comma follows row ${ordinal}`);
  }
  return hashes;
}

function packedLengthOf(text: string | undefined): number {
  if (text === undefined) return packedByteLength(null);
  return packedTextLength(text.includes('\\') ? unescaped(text).length : text.length);
}

function hashOf(text: Buffer, hash: KeyedHash): number {
  return hash.bytes(viewOf(text), 0, text.length);
}

/** Throws where the escapes are none. */
function unescaped(text: string): Buffer {
  return Buffer.from(JSON.parse(`"${Buffer.from(text, 'latin1').toString('utf8')}"`) as string);
}
