/** Another Lectern as a source, which gives the changes since the served version. */
import { UPSTREAM_CHANGES_BYTES_MAX } from '../../limits.js';
import { parseVersion } from '../../model/timetable-version.js';
import { addressDigest } from '../../upstream/address.js';
import type { UpstreamAnswer, UpstreamCall } from '../../upstream/call.js';
import { refused, unreadableAnswer } from '../../upstream/failure.js';
import type { RecordDelta } from '../records.js';

/** What the version of a source holds if the source is another Lectern. */
interface LecternSourceVersion {
  /** Digest of the address of all events. */
  readonly url: string;
  /** The Lectern-Version of the answer with all events or with changes. */
  readonly lectern: string;
}

const ALL_EVENTS = /\/schedule\/all\/?$/;

/** Formats that contain the ids. Ids from a calendar are derived, so changes could not name them. */
const FORMATS: ReadonlySet<string> = new Set(['json', 'ndjson', 'msgpack']);
const TYPES = /^application\/(?:json|x-ndjson|(?:vnd\.|x-)?msgpack)(?![\w.+-])/i;

/**
 * The address of the changes; null unless the address is that of all events of a Lectern. Other parameters
 * stay, because a gateway may need them.
 */
export function changesAddress(all: URL): URL | null {
  const { pathname, searchParams } = all;
  if (!ALL_EVENTS.test(pathname) || searchParams.has('limit') || searchParams.has('cursor')) return null;
  const url = new URL(all);
  url.pathname = pathname.replace(ALL_EVENTS, '/schedule/changes');
  // Parameters are not decoded: some gateways check their exact bytes.
  const others = url.search.split(/[?&]/).filter((each) => each !== '' && !/^format(?:=|$)/.test(each));
  url.search = others.join('&');
  return url;
}

/** The Lectern-Version of an answer if changes can be applied to it; null for other servers, addresses and formats. */
export function lecternVersionOf(all: URL, { message }: Pick<UpstreamAnswer, 'message'>): string | null {
  const { 'lectern-version': version, 'content-type': type = '' } = message.headers;
  const isKnown = typeof version === 'string' && parseVersion(version) !== null;
  return isKnown && TYPES.test(type) && changesAddress(all) !== null ? version : null;
}

function readVersion(text: string | null): Partial<LecternSourceVersion> {
  try {
    return (JSON.parse(text ?? '{}') ?? {}) as Partial<LecternSourceVersion>;
  } catch {
    return {};
  }
}

/** The id of the snapshot that a version of this source names; null if it names none. */
export function snapshotOfVersion(all: URL, version: string | null): string | null {
  const { url, lectern } = readVersion(version);
  if (url !== addressDigest(all) || typeof lectern !== 'string') return null;
  if (!all.searchParams.getAll('format').every((format) => FORMATS.has(format))) return null;
  return parseVersion(lectern)?.snapshotId ?? null;
}

export interface ChangesRequest {
  /** The address of all events. */
  readonly all: URL;
  /** The snapshot that is served. */
  readonly since: string;
  /** The last version that the upstream announced. A replica that is behind this version says so. */
  readonly minVersion: string | null;
}

/**
 * The changes since a snapshot. Null if the upstream does not know the snapshot, or if there are so many
 * changes that reading everything is better.
 *
 * @throws LecternError `source-unreadable`, `source-malformed`
 */
export async function readChanges(
  call: UpstreamCall,
  { all, since, minVersion }: ChangesRequest,
): Promise<RecordDelta | 'not-modified' | null> {
  const address = changesAddress(all);
  if (address === null) return null;
  address.search = `${address.search === '' ? '?' : `${address.search}&`}since=${since}&format=json`;
  const answer = await call.get(address, true, () =>
    minVersion === null ? {} : { 'lectern-min-version': minVersion },
  );
  const { status, message } = answer;
  const version = lecternVersionOf(all, answer);
  const isLarge = !(Number(message.headers['content-length']) <= UPSTREAM_CHANGES_BYTES_MAX);
  if (status === 200 && version !== null && !isLarge) {
    const delta = changesOf(answer, since, await textOf(call, answer));
    const isSame = parseVersion(version)?.snapshotId === since;
    return isSame
      ? 'not-modified'
      : { ...delta, version: JSON.stringify({ url: addressDigest(all), lectern: version }) };
  }
  message.destroy();
  // Answers with any other status concern only the snapshot, or come from a gateway or another server. The address of
  // all events may still work.
  if (status === 429 || status >= 500) throw refused(answer.url, status, message.headers, '');
  return null;
}

async function textOf(call: UpstreamCall, answer: UpstreamAnswer): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of call.body(answer)) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function changesOf({ url }: UpstreamAnswer, since: string, text: string): Omit<RecordDelta, 'version'> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw unreadableAnswer(url, 'its changes are not JSON', { cause });
  }
  const { from, added, changed, removed } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const areLists = Array.isArray(added) && Array.isArray(changed) && Array.isArray(removed);
  if (from !== since || !areLists || !removed.every((id) => typeof id === 'string')) {
    throw unreadableAnswer(url, 'it sent other changes than requested');
  }
  return { upserts: [...(added as unknown[]), ...(changed as unknown[])], removals: removed as string[] };
}
