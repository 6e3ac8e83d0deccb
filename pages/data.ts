/** The way to the timetable: the token, what was read, and the stream of changes. Only `lectern/client` asks the service. */
import { type ConflictEntry, TimetableClient, type TimetableEvent, TimetableProblem } from 'lectern/client';
import { useEffect, useState } from 'preact/hooks';
import type { LeftOut, Target } from './address.js';
import type { Named, Row } from './lessons.js';
import {
  fresh,
  isDevelopment,
  kinds,
  live,
  publishedAt,
  revision,
  token,
  tokenWanted,
  versionAtFirst,
} from './store.js';

/** The files of the pages lie in {base}/view/. */
const BASE = new URL('..', import.meta.url);
const TOKEN_NAME = 'lectern.token';
/** Rows of one view. More than this cannot be shown in a useful way. */
export const ROWS_MAX = 20_000;
const PAGE_ROWS = 5_000;
const ENTRIES_OF_DIRECTORY_MAX = 10_000;

function takeToken(): string | null {
  const found = /^#(?:access_)?token=([^&]+)/.exec(location.hash)?.[1];
  if (found === undefined) return sessionStorage.getItem(TOKEN_NAME);
  // Neither the address nor the history keeps it.
  history.replaceState(null, '', location.pathname + location.search);
  const given = decodeURIComponent(found);
  sessionStorage.setItem(TOKEN_NAME, given);
  return given;
}

export const client: TimetableClient = new TimetableClient({ baseUrl: BASE, token: () => token.value });

export function giveToken(text: string): void {
  sessionStorage.setItem(TOKEN_NAME, text);
  token.value = text;
  tokenWanted.value = null;
  revision.value++;
  void followChanges();
}

export function forgetToken(): void {
  sessionStorage.removeItem(TOKEN_NAME);
  token.value = null;
  tokenWanted.value = 'missing';
}

async function logIn(): Promise<boolean> {
  try {
    const { data } = await client.get('/login');
    token.value = data.access_token;
    isDevelopment.value = true;
    return true;
  } catch {
    return false;
  }
}

export async function begin(): Promise<void> {
  token.value = takeToken();
  if (token.value === null && !(await logIn())) tokenWanted.value = 'missing';
  else void followChanges();
}

function isRefusal(error: unknown): boolean {
  return error instanceof TimetableProblem && error.status === 401;
}

/** Reads with a token that may have expired: in development the page gets another one. */
export async function reading<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (await logIn()) return read();
    tokenWanted.value = token.value === null ? 'missing' : 'refused';
    throw error;
  }
}

/** The sequence of a version is the time of its publication, in milliseconds, or a little later. */
export function noteVersion(version: string | null): void {
  const sequence = Number(version?.split('.')[0] ?? 'NaN');
  if (Number.isFinite(sequence)) publishedAt.value = sequence;
}

function becomeLive(state: typeof live.value): void {
  live.value = state;
  if (state !== 'live' || !wasOutOfReach) return;
  wasOutOfReach = false;
  revision.value++;
}

/** Whether something could not be read because the service did not answer. */
let wasOutOfReach = false;
let lastVersion: string | null = null;
let following: AbortController | null = null;
async function followChanges(): Promise<void> {
  if (following !== null || document.hidden) return;
  const own = new AbortController();
  following = own;
  try {
    const { signal } = own;
    for await (const message of client.changes({
      since: lastVersion ?? undefined,
      signal,
      onState: becomeLive,
    })) {
      const isNew = lastVersion !== null && lastVersion !== message.version;
      lastVersion = message.version;
      noteVersion(message.version);
      versionAtFirst.value ??= message.version;
      if (message.kind === 'changes') {
        fresh.value = new Set([...message.added, ...message.changed].map(({ id }) => id));
      }
      if (isNew) revision.value++;
    }
  } catch (error) {
    if (following !== own) return;
    live.value = 'lost';
    following = null;
    if (!isRefusal(error)) return;
    // The token has ended.
    if (isDevelopment.value && (await logIn())) void followChanges();
    else tokenWanted.value = 'refused';
  }
}

// Browsers open six connections to a service over HTTP/1.1, for all tabs together and for pages that are gone but kept
// for the way back. A stream of a page that nobody sees would leave the others without one.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    following?.abort();
    following = null;
  } else if (token.value !== null && tokenWanted.value === null) void followChanges();
});

export interface Loaded<T> {
  /** The newest that was read for this key; while another key is read, that of the key before. */
  readonly data: T | null;
  readonly error: Error | null;
  readonly isLoading: boolean;
}

const results = new Map<string, { readonly revision: number; readonly data: unknown }>();
const RESULTS_MAX = 40;

