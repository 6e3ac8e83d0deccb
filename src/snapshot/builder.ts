import { LecternError } from '../errors.js';
import { EVENTS_MAX, INTERVALS_PER_TREE_MAX, OVERRIDES_KEPT_MAX, REJECTIONS_KEPT_MAX } from '../limits.js';
import type {
  IdentifierMode,
  NormalisedEvent,
  RecordPosition,
  Rejection,
  RejectionCode,
  TimetableEvent,
} from '../model/event.js';
import {
  FIELDS,
  type FieldName,
  INDEXED_FIELDS,
  type IndexedFieldName,
  LESSON_FIELDS,
  OUTPUT_FIELDS,
} from '../model/fields.js';
import { formatInstant } from '../model/time.js';
import { DictionaryBuilder, NO_CODE } from '../structures/dictionary.js';
import { GrowableFloat64, GrowableUint32 } from '../structures/growable.js';
import { buildHashIndex } from '../structures/hash-index.js';
import { buildIntervalIndex } from '../structures/interval-index.js';
import { buildPostingLists } from '../structures/posting-lists.js';
import { sharedFloat64, sharedUint32 } from '../structures/shared.js';
import { jsonByteLength, packedByteLength } from './byte-lengths.js';
import { buildClusters } from './clusters.js';
import { contentVersionOf } from './content-version.js';
import { byteLengthOf, type FieldImage, type SnapshotImage } from './image.js';
import { conflictKeys, lessonNumbers } from './lessons.js';
import { orderEvents } from './order.js';
import { PACKED_ROW_FRAME_BYTES, ROW_FRAME_BYTES, RowWriter } from './rows.js';
import type { SnapshotSummary } from './summary.js';
import { valueBytesOf } from './value-bytes.js';

/** The fields kept as dictionary codes until the rows are written: all that have few distinct values, or may have none. */
const CODED_FIELDS: readonly CodedFieldName[] = FIELDS.filter((field) => !field.required).map(
  (field) => field.name,
);
type CodedFieldName = Extract<(typeof FIELDS)[number], { required: false }>['name'];

/** A field during the build: codes in order of arrival, values in order of first appearance. */
interface Column {
  readonly dictionary: DictionaryBuilder;
  readonly codes: GrowableUint32;
}

/**
 * Collects events in any order and turns them into a snapshot image. Holds columns of numbers and one string per
 * distinct value and id; never an object per event.
 */
