import {
  COPY_MEMORY_SHARE,
  DIFFERENCE_BYTES_PER_ENTRY,
  SNAPSHOT_DELTA_ENTRIES_MAX,
} from '../../base/limits.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import type { Change, EventEdit } from '../../change/change.js';
import { buildByPatch, changeOfEdit, compare } from '../../change/compare.js';
import { extendHistory } from '../../change/history.js';
import { datedImage, reviseImage } from '../../change/revisions.js';
import { isSameImage, type SnapshotImage } from '../../snapshot/image.js';
import { type IntakeBounds, UNBOUNDED } from '../../snapshot/intake-bounds.js';
import { Snapshot } from '../../snapshot/snapshot.js';
import { FieldTable } from '../../source/field-map.js';
import { NdjsonReader } from '../../source/formats/ndjson.js';
import { readRecords } from '../../source/formats/read-records.js';
import { LoadNotes } from '../../source/load-notes.js';
import { preparePatterns } from '../../source/map-value.js';
import type { LoadOptions, LoadSummary, RowSink, Source } from '../../source/source.js';
import { sourceOfSpec } from '../../source/spec.js';
import { BuildInBatches, prepareSecondThread, type SecondThread } from './build-thread.js';
import { type Built, ImageBuild } from './image-build.js';
import type { LoadDone, Loaded, LoadTask, StreamSpec, TaskListeners } from './task-messages.js';

export interface LoadedImage extends Built {
  readonly source: LoadSummary;
  /** What differs from `base`; null if the image was built as a whole. */
  readonly edit: EventEdit | null;
}

export interface LoadImageOptions extends LoadOptions {
  readonly bounds?: IntakeBounds;
  readonly hashSeed?: SnapshotImage['hashSeed'];
  /** An image with the same seed and rules, which is patched if few events differ from it. */
  readonly base?: SnapshotImage | null;
  /** The served image, whose events keep the time of their last change. Default: `base`. */
  readonly served?: SnapshotImage | null;
  /** Builds the image of a large load. Only without `base`. */
  readonly thread?: SecondThread | null;
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
  {
    bounds = UNBOUNDED,
    hashSeed,
    base = null,
    served = base,
    thread = null,
    ...options
  }: LoadImageOptions = {},
): Promise<LoadedImage | 'not-modified'> {
  const building = { identifiers: rules.identifiers, hashSeed, bounds };
  const own = new ImageBuild(building);
  const batches = thread === null ? null : new BuildInBatches(own, building, thread);
  const build = batches ?? own;
  const notes = new LoadNotes();
  const onProgress: LoadOptions['onProgress'] = (progress) => {
    build.chunk();
    options.onProgress?.(progress);
  };
  const onParts: LoadOptions['onParts'] = (report) => {
    options.onParts?.(report);
    build.hold(report.parts.reduce((bytes, { copy }) => bytes + (copy?.bytes.length ?? 0), 0));
  };
  const { memoryBytesMax } = bounds;
  const copyBytesMax = memoryBytesMax === null ? undefined : COPY_MEMORY_SHARE * memoryBytesMax;
  try {
    const summary = await source.load(build, { ...options, rules, notes, copyBytesMax, onProgress, onParts });
    if (summary === 'not-modified') {
      if (typeof options.previous === 'string') return summary;
      throw new Error(`the source ${source.name} reports that nothing changed, but was not asked`);
    }
    options.onAllRead?.();
    notes.checkColumns();
    build.allRead();
    const { ambiguousTimes, patterns } = notes.report();
    const readingNotes = { ambiguousTimes, expanded: summary.expanded, patterns };
    const nowMs = Date.now();
    const sourceMs = summary.modifiedMs ?? null;
    const edit =
      base === null || !own.isPlain
        ? null
        : buildByPatch(own.builder, base, own.notesWith(readingNotes), nowMs);
    const built =
      edit === null
        ? await build.finish(readingNotes)
        : { image: edit.image, bytesLeft: own.bytesLeft(edit.image) };
    if (edit === null) reviseImage(built.image, served, sourceMs, nowMs);
    const image = datedImage(built.image, served, sourceMs, nowMs);
    return { image, source: summary, edit, bytesLeft: built.bytesLeft };
  } finally {
    await batches?.close();
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
    // A reload has time: the other cores are for the requests meanwhile.
    thread: served === null ? await prepareSecondThread(bounds) : null,
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