/** @param at the revision at which reading began */
function remember(key: string, data: unknown, at: number): void {
  // A read that began earlier may end later.
  if ((results.get(key)?.revision ?? at) > at) return;
  results.delete(key);
  results.set(key, { revision: at, data });
  const [oldest] = results.keys();
  if (results.size > RESULTS_MAX && oldest !== undefined) results.delete(oldest);
}

interface Read {
  readonly data: Promise<unknown>;
  readonly abort: AbortController;
  /** How many wait for it. */
  wanted: number;
}
/** What is being read now, by revision and key. */
const reads = new Map<string, Read>();

/**
 * Reads once, however many ask at the same time.
 * @returns the result, and what ends waiting for it: a read that none waits for is aborted
 */
function readShared<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
): { readonly data: Promise<T>; readonly end: () => void } {
  const at = revision.peek();
  const name = `${at} ${key}`;
  const forget = (read: Read): void => {
    if (reads.get(name) === read) reads.delete(name);
  };
  const start = (): Read => {
    const abort = new AbortController();
    const data = reading(() => load(abort.signal)).then((result) => {
      remember(key, result, at);
      return result;
    });
    const read = { data, abort, wanted: 0 };
    reads.set(name, read);
    const settled = (): void => forget(read);
    data.then(settled, settled);
    return read;
  };
  const read = reads.get(name) ?? start();
  read.wanted++;
  let isWanted = true;
  const end = (): void => {
    if (!isWanted) return;
    isWanted = false;
    read.wanted--;
    // The next view may ask for it in the same step.
    queueMicrotask(() => {
      if (read.wanted > 0) return;
      forget(read);
      read.abort.abort();
    });
  };
  return { data: read.data as Promise<T>, end };
}

/** Reads once for each key and revision. What is shown stays until the next is there. */
export function useLoaded<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const known = key === null ? undefined : results.get(key);
  const [state, setState] = useState<{ key: string | null; data: T | null; error: Error | null }>({
    key: null,
    data: null,
    error: null,
  });
  const now = revision.value;
  const tokenNow = token.value;
  useEffect(() => {
    if (key === null || tokenNow === null) return;
    const found = results.get(key);
    if (found?.revision === now) {
      // It came since the drawing, because it was read in advance.
      if (found !== known) setState({ key, data: found.data as T, error: null });
      return;
    }
    const { data, end } = readShared(key, load);
    let isWanted = true;
    data.then(
      (result) => isWanted && setState({ key, data: result, error: null }),
      (error: unknown) => {
        // A new token reads again.
        if (!isWanted || isRefusal(error)) return;
        wasOutOfReach ||= !(error instanceof TimetableProblem);
        setState((before) => ({
          ...before,
          key,
          error: error instanceof Error ? error : new Error(String(error)),
        }));
      },
    );
    return () => {
      isWanted = false;
      end();
    };
  }, [key, now, tokenNow]);
  if (known !== undefined) {
    const lastShown = known.data as T;
    if (state.data !== lastShown && state.key !== key) state.data = lastShown;
    return {
      data: lastShown,
      error: state.key === key ? state.error : null,
      isLoading: known.revision !== now,
    };
  }
  const error = state.key === key ? state.error : null;
  return { data: error === null ? state.data : null, error, isLoading: key !== null && error === null };
}

/** Reads in advance what is probably asked for next. Failures are told when it is asked for. */
export async function prefetch<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<void> {
  const isKnown = results.get(key)?.revision === revision.peek();
  if (isKnown || token.peek() === null || signal?.aborted) return;
  const { data, end } = readShared(key, load);
  signal?.addEventListener('abort', end);
  try {
    await data;
  } catch {}
}

export interface RoomFacts {
  readonly id: string;
  readonly name: string;
  readonly building: string | null;
  readonly capacity: number | null;
}

export interface Names {
  readonly rooms: ReadonlyMap<string, string>;
  readonly courses: ReadonlyMap<string, string>;
  /** Also those without lessons. */
  readonly allRooms: readonly RoomFacts[];
}

/** Reads once for each revision; after a failure, again. */
export function perRevision<T>(read: () => Promise<T>): () => Promise<T> {
  let last: { readonly revision: number; readonly data: Promise<T> } | null = null;
  return () => {
    if (last?.revision === revision.peek()) return last.data;
    const data = read();
    last = { revision: revision.peek(), data };
    data.catch(() => {
      last = null;
    });
    return data;
  };
}

/** Before all lessons every room has nothing scheduled, so this lists all of them, with those of the rooms file. */
const BEFORE_ALL = {
  by: 'room',
  startTime: '1900-01-01T00:00:00Z',
  endTime: '1900-01-01T01:00:00Z',
} as const;

