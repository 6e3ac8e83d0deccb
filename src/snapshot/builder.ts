import {
  INTERVALS_PER_TREE_MAX,
  OVERRIDES_KEPT_MAX,
  REJECTION_SAMPLES,
  REJECTIONS_KEPT_MAX,
} from '../base/limits.js';
import type {
  IdentifierMode,
  NormalisedEvent,
  RecordPosition,
  Rejection,
  RejectionCode,
} from '../base/model/event.js';
import { FIELDS, type FieldName, INDEXED_FIELDS, UNINDEXED_FIELDS } from '../base/model/fields.js';
import { IDENTIFIER_CHARACTERS_MAX } from '../base/model/identifier.js';
import { ByteStrings, viewOf } from '../base/structures/byte-strings.js';
import { NO_CODE } from '../base/structures/dictionary.js';
import { Growable } from '../base/structures/growable.js';
import { buildHashTable, type HashIndexImage } from '../base/structures/hash-index.js';
import { buildIntervalIndex } from '../base/structures/interval-index.js';
import { type HashSeed, KeyedHash, randomHashSeed } from '../base/structures/keyed-hash.js';
import { buildPostingLists, sharedCodeColumn } from '../base/structures/posting-lists.js';
import { inScratch, scratch, shared } from '../base/structures/slabs.js';
import { buildClusters } from './clusters.js';
import {
  type ArrivedEvents,
  CODED_FIELDS,
  type CodedField,
  Column,
  FULL_COLUMNS,
  longestOf,
  type OrderedEvents,
  orderEvents,
  spanOf,
} from './columns.js';
import { contentVersionOf, digestDays } from './content-version.js';
import { buildNames } from './display-names.js';
import {
  byteLengthOf,
  type ColumnImage,
  type FieldImage,
  revisionSeconds,
  type SnapshotImage,
} from './image.js';
import { checkSize, ROW_FRAME_BYTES } from './rows.js';
import { NO_AMBIGUOUS_TIMES, type ReadingNotes, type RecordCounts, type SnapshotSummary } from './summary.js';
import { UnservedFieldCounter } from './unserved-fields.js';
import { writeRows } from './write-rows.js';

/**
 * Bytes of an image without rows, per event. A million generated events take 88; the rest is for more
 * conflicts and longer codes.
 */
const IMAGE_BYTES_PER_EVENT = 128;
/** Memory besides the image during the build, per event: mostly conflict clusters. */
const SCRATCH_BYTES_PER_EVENT = 128;
/** A full Map is copied into one of twice the size: 28 bytes an entry, twice, and 16 for the list beside it. */
const MAP_GROWTH_BYTES_PER_ENTRY = 72;

/** UTF-8 has at most four bytes a character. */
const ID_BYTES_MAX = 4 * IDENTIFIER_CHARACTERS_MAX;

/** Collects events in any order and builds a snapshot image. Holds no object per event. */
export class SnapshotBuilder {
  readonly #identifiers: IdentifierMode;
  readonly #beganMs = performance.now();
  readonly #hashSeed: HashSeed;
  readonly hash: KeyedHash;
  readonly unserved: UnservedFieldCounter = new UnservedFieldCounter();
  readonly #ids = new ByteStrings();
  readonly #idBuffer = Buffer.alloc(ID_BYTES_MAX);
  readonly #idView = viewOf(this.#idBuffer);
  readonly #timeMs = new Growable(Float64Array);
  readonly #endTimeMs = new Growable(Float64Array);
  /** Seconds by arrival; it may end early, and then the others are 0. */
  readonly #modified = new Growable(Uint32Array);
  readonly columns: readonly Column[];
  readonly #rejections: Rejection[] = [];
  readonly #rejectedByCode: Partial<Record<RejectionCode, number>> = {};
  #rejected = 0;
  /** The first event of each source; sources must come one after the other. A single source has no name. */
  readonly #sources: { readonly name: string | undefined; readonly start: number }[] = [];
  #finished = false;

