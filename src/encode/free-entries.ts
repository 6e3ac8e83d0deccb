import { InstantTexts } from '../model/instant-texts.js';
import { FREE_ENTRY_SCHEMA } from '../model/schemas.js';
import type { NamedEntries } from '../query/directory.js';
import type { GapColumns } from '../query/gaps.js';
import type { MeasuredBody } from './body.js';
import { packPlain } from './msgpack.js';
import { type EntryFrames, type EntryRest, jsonEntries, messagePackEntries, put } from './named-entries.js';

const INSTANT_CHARACTERS = 'YYYY-MM-DDTHH:mm:ss.sssZ'.length;

/** How instants are written. */
interface InstantLayout {
  readonly frames: EntryFrames;
  readonly none: Buffer;
  /** The bytes before and after the characters of an instant. */
  readonly before: Buffer;
  readonly after: Buffer;
  /** The text between both instants. */
  readonly between: Buffer;
}

const NAMES = Object.keys(FREE_ENTRY_SCHEMA.properties as object);
const [BEFORE_ID = '', BEFORE_NAME = '', BEFORE_FROM = '', BEFORE_UNTIL = '', CLOSING = ''] = JSON.stringify(
  Object.fromEntries(NAMES.map((name) => [name, ''])),
).split('""');

const QUOTE = Buffer.from('"');

const JSON_INSTANTS: InstantLayout = {
  // A comma follows each entry.
  frames: [
    Buffer.from(BEFORE_ID),
    Buffer.from(BEFORE_NAME),
    Buffer.from(BEFORE_FROM),
    Buffer.from(`${CLOSING},`),
  ],
  none: Buffer.from('null'),
  before: QUOTE,
  after: QUOTE,
  between: Buffer.from(BEFORE_UNTIL),
};

const MAP_OF_FOUR = Buffer.of(0x84);
const [PACKED_ID, PACKED_NAME, PACKED_FROM, PACKED_UNTIL] = NAMES.map((name) =>
  Buffer.from(packPlain(name)),
) as [Buffer, Buffer, Buffer, Buffer];

const PACKED_INSTANTS: InstantLayout = {
  frames: [Buffer.concat([MAP_OF_FOUR, PACKED_ID]), PACKED_NAME, PACKED_FROM, Buffer.alloc(0)],
  none: Buffer.of(0xc0),
  before: Buffer.of(0xa0 | INSTANT_CHARACTERS),
  after: Buffer.alloc(0),
  between: PACKED_UNTIL,
};

const instants = new InstantTexts();

export function jsonFree(named: NamedEntries, entries: Uint32Array, gaps: GapColumns): MeasuredBody {
  return jsonEntries(JSON_INSTANTS.frames, named, entries, restOf(JSON_INSTANTS, gaps));
}

export function messagePackFree(named: NamedEntries, entries: Uint32Array, gaps: GapColumns): MeasuredBody {
  return messagePackEntries(PACKED_INSTANTS.frames, named, entries, restOf(PACKED_INSTANTS, gaps));
}

function restOf(layout: InstantLayout, { fromMs, untilMs }: GapColumns): EntryRest {
  const { between } = layout;
  return {
    length: (n) => lengthOf(layout, fromMs[n]!) + between.length + lengthOf(layout, untilMs[n]!),
    write(n, target, offset) {
      const at = writeInstant(layout, fromMs[n]!, target, offset);
      return writeInstant(layout, untilMs[n]!, target, put(between, 0, between.length, target, at));
    },
  };
}

function lengthOf({ none, before, after }: InstantLayout, instantMs: number): number {
  return Number.isNaN(instantMs) ? none.length : before.length + INSTANT_CHARACTERS + after.length;
}

function writeInstant(
  { none, before, after }: InstantLayout,
  instantMs: number,
  target: Buffer,
  offset: number,
): number {
  if (Number.isNaN(instantMs)) return put(none, 0, none.length, target, offset);
  const at = put(before, 0, before.length, target, offset);
  target.write(instants.of(instantMs), at, 'latin1');
  return put(after, 0, after.length, target, at + INSTANT_CHARACTERS);
}