/** The names of all rooms and courses; of very many courses, some show their ids. */
export const readNames: () => Promise<Names> = perRevision(async () => {
  const [free, courses] = await Promise.all([
    client.get('/schedule/free', BEFORE_ALL),
    client.get('/schedule/courses', { limit: ENTRIES_OF_DIRECTORY_MAX }),
  ]);
  const allRooms = free.data.flatMap(({ id, name, building = null, capacity = null }) =>
    id === null ? [] : [{ id, name: name ?? shortId(id), building, capacity }],
  );
  return {
    rooms: new Map(allRooms.map(({ id, name }) => [id, name])),
    courses: new Map(
      courses.data.flatMap(({ id, name }) => (id === null || name === null ? [] : [[id, name] as const])),
    ),
    allRooms,
  };
});

const COLOURS = 8;
export async function readKinds(): Promise<void> {
  const { data } = await reading(() => client.get('/schedule/types'));
  kinds.value = data;
}

/** 1 to 8; 0 for a lesson without a kind. Kinds after the eighth share a colour, and tell their name. */
export function colourOf(kind: string): number {
  const place = kinds.value.indexOf(kind);
  return kind === '' || place === -1 ? 0 : (place % COLOURS) + 1;
}

export function rowOf(event: TimetableEvent, { rooms, courses }: Names): Row {
  const { id, title, roomId, courseId, lecturer, studyGroup, type } = event;
  const named = (key: string | null, known: ReadonlyMap<string, string>): Named | null =>
    key === null ? null : { id: key, name: known.get(key) ?? shortId(key) };
  const course = named(courseId, courses);
  return {
    id,
    start: Date.parse(event.time),
    end: Date.parse(event.endTime),
    title: title || (courseId !== null && courses.get(courseId)) || '',
    kind: type ?? '',
    room: named(roomId, rooms),
    course,
    lecturer: lecturer === null ? null : { id: null, name: lecturer },
    group: studyGroup === null ? null : { id: studyGroup, name: studyGroup },
  };
}

/** The beginning of a UUID is enough to tell rooms without names apart. */
export function shortId(id: string): string {
  return /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(id) ? id.slice(0, 8) : id;
}

export interface Window {
  readonly from: number;
  readonly to: number;
}

export interface Timetable {
  readonly rows: readonly Row[];
  /** Whether there are more rows than are shown. */
  readonly isCut: boolean;
}

/** Before the name of a lecturer without an id, which stands in for it. */
export const NAME_MARK = 'name:';

/** The filters of a timetable. Lecturers without an id have none: their rows are chosen here. */
export function filtersOf({ kind, id }: Target): Record<string, string> {
  switch (kind) {
    case 'room':
      return { roomId: id };
    case 'course':
      return { courseId: id };
    case 'group':
      return { studyGroup: id };
    case 'lecturer':
      return id.startsWith(NAME_MARK) ? {} : { lecturerId: id };
    default:
      return {};
  }
}

const LEFT_OUT_PARAMETERS = { course: 'courseId!', type: 'type!', group: 'studyGroup!' } as const;

/** The filters that leave lessons out of calendars and files, as they are left out here. */
export function leftOutFilters(not: readonly LeftOut[]): Record<string, string[]> {
  const filters: Record<string, string[]> = {};
  for (const { field, value } of not) {
    const name = LEFT_OUT_PARAMETERS[field];
    filters[name] = [...(filters[name] ?? []), value];
  }
  return filters;
}

/** The list that has the events of a timetable. */
export function pathOf({ kind }: Target): '/schedule' | '/schedule/personal' {
  return kind === 'me' ? '/schedule/personal' : '/schedule';
}

export function windowQuery({ from, to }: Window): object {
  return { startTime: new Date(from).toISOString(), endTime: new Date(to).toISOString() };
}

export async function readConflicts(
  target: Target,
  window: Window,
  signal: AbortSignal,
): Promise<readonly ConflictEntry[]> {
  const query = { ...filtersOf(target), ...windowQuery(window), limit: 1000 };
  return (await client.get('/schedule/conflicts', query, { signal })).data;
}

export async function readTimetable(target: Target, window: Window, signal: AbortSignal): Promise<Timetable> {
  const query = { ...filtersOf(target), ...windowQuery(window), limit: PAGE_ROWS };
  const readEvents = async (): Promise<{ events: TimetableEvent[]; isCut: boolean }> => {
    const events: TimetableEvent[] = [];
    for await (const answer of client.pages(pathOf(target), query, { signal })) {
      noteVersion(answer.version);
      events.push(...answer.data);
      if (events.length >= ROWS_MAX) return { events, isCut: answer.nextCursor !== null };
    }
    return { events, isCut: false };
  };
  const [known, { events, isCut }] = await Promise.all([readNames(), readEvents()]);
  const isNamed = target.kind === 'lecturer' && target.id.startsWith(NAME_MARK);
  const name = target.id.slice(NAME_MARK.length);
  const own = isNamed ? events.filter(({ lecturer }) => lecturer === name) : events;
  return { rows: own.map((event) => rowOf(event, known)), isCut };
}
