import { LecternError } from '../errors.js';
import {
  EVENTS_MAX,
  IMAGE_BYTES_PER_EVENT,
  INTERVALS_PER_TREE_MAX,
  OVERRIDES_KEPT_MAX,
  REJECTIONS_KEPT_MAX,
  SCRATCH_BYTES_PER_EVENT,
  VALUE_MEMO_ENTRIES_MAX,
  VALUE_MEMO_UNITS_MAX,
} from '../limits.js';
import type {
  IdentifierMode,
  NormalisedEvent,
  RecordPosition,
  Rejection,
  RejectionCode,
} from '../model/event.js';
import {
  FIELDS,
  type FieldName,
  INDEXED_FIELDS,
  type IndexedFieldName,
  LESSON_FIELDS,
  type RequiredFieldName,
} from '../model/fields.js';
import { ByteStrings, viewOf } from '../structures/byte-strings.js';
import { sharedCodeColumn } from '../structures/code-column.js';
import { DictionaryBuilder, NO_CODE } from '../structures/dictionary.js';
import { GrowableFloat64, GrowableUint32 } from '../structures/growable.js';
import { buildHashTable, type HashIndexImage } from '../structures/hash-index.js';
import { buildIntervalIndex } from '../structures/interval-index.js';
import { type HashSeed, KeyedHash, randomHashSeed } from '../structures/keyed-hash.js';
import { buildPostingLists } from '../structures/posting-lists.js';
import { inScratch, scratch, shared } from '../structures/slabs.js';
import { TextMemo } from '../structures/text-memo.js';
import { buildClusters } from './clusters.js';
import { contentVersionOf } from './content-version.js';
import { type Column, FinishEstimate } from './finish-estimate.js';
import { byteLengthOf, type FieldImage, type SnapshotImage } from './image.js';
import { conflictKeys, lessonNumbers } from './lessons.js';
import { orderEvents } from './order.js';
import type { SnapshotSummary } from './summary.js';
import { UnservedFieldCounter } from './unserved-fields.js';
import { writeRows } from './write-rows.js';

/** The fields kept as dictionary codes until the rows are written: all that have few distinct values, or may have none. */
export type CodedFieldName = Exclude<FieldName, RequiredFieldName>;
type AnyField = (typeof FIELDS)[number];
export function isCoded(field: AnyField): field is AnyField & { readonly name: CodedFieldName } {
  return !field.required;
}
const CODED_FIELDS: readonly CodedFieldName[] = FIELDS.filter(isCoded).map((field) => field.name);

/** An identifier of 64 characters, of four bytes each at most. */
const ID_BUFFER_BYTES = 256;
/** A UTF-16 unit takes up to three bytes; two that are one character take four. */
const UTF8_BYTES_PER_UNIT_MAX = 3;

/**
 * Collects events in any order and turns them into a snapshot image. Holds columns of numbers and one string per
 * distinct value and id; never an object per event.
 */
export class SnapshotBuilder {
  readonly #identifiers: IdentifierMode;
  readonly #beganMs = performance.now();
  readonly #hashSeed: HashSeed;
  /** Of all tables of the build and of the image whose keys come from the source. */
  readonly hash: KeyedHash;
  readonly unserved: UnservedFieldCounter = new UnservedFieldCounter();
  readonly #ids = new ByteStrings();
  #idBuffer: Buffer = Buffer.alloc(ID_BUFFER_BYTES);
  #idView: DataView = viewOf(this.#idBuffer);
  readonly #timeMs = new GrowableFloat64();
  readonly #endTimeMs = new GrowableFloat64();
  /** In the order of CODED_FIELDS. */
  readonly #columns: readonly Column[];
  readonly #columnByName: ReadonlyMap<FieldName, Column>;
  readonly #rejections: Rejection[] = [];
  readonly #rejectedByCode: Partial<Record<RejectionCode, number>> = {};
  #rejected = 0;
  /** Where each source's events begin, in order of arrival; one entry, without a name, where there is one source. */
  readonly #sources: { readonly name: string | undefined; readonly start: number }[] = [];
  readonly #finishEstimate = new FinishEstimate();
  #finished = false;

