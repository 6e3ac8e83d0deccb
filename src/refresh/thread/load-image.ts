import {
  COPY_MEMORY_SHARE,
  DIFFERENCE_BYTES_PER_ENTRY,
  SNAPSHOT_DELTA_ENTRIES_MAX,
} from '../../base/limits.js';
import { RECORD_PREFIX_UNITS, recordPrefix } from '../../base/model/derived-identifier.js';
import type { NormalisedEvent } from '../../base/model/event.js';
import { slotOf } from '../../base/model/fields.js';
import { parseIdentifier } from '../../base/model/identifier.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import type { Row } from '../../base/structures/row.js';
import { editImage } from '../../change/apply.js';
import type { Change, EventEdit } from '../../change/change.js';
import { buildByPatch, changeOfEdit, compare } from '../../change/compare.js';
import { extendHistory } from '../../change/history.js';
import { datedImage, reviseImage } from '../../change/revisions.js';
import { isRejection, Normaliser, positionOf } from '../../normalise/normalise.js';
import { SnapshotBuilder } from '../../snapshot/builder.js';
import { isSameImage, type SnapshotImage } from '../../snapshot/image.js';
import {
  type IntakeBounds,
  IntakeWatch,
  OUT_OF_MEMORY,
  RefusedLoad,
  UNBOUNDED,
} from '../../snapshot/intake-bounds.js';
import { RowIntake } from '../../snapshot/row-intake.js';
import { Snapshot } from '../../snapshot/snapshot.js';
import { FieldTable } from '../../source/field-map.js';
import { NdjsonReader } from '../../source/formats/ndjson.js';
import { readRecords } from '../../source/formats/read-records.js';
import { LoadNotes } from '../../source/load-notes.js';
import { preparePatterns } from '../../source/map-value.js';
import type { LoadOptions, LoadSummary, RowSink, Source } from '../../source/source.js';
import { sourceOfSpec } from '../../source/spec.js';
import type { LoadDone, Loaded, LoadTask, StreamSpec, TaskListeners } from './task-messages.js';

export interface LoadedImage {
  readonly image: SnapshotImage;
  readonly source: LoadSummary;
  /** What differs from `base`; null if the image was built as a whole. */
  readonly edit: EventEdit | null;
  /** Memory within the bound that is left for work on the image. */
  readonly bytesLeft: number;
}

export interface LoadImageOptions extends LoadOptions {
  readonly bounds?: IntakeBounds;
  readonly hashSeed?: SnapshotImage['hashSeed'];
  /** An image with the same seed and rules, which is patched if few events differ from it. */
  readonly base?: SnapshotImage | null;
  /** The served image, whose events keep the time of their last change. Default: `base`. */
  readonly served?: SnapshotImage | null;
}

export async function loadImage(
  source: Source,
  rules: ReadRules,
  options?: Omit<LoadImageOptions, 'previous'>,
): Promise<LoadedImage>;
export async function loadImage(
  source: Source,
  rules: ReadRules,
  options: LoadImageOptions,
): Promise<LoadedImage | 'not-modified'>;
/**
 * Connects source, normaliser and builder. Bad records are counted and left out; failures of the source are
 * thrown as LecternErrors. If the source still has the version `previous`, nothing is built. A load beyond a
 * bound throws RefusedLoad.
 */
