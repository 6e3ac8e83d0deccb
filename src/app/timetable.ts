/**
 * Folder app/. The library: it opens, reads and serves a timetable, and answers the queries of a program. It knows
 * nothing of the command line.
 */
import type { IncomingMessage } from 'node:http';
import type { Answer, ReadResult } from '../answer/answer.js';
import type { EndpointName } from '../answer/endpoint-parameters.js';
import type { Explanation } from '../answer/explain.js';
import { checkText, invalidParameters, readQueryObject } from '../answer/object-form.js';
import {
  type LiveViews,
  Present,
  type PublicationState,
  type PublishedImage,
  publicationOf,
  type TimetableStatus,
} from '../answer/present.js';
import type { ParseOptions, View } from '../answer/view.js';
import { authenticatorOfPlan } from '../auth/authenticator.js';
import { canonicalIdentities, type IdentityValues } from '../auth/identity.js';
import { RemoteKeys } from '../auth/remote-keys.js';
import { LecternError, optionInvalid } from '../base/errors.js';
import { type FileGroup, type KeptFile, KeptFiles } from '../base/files/kept-files.js';
import { ANSWER_CACHE_SHARE, ROOMS_READ_EVERY_MS } from '../base/limits.js';
import type { TimetableEvent } from '../base/model/event.js';
import { DIRECTORIES, type DirectoryName, isDirectory } from '../base/model/fields.js';
import { FORMATS, type FormatName } from '../base/model/format.js';
import type { Room, RoomTable } from '../base/model/room.js';
import { LOADING, type SourceState } from '../base/model/source-state.js';
import { createHandler, type RequestHandler } from '../http/handler.js';
import type {
  EmbeddedHandlerOptions,
  Resolved,
  ServeOptions,
  TimetableOptions,
} from '../options/option-types.js';
import { resolveOptions } from '../options/resolve.js';
import { planTimetable, type TimetablePlan } from '../options/timetable-file.js';
import { Keeper, type LoadOutcome, type Publication } from '../refresh/keeper.js';
import type { AnyLoader, Loader } from '../refresh/loader.js';
import type { RefreshOptions } from '../refresh/refresher.js';
import { spawnTask } from '../refresh/thread/task-thread.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import { checkPostgresSpec, type PostgresSpec, postgresName } from '../source/postgres/postgres-address.js';
import { type RoomsSpec, readRooms, roomsOf } from '../source/rooms-file.js';
import { ChangeLoops, type ChangesOptions, type TimetableChange } from './change-loop.js';
import { FileLoader } from './file-loader.js';
import { keepingOf, loaderOf } from './keeping.js';
import { liveAccess, logFiles, planAuth, planFeeds, type Reading } from './live-access.js';
import { OpenServers, type TimetableServer } from './open-servers.js';
import type {
  BytesQuery,
  ChangeSet,
  ConflictPage,
  ConflictQuery,
  DirectoryPage,
  DirectoryQuery,
  EventPage,
  FreePage,
  FreeTimeQuery,
  ListPage,
  PageQuery,
  ScheduleQuery,
} from './query-types.js';
import {
  Activity,
  checkEventName,
  Listeners,
  type TimetableEvents,
  type TimetableListener,
} from './timetable-events.js';
import type { Timetable } from './timetable-interface.js';

/**
 * Opens a timetable and returns at once. `ready` resolves when the timetable can be read.
 *
 * @throws LecternError `option-invalid`
 *
 * @example
 * const timetable = openTimetable({ source: 'events.ndjson' });
 * await timetable.ready;
 * const { events } = timetable.find({ studyGroup: 'CSCI-1100-01' });
 */
export function openTimetable(options: TimetableOptions): Timetable {
  return new KeptTimetable(resolveOptions('openTimetable', options));
}

/** The part of a Publisher that a timetable sees. */
interface Announcing {
  readonly isFailing: boolean;
  publish(publication: Publication): void;
}

