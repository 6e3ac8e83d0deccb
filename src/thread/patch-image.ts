import { isDeepStrictEqual } from 'node:util';
import {
  DIFFERENCE_BYTES_PER_ENTRY,
  LOAD_BASE_BYTES,
  PATCH_BYTES_PER_BYTE,
  PATCH_IMAGE_SHARE,
  SNAPSHOT_DELTA_ENTRIES_MAX,
} from '../limits.js';
import type { NormalisedEvent, Rejection } from '../model/event.js';
import { digitsOf, parseIdentifier } from '../model/identifier.js';
import type { ReadRules } from '../model/read-rules.js';
import { ContentIdentifiers } from '../normalise/content-identifiers.js';
import { createInstantReader } from '../normalise/instant-reader.js';
import { createNormaliser, isRejection, namedPosition } from '../normalise/normalise.js';
import { compareEvents, extendHistory } from '../snapshot/differences.js';
import { isSameImage, type SnapshotImage } from '../snapshot/image.js';
import { RefusedLoad } from '../snapshot/intake-bounds.js';
import { mendRejections } from '../snapshot/mended-rejections.js';
import { type EventChanges, patchImage } from '../snapshot/patch.js';
import { Snapshot } from '../snapshot/snapshot.js';
import { LoadNotes } from '../source/load-notes.js';
import type { RecordSink } from '../source/source.js';
import { readRecordChunks } from './read-record-chunks.js';
import type { LoadDone, PatchTask } from './task-messages.js';

/** Applies changes to the served image. Throws LecternErrors, RefusedLoad. */
export async function runPatchTask(task: PatchTask, chunks: AsyncIterable<Uint8Array>): Promise<LoadDone> {
  const { served, deltas, bounds, version } = task;
  const beganMs = performance.now();
  const given = await readGivenChanges(task, chunks);
  const before = new Snapshot(served);
  const { changes, summary } = checkChanges(given, before);
  const isNothing = changes.upserts.length === 0 && changes.removals.length === 0;
  const patched = isNothing ? served : patchImage(served, changes);
  const builtAtMs = Date.now();
  const buildMs = Math.round(performance.now() - beganMs);
  const image = { ...patched, summary: { ...patched.summary, ...summary, builtAtMs, buildMs } };
  const after = new Snapshot(image);
  const ids = [...changes.upserts.map(({ id }) => id), ...changes.removals];
  const entriesMax = Math.floor(
    (bounds.memoryBytesMax ?? Number.POSITIVE_INFINITY) / DIFFERENCE_BYTES_PER_ENTRY,
  );
  const delta = compareEvents(before, after, ids, Math.min(entriesMax, SNAPSHOT_DELTA_ENTRIES_MAX));
  // Equal ids do not suffice: an image has more than its id covers, and the next patch starts from all of it.
  const isSame = image.summary.id === served.summary.id && isSameImage(served, image);
  if (isSame && isDeepStrictEqual(summary.rejections, served.summary.rejections))
    return { kind: 'unchanged', sourceVersion: version };
  const history = extendHistory(deltas, delta, after, entriesMax);
  return { kind: 'loaded', image, sourceVersion: version, delta, history, changedIds: ids };
}

interface GivenChanges {
  readonly upserts: ReadonlyMap<string, NormalisedEvent>;
  readonly removals: ReadonlySet<string>;
  readonly rejections: readonly Rejection[];
}

/** If several records have one id, the last counts. A rejected record also removes the earlier event with its id. */
async function readGivenChanges(task: PatchTask, chunks: AsyncIterable<Uint8Array>): Promise<GivenChanges> {
  const { name, rules, served, bounds, ids = [] } = task;
  const upserts = new Map<string, NormalisedEvent>();
  const removals = new Set<string>(task.removals.flatMap((id) => canonicalId(id, rules) ?? []));
  /** Rejections by the id of the record, or by a running number if the record has no id. */
  const rejections = new Map<string | number, Rejection>();
  let unnamed = 0;
  const notes = new LoadNotes();
  const readInstant = createInstantReader(rules, notes.ambiguousTimes);
  const contentIdentifiers = new ContentIdentifiers();
  const normalise = createNormaliser(rules.identifiers, { readInstant, contentIdentifiers });
  const reject = (rejection: Rejection): void => {
    const id = rejection.id ?? canonicalId(ids[rejection.position.record - 1] ?? '', rules) ?? '';
    if (id === '') {
      rejections.set(unnamed++, rejection);
      return;
    }
    rejections.set(id, { ...rejection, id });
    upserts.delete(id);
    removals.add(id);
  };
  const sink: RecordSink = {
    notes,
    record(value, position) {
      const event = normalise(value, namedPosition(value, position));
      if (isRejection(event)) return reject(event);
      rejections.delete(event.id);
      removals.delete(event.id);
      upserts.set(event.id, event);
    },
    reject,
  };
  const bytesMax = bounds.memoryBytesMax ?? Number.POSITIVE_INFINITY;
  const imageBytes = LOAD_BASE_BYTES + Math.ceil(PATCH_IMAGE_SHARE * served.summary.bytes);
  await readRecordChunks(name, watched(chunks, imageBytes, bytesMax), sink, { rules });
  return { upserts, removals, rejections: [...rejections.values()] };
}

async function* watched(
  chunks: AsyncIterable<Uint8Array>,
  imageBytes: number,
  bytesMax: number,
): AsyncGenerator<Uint8Array> {
  let bytes = imageBytes;
  const check = (): void => {
    if (bytes <= bytesMax) return;
    const [needed, limit] = [bytes, bytesMax].map((each) => `${Math.ceil(each / 2 ** 20)} MiB`);
    throw new RefusedLoad(
      'memory',
      `a patch takes ${needed} of memory, and the limit for a load is ${limit}`,
    );
  };
  check();
  for await (const chunk of chunks) {
    bytes += PATCH_BYTES_PER_BYTE * chunk.length;
    check();
    yield chunk;
  }
}

interface CheckedChanges {
  readonly changes: EventChanges;
  readonly summary: Pick<SnapshotImage['summary'], 'rejected' | 'rejectedByCode' | 'rejections'>;
}

function checkChanges(given: GivenChanges, before: Snapshot): CheckedChanges {
  const { upserts, rejections } = given;
  const removals = [...given.removals].filter((id) => before.ordinalOf(id) !== -1);
  const touched = new Set([...given.removals, ...upserts.keys()]);
  const summary = { ...before.summary, ...mendRejections(before.summary, touched, rejections) };
  const { rejected, rejectedByCode, rejections: kept } = summary;
  return {
    changes: { upserts: [...upserts.values()], removals },
    summary: { rejected, rejectedByCode, rejections: kept },
  };
}

/**
 * An invalid id is returned as given, because rejected records may have one. Null for a value that is not an
 * id.
 */
function canonicalId(given: string | number, { identifiers }: ReadRules): string | null {
  const text = typeof given === 'string' ? given : digitsOf(given);
  return text === null ? null : (parseIdentifier(text, identifiers, 'id') ?? text);
}
