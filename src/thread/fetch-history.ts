import { createHash } from 'node:crypto';
import { LecternError } from '../errors.js';
import { readAnnouncedHistory } from '../snapshot/announced-history.js';
import { compareSnapshots, type Delta, historyOf } from '../snapshot/differences.js';
import { Snapshot } from '../snapshot/snapshot.js';
import type { Store } from '../store/store.js';
import type { FetchTask, LoadDone, Loaded } from './task-messages.js';

/** The announced history. Null if there is none, or if it cannot be used or fetched. */
export async function fetchHistory(
  store: Store,
  task: Pick<FetchTask, 'history' | 'id'>,
): Promise<readonly Delta[] | null> {
  // The timetable is more important than its history. Without the announced history, a replica continues its
  // own.
  return receiveHistory(store, task).catch(() => null);
}

async function receiveHistory(
  store: Store,
  { history, id }: Pick<FetchTask, 'history' | 'id'>,
): Promise<readonly Delta[] | null> {
  if (history === null) return null;
  const bytes = await receiveSmall(store, history);
  return bytes === null ? null : readAnnouncedHistory(bytes, id);
}

/**
 * The served image with the announced history. For a replica that missed announcements, but serves the
 * content of the latest one.
 *
 * @throws LecternError `store-unavailable`, so that the history is fetched at the next look
 */
export async function fetchHistoryOnly(store: Store, task: FetchTask): Promise<LoadDone> {
  const { served } = task;
  const deltas = await receiveHistory(store, task).catch((error: unknown) => {
    if (error instanceof LecternError && error.code === 'store-unavailable') throw error;
    return null;
  });
  if (served === null || deltas === null) return { kind: 'unchanged', sourceVersion: null };
  const history = historyOf(deltas, new Snapshot(served));
  const same = { image: served, delta: null, changedIds: [] };
  return { kind: 'loaded', sourceVersion: null, ...same, history, isHistoryAnnounced: true };
}

/** The differences from the served image, with the announced history. */
export function announcedDifferences(
  { served }: Pick<FetchTask, 'served'>,
  deltas: readonly Delta[],
  image: Loaded['image'],
): Pick<Loaded, 'delta' | 'history' | 'isHistoryAnnounced'> {
  const present = new Snapshot(image);
  const last = deltas.at(-1);
  // Only the counts are needed, and the history has them if the served image came just before.
  const isNext = last !== undefined && last.from === served?.summary.id;
  const compared = (): Delta | null => served && compareSnapshots(new Snapshot(served), present, 0);
  const delta = isNext ? last : compared();
  return { delta, history: historyOf(deltas, present), isHistoryAnnounced: true };
}

/** A short object, checked by its hash. Null if the store has other bytes. */
export async function receiveSmall(
  store: Store,
  { hash, bytes, content }: NonNullable<FetchTask['patch']>,
): Promise<Buffer | null> {
  const given = content === undefined ? null : Buffer.from(content, 'base64');
  if (given !== null && sha256Of(given) === hash) return given;
  const chunks: Uint8Array[] = [];
  let received = 0;
  for await (const chunk of (await store.get(hash)) ?? []) {
    received += chunk.length;
    if (received > bytes) return null;
    chunks.push(chunk);
  }
  const all = Buffer.concat(chunks);
  return sha256Of(all) === hash ? all : null;
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
