import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  ANNOUNCED_PATCH_BYTES_MAX,
  ANNOUNCED_PATCH_EVENTS_MAX,
  ANNOUNCED_PATCH_EVENTS_MIN,
  ANNOUNCED_PATCH_SHARE_MAX,
} from '../limits.js';
import type { NormalisedEvent } from '../model/event.js';
import { FIELDS } from '../model/fields.js';
import { INSTANT_MS_MAX, INSTANT_MS_MIN } from '../model/time.js';
import { HIDDEN_FIELDS } from './columns.js';
import type { ColumnImage, SnapshotImage } from './image.js';
import { type EventChanges, patchImage } from './patch.js';
import { eventReader } from './rebuild.js';
import { Snapshot } from './snapshot.js';
import type { SnapshotSummary } from './summary.js';

/**
 * Raise this number with every change of the form or its meaning. Replicas of other versions then fetch the
 * whole image.
 */
const VERSION = 1;

/** The changes that turn one image into another, as JSON in UTF-8. */
interface StoredPatch extends EventChanges, Pick<SnapshotImage, 'hashSeed'> {
  readonly version: number;
  /** The summary of the resulting image. */
  readonly summary: SnapshotSummary;
  /** SHA-256 of the columns that no row shows; the id of the content does not cover all of them. */
  readonly hidden: string;
}

/**
 * Writes the patch that turns an earlier image with the same seed into `image`. Null if fetching `image` would
 * be as quick.
 *
 * @param ids of all events that may differ
 */
export function writeImagePatch(image: SnapshotImage, ids: ReadonlySet<string>): Buffer | null {
  const share = Math.floor(ANNOUNCED_PATCH_SHARE_MAX * image.summary.events);
  const eventsMax = Math.min(Math.max(share, ANNOUNCED_PATCH_EVENTS_MIN), ANNOUNCED_PATCH_EVENTS_MAX);
  if (ids.size > eventsMax) return null;
  const snapshot = new Snapshot(image);
  const eventAt = eventReader(image);
  const upserts: NormalisedEvent[] = [];
  const removals: string[] = [];
  for (const id of ids) {
    const ordinal = snapshot.ordinalOf(id);
    if (ordinal === -1) removals.push(id);
    else upserts.push(eventAt(ordinal));
  }
  const { summary, hashSeed } = image;
  const hidden = hiddenDigestOf(image);
  const patch: StoredPatch = { version: VERSION, hashSeed, summary, hidden, upserts, removals };
  const bytes = Buffer.from(JSON.stringify(patch));
  return bytes.length <= ANNOUNCED_PATCH_BYTES_MAX ? bytes : null;
}

export interface PatchedImage {
  readonly image: SnapshotImage;
  /** All events that may differ. */
  readonly changedIds: readonly string[];
}

/**
 * Applies patches in their order, as one. The result equals the image of the last patch's writer, byte for byte.
 *
 * @throws Error for bytes that are not a patch, or if the result has other contents
 */
export function applyImagePatch(base: SnapshotImage, contents: readonly Buffer[]): PatchedImage {
  const changes = new Map<string, NormalisedEvent | null>();
  let last: StoredPatch | null = null;
  for (const bytes of contents) {
    last = readStoredPatch(bytes);
    if (!isDeepStrictEqual(last.hashSeed, base.hashSeed)) throw new Error('the patch is of another image');
    for (const event of last.upserts) changes.set(event.id, event);
    for (const id of last.removals) changes.set(id, null);
  }
  if (last === null) return { image: base, changedIds: [] };
  const { summary, hidden } = last;
  const upserts = [...changes.values()].filter((event) => event !== null);
  const removals = [...changes].flatMap(([id, event]) => (event === null ? [id] : []));
  const patched = patchImage(base, { upserts, removals });
  const { id, events, slots } = patched.summary;
  const isSame = id === summary.id && events === summary.events && slots === summary.slots;
  if (!isSame || patched.summary.bytes !== summary.bytes || hiddenDigestOf(patched) !== hidden)
    throw new Error('the patch makes another image');
  return { image: { ...patched, summary }, changedIds: [...changes.keys()] };
}

function readStoredPatch(bytes: Buffer): StoredPatch {
  const patch = JSON.parse(bytes.toString('utf8')) as StoredPatch;
  if (patch.version !== VERSION) throw new Error(`the patch has version ${patch.version}`);
  const { upserts, removals } = patch;
  if (!Array.isArray(upserts) || !Array.isArray(removals)) throw new Error('the patch has no changes');
  if (!upserts.every(isEvent) || !removals.every((id) => typeof id === 'string'))
    throw new Error('the patch has a malformed change');
  return patch;
}

function isEvent(value: Readonly<Record<string, unknown>> | null): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return FIELDS.every(({ name, kind, required }) => {
    const field = value[name] ?? null;
    if (field === null) return !required;
    if (kind !== 'instant') return typeof field === 'string';
    return Number.isInteger(field) && Number(field) >= INSTANT_MS_MIN && Number(field) <= INSTANT_MS_MAX;
  });
}

function hiddenDigestOf({ fields, columns }: SnapshotImage): string {
  const all: Readonly<Record<string, ColumnImage>> = { ...fields, ...columns };
  const digest = createHash('sha256');
  for (const { name } of HIDDEN_FIELDS) {
    const { dictionary, codes } = all[name]!;
    digest.update(`${name}\n${dictionary.bytes.length}\n${codes.length}\n`);
    digest.update(dictionary.start).update(dictionary.bytes).update(codes);
  }
  return digest.digest('hex');
}