export async function loadImage(
  source: Source,
  rules: ReadRules,
  { bounds = UNBOUNDED, hashSeed, base = null, served = base, ...options }: LoadImageOptions = {},
): Promise<LoadedImage | 'not-modified'> {
  const { identifiers } = rules;
  const builder = new SnapshotBuilder({ identifiers, ...(hashSeed === undefined ? {} : { hashSeed }) });
  const notes = new LoadNotes();
  const retracted = new RetractedEvents();
  const holders: (RowIntake | Normaliser)[] = [];
  const watch = new IntakeWatch(builder, holders, bounds);
  const intakes = new Map<string, Intake>();
  let latest: Intake | null = null;
  /** Sources with equal rules share an intake, because it knows the values that it has seen. */
  const intakeOf = (own: ReadRules): Intake => {
    if (latest?.rules === own) return latest;
    const key = JSON.stringify([own.identifiers, own.dateOrder, own.timeZone]);
    let known = intakes.get(key);
    if (known === undefined) {
      const normaliser = new Normaliser(own, notes.ambiguousTimes);
      known = { rules: own, normaliser, rows: new RowIntake(builder, own.identifiers, normaliser) };
      intakes.set(key, known);
      holders.push(known.rows, normaliser);
    }
    latest = { ...known, rules: own };
    return latest;
  };
  const sink: RowSink = {
    row(row, own) {
      const intake = intakeOf(own);
      if (!retracted.take(row, intake)) intake.rows.add(row, positionOf);
      watch.record();
    },
    retract: (id, own) => retracted.add(id, own),
    fault(rejection) {
      builder.reject(rejection);
      watch.record();
    },
  };
  const onProgress: LoadOptions['onProgress'] = (progress) => {
    watch.chunk();
    options.onProgress?.(progress);
  };
  const onParts: LoadOptions['onParts'] = (report) => {
    options.onParts?.(report);
    watch.hold(report.parts.reduce((bytes, { copy }) => bytes + (copy?.bytes.length ?? 0), 0));
  };
  const { memoryBytesMax } = bounds;
  const copyBytesMax = memoryBytesMax === null ? undefined : COPY_MEMORY_SHARE * memoryBytesMax;
  const summary = await source.load(sink, { ...options, rules, notes, copyBytesMax, onProgress, onParts });
  if (summary === 'not-modified') {
    if (typeof options.previous === 'string') return summary;
    throw new Error(`the source ${source.name} reports that nothing changed, but was not asked`);
  }
  options.onAllRead?.();
  notes.checkColumns();
  watch.look();
  const { ambiguousTimes, patterns } = notes.report();
  const readingNotes = { ambiguousTimes, expanded: summary.expanded, patterns };
  const nowMs = Date.now();
  const sourceMs = summary.modifiedMs ?? null;
  const patched =
    base === null || !retracted.isEmpty ? null : buildByPatch(builder, base, readingNotes, nowMs);
  const built = patched?.image ?? retracted.applyTo(builder.finish(readingNotes));
  if (patched === null) reviseImage(built, served, sourceMs, nowMs);
  const image = datedImage(built, served, sourceMs, nowMs);
  return { image, source: summary, edit: patched, bytesLeft: watch.bytesLeft(image) };
}

/** What takes the rows of one source. */
interface Intake {
  readonly rules: ReadRules;
  readonly rows: RowIntake;
  readonly normaliser: Normaliser;
}

const ID = slotOf('id');

/** Records that a source has taken back, each with the events that replace it, until the image is built. */
class RetractedEvents {
  readonly #events = new Map<string, Map<string, NormalisedEvent>>();
  /** Rows of a copy do not know their record. */
  readonly #byPrefix = new Map<string, string>();

  add(given: string, { identifiers }: ReadRules): void {
    const record = parseIdentifier(given, identifiers, 'id');
    if (record === null) return;
    this.#events.set(record, new Map());
    this.#byPrefix.set(recordPrefix(record), record);
  }