const ROOMS_NOT_ANNOUNCED = 'rooms are not announced: give them to the replicas with --rooms';

/** Exported for publishers, and for tests, which give a loader that starts no threads. */
export class KeptTimetable implements Timetable {
  readonly ready: Promise<SnapshotSummary>;
  readonly activity: Activity = new Activity();
  #reading: Reading;
  readonly #cacheBytesMax: number;
  readonly #keeper: Keeper;
  readonly #present: Present;
  readonly #servers: OpenServers;
  readonly #loops: ChangeLoops;
  #rooms: KeptRooms;
  /** The files of rooms and credentials. */
  #kept: FileGroup;
  /** Resolves when the timetable file was read. */
  readonly #opened: Promise<void>;
  readonly #files: KeptFiles;
  readonly #publisher: Announcing | null;
  readonly #handlers: { close(): void }[] = [];
  readonly #listeners = new Listeners<TimetableEvents>();
  readonly #loader: AnyLoader;
  #closed = false;

  /** @param more the publisher that announces the publications, but no rooms; and the files that it reads besides */
  constructor(
    options: Resolved<'openTimetable'>,
    loader: AnyLoader = loaderOf(options),
    more: { readonly files?: KeptFiles; readonly publisher?: Announcing } = {},
  ) {
    const { pin, onProgress, unknownParameters, identifiers, staleSecondsMax } = options;
    const plan = typeof options.timetable === 'object' ? planTimetable(options.timetable) : null;
    this.#reading = { unknownParameters, ...(plan?.rules ?? { identifiers, timeZone: options.timeZone }) };
    this.#cacheBytesMax = options.cacheMb * 2 ** 20;
    // A pinned snapshot never becomes stale.
    const canBeStale = pin === undefined && staleSecondsMax !== undefined;
    const staleMsMax = canBeStale ? staleSecondsMax * 1000 : Number.POSITIVE_INFINITY;
    const limits = { staleMsMax, cacheBytesMax: this.#cacheBytesMax };
    this.#loader = loader;
    this.#files = more.files ?? new KeptFiles();
    this.#publisher = more.publisher ?? null;
    this.#rooms = this.#roomsOf(plan === null ? options.rooms : plan.rooms, options);
    this.#kept = this.#keep([...this.#rooms.files, ...loader.credentialFiles]);
    const name = pin ?? loader.name;
    this.#present = new Present(
      { name, ...LOADING },
      { ...limits, cacheBytesMax: limits.cacheBytesMax * (1 - ANSWER_CACHE_SHARE) },
    );
    this.#loops = new ChangeLoops(this.#present);
    this.#servers = new OpenServers({
      present: this.#present,
      timetable: this,
      limits,
      reading: () => this.#reading,
      files: this.#files,
      channel: () => loader.channel?.() ?? null,
      onLost: (error) => this.#listeners.tell('error', error),
    });
    this.#keeper = new Keeper({
      ...keepingOf(options),
      loader,
      ...(onProgress === undefined
        ? {}
        : { onProgress: (progress) => this.#listeners.heed('onProgress', onProgress(progress)) }),
      events: {
        publish: (publication) => this.#publish(publication),
        renumbered: (sequence) => {
          if (sequence !== this.#present.published?.sequence) this.#showAgain({ sequence });
        },
        refused: (refusal, summary) => {
          this.activity.refusals[refusal.code]++;
          this.#listeners.tell('refused', { refusal, summary });
        },
        ended: (result, durationMs) => {
          this.activity.loads[result]++;
          this.#listeners.tell('loaded', { result, durationMs });
        },
        partChanged: (part) => this.#listeners.tell('part', part),
        failed: (error) => this.#listeners.tell('error', error),
        changed: (state) => this.#become({ name, ...state }),
      },
    });
    // The files are read first, so that every answer has the rooms.
    const start = (): Promise<void> => this.#keeper.start();
    const isOfFile = loader instanceof FileLoader;
    this.#opened = isOfFile
      ? loader.open((next, inner) => this.#take(next, inner, options))
      : Promise.resolve();
    this.ready = (isOfFile ? this.#opened.then(start) : this.#kept.openBefore(start)).then(async () => {
      const { summary } = this.#present;
      if (summary === null) throw this.#unreadable();
      await this.#servers.settled();
      return summary;
    });
    // The error also appears in `status`, in 'error' and in reads.
    this.ready.catch(() => {});
  }

  get view(): View | null {
    return this.#present.view;
  }

  get summary(): SnapshotSummary | null {
    return this.#present.summary;
  }

  get publication(): PublicationState | null {
    return this.#present.publication;
  }

  get status(): TimetableStatus {
    const { status } = this.#present;
    return status === 'ok' && this.#publisher?.isFailing ? 'degraded' : status;
  }

  get source(): SourceState {
    return this.#present.source;
  }

  find(query?: ScheduleQuery): EventPage {
    const answer = this.#answer('schedule', 'find', query);
    return { events: parse(answer), ...pageOf(answer) };
  }

  findBytes(query?: BytesQuery, format: FormatName = 'json'): Uint8Array {
    checkFormat(format);
    return bytesOf(this.#answer('schedule', 'findBytes', query, format));
  }

  get(id: string): TimetableEvent | null {
    const bytes = this.#open().eventOf(checkText('id', 'get', 'the id of an event', id));
    return bytes === null ? null : (JSON.parse(Buffer.from(bytes).toString('utf8')) as TimetableEvent);
  }

  all(query?: PageQuery): EventPage {
    const answer = this.#answer('all', 'all', query);
    return { events: parse(answer), ...pageOf(answer) };
  }

  conflicts(query?: ConflictQuery): ConflictPage {
    const answer = this.#answer('conflicts', 'conflicts', query);
    return { conflicts: parse(answer), ...pageOf(answer) };
  }

  free(query: FreeTimeQuery): FreePage {
    const answer = this.#answer('free', 'free', query);
    return { free: parse(answer), ...pageOf(answer) };
  }

  directory(name: DirectoryName, query?: DirectoryQuery): DirectoryPage {
    const answer = this.#answer(directoryName(name), 'directory', query);
    return { entries: parse(answer), ...pageOf(answer) };
  }

  types(): string[] {
    return parse(this.#answer('types', 'types', undefined));
  }

  changes(since: string): ChangeSet | null;
  changes(options?: ChangesOptions): AsyncIterable<TimetableChange>;
  changes(...args: [given?: string | ChangesOptions]): ChangeSet | null | AsyncIterable<TimetableChange> {
    if (this.#closed) throw this.#unreadable();
    // An id that is undefined by mistake must not start a loop.
    const given = args.length === 0 ? {} : args[0];
    const isLoop = typeof given === 'object' && given !== null && !Array.isArray(given);
    return isLoop ? this.#loops.over(given) : changesSince(this.#open(), given as string, this.#reading);
  }

  explain(query?: ScheduleQuery | DirectoryQuery | FreeTimeQuery, of?: DirectoryName | 'free'): Explanation {
    const view = this.#open();
    const endpoint = of === undefined ? 'schedule' : of === 'free' ? of : directoryName(of);
    const { pairs, faults } = readQueryObject(endpoint, 'explain', query);
    const result = view.explain(pairs, this.#reading, endpoint);
    if ('faults' in result) throw invalidParameters([...faults, ...result.faults]);
    if (faults.length > 0) throw invalidParameters(faults);
    return result;
  }

  async refresh({ force = false }: RefreshOptions = {}): Promise<LoadOutcome> {
    const [outcome] = await Promise.all([this.#keeper.refresh(force), this.#files.reload()]);
    await this.#servers.settled();
    return outcome;
  }

  async reload(): Promise<void> {
    if (this.#closed) throw this.#unreadable();
    await this.#files.reload();
  }

  on<Name extends keyof TimetableEvents>(name: Name, listener: TimetableListener<Name>): this {
    checkEventName(name);
    this.#listeners.add(name, listener);
    return this;
  }

  off<Name extends keyof TimetableEvents>(name: Name, listener: TimetableListener<Name>): this {
    this.#listeners.remove(name, listener);
    return this;
  }

  handler<Request extends IncomingMessage>(
    options: EmbeddedHandlerOptions<Request> = {},
  ): RequestHandler<Request> {
    const cacheBytesMax = this.#cacheBytesMax * ANSWER_CACHE_SHARE;
    const make = (): EmbeddedHandler<Request> =>
      createEmbeddedHandler(this.#present, options, this.#reading, cacheBytesMax, this.#files);
    let embedded = make();
    this.#handlers.push({ close: () => embedded.close() });
    if (!(this.#loader instanceof FileLoader)) return embedded.handler;
    // The file says how identifiers are read. Until it is read, there are no answers but 503 and 401.
    const again = (): void => {
      if (this.#closed) return;
      embedded.close();
      embedded = make();
    };
    this.#opened.then(again, () => {});
    return (req, res) => embedded.handler(req, res);
  }

  async serve(options: ServeOptions): Promise<TimetableServer> {
    if (this.#closed) throw this.#unreadable();
    await this.#opened;
    if (this.#closed) throw this.#unreadable();
    const server = await this.#servers.open(options);
    this.#loader.listens?.(server.address.port);
    return server;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#files.close();
    this.#loops.end();
    for (const handler of this.#handlers) handler.close();
    const kept = this.#keeper.close();
    const served = this.#servers.close(kept);
    try {
      await kept;
    } finally {
      await served;
      this.#present.clear();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #roomsOf(rooms: GivenRooms, options: RoomsOptions): KeptRooms {
    const isShown = this.#publisher === null;
    if (!isShown && rooms !== undefined) this.#listeners.tell('warning', ROOMS_NOT_ANNOUNCED);
    const kept: KeptRooms = new KeptRooms(isShown ? rooms : undefined, options, () => {
      if (this.#rooms === kept) this.#showAgain({ rooms: kept.table });
    });
    return kept;
  }

  #keep(files: readonly KeptFile[]): FileGroup {
    return this.#files.keep(files, ({ error }) => {
      if (error !== null) this.#listeners.tell('error', error);
    });
  }

  /** Takes up what a timetable file says besides its sources. What cannot be used leaves everything as it is. */
  async #take(
    { rules, rooms, warnings }: TimetablePlan,
    loader: Loader,
    options: RoomsOptions,
  ): Promise<void> {
    for (const warning of warnings) this.#listeners.tell('warning', warning);
    const kept = this.#roomsOf(rooms, { ...options, ...rules });
    const files = this.#keep([...kept.files, ...loader.credentialFiles]);
    await files.open();
    this.#kept.close();
    this.#kept = files;
    this.#rooms = kept;
    if (this.#present.published === null) this.#reading = { ...this.#reading, ...rules };
    else if (kept.table?.digest !== this.#present.published.rooms?.digest)
      this.#showAgain({ rooms: kept.table });
  }

  #answer(
    endpoint: Exclude<EndpointName, 'personal' | 'changes' | 'events'>,
    method: string,
    query: unknown,
    format?: FormatName,
  ): Answer {
    const view = this.#open();
    const { pairs, faults } = readQueryObject(endpoint, method, query);
    const result = isDirectory(endpoint)
      ? view.directory(endpoint, pairs, this.#reading)
      : view[endpoint](pairs, this.#reading);
    if (faults.length > 0) throw invalidParameters([...faults, ...('faults' in result ? result.faults : [])]);
    return answerOf(result, format);
  }

  #open(): View {
    const { view } = this;
    if (view === null || this.#closed) throw this.#unreadable();
    return view;
  }

  #unreadable(): LecternError {
    return unreadable(this.#closed, this.#present.summary !== null, this.#keeper.state.lastError);
  }

  #publish(publication: Publication): void {
    const { image, origin, sequence, changes, history } = publication;
    const differences = history?.differences ?? null;
    const state = publicationOf(origin, image.summary);
    const rooms = this.#rooms.table;
    const hasSharedSequence = this.#loader.channel !== undefined;
    this.#show({ image, differences, state, sequence, hasSharedSequence, changes, rooms });
    this.#listeners.tell('published', { summary: image.summary, origin, changes: this.#present.changes });
    this.#publisher?.publish(publication);
  }

  /** Publishes the present snapshot with new rooms, or with a greater sequence. */
  #showAgain(changed: Partial<Pick<PublishedImage, 'rooms' | 'sequence'>>): void {
    const { published } = this.#present;
    if (published !== null && !this.#closed) this.#show({ ...published, ...changed });
  }

  #show(published: PublishedImage): void {
    this.#present.publish(published);
    this.#servers.publish(published);
  }

  #become(source: SourceState): void {
    this.#present.become(source);
    this.#servers.become(source);
  }
}

interface EmbeddedHandler<Request extends IncomingMessage = never> {
  readonly handler: RequestHandler<Request>;
  close(): void;
}

/**
 * A handler for an existing server. The handler reads its files at once; `close` stops fetching its keys and
 * watching its files.
 */
function createEmbeddedHandler<Request extends IncomingMessage>(
  views: LiveViews,
  options: EmbeddedHandlerOptions<Request>,
  reading: Reading,
  cacheBytesMax: number,
  files: KeptFiles,
): EmbeddedHandler<Request> {
  const resolved = resolveOptions('handler', options);
  const { auth: givenAuth, feed: givenFeed, identify = () => null, ...settings } = resolved;
  const { log } = settings;
  const { identifiers } = reading;
  const auth = resolveOptions('auth', givenAuth ?? {});
  const feed = givenFeed && resolveOptions('feed', givenFeed);
  const feeds = planFeeds('handler', feed, settings);
  const plan = givenAuth === undefined ? null : planAuth('handler', auth, identifiers, true);
  const { access, files: accessFiles } = liveAccess({ auth, feed, identifiers }, log);
  const kept = files.keep(accessFiles, logFiles(log));
  kept.openNow();
  const keys = plan === null || plan.remoteKeys === null ? null : new RemoteKeys(plan.remoteKeys, { log });
  let endStreams = (): void => {};
  const close = (): void => {
    kept.close();
    keys?.close();
    endStreams();
  };
  try {
    const handler = createHandler(views, {
      ...settings,
      ...reading,
      cacheBytesMax,
      feeds: feeds === null ? undefined : { ...feeds, access, identifiers },
      ...(plan === null
        ? { identify: (req) => canonicalIdentities(checkIdentity(identify(req as Request)), identifiers) }
        : { authenticator: authenticatorOfPlan(plan, keys, access) }),
    });
    endStreams = handler.endStreams;
    return { handler, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Undefined counts as null. Promises are refused, because they would count as users without events. */
function checkIdentity(given: unknown): IdentityValues | null {
  if (given === undefined || given === null) return null;
  if (typeof given === 'object' && !Array.isArray(given) && !('then' in given)) return given;
  if (given instanceof Promise) given.catch(() => {});
  throw optionInvalid(
    "identify() must return at once, with values by field such as { studyGroup: ['CS-1'] }, or null; do slow work before the handler",
  );
}

type RoomsOptions = Pick<Resolved<'openTimetable'>, 'identifiers' | 'watch'>;

type GivenRooms = string | PostgresSpec | RoomsSpec | readonly Room[] | undefined;

/**
 * The rooms given by the operator: directly, in a file that is read again when it changes, or in a database that is read
 * again every ROOMS_READ_EVERY_MS.
 */
class KeptRooms {
  table: RoomTable | null = null;
  readonly files: readonly KeptFile[];

  /**
   * @param onChange called when the rooms in the file have changed
   * @throws LecternError `option-invalid` for bad rooms that do not come from a file or database
   */
  constructor(rooms: GivenRooms, { identifiers, watch }: RoomsOptions, onChange: () => void) {
    if (rooms === undefined || Array.isArray(rooms)) {
      this.files = [];
      if (rooms !== undefined) this.table = roomsOf(rooms, identifiers);
      return;
    }
    const given = rooms as Exclude<typeof rooms, readonly Room[]>;
    const { source, rules } =
      typeof given === 'object' && 'rules' in given ? given : { source: given, rules: { identifiers } };
    const readNow = async (signal: AbortSignal): Promise<RoomTable> =>
      typeof source === 'string'
        ? readRooms(source, rules, signal)
        : (await spawnTask({ task: 'read-rooms', source, rules }, { signal })).rooms;
    const read: KeptFile['read'] = async (signal) => {
      const table = await readNow(signal);
      const before = this.table;
      if (table.digest === before?.digest) return null;
      return () => {
        this.table = table;
        if (before !== null) onChange();
      };
    };
    const place =
      typeof source === 'string'
        ? { path: source, isWatched: watch }
        : {
            path: postgresName(checkPostgresSpec(source), source),
            isWatched: false,
            everyMs: watch ? ROOMS_READ_EVERY_MS : undefined,
          };
    this.files = [{ kind: 'rooms', ...place, read }];
  }
}

/** Null for an unknown or forgotten snapshot. Throws `parameters-invalid` for an id that is not a text. */
function changesSince(view: View, since: unknown, reading: ParseOptions): ChangeSet | null {
  const id = checkText('since', 'changes', 'the id of a snapshot', since);
  const result = view.changes([['since', id]], reading);
  if ('gone' in result) return null;
  // Malformed ids count as unknown.
  if ('faults' in result && result.faults.every(({ code }) => code === 'malformed-snapshot')) return null;
  return parse(answerOf(result));
}

function answerOf(result: ReadResult, format: FormatName = 'json'): Answer {
  if ('faults' in result) throw invalidParameters(result.faults);
  if ('gone' in result) throw new LecternError('not-ready', result.gone);
  if ('missing' in result) throw new Error(result.missing);
  return result.read.execute(format);
}

/** @throws LecternError `parameters-invalid` for a format that does not exist */
function checkFormat(format: FormatName): void {
  if (FORMATS.some(({ name }) => name === format)) return;
  const names = FORMATS.map(({ name }) => name).join(', ');
  const detail = `format must be one of ${names}, not ${JSON.stringify(format) ?? String(format)}`;
  throw invalidParameters([{ parameter: 'format', code: 'unknown-value', detail }]);
}

function pageOf({ total, nextCursor }: Answer): ListPage {
  return { total, nextCursor };
}

function bytesOf(answer: Answer): Uint8Array {
  const chunks = [...answer.body.makeChunks()];
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

function parse<T>(answer: Answer): T {
  // A Buffer can decode shared memory; a TextDecoder cannot.
  const bytes = bytesOf(answer);
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')) as T;
}

/** @throws LecternError `option-invalid` */
function directoryName(given: unknown): DirectoryName {
  if (isDirectory(given)) return given;
  const names = DIRECTORIES.map(({ name }) => name).join(', ');
  throw optionInvalid(`a directory is one of ${names}`);
}

/** Why a timetable cannot be read now. */
function unreadable(isClosed: boolean, hasSnapshot: boolean, lastError: string | null): LecternError {
  if (isClosed) return new LecternError('closed', 'the timetable is closed');
  if (hasSnapshot) {
    const reason = lastError ?? 'it was not loaded again';
    return new LecternError('stale', `the snapshot is older than staleSecondsMax: ${reason}`);
  }
  return new LecternError(
    'not-ready',
    lastError === null
      ? 'the timetable is still loading: await its `ready` first'
      : `the timetable could not be loaded: ${lastError}`,
  );
}
