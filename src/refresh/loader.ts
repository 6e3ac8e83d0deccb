import { createHash } from 'node:crypto';
import { cannotRead, LecternError } from '../base/errors.js';
import type { KeptFile } from '../base/files/kept-files.js';
import {
  LOAD_BASE_BYTES,
  WARM_UP_DELAY_MS,
  WARM_UP_IMAGE_BYTES_MAX,
  WARM_UP_ROUNDS,
} from '../base/limits.js';
import type { ReadRules } from '../base/model/read-rules.js';
import type { FollowState } from '../base/model/source-state.js';
import type { SnapshotImage } from '../snapshot/image.js';
import type { ImageSource } from '../snapshot/image-layout.js';
import type { Refusal } from '../snapshot/intake-bounds.js';
import { Snapshot } from '../snapshot/snapshot.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import { Credentials, credentialsKey, mayChange } from '../source/http/credentials.js';
import type { HttpSpec } from '../source/http.js';
import {
  MemorySource,
  type RecordDelta,
  type RecordLoad,
  type RecordLoadOptions,
  type RecordSource,
  type Records,
} from '../source/memory-source.js';
import {
  type AskSecretHeadersOf,
  filesOf,
  liftRules,
  type NumberedCredentials,
  parseSourceArgument,
  type SourceSpec,
  sourceDigest,
  sourceOfSpec,
  watchSource,
} from '../source/spec.js';
import { memoryForLoad } from './memory-room.js';
import { mapParts, type TimeLimits, withPipes, withTimeLimits } from './patience.js';
import { DatabaseThread } from './thread/database-thread.js';
import { recordChunks } from './thread/record-chunks.js';
import type {
  ByteChunks,
  DoneOf,
  LoadDone,
  LoadTask,
  PatchTask,
  Task,
  TaskListeners,
} from './thread/task-messages.js';
import { spawnTask, TaskThread } from './thread/task-thread.js';

/** An idle patch thread ends after this time, and frees its 15 MiB. */
const KEPT_THREAD_IDLE_MS = 10_000;

/** A source to load: plain data, or a source that the embedding program implements. */
export type AnySource = SourceSpec | RecordSource;

/** @throws LecternError `option-invalid` */
export function anySourceOf(source: string | AnySource | Records): AnySource {
  if (typeof source === 'string') return parseSourceArgument(source);
  if (typeof source === 'object' && source !== null) {
    if ('kind' in source) return source;
    if ('load' in source) {
      if (typeof source.load === 'function') return source;
      throw new LecternError('option-invalid', 'source.load is not a function');
    }
    if (Symbol.iterator in source || Symbol.asyncIterator in source)
      return unchanging(new MemorySource(source));
  }
  throw new LecternError(
    'option-invalid',
    'source must be a path, an address, a source or an iterable of records',
  );
}

/** A source without `apply`, because the program has no reference to the MemorySource. */
function unchanging(memory: MemorySource): RecordSource {
  return { name: memory.name, load: (options) => memory.load(options) };
}

/** What is told of a task while it runs; the signal ends it. */
export type RunListeners = TaskListeners & { readonly signal: AbortSignal };

export interface LoadRequest
  extends Pick<
    LoadTask,
    'previousVersion' | 'served' | 'mayPatch' | 'past' | 'bounds' | 'parts' | 'allowMissing' | 'asksAll'
  > {
  readonly listeners: RunListeners;
  /** The version that the source gave to `served`; null if unknown. */
  readonly servedVersion: string | null;
  readonly timeLimits: TimeLimits | null;
}

/** Loads for a keeper: from a source, or from the store of a publisher. */
export interface AnyLoader
  extends Pick<
    Loader,
    'name' | 'files' | 'imageSource' | 'rules' | 'credentialFiles' | 'load' | 'run' | 'watch'
  > {
  /** The last load is now served. */
  published?(summary: SnapshotSummary): void;
  /** How far the changes of a followed table are served; null for other sources. */
  followed?(): FollowState | null;
  /** Milliseconds until the next regular load, if the sources say it themselves. */
  dueMs?(): number | null;
  /** The state of a replica; other loaders have none. */
  channel?(): ChannelState;
  /** A server of the timetable listens on this port, which becomes a part of a replica's name. */
  listens?(port: number): void;
  /** The gate refused the last load. */
  refused?(refusal: Refusal): void;
  close?(): Promise<void>;
}