  /** @param options.hashSeed random by default; equal seeds and events give equal bytes */
  constructor({ identifiers, hashSeed }: { identifiers: IdentifierMode; hashSeed?: HashSeed }) {
    this.#identifiers = identifiers;
    this.#hashSeed = hashSeed ?? randomHashSeed();
    this.hash = new KeyedHash(this.#hashSeed);
    this.columns = CODED_FIELDS.map((field) => new Column(field, this.hash));
  }

  get eventCount(): number {
    return this.#ids.size;
  }

  /** Bytes in typed arrays: ids, two times and a code per field. */
  get heldBytes(): number {
    let bytes = this.#ids.heldBytes + this.#ids.size * 16 + this.#modified.length * 4;
    for (const { dictionary, codes } of this.columns) bytes += dictionary.heldBytes + 4 * codes.length;
    return bytes;
  }

  /** Estimates the memory of finish() besides `heldBytes`. All calls of a load of n events together cost O(n). */
  finishBytes(): number {
    const perEvent = ROW_FRAME_BYTES + SCRATCH_BYTES_PER_EVENT + IMAGE_BYTES_PER_EVENT;
    let bytes = this.#ids.byteLength + this.#ids.size * perEvent;
    for (const column of this.columns) bytes += column.finishBytes();
    const largestDictionary = Math.max(...this.columns.map(({ dictionary }) => dictionary.size));
    return bytes + largestDictionary * MAP_GROWTH_BYTES_PER_ENTRY;
  }

  /** Keeps the first event of each id. @throws LecternError `source-too-large` past EVENTS_MAX */
  add(event: NormalisedEvent, position: RecordPosition): void {
    const length = this.#idBuffer.write(event.id, 'utf8');
    const hash = this.hash.bytes(this.#idView, 0, length);
    const known = this.#ids.find(hash, this.#idView, 0, length);
    if (known !== -1) {
      this.reject(this.#duplicate(event.id, known, position));
      return;
    }
    const codes = Uint32Array.from(this.columns, ({ name, dictionary }) =>
      dictionary.intern(event[name] ?? null),
    );
    const times = Float64Array.of(event.time, event.endTime, event.modified ?? Number.NaN);
    this.addCoded(hash, this.#idView, 0, length, times, codes, position.source);
  }

  /** @param hash of the id, UTF-8 at [from, to) of the view */
  hasId(hash: number, view: DataView, from: number, to: number): boolean {
    return this.#ids.find(hash, view, from, to) !== -1;
  }

  /** Adds an event whose id is new, see hasId. `times` are start, end and last change or NaN, `codes` by column. */
  addCoded(
    hash: number,
    view: DataView,
    from: number,
    to: number,
    times: Float64Array,
    codes: Uint32Array,
    source: string | undefined,
  ): void {
    this.#addId(hash, view, from, to, source);
    this.#timeMs.push(times[0]!);
    this.#endTimeMs.push(times[1]!);
    for (let n = 0; n < FULL_COLUMNS; n++) this.columns[n]!.codes.push(codes[n]!);
    // The other columns are filled up to the event just added only if it has a value.
    for (let n = FULL_COLUMNS; n < codes.length; n++) {
      if (codes[n] === NO_CODE) continue;
      this.columns[n]!.padTo(this.#ids.size - 1);
      this.columns[n]!.codes.push(codes[n]!);
    }
    const seconds = revisionSeconds(times[2]!);
    if (seconds === 0) return;
    while (this.#modified.length < this.#ids.size - 1) this.#modified.push(0);
    this.#modified.push(seconds);
  }

  #addId(hash: number, view: DataView, from: number, to: number, source: string | undefined): void {
    if (this.#sources.length === 0 || this.#sources.at(-1)?.name !== source) {
      this.#sources.push({ name: source, start: this.#ids.size });
    }
    checkSize(this.#ids.size + 1);
    this.#ids.add(hash, view, from, to);
  }

  #duplicate(id: string, known: number, position: RecordPosition): Rejection {
    const first = this.#sources.findLast(({ start }) => start <= known);
    const about = { position, field: 'id', id } as const;
    if (first?.name === position.source) {
      const detail = `id ${JSON.stringify(id)} was already used by an earlier record, which is kept`;
      return { ...about, code: 'duplicate-id', detail };
    }
    const detail = `id ${JSON.stringify(id)} is overridden by the record of ${first?.name ?? 'another source'}`;
    return { ...about, code: 'overridden', detail };
  }

  /** Overridden records are not faults. Few are kept, so that faults have room. */
  reject(rejection: Rejection): void {
    const { code } = rejection;
    this.#rejected++;
    const count = (this.#rejectedByCode[code] ?? 0) + 1;
    this.#rejectedByCode[code] = count;
    if (this.#rejections.length >= REJECTIONS_KEPT_MAX && count > REJECTION_SAMPLES) return;
    if (code !== 'overridden' || count <= OVERRIDES_KEPT_MAX) this.#rejections.push(rejection);
  }

  /** Call this once. @throws LecternError `source-too-large` when the rows do not fit into one arena */
  finish(notes: Partial<ReadingNotes> = {}): SnapshotImage {
    if (this.#finished) throw new Error('finish() may be called once');
    this.#finished = true;
    this.#ids.seal();
    const events = this.#ids.size + 1;
    return inScratch(events * SCRATCH_BYTES_PER_EVENT, () =>
      shared.within(events * IMAGE_BYTES_PER_EVENT, () => this.#build(notes)),
    );
  }

  /** All events so far. */
  arrived(): ArrivedEvents {
    for (const column of this.columns) if (column.codes.length > 0) column.padTo(this.#ids.size);
    const [timeMs, endTimeMs] = [this.#timeMs.view(), this.#endTimeMs.view()];
    if (this.#modified.length > 0) while (this.#modified.length < this.#ids.size) this.#modified.push(0);
    return { timeMs, endTimeMs, ids: this.#ids, columns: this.columns, modified: this.#modified.view() };
  }

  /** The part of the summary that the events alone do not determine. @param uses how the events use each field */
  recordSummary(
    uses: SnapshotSummary['fields'],
    { ambiguousTimes = NO_AMBIGUOUS_TIMES, expanded, patterns }: Partial<ReadingNotes>,
  ): Pick<SnapshotSummary, 'builtAtMs' | 'buildMs' | 'expanded' | 'patterns' | keyof RecordCounts> {
    return {
      rejected: this.#rejected,
      rejectedByCode: this.#rejectedByCode,
      rejections: this.#rejections,
      builtAtMs: Date.now(),
      buildMs: Math.round(performance.now() - this.#beganMs),
      unserved: this.unserved.finish(this.#incompleteFields(uses)),
      ambiguousTimes: { ...ambiguousTimes },
      ...(expanded === undefined ? {} : { expanded }),
      ...(patterns === undefined ? {} : { patterns }),
    };
  }

  #build(notes: Partial<ReadingNotes>): SnapshotImage {
    const events = orderEvents(this.arrived());
    const { order, slots } = events;
    const rows = writeRows(events);
    const clusters = buildClusters(events, rows, this.hash);
    const codes = scratch.uint32(order.length);
    const fields = Object.fromEntries(
      INDEXED_FIELDS.map(({ name }) => [name, indexField(events, name, codes)]),
    ) as unknown as SnapshotImage['fields'];
    const columns = Object.fromEntries(
      UNINDEXED_FIELDS.map(({ name }) => [name, columnOf(events, name, codes)]),
    ) as unknown as SnapshotImage['columns'];
    const names = buildNames(fields, columns, this.hash);
    const index = buildIntervalIndex(slots.startMs, slots.endMs, INTERVALS_PER_TREE_MAX);
    const parts = {
      slots: { ...slots, index },
      fields,
      columns,
      names,
      rows,
      modified: events.modified,
      dayDigests: digestDays(slots, rows),
      ids: this.#indexIds(order),
      clusters,
    };
    const uses = this.columns.map((column) => column.countUse());
    const more = this.recordSummary(uses, notes);
    return {
      ...parts,
      hashSeed: this.#hashSeed,
      summary: {
        id: contentVersionOf(this.#identifiers, parts),
        events: order.length,
        slots: slots.startMs.length,
        bytes: byteLengthOf(parts),
        identifiers: this.#identifiers,
        fields: uses,
        ...more,
        modifiedMs: more.builtAtMs,
        span: spanOf(slots),
      },
    };
  }

  #indexIds(order: Uint32Array): HashIndexImage {
    const hashes = shared.uint32(order.length);
    for (let ordinal = 0; ordinal < order.length; ordinal++) {
      hashes[ordinal] = this.#ids.hashOf(order[ordinal]!);
    }
    return { hashes, table: buildHashTable(hashes) };
  }

  #incompleteFields(uses: SnapshotSummary['fields']): FieldName[] {
    const isMissing = (name: FieldName): boolean => {
      const use = uses.find((each) => each.name === name);
      if (use === undefined)
        return name !== 'modified' && this.#rejectedByCode['missing-field'] !== undefined;
      return use.events < this.#ids.size || this.#ids.size === 0;
    };
    return FIELDS.map(({ name }) => name).filter(isMissing);
  }
}

/** @param codes scratch memory for one code per event, so that the loops see one type of array */
function columnOf({ columns }: OrderedEvents, name: CodedField['name'], codes: Uint32Array): ColumnImage {
  const column = columns[name];
  const { image, recode } = column.dictionary.finish();
  if (recode.length === 0) codes.fill(NO_CODE);
  else {
    for (let ordinal = 0; ordinal < codes.length; ordinal++) {
      const code = column.codes[ordinal]!;
      codes[ordinal] = code === NO_CODE ? NO_CODE : recode[code]!;
    }
  }
  const isOmitted = recode.length === 0 && UNINDEXED_FIELDS.some((field) => field.name === name);
  const narrow = sharedCodeColumn(isOmitted ? 0 : codes.length, recode.length);
  if (!isOmitted) narrow.set(codes);
  return { dictionary: image, codes: narrow };
}

/** @param codes scratch as for {@link columnOf} */
function indexField(
  events: OrderedEvents,
  name: keyof SnapshotImage['fields'],
  codes: Uint32Array,
): FieldImage {
  const column = columnOf(events, name, codes);
  const size = column.dictionary.start.length - 1;
  const longestMs = longestOf(codes, size, events.slots);
  return { ...column, postings: buildPostingLists(codes, size), longestMs };
}