  /** @returns whether the row is kept for a record that was taken back */
  take(row: Row, { normaliser, rules }: Intake): boolean {
    if (this.#events.size === 0) return false;
    const id = parseIdentifier(row.textOf(ID), rules.identifiers, 'id');
    const record = row.recordId ?? this.#byPrefix.get(id?.slice(0, RECORD_PREFIX_UNITS) ?? '') ?? id ?? '';
    const events = this.#events.get(record);
    if (events === undefined) return false;
    const event = normaliser.event(row);
    if (isRejection(event) || events.has(event.id)) return false;
    events.set(event.id, event);
    return true;
  }

  /** The image without what was taken back. */
  applyTo(image: SnapshotImage): SnapshotImage {
    if (this.#events.size === 0) return image;
    const came = [...this.#events.values()].flatMap((events) => [...events.values()]);
    const ids = new Set(came.map(({ id }) => id));
    const records = [...this.#events.keys()];
    const went = [...records, ...new Snapshot(image).idsOfRecords(records)];
    return editImage(image, { came, went: went.filter((id) => !ids.has(id)) }).image;
  }

  get isEmpty(): boolean {
    return this.#events.size === 0;
  }
}

/** Loads a source into an image and compares it with the served one. Throws LecternErrors, RefusedLoad. */
export async function runLoadTask(
  task: LoadTask,
  { askSecretHeaders, ...listeners }: TaskListeners,
  chunks: AsyncIterable<Uint8Array>,
): Promise<LoadDone> {
  const { served, previousVersion, bounds } = task;
  const source =
    task.source.kind === 'stream'
      ? streamSource(task.source, chunks)
      : sourceOfSpec(task.source, askSecretHeaders);
  const loaded = await loadImage(source, task.rules, {
    ...listeners,
    previous: previousVersion,
    // If the seeds are equal, a patch of the served image gives this image, byte for byte.
    ...(served === null ? {} : { hashSeed: served.hashSeed }),
    base: task.mayPatch ? served : null,
    served,
    bounds,
    parts: task.parts,
    allowMissing: task.allowMissing,
    asksAll: task.asksAll,
  });
  if (loaded === 'not-modified') return { kind: 'not-modified' };
  const { image, edit, bytesLeft } = loaded;
  const sourceVersion = loaded.source.version;
  // Other bytes with equal content: nothing to publish. Equal ids do not suffice: an image has more than its id covers,
  // and the next patch starts from all of it.
  if (
    served?.summary.id === image.summary.id &&
    image.summary.rejected === served.summary.rejected &&
    isSameImage(served, image)
  ) {
    return { kind: 'unchanged', sourceVersion };
  }
  const how = edit === null ? {} : { isPatched: true, isWholeLoad: true };
  const done = { kind: 'loaded', image, sourceVersion, ...how } as const;
  return { ...done, ...changeFrom(served, task.past, image, edit, bytesLeft) };
}

/**
 * The change from the served image, and the history with it. What does not fit into the memory is dropped; the
 * timetable is more important.
 *
 * @param edit the differences, if they are known
 */
export function changeFrom(
  served: SnapshotImage | null,
  past: readonly Change[],
  image: SnapshotImage,
  edit: EventEdit | null,
  bytesLeft: number,
): Pick<Loaded, 'changes' | 'history'> {
  if (served === null) return { changes: [], history: null };
  const entriesMax = Math.floor(bytesLeft / DIFFERENCE_BYTES_PER_ENTRY);
  const changeMax = Math.min(entriesMax, SNAPSHOT_DELTA_ENTRIES_MAX);
  const [before, after] = [new Snapshot(served), new Snapshot(image)];
  const change =
    edit === null ? compare(before, after, changeMax) : changeOfEdit(before, after, edit, changeMax);
  return { changes: [change], history: extendHistory(past, [change], after, entriesMax) };
}

export function refusalOf(error: unknown): LoadDone {
  // V8 throws these if an array buffer cannot be allocated or a Map has its maximum size.
  const isOutOfMemory =
    error instanceof RangeError &&
    /^(?:Array buffer allocation failed|Map maximum size exceeded)/.test(error.message);
  if (isOutOfMemory) return { kind: 'refused', refusal: OUT_OF_MEMORY };
  if (error instanceof RefusedLoad) return { kind: 'refused', refusal: error.refusal };
  throw error;
}

function streamSource({ name, content, version }: StreamSpec, chunks: AsyncIterable<Uint8Array>): Source {
  return {
    name,
    async load(sink, options = {}) {
      if (content === 'records') return { ...(await readRecordChunks(name, chunks, sink, options)), version };
      const reading = { ...options, sourceName: name, bytesTotal: null };
      return { ...(await readRecords(chunks, sink, reading)), version };
    },
  };
}

/** Reads NDJSON made from records, with whole lines in each chunk. Without chunks there are no records. */
export async function readRecordChunks(
  name: string,
  chunks: AsyncIterable<Uint8Array>,
  sink: RowSink,
  { onProgress, rules, notes }: LoadOptions,
): Promise<Omit<LoadSummary, 'version'>> {
  await preparePatterns(rules);
  // Records in memory have numbers and no lines.
  const table = new FieldTable(sink, 'memory', rules, name, { notes });
  const reader = new NdjsonReader(name, table, rules);
  let bytesRead = 0;
  for await (const chunk of chunks) {
    bytesRead += chunk.length;
    reader.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    onProgress?.({ bytesRead: 0, bytesTotal: null, records: reader.records });
  }
  if (bytesRead > 0) reader.finish();
  table.finish();
  return { format: 'memory', gzipped: false, bytesRead };
}