export class Loader {
  readonly name: string;
  readonly files: readonly string[];
  readonly imageSource: ImageSource;
  readonly rules: ReadRules;
  readonly #source: AnySource;
  readonly #credentials: SourceCredentials | null;
  readonly #rulesPrefix: string;
  /** Null unless the source is a followed table. */
  readonly #followed: DatabaseThread | null;
  /** The source reports single changes. */
  readonly #isLive: boolean;
  readonly #patches: TaskThread<PatchTask>;
  #hasWarmedUp = false;
  /** When a terminated thread was found stuck; null if no thread is stuck. */
  #stuckSinceMs: number | null = null;
  /**
   * The load of standard input, which can be read only once. Later loads repeat the failure or refusal of the
   * first load; after a success, they report no change.
   */
  #standardInput: Promise<(LoadDone & { readonly kind: 'refused' }) | null> | null = null;

  /** @throws LecternError `option-invalid` for an impossible source */
  constructor(given: AnySource, timetableRules: ReadRules) {
    const lifted = 'load' in given ? null : liftRules(given, timetableRules);
    const source = lifted?.spec ?? given;
    const rules = lifted?.rules ?? timetableRules;
    this.#credentials = 'load' in source ? null : new SourceCredentials(withPipes(source));
    this.#source = this.#credentials?.source ?? source;
    this.rules = rules;
    const isFollowed = 'kind' in source && source.kind === 'postgres' && source.follow === true;
    this.#followed = isFollowed ? new DatabaseThread(source, rules) : null;
    this.#rulesPrefix = rulesPrefixOf(rules);
    this.#isLive = source instanceof MemorySource || isFollowed;
    this.#patches = new TaskThread({
      idleMsMax: this.#isLive ? Number.POSITIVE_INFINITY : KEPT_THREAD_IDLE_MS,
    });
    this.name = 'load' in source ? source.name : sourceOfSpec(source).name;
    this.files = 'load' in source ? [] : filesOf(source);
    this.imageSource = { name: this.name, digest: sourceDigest(source, this.name) };
  }

  /** Files with the source's credentials. */
  get credentialFiles(): readonly KeptFile[] {
    return this.#credentials?.files ?? [];
  }

  /** Versions include the rules, because with other rules the same bytes give another timetable. */
  async load(request: LoadRequest): Promise<LoadDone> {
    const { listeners, previousVersion, servedVersion } = request;
    const done = await this.#load({
      ...request,
      previousVersion: sourceVersionOf(previousVersion, this.#rulesPrefix),
      servedVersion: sourceVersionOf(servedVersion, this.#rulesPrefix),
      listeners: {
        ...listeners,
        onVersion: (version) => listeners.onVersion?.(version === null ? null : this.#rulesPrefix + version),
      },
    });
    const image = done.kind === 'loaded' ? done.image : request.served;
    if (image !== null) this.#warmUp(image, request);
    if (!('sourceVersion' in done) || done.sourceVersion === null) return done;
    return { ...done, sourceVersion: this.#rulesPrefix + done.sourceVersion };
  }

  async #load(request: LoadRequest): Promise<LoadDone> {
    const { previousVersion, servedVersion, served, timeLimits, listeners } = request;
    const { mayPatch, past, parts, allowMissing, asksAll = false } = request;
    if (this.#stuckSinceMs !== null) {
      // A stuck load occupies one of libuv's few threads, which read files for the whole process, so no other
      // load begins.
      const seconds = Math.round((Date.now() - this.#stuckSinceMs) / 1000);
      const problem = `the file system does not respond: a load abandoned ${seconds} s ago still waits for it`;
      throw cannotRead(this.name, problem);
    }
    const memoryBytesMax = request.bounds.memoryBytesMax ?? memoryForLoad();
    if (memoryBytesMax < LOAD_BASE_BYTES) return refusedWith(memoryBytesMax);
    const bounds = { ...request.bounds, memoryBytesMax };
    const { name, rules } = this;
    const asked = { previousVersion, served, mayPatch, past, bounds, parts, allowMissing, asksAll };
    const task = { task: 'load', rules, ...asked } as const;
    const source = this.#source;
    if ('load' in source) {
      const { signal, onVersion } = listeners;
      const versions = { previous: previousVersion, served: servedVersion };
      const given = await askSource(source, versions, signal);
      if ('notModified' in given) return { kind: 'not-modified' };
      const { version } = given;
      if (version !== null) onVersion?.(version);
      if ('upserts' in given) return this.#patch(given, recordChunks(given.upserts), bounds, request);
      const { records } = given;
      const stream = { kind: 'stream', content: 'records', name, version } as const;
      return this.run({ ...task, source: stream }, request.listeners, recordChunks(records));
    }
    if (source.kind === 'file' && source.path === '-') {
      if (this.#standardInput !== null) {
        return (await this.#standardInput) ?? { kind: 'not-modified' };
      }
      const stream = { kind: 'stream', content: 'bytes', name, version: null } as const;
      const chunks = standardInputChunks(listeners.signal);
      const loading = this.run({ ...task, source: stream }, request.listeners, chunks);
      // Only a refusal is kept, because an image would stay in memory.
      this.#standardInput = loading.then((done) => (done.kind === 'refused' ? done : null));
      this.#standardInput.catch(() => {});
      return loading;
    }
    if (this.#followed !== null) return this.#loadFollowed(this.#followed, task, request);
    const limited = timeLimits === null ? source : withTimeLimits(source, timeLimits);
    const askSecretHeaders = this.#credentials?.askUntil(listeners.signal);
    return this.run({ ...task, source: limited }, { ...listeners, askSecretHeaders });
  }

  #patch(
    { removals, version, ids }: Pick<RecordDelta, 'removals' | 'version'> & Pick<PatchTask, 'ids'>,
    upserts: ByteChunks,
    bounds: LoadRequest['bounds'],
    request: LoadRequest,
  ): Promise<LoadDone> {
    const { served, past } = request;
    if (served === null) throw new Error('there is a delta, but no records that it could change');
    const { name, rules } = this;
    const patch = { task: 'patch', name, rules, served, past, bounds, version, ids } as const;
    return this.run({ ...patch, removals: [...removals] }, request.listeners, upserts);
  }

  /**
   * Prepares the patch thread a moment after the first load. With a small timetable, the thread changes one event,
   * and the result is dropped. With a large timetable, the thread only loads its code.
   */
  #warmUp(served: SnapshotImage, { bounds, listeners: { signal } }: LoadRequest): void {
    if (!this.#isLive || this.#hasWarmedUp || signal.aborted) return;
    this.#hasWarmedUp = true;
    const { name, rules } = this;
    const warmUp = (): void => {
      if (signal.aborted) return;
      const memoryBytesMax = bounds.memoryBytesMax ?? memoryForLoad();
      const given = {
        served,
        past: [],
        bounds: { ...bounds, memoryBytesMax },
        removals: [],
        version: null,
      };
      for (let round = 0; round < WARM_UP_ROUNDS; round++) {
        const chunks = recordChunks(warmUpRecords(served));
        this.#patches.warmUp({ task: 'patch', name, rules, ...given }, { signal, chunks });
      }
    };
    setTimeout(warmUp, WARM_UP_DELAY_MS).unref();
  }

  async #loadFollowed(
    followed: DatabaseThread,
    task: Omit<LoadTask, 'source'>,
    request: LoadRequest,
  ): Promise<LoadDone> {
    const { previousVersion, servedVersion, served, listeners } = request;
    const { signal, onVersion } = listeners;
    // A change of one of several rows with one id does not tell which of them counts now.
    const isClear = served !== null && !served.summary.rejectedByCode['duplicate-id'];
    const asked = { previous: previousVersion, served: isClear ? servedVersion : null, signal };
    const given = await abortable(followed.next(asked), signal);
    if ('notModified' in given) return { kind: 'not-modified' };
    const { version } = given;
    if (version !== null) onVersion?.(version);
    if (!('whole' in given)) return this.#patch(given, chunksOf(given.chunks), task.bounds, request);
    let isGood = false;
    try {
      const done = await this.run({ ...task, source: given.whole }, listeners);
      isGood = true;
      return done.kind === 'loaded' || done.kind === 'unchanged' ? { ...done, sourceVersion: version } : done;
    } finally {
      await given.end(isGood);
    }
  }

  /** Runs a task on another thread. `chunks` has the chunks of a stream. */
  run<T extends Task>(task: T, listeners: RunListeners, chunks?: ByteChunks): Promise<DoneOf<T>> {
    const onStuck = (end: Promise<void>): void => {
      this.#stuckSinceMs = Date.now();
      void end.then(() => {
        this.#stuckSinceMs = null;
      });
    };
    const options = { ...listeners, onStuck, chunks };
    if (task.task === 'patch') return this.#patches.run(task, options) as Promise<DoneOf<T>>;
    return spawnTask(task, options);
  }

  /** Ends the thread for patches, when another loader takes over. */
  endThread(): void {
    this.#patches.close();
  }

  followed(): FollowState | null {
    return this.#followed?.state ?? null;
  }

  watch(onChange: () => void): { close(): void; readonly ready?: Promise<unknown> | null } {
    const source = this.#source;
    if ('load' in source) return checkWatch(source.watch?.(onChange), this.name);
    const files = watchSource(source, onChange);
    const followed = this.#followed?.watch(onChange);
    return {
      ready: files.ready,
      close() {
        files.close();
        followed?.close();
      },
    };
  }
}

/** An event with another title. */
function warmUpRecords(image: SnapshotImage): object[] {
  const { events, bytes } = image.summary;
  if (events === 0 || bytes > WARM_UP_IMAGE_BYTES_MAX) return [];
  const row = new Snapshot(image).rows.rowOf(events >> 1);
  return [{ ...(JSON.parse(row.toString('utf8')) as object), title: 'warm-up' }];
}

const RULES_PREFIX = /^rules=[\w-]{22} /;

/**
 * Rules as the prefix of a version; empty without rules. The kind of identifiers is left out, because the
 * snapshot has it.
 */
function rulesPrefixOf({ identifiers: _, ...rules }: ReadRules): string {
  const given = Object.entries(rules).filter(([, rule]) => rule !== undefined);
  if (given.length === 0) return '';
  const digest = createHash('sha256').update(JSON.stringify(given)).digest().subarray(0, 16);
  return `rules=${digest.toString('base64url')} `;
}

/** Null for a version with other rules. */
function sourceVersionOf(version: string | null, prefix: string): string | null {
  const [found = ''] = RULES_PREFIX.exec(version ?? '') ?? [];
  return version === null || found !== prefix ? null : version.slice(prefix.length);
}

function refusedWith(bytes: number): LoadDone {
  const [least, left] = [LOAD_BASE_BYTES, bytes].map((each) => `${Math.floor(each / 2 ** 20)} MiB`);
  const detail = `a load takes at least ${least} of memory, but machine and container have only ${left} left`;
  return { kind: 'refused', refusal: { code: 'memory', detail } };
}

async function* chunksOf(chunks: readonly Uint8Array<ArrayBuffer>[]): ByteChunks {
  yield* chunks;
}

async function* standardInputChunks(signal: AbortSignal): ByteChunks {
  // Waiting for more records would keep the process alive.
  signal.addEventListener('abort', () => void process.stdin.destroy(), { once: true });
  // Copies each chunk, because it may be a part of a larger buffer, which cannot be transferred.
  for await (const chunk of process.stdin) yield Uint8Array.from(chunk as Uint8Array);
}

/**
 * Asks a source of the embedding program. A delta must be relative to the served version.
 *
 * @throws LecternError `source-malformed` for an invalid answer; the error of the source; the signal's reason
 */
async function askSource(
  source: RecordSource,
  { previous, served }: Omit<RecordLoadOptions, 'signal'>,
  signal: AbortSignal,
): Promise<RecordLoad> {
  const ask = async (version: string | null): Promise<RecordLoad> => {
    const loading = Promise.resolve(source.load({ previous: version, served, signal }));
    return checkRecordLoad(await abortable(loading, signal), source.name, version, served);
  };
  const given = await ask(previous);
  // The previous version was refused, so a delta from that version does not fit the served one.
  if (!('upserts' in given) || previous === null || previous === served) return given;
  const again = await ask(served);
  return 'notModified' in again ? { upserts: [], removals: [], version: served } : again;
}

/** Rejects as soon as the signal is aborted, because code of the embedding program may ignore the signal. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** @throws LecternError `source-malformed` if the watch cannot be ended */
function checkWatch(given: unknown, name: string): { close(): void } {
  if (given === undefined || given === null) return { close() {} };
  if (typeof (given as { readonly close?: unknown }).close === 'function') return given as { close(): void };
  // The rejection of a promise for a watch, for example, would end the process.
  if (given instanceof Promise) given.catch(() => {});
  const message = `watch() of ${name} must return an object with a close() function, or nothing`;
  throw new LecternError('source-malformed', message);
}

/** Checks the result of the embedding program's source: a malformed result must not pass for an empty timetable. */
function checkRecordLoad(
  given: RecordLoad,
  name: string,
  previous: string | null,
  served: string | null,
): RecordLoad {
  const fault = (problem: string): LecternError =>
    new LecternError('source-malformed', `load() of ${name} ${problem}`);
  if (typeof given !== 'object' || given === null) {
    const expected = '{ records, version }, { upserts, removals, version } or { notModified: true }';
    throw fault(`returned no object; expected ${expected}`);
  }
  if ('notModified' in given) {
    if (previous !== null) return given;
    throw fault('returned notModified although `previous` is null; expected records');
  }
  const { records, upserts, removals, version = null } = given as { readonly [name: string]: unknown };
  if (version !== null && typeof version !== 'string') {
    throw fault('returned a version that is not a string; expected a string or null');
  }
  if (upserts === undefined && removals === undefined) {
    if (!isRecords(records)) throw fault('returned no iterable records');
    return { records, version };
  }
  if (records !== undefined) throw fault('returned records and a delta; expected one of them');
  if (served === null) throw fault('returned a delta although `previous` is null; expected records');
  if (!isRecords(upserts)) throw fault('returned a delta without iterable upserts');
  const isList = typeof removals === 'object' && removals !== null && Symbol.iterator in removals;
  if (!isList) throw fault('returned a delta without iterable removals');
  return { upserts, removals: removals as RecordDelta['removals'], version };
}

/** A string is iterable, too, but its characters are not records. */
function isRecords(given: unknown): given is Records {
  if (typeof given !== 'object' || given === null) return false;
  return Symbol.iterator in given || Symbol.asyncIterator in given;
}

/** Credentials that may change stay on this thread. Loading threads ask for them before each request. */
class SourceCredentials {
  /** The source, with numbers instead of credentials. */
  readonly source: SourceSpec;
  readonly #credentials: Credentials[] = [];

  /** @throws LecternError `option-invalid` */
  constructor(source: SourceSpec) {
    const known = new Map<string, number>();
    this.source = mapParts(source, (part) => {
      if (part.kind !== 'http' || !mayChange(part)) return part;
      const { headers, clientCredentials, ...bare } = part;
      const key = credentialsKey(part);
      const number = known.get(key) ?? this.#credentials.push(new Credentials(part)) - 1;
      known.set(key, number);
      return { ...bare, credentials: number } satisfies HttpSpec & NumberedCredentials;
    });
  }

  /** The files or addresses that the credentials come from. */
  get files(): readonly KeptFile[] {
    return this.#credentials.flatMap(({ files }) => files);
  }

  /** @param signal aborts a slow request for a token */
  askUntil(signal: AbortSignal): AskSecretHeadersOf {
    return (number, refused) => {
      const credentials = this.#credentials[number];
      if (credentials === undefined) throw new Error(`there are no credentials ${number}`);
      return credentials.ask(refused, signal);
    };
  }
}

/** The state of a replica or of a publisher, for operators. */
export interface ChannelState {
  /** Sequence of the announcement that a replica serves, or that the leading publisher made or found; null for none. */
  readonly sequence: number | null;
  /** Whether this publisher leads; null for a replica. */
  readonly isLeader: boolean | null;
  /** Null for a publisher. */
  readonly replica: {
    /**
     * Milliseconds since the replica learned of an announcement that it does not serve; 0 if it serves the
     * right one.
     */
    readonly lagMs: number;
    /** Number of images that the replica refuses to serve. */
    readonly quarantined: number;
    /** Whether the replica serves a pinned image. */
    readonly isPinned: boolean;
    /** Format of the announced image if this version cannot read it; otherwise null. */
    readonly unreadableFormat: number | null;
  } | null;
}