export class SnapshotBuilder {
  readonly #identifiers: IdentifierMode;
  readonly #startedAtMs: number;
  readonly #ids: string[] = [];
  readonly #knownIds = new Map<string, number>();
  readonly #timeMs = new GrowableFloat64();
  readonly #endTimeMs = new GrowableFloat64();
  readonly #columns: ReadonlyMap<FieldName, Column> = new Map(
    CODED_FIELDS.map((name) => [name, { dictionary: new DictionaryBuilder(), codes: new GrowableUint32() }]),
  );
  readonly #rejections: Rejection[] = [];
  readonly #rejectedByCode: Partial<Record<RejectionCode, number>> = {};
  #rejected = 0;
  /** Where each source's events begin, in order of arrival; one entry, without a name, where there is one source. */
  readonly #sources: { readonly name: string | undefined; readonly start: number }[] = [];
  #finished = false;

  /** @param options.startedAtMs when the load began, epoch milliseconds; now if left out */
  constructor(options: { readonly identifiers: IdentifierMode; readonly startedAtMs?: number }) {
    this.#identifiers = options.identifiers;
    this.#startedAtMs = options.startedAtMs ?? Date.now();
  }

  get eventCount(): number {
    return this.#ids.length;
  }

  get rejectedCount(): number {
    return this.#rejected;
  }

  /**
   * Adds an event. The first event with an id stays; a later one with the same id is rejected: as `duplicate-id`, which
   * is a fault of the data, or as `overridden` where the first is of another source. Sources come one after the other.
   *
   * @throws LecternError `source-too-large` past EVENTS_MAX
   */
  add(event: NormalisedEvent, position: RecordPosition): void {
    if (this.#sources.at(-1)?.name !== position.source || this.#sources.length === 0) {
      this.#sources.push({ name: position.source, start: this.#ids.length });
    }
    const known = this.#knownIds.get(event.id);
    if (known !== undefined) {
      this.reject(this.#duplicate(event.id, known, position));
      return;
    }
    if (this.#ids.length >= EVENTS_MAX) {
      throw new LecternError('source-too-large', `one snapshot holds at most ${EVENTS_MAX} events`);
    }
    this.#knownIds.set(event.id, this.#ids.length);
    this.#ids.push(event.id);
    this.#timeMs.push(event.time);
    this.#endTimeMs.push(event.endTime);
    for (const name of CODED_FIELDS) {
      const column = this.#column(name);
      column.codes.push(column.dictionary.intern(event[name]));
    }
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
    // Nothing reads it any more, and it is the largest thing on the heap.
    this.#knownIds.clear();
    const { order, slots, slotOf } = orderEvents(this.#timeMs.view(), this.#endTimeMs.view(), this.#ids);
    const count = order.length;
    const startMs = permuteFloat64(this.#timeMs.view(), order);
    const endMs = permuteFloat64(this.#endTimeMs.view(), order);
    const codesOf = (name: FieldName): Uint32Array => permute(this.#column(name).codes.view(), order);
    const rows = this.#writeRows(order, slotOf, slots.startMs, slots.endMs);

    const dictionaryOf = (name: FieldName): DictionaryBuilder => this.#column(name).dictionary;
    const clusterInput = {
      count,
      startMs,
      endMs,
      lesson: lessonNumbers(slotOf, LESSON_FIELDS.map(codesOf)),
      ...conflictKeys(count, codesOf, dictionaryOf),
    };
    const clusters = {
      merged: buildClusters(clusterInput, rows, true),
      unmerged: buildClusters(clusterInput, rows, false),
    };
    const fields = Object.fromEntries(
      INDEXED_FIELDS.map((field) => [
        field.name,
        finishField(this.#column(field.name).dictionary, codesOf(field.name), startMs, endMs),
      ]),
    ) as unknown as Record<IndexedFieldName, FieldImage>;
    const slotIndex = buildIntervalIndex(slots.startMs, slots.endMs, INTERVALS_PER_TREE_MAX);
    const ids = buildHashIndex(count, (ordinal) => this.#ids[order[ordinal]!]!);
    const parts = { slots: { ...slots, index: slotIndex }, fields, rows, ids, clusters };
    const builtAtMs = Date.now();
    return {
      ...parts,
      summary: {
        id: contentVersionOf(this.#identifiers, rows, fields.lecturerId),
        events: count,
        slots: slots.startMs.length,
        rejected: this.#rejected,
        rejectedByCode: this.#rejectedByCode,
        rejections: this.#rejections,
        builtAtMs,
        buildMs: builtAtMs - this.#startedAtMs,
        bytes: byteLengthOf(parts),
        identifiers: this.#identifiers,
        fields: this.#countFields(),
        span: count === 0 ? null : { startMs: startMs[0]!, endMs: maxOf(slots.endMs) },
      },
    };
  }

  #countFields(): SnapshotSummary['fields'] {
    return CODED_FIELDS.map((name) => {
      const { dictionary, codes } = this.#column(name);
      let events = 0;
      for (const code of codes.view()) if (code !== NO_CODE) events++;
      return { name, values: dictionary.size, events };
    });
  }

  #column(name: FieldName): Column {
    const column = this.#columns.get(name);
    if (column === undefined) throw new Error(`${name} has no column`);
    return column;
  }

  /** Serialises every event in order. Lengths come first, so that the arena is allocated once and never copied. */
  #writeRows(
    order: Uint32Array,
    slotOf: Uint32Array,
    slotStartMs: Float64Array,
    slotEndMs: Float64Array,
  ): SnapshotImage['rows'] {
    const columns = OUTPUT_FIELDS.filter((field) => field.kind !== 'instant' && field.name !== 'id').map(
      ({ name }) => {
        const { codes, dictionary } = this.#column(name);
        return { name, dictionary, codes: codes.view(), values: valueBytesOf(dictionary) };
      },
    );
    const instant = formatInstant(0);
    const fixed = ROW_FRAME_BYTES + 2 * jsonByteLength(instant);
    const packedFixed = PACKED_ROW_FRAME_BYTES + 2 * packedByteLength(instant);
    const rowBytes = new Uint32Array(order.length);
    const packedBytes = new Uint32Array(order.length);
    for (let ordinal = 0; ordinal < order.length; ordinal++) {
      const arrival = order[ordinal]!;
      let length = fixed + jsonByteLength(this.#ids[arrival]!);
      let packedLength = packedFixed + packedByteLength(this.#ids[arrival]!);
      for (const { codes, values } of columns) {
        const code = codes[arrival]!;
        length += code === NO_CODE ? NULL_BYTES.length : values.start[code + 1]! - values.start[code]!;
        packedLength += code === NO_CODE ? 1 : values.packedLength[code]!;
      }
      rowBytes[ordinal] = length;
      packedBytes[ordinal] = packedLength;
    }
    const writer = new RowWriter(rowBytes, packedBytes);
    let slot = -1;
    let time = NULL_BYTES;
    let endTime = NULL_BYTES;
    for (let ordinal = 0; ordinal < order.length; ordinal++) {
      const arrival = order[ordinal]!;
      if (slotOf[ordinal] !== slot) {
        slot = slotOf[ordinal]!;
        time = instantBytes(slotStartMs[slot]!);
        endTime = instantBytes(slotEndMs[slot]!);
      }
      writer.text(this.#ids[arrival]!);
      writer.value(time, 0, time.length);
      writer.value(endTime, 0, endTime.length);
      for (const { codes, values } of columns) {
        const code = codes[arrival]!;
        if (code === NO_CODE) writer.value(NULL_BYTES, 0, NULL_BYTES.length);
        else writer.value(values.bytes, values.start[code]!, values.start[code + 1]!);
      }
      writer.end(() => {
        const texts = columns.map(({ name, dictionary, codes }) => [
          name,
          dictionary.valueOf(codes[arrival]!),
        ]);
        return {
          ...(Object.fromEntries(texts) as Omit<TimetableEvent, 'id' | 'time' | 'endTime'>),
          id: this.#ids[arrival]!,
          time: formatInstant(slotStartMs[slot]!),
          endTime: formatInstant(slotEndMs[slot]!),
        };
      });
    }
    return writer.finish();
  }
}

const NULL_BYTES: Buffer = Buffer.from('null');

/** The JSON of an instant. */
function instantBytes(instantMs: number): Buffer {
  return Buffer.from(`"${formatInstant(instantMs)}"`, 'latin1');
}

function finishField(
  builder: DictionaryBuilder,
  arrivalCodes: Uint32Array,
  startMs: Float64Array,
  endMs: Float64Array,
): FieldImage {
  const { image, recode } = builder.finish();
  const codes = sharedUint32(arrivalCodes.length);
  const longestMs = sharedFloat64(recode.length);
  for (let ordinal = 0; ordinal < codes.length; ordinal++) {
    const arrivalCode = arrivalCodes[ordinal]!;
    if (arrivalCode === NO_CODE) {
      codes[ordinal] = NO_CODE;
      continue;
    }
    const code = recode[arrivalCode]!;
    codes[ordinal] = code;
    longestMs[code] = Math.max(longestMs[code]!, endMs[ordinal]! - startMs[ordinal]!);
  }
  return { dictionary: image, codes, postings: buildPostingLists(codes, recode.length), longestMs };
}

function permute(values: Uint32Array, order: Uint32Array): Uint32Array {
  const permuted = new Uint32Array(order.length);
  for (let i = 0; i < order.length; i++) permuted[i] = values[order[i]!]!;
  return permuted;
}

function permuteFloat64(values: Float64Array, order: Uint32Array): Float64Array {
  const permuted = new Float64Array(order.length);
  for (let i = 0; i < order.length; i++) permuted[i] = values[order[i]!]!;
  return permuted;
}

function maxOf(values: Float64Array): number {
  let max = Number.NEGATIVE_INFINITY;
  for (const value of values) if (value > max) max = value;
  return max;
}
