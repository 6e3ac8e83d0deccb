import build, { type Schema } from 'fast-json-stringify';
import type { DirectoryEntry } from '../model/event.js';
import { DIRECTORY_ENTRY_SCHEMA } from '../model/schemas.js';
import type { Directory } from '../query/directory.js';
import { packedIntegerLength } from '../snapshot/rows.js';
import type { MeasuredBody } from './body.js';
import { packPlain } from './msgpack.js';
import { type EntryFrames, jsonEntries, messagePackEntries } from './named-entries.js';

const DIGIT_0 = 0x30;

const serialiseEntry: (entry: DirectoryEntry) => string = build(DIRECTORY_ENTRY_SCHEMA as unknown as Schema);
const [BEFORE_ID = '', BEFORE_NAME = '', BEFORE_EVENTS = '', CLOSING = ''] = serialiseEntry({
  id: '',
  name: '',
  events: 0,
}).split(/""|0/);

/** A comma follows each entry. */
const JSON_FRAMES: EntryFrames = [
  Buffer.from(BEFORE_ID),
  Buffer.from(BEFORE_NAME),
  Buffer.from(BEFORE_EVENTS),
  Buffer.from(`${CLOSING},`),
];

const MAP_OF_THREE = Buffer.of(0x83);
const PACKED_FRAMES: EntryFrames = [
  Buffer.concat([MAP_OF_THREE, packPlain('id')]),
  Buffer.from(packPlain('name')),
  Buffer.from(packPlain('events')),
  Buffer.alloc(0),
];
const UINT8 = 0xcc;
const UINT16 = 0xcd;
const UINT32 = 0xce;

/** @param counts events by entry */
export function jsonDirectory(directory: Directory, entries: Uint32Array, counts: Uint32Array): MeasuredBody {
  return jsonEntries(JSON_FRAMES, directory, entries, {
    length: (n) => digitCountOf(counts[entries[n]!]!),
    write: (n, target, offset) => writeDigits(counts[entries[n]!]!, target, offset),
  });
}

export function messagePackDirectory(
  directory: Directory,
  entries: Uint32Array,
  counts: Uint32Array,
): MeasuredBody {
  return messagePackEntries(PACKED_FRAMES, directory, entries, {
    length: (n) => packedIntegerLength(counts[entries[n]!]!),
    write: (n, target, offset) => writePackedInteger(counts[entries[n]!]!, target, offset),
  });
}

function digitCountOf(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) length++;
  return length;
}

function writeDigits(value: number, target: Buffer, offset: number): number {
  const end = offset + digitCountOf(value);
  let rest = value;
  for (let at = end - 1; at >= offset; at--) {
    target[at] = DIGIT_0 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
  return end;
}

function writePackedInteger(value: number, target: Buffer, offset: number): number {
  if (value < 0x80) {
    target[offset] = value;
    return offset + 1;
  }
  if (value < 0x100) {
    target[offset] = UINT8;
    target[offset + 1] = value;
    return offset + 2;
  }
  target[offset] = value < 0x10000 ? UINT16 : UINT32;
  return value < 0x10000 ? target.writeUInt16BE(value, offset + 1) : target.writeUInt32BE(value, offset + 1);
}
