/**
 * Folder timetable/. The library, which opens, reads and serves a timetable, and knows nothing of the command
 * line.
 */
import type { IncomingMessage } from 'node:http';
import type { LecternError } from '../errors.js';
import { KeptFiles } from '../files/kept-files.js';
import type { RequestHandler } from '../http/handler.js';
import { ANSWER_CACHE_SHARE } from '../limits.js';
import type { DirectoryEntry, TimetableEvent } from '../model/event.js';
import { type DirectoryName, isDirectory } from '../model/fields.js';
import type { FormatName } from '../model/format.js';
import { LOADING, type SourceState } from '../model/source-state.js';
import type {
  EmbeddedHandlerOptions,
  Resolved,
  ServeOptions,
  TimetableOptions,
} from '../options/option-types.js';
import { resolveOptions } from '../options/resolve.js';
import type { EndpointName } from '../query/endpoint-parameters.js';
import type { Explanation } from '../query/explain.js';
import { checkText, invalidParameters, readQueryObject } from '../query/object-form.js';
import { Keeper, type LoadOutcome, type Publication } from '../refresh/keeper.js';
import { Listeners } from '../refresh/listeners.js';
import type { AnyLoader } from '../refresh/loader.js';
import type { RefreshOptions } from '../refresh/refresher.js';
import { NO_DIFFERENCES } from '../snapshot/differences.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import type { Answer } from '../view/answer.js';
import { Present, type PublishedImage, publicationOf } from '../view/present.js';
import type { View } from '../view/view.js';
import type { PublicationState, TimetableStatus } from '../view/view-source.js';
import { ChangeLoops, type ChangesOptions, type TimetableChange } from './change-loop.js';
import { createEmbeddedHandler } from './embedded-handler.js';
import { keepingOf, loaderOf } from './keeping.js';
import { KeptRooms } from './kept-rooms.js';
import { OpenServers, type TimetableServer } from './open-servers.js';
import type { Reading } from './plan-auth.js';
import {
  answerOf,
  bytesOf,
  changesSince,
  checkFormat,
  directoryName,
  eventPage,
  parse,
  unreadable,
} from './queries.js';
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
  PageQuery,
  ScheduleQuery,
} from './query-types.js';
import { checkEventName, type TimetableEvents, type TimetableListener } from './timetable-events.js';
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

class KeptTimetable implements Timetable {
  readonly ready: Promise<SnapshotSummary>;
  readonly #reading: Reading;
  readonly #cacheBytesMax: number;
  readonly #keeper: Keeper;
  readonly #present: Present;
  readonly #servers: OpenServers;
  readonly #loops: ChangeLoops;
  readonly #rooms: KeptRooms;
  readonly #files = new KeptFiles();
  readonly #handlers: { close(): void }[] = [];
  readonly #listeners = new Listeners<TimetableEvents>();
  readonly #loader: AnyLoader;
  #closed = false;

  constructor(options: Resolved<'openTimetable'>) {
    const { pin, onProgress, unknownParameters, identifiers, staleSecondsMax } = options;
    this.#reading = { unknownParameters, identifiers, timeZone: options.timeZone };
    this.#cacheBytesMax = options.cacheMb * 2 ** 20;
    // A pinned snapshot never becomes stale.
    const canBeStale = pin === undefined && staleSecondsMax !== undefined;
    const staleMsMax = canBeStale ? staleSecondsMax * 1000 : Number.POSITIVE_INFINITY;
    const limits = { staleMsMax, cacheBytesMax: this.#cacheBytesMax };
    this.#rooms = new KeptRooms(options, () => this.#showAgain({ rooms: this.#rooms.table }));
    const loader = loaderOf(options);
    this.#loader = loader;
    const kept = this.#files.keep([...this.#rooms.files, ...loader.credentialFiles], ({ error }) => {
      if (error !== null) this.#listeners.tell('error', error);
    });
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
      reading: this.#reading,
      files: this.#files,
      feed: () => loader.feed?.() ?? null,
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
        refused: (refusal, summary) => this.#listeners.tell('refused', { refusal, summary }),
        ended: (result, durationMs) => this.#listeners.tell('loaded', { result, durationMs }),
        partChanged: (part) => this.#listeners.tell('part', part),
        failed: (error) => this.#listeners.tell('error', error),
        changed: (state) => this.#become({ name, ...state }),
      },
    });
    // The files are read first, so that every answer has the rooms.
    this.ready = kept
      .openBefore(() => this.#keeper.start())
      .then(async () => {
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
    return this.#present.status;
  }

  get source(): SourceState {
    return this.#present.source;
  }

  find(query?: ScheduleQuery): EventPage {
    return eventPage(this.#answer('schedule', 'find', query));
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
    return eventPage(this.#answer('all', 'all', query));
  }

  conflicts(query?: ConflictQuery): ConflictPage {
    const answer = this.#answer('conflicts', 'conflicts', query);
    return { conflicts: parse(answer), total: answer.total, nextCursor: answer.nextCursor };
  }

  free(query: FreeTimeQuery): FreePage {
    const answer = this.#answer('free', 'free', query);
    return { free: parse(answer), total: answer.total, nextCursor: answer.nextCursor };
  }

  directory(name: DirectoryName, query?: DirectoryQuery): DirectoryPage {
    const answer = this.#answer(directoryName(name), 'directory', query);
    return { entries: parse<DirectoryEntry[]>(answer), total: answer.total, nextCursor: answer.nextCursor };
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
    const embedded = createEmbeddedHandler(this.#present, options, this.#reading, cacheBytesMax, this.#files);
    this.#handlers.push(embedded);
    return embedded.handler;
  }

  async serve(options: ServeOptions): Promise<TimetableServer> {
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

  #publish({ image, origin, sequence, delta, history, patch }: Publication): void {
    const differences = history?.differences ?? NO_DIFFERENCES;
    const state = publicationOf(origin, image.summary);
    const changes =
      delta === null ? null : { added: delta.added, changed: delta.changed, removed: delta.removed };
    const rooms = this.#rooms.table;
    const hasSharedSequence = this.#loader.feed !== undefined;
    this.#show({ image, differences, state, sequence, hasSharedSequence, changes, rooms, patch });
    this.#listeners.tell('published', { summary: image.summary, origin, changes });
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
