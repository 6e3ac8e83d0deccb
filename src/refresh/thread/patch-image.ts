import { isDeepStrictEqual } from 'node:util';
import {
  LOAD_BASE_BYTES,
  PATCH_BYTES_PER_BYTE,
  PATCH_IMAGE_SHARE,
  REJECTION_SAMPLES,
  REJECTIONS_KEPT_MAX,
} from '../../base/limits.js';
import type { NormalisedEvent, Rejection, RejectionCode } from '../../base/model/event.js';
import { digitsOf, parseIdentifier } from '../../base/model/identifier.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import { editImage } from '../../change/apply.js';
import { datedImage, reviseEdit } from '../../change/revisions.js';
import { isRejection, Normaliser } from '../../normalise/normalise.js';
import { isSameImage } from '../../snapshot/image.js';
import { RefusedLoad } from '../../snapshot/intake-bounds.js';
import { Snapshot } from '../../snapshot/snapshot.js';
import type { SnapshotSummary } from '../../snapshot/summary.js';
import { LoadNotes } from '../../source/load-notes.js';
import type { RowSink } from '../../source/source.js';
import { changeFrom, readRecordChunks } from './load-image.js';
import type { LoadDone, PatchTask } from './task-messages.js';

/** Makes a change of records, and applies it to the served image. Throws LecternErrors, RefusedLoad. */
export async function runPatchTask(task: PatchTask, chunks: AsyncIterable<Uint8Array>): Promise<LoadDone> {
  const { served, past, bounds, version } = task;
  const beganMs = performance.now();
  const { upserts, records, rejections: added } = await readGivenChanges(task, chunks);
  const rows = new Snapshot(served).idsOfRecords(records);
  const went = [...new Set([...records, ...rows])].filter((id) => !upserts.has(id));
  const nowMs = Date.now();
  const edited = editImage(served, reviseEdit(served, { came: [...upserts.values()], went }, nowMs));
  const rejections = mendRejections(served.summary, records, added);
  const times = { builtAtMs: Date.now(), buildMs: Math.round(performance.now() - beganMs) };
  const dated = datedImage(edited.image, served, null, nowMs);
  const image = { ...dated, summary: { ...dated.summary, ...rejections, ...times } };
  // Equal ids do not suffice: an image has more than its id covers, and the next change starts from all of it.
  const isSame = image.summary.id === served.summary.id && isSameImage(served, image);
  if (isSame && isDeepStrictEqual(rejections.rejections, served.summary.rejections))
    return { kind: 'unchanged', sourceVersion: version };
  const bytesMax = bounds.memoryBytesMax ?? Number.POSITIVE_INFINITY;
  const changed = changeFrom(served, past, image, edited, bytesMax);
  return { kind: 'loaded', image, sourceVersion: version, ...changed, isPatched: true };
}

interface GivenChanges {
  /** The events of all records, by id. */
  readonly upserts: ReadonlyMap<string, NormalisedEvent>;
  /** The ids of all records that changed or went. */
  readonly records: ReadonlySet<string>;
  readonly rejections: readonly Rejection[];
}

/** What has become of one record: several events if it has several values. */
interface GivenRecord {
  readonly record: number;
  readonly events: NormalisedEvent[];
  readonly rejections: Rejection[];
}

/** If several records have one id, the last counts. A rejected record also removes the earlier event with its id. */
async function readGivenChanges(task: PatchTask, chunks: AsyncIterable<Uint8Array>): Promise<GivenChanges> {
  const { name, rules, served, bounds, ids = [] } = task;
  const removals = task.removals.flatMap((id) => canonicalId(id, rules) ?? []);
  const records = new Map<string, GivenRecord>();
  const unnamed: Rejection[] = [];
  const notes = new LoadNotes();
  notes.patterns.readings = served.summary.patterns?.readings ?? [];
  const normaliser = new Normaliser(rules, notes.ambiguousTimes);
  const recordOf = (id: string, record: number): GivenRecord => {
    let given = records.get(id);
    if (given?.record !== record) {
      given = { record, events: [], rejections: [] };
      records.set(id, given);
    }
    return given;
  };
  const reject = (rejection: Rejection): void => {
    const { record } = rejection.position;
    const id = rejection.id ?? canonicalId(ids[record - 1] ?? '', rules) ?? '';
    if (id === '') unnamed.push(rejection);
    else recordOf(id, record).rejections.push({ ...rejection, id });
  };
  const sink: RowSink = {
    row(row) {
      const event = normaliser.event(row);
      if (isRejection(event)) reject(event);
      else recordOf(row.recordId ?? event.id, row.record).events.push(event);
    },
    fault: reject,
  };
  const bytesMax = bounds.memoryBytesMax ?? Number.POSITIVE_INFINITY;
  const imageBytes = LOAD_BASE_BYTES + Math.ceil(PATCH_IMAGE_SHARE * served.summary.bytes);
  await readRecordChunks(name, watched(chunks, imageBytes, bytesMax), sink, { rules, notes });
  const all = [...records.values()];
  return {
    upserts: new Map(all.flatMap(({ events }) => events.map((event) => [event.id, event]))),
    records: new Set([...removals, ...records.keys()]),
    rejections: [...all.flatMap(({ rejections }) => rejections), ...unnamed],
  };
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

type Rejections = Pick<SnapshotSummary, 'rejected' | 'rejectedByCode' | 'rejections'>;

/**
 * The rejections after a change. Rejections of touched ids no longer count, if they were kept with their id.
 *
 * @param touched ids of the changed records, spelled as in rejections
 * @param added rejections of the changes themselves
 */
function mendRejections(
  before: Rejections,
  touched: ReadonlySet<string>,
  added: readonly Rejection[],
): Rejections {
  const isMended = ({ id }: Rejection): boolean => id !== undefined && touched.has(id);
  const mended = before.rejections.filter(isMended);
  if (mended.length === 0 && added.length === 0)
    return {
      rejected: before.rejected,
      rejectedByCode: before.rejectedByCode,
      rejections: before.rejections,
    };
  const counts = new Map(Object.entries(before.rejectedByCode) as [RejectionCode, number][]);
  for (const { code } of mended) counts.set(code, (counts.get(code) ?? 0) - 1);
  const rejections = before.rejections.filter((each) => !isMended(each));
  for (const rejection of added) {
    const count = (counts.get(rejection.code) ?? 0) + 1;
    counts.set(rejection.code, count);
    if (rejections.length < REJECTIONS_KEPT_MAX || count <= REJECTION_SAMPLES) rejections.push(rejection);
  }
  return {
    rejected: before.rejected - mended.length + added.length,
    rejectedByCode: Object.fromEntries([...counts].filter(([, count]) => count > 0)),
    rejections,
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