  /**
   * To be made when the load begins: how long it takes is counted from here.
   *
   * @param options.hashSeed random if left out. Two builds of the same events with one seed give the same image, byte for byte.
   */
  constructor(options: { readonly identifiers: IdentifierMode; readonly hashSeed?: HashSeed }) {
    this.#identifiers = options.identifiers;
    this.#hashSeed = options.hashSeed ?? randomHashSeed();
    const hash = new KeyedHash(this.#hashSeed);
    this.hash = hash;
    this.#columns = CODED_FIELDS.map(() => ({
      dictionary: new DictionaryBuilder(hash, new TextMemo(VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX)),
      codes: new GrowableUint32(),
    }));
    this.#columnByName = new Map(CODED_FIELDS.map((name, n) => [name, this.#columns[n] as Column]));
  }

  get eventCount(): number {
    return this.#ids.size;
  }

  get rejectedCount(): number {
    return this.#rejected;
  }

  /** Records left out, apart from those that a later source overrides. */
  get faultyCount(): number {
    return this.#rejected - (this.#rejectedByCode.overridden ?? 0);
  }

  /** Bytes of typed arrays in use: ids, two times and a code for each field. */
  get heldBytes(): number {
    const columns = this.#ids.size * (16 + 4 * CODED_FIELDS.length);
    return this.#columns.reduce(
      (bytes, { dictionary }) => bytes + dictionary.heldBytes,
      this.#ids.heldBytes + columns,
    );
  }

  /** Distinct values of the field that has most. */
  get largestDictionary(): number {
    let largest = 0;
    for (const { dictionary } of this.#columns) largest = Math.max(largest, dictionary.size);
    return largest;
  }

  /** About the bytes that finish() needs besides what is held. Counts only what has come since it was last asked. */
  finishBytes(): number {
    return this.#finishEstimate.bytes(this.#ids, this.#columns);
  }

  /**
   * Adds an event. The first event with an id stays; a later one with the same id is rejected: as `duplicate-id`, which
   * is a fault of the data, or as `overridden` where the first is of another source. Sources come one after the other.
   *
   * @throws LecternError `source-too-large` past EVENTS_MAX
   */
  add(event: NormalisedEvent, position: RecordPosition): void {
    this.#beginSource(position.source);
    const length = this.#writeId(event.id);
    const hash = this.hash.bytes(this.#idView, 0, length);
    const known = this.#ids.find(hash, this.#idView, 0, length);
    if (known !== -1) {
      this.reject(this.#duplicate(event.id, known, position));
      return;
    }
    this.#addId(hash, this.#idView, 0, length);
    this.#timeMs.push(event.time);
    this.#endTimeMs.push(event.endTime);
    for (let n = 0; n < CODED_FIELDS.length; n++) {
      const { codes, dictionary } = this.#columns[n]!;
      codes.push(dictionary.intern(event[CODED_FIELDS[n]!]));
    }
  }

  /**
   * Whether there is an event with this id.
   *
   * @param hash of the id, which stands at [from, to) of the view as UTF-8
   */
  hasId(hash: number, view: DataView, from: number, to: number): boolean {
    return this.#ids.find(hash, view, from, to) !== -1;
  }

  /** The code of a value, for addCoded: an event with it has to follow. */
  intern(name: CodedFieldName, value: string): number {
    return this.#column(name).dictionary.intern(value);
  }

  /**
   * Adds an event of the only source whose id no other has, see hasId.
   *
   * @param times beginning and end, epoch milliseconds
   * @param codes in the order of the descriptor table for each field that is not required
   * @throws LecternError as add does
   */
  addCoded(
    hash: number,
    view: DataView,
    from: number,
    to: number,
    times: Float64Array,
    codes: Uint32Array,
  ): void {
    this.#beginSource(undefined);
    this.#addId(hash, view, from, to);
    this.#timeMs.push(times[0]!);
    this.#endTimeMs.push(times[1]!);
    for (let n = 0; n < codes.length; n++) this.#columns[n]!.codes.push(codes[n]!);
  }

  #beginSource(name: string | undefined): void {
    if (this.#sources.at(-1)?.name !== name || this.#sources.length === 0) {
      this.#sources.push({ name, start: this.#ids.size });
    }
  }

  #addId(hash: number, view: DataView, from: number, to: number): void {
    if (this.#ids.size >= EVENTS_MAX) {
      throw new LecternError('source-too-large', `one snapshot holds at most ${EVENTS_MAX} events`);
    }
    this.#ids.add(hash, view, from, to);
  }

  /** Puts the UTF-8 of an id into the buffer for it, and gives its length. */
  #writeId(id: string): number {
    if (this.#idBuffer.length < UTF8_BYTES_PER_UNIT_MAX * id.length) {
      this.#idBuffer = Buffer.alloc(UTF8_BYTES_PER_UNIT_MAX * id.length);
      this.#idView = viewOf(this.#idBuffer);
    }
    return this.#idBuffer.write(id, 'utf8');
  }

  /** @param known number, in order of arrival, of the event that has the id already */
  #duplicate(id: string, known: number, position: RecordPosition): Rejection {
    const first = this.#sources.findLast(({ start }) => start <= known);
    const about = { position, field: 'id' } as const;
    if (first?.name === position.source) {
      const detail = `id ${JSON.stringify(id)} was already used by an earlier record, which is kept`;
      return { ...about, code: 'duplicate-id', detail };
    }
    const detail = `id ${JSON.stringify(id)} is overridden by the record of ${first?.name ?? 'another source'}`;
    return { ...about, code: 'overridden', detail };
  }

  /**
   * Counts a record that is left out. The first REJECTIONS_KEPT_MAX are kept with position and reason; fewer of those
   * that are overridden, since they are no faults and must not crowd out what is.
   */
  reject(rejection: Rejection): void {
    const { code } = rejection;
    this.#rejected++;
    const count = (this.#rejectedByCode[code] ?? 0) + 1;
    this.#rejectedByCode[code] = count;
    if (this.#rejections.length >= REJECTIONS_KEPT_MAX) return;
    if (code !== 'overridden' || count <= OVERRIDES_KEPT_MAX) this.#rejections.push(rejection);
  }

  /**
   * Builds the image. The builder cannot be used afterwards.
   *
   * @throws LecternError `source-too-large` where the rows do not fit into one arena
   */
  finish(): SnapshotImage {
    if (this.#finished) throw new Error('finish() may be called once');
    this.#finished = true;
    this.#ids.seal();
    const events = this.#ids.size + 1;
    return inScratch(events * SCRATCH_BYTES_PER_EVENT, () =>
      shared.within(events * IMAGE_BYTES_PER_EVENT, () => this.#build()),
    );
  }

  #build(): SnapshotImage {
    const { order, slots, slotOf } = orderEvents(this.#timeMs.view(), this.#endTimeMs.view(), this.#ids);
    const count = order.length;
    const inOrder = isInOrder(order);
    const columns = CODED_FIELDS.map((name) => {
      const { dictionary, codes } = this.#column(name);
      return { name, dictionary, codes: inOrder ? codes.view() : permute(codes.view(), order) };
    });
    const rows = writeRows({ order, slotOf, slots, ids: this.#ids, columns });
    const codesOf = (name: FieldName): Uint32Array => columns.find((each) => each.name === name)!.codes;
    const dictionaryOf = (name: FieldName): DictionaryBuilder => this.#column(name).dictionary;
    const clusterInput = {
      count,
      slotOf,
      slots,
      lesson: lessonNumbers(slotOf, LESSON_FIELDS.map(codesOf)),
      ...conflictKeys(count, codesOf, dictionaryOf, this.hash),
    };
    const clusters = buildClusters(clusterInput, rows);
    const lengthsMs = slots.endMs.map((endMs, slot) => endMs - slots.startMs[slot]!);
    const wideCodes = scratch.uint32(count);
    const fields = Object.fromEntries(
      INDEXED_FIELDS.map((field) => [
        field.name,
        finishField(dictionaryOf(field.name), codesOf(field.name), slotOf, lengthsMs, wideCodes),
      ]),
    ) as unknown as Record<IndexedFieldName, FieldImage>;
    const slotIndex = buildIntervalIndex(slots.startMs, slots.endMs, INTERVALS_PER_TREE_MAX);
    const ids = this.#indexIds(order);
    const others = columns.filter(({ name }) => !INDEXED_FIELDS.some((field) => field.name === name));
    const parts = { slots: { ...slots, index: slotIndex }, fields, rows, ids, clusters };
    const counted = this.#countFields();
    return {
      ...parts,
      hashSeed: this.#hashSeed,
      summary: {
        id: contentVersionOf(this.#identifiers, { order, ids: this.#ids, slots, fields, columns: others }),
        events: count,
        slots: slots.startMs.length,
        rejected: this.#rejected,
        rejectedByCode: this.#rejectedByCode,
        rejections: this.#rejections,
        builtAtMs: Date.now(),
        buildMs: Math.round(performance.now() - this.#beganMs),
        bytes: byteLengthOf(parts),
        identifiers: this.#identifiers,
        fields: counted,
        unserved: this.unserved.finish(this.#incompleteFields(counted)),
        span: count === 0 ? null : { startMs: slots.startMs[0]!, endMs: maxOf(slots.endMs) },
      },
    };
  }

  #indexIds(order: Uint32Array): HashIndexImage {
    const hashes = shared.uint32(order.length);
    for (let ordinal = 0; ordinal < order.length; ordinal++)
      hashes[ordinal] = this.#ids.hashOf(order[ordinal]!);
    return { hashes, table: buildHashTable(hashes) };
  }

  #countFields(): SnapshotSummary['fields'] {
    return CODED_FIELDS.map((name) => {
      const { dictionary, codes } = this.#column(name);
      const column = codes.view();
      let events = 0;
      for (let arrival = 0; arrival < column.length; arrival++) if (column[arrival] !== NO_CODE) events++;
      return { name, values: dictionary.size, events };
    });
  }

  /** Fields that some record lacks. */
  #incompleteFields(counted: SnapshotSummary['fields']): FieldName[] {
    const isRequiredMissing = this.#rejectedByCode['missing-field'] !== undefined;
    const isMissing = (name: FieldName): boolean => {
      const field = counted.find((each) => each.name === name);
      return field === undefined ? isRequiredMissing : field.events < this.#ids.size || this.#ids.size === 0;
    };
    return FIELDS.map(({ name }) => name).filter(isMissing);
  }

  #column(name: FieldName): Column {
    const column = this.#columnByName.get(name);
    if (column === undefined) throw new Error(`${name} has no column`);
    return column;
  }
}

/**
 * @param arrivalCodes codes of the builder, by ordinal
 * @param lengthsMs of events, by slot
 * @param codes for the codes before they are made narrow: one type of array for the loops here, whatever the field
 */
function finishField(
  builder: DictionaryBuilder,
  arrivalCodes: Uint32Array,
  slotOf: Uint32Array,
  lengthsMs: Float64Array,
  codes: Uint32Array,
): FieldImage {
  const { image, recode } = builder.finish();
  const longestMs = shared.float64(recode.length);
  for (let ordinal = 0; ordinal < codes.length; ordinal++) {
    const arrivalCode = arrivalCodes[ordinal]!;
    if (arrivalCode === NO_CODE) {
      codes[ordinal] = NO_CODE;
      continue;
    }
    const code = recode[arrivalCode]!;
    const lengthMs = lengthsMs[slotOf[ordinal]!]!;
    codes[ordinal] = code;
    if (lengthMs > longestMs[code]!) longestMs[code] = lengthMs;
  }
  const postings = buildPostingLists(codes, recode.length);
  const column = sharedCodeColumn(codes.length, recode.length);
  column.set(codes);
  return { dictionary: image, codes: column, postings, longestMs };
}

/** Whether events came in the order that they have. */
function isInOrder(order: Uint32Array): boolean {
  for (let ordinal = 0; ordinal < order.length; ordinal++) if (order[ordinal] !== ordinal) return false;
  return true;
}

function permute(values: Uint32Array, order: Uint32Array): Uint32Array {
  const permuted = scratch.uint32(order.length);
  for (let i = 0; i < order.length; i++) permuted[i] = values[order[i]!]!;
  return permuted;
}

function maxOf(values: Float64Array): number {
  let max = Number.NEGATIVE_INFINITY;
  for (const value of values) if (value > max) max = value;
  return max;
}
