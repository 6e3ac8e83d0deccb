import { LecternError } from '../errors.js';
import type { IdentifierMode } from '../model/event.js';
import type { Delta } from '../snapshot/differences.js';
import type { SnapshotImage } from '../snapshot/image.js';
import type { ImageSource } from '../snapshot/image-file.js';
import type { IntakeBounds } from '../snapshot/intake-bounds.js';
import { filesOf, watchSource } from '../source/file-watch.js';
import { memorySource, type RecordLoad, type RecordSource, type Records } from '../source/records.js';
import type { LoadProgress, Source } from '../source/source.js';
import { type SourceSpec, sourceDigest, sourceOfSpec } from '../source/spec.js';
import { plainRecords, recordChunks } from '../thread/record-chunks.js';
import { type Feed, spawnTask } from '../thread/spawn-task.js';
import { runTaskHere } from '../thread/task.js';
import type { Failed, Task, TaskResult } from '../thread/task-messages.js';
import { abortable } from './abortable.js';
import { memoryForLoad } from './memory-room.js';
import { type TimeLimits, withTimeLimits } from './patience.js';
import { withPipes } from './pipes.js';

/** What can be loaded: a source as plain data, or one that the embedding program implements. */
export type AnySource = SourceSpec | RecordSource;

/** Where snapshots are built: on a thread of their own, or, for small sets and where there are no threads, right here. */
export type BuildPlace = 'thread' | 'here';

export interface LoadRequest {
  readonly previousVersion: string | null;
  readonly served: SnapshotImage | null;
  /** What led to what is served. */
  readonly deltas: readonly Delta[];
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: LoadProgress) => void;
  readonly keepsProcessAlive: boolean;
  /** For addresses that have none of their own; null for the defaults. */
  readonly timeLimits?: TimeLimits | null;
  /** How far it may go; no `memoryBytesMax` is a share of what there is when it begins. */
  readonly bounds: IntakeBounds;
}

type Done = Exclude<TaskResult, Failed>;

/** Loads one source into snapshot images. */
export class Loader {
  readonly name: string;
  /** Absolute paths of the files that are read. */
  readonly files: readonly string[];
  readonly #source: AnySource;
  /** What a snapshot file says of where its snapshot comes from. */
  readonly imageSource: ImageSource;
  readonly identifiers: IdentifierMode;
  readonly #place: BuildPlace;
  /** Since when a thread that was told to end has not; null where there is none. */
  #stuckSinceMs: number | null = null;
  /** Its one load: whoever asks again hears of a failure again. */
  #standardInput: Promise<void> | null = null;

  /** @throws LecternError `option-invalid` for a source that cannot be */
  constructor(source: AnySource, identifiers: IdentifierMode, place: BuildPlace) {
    this.#source = 'load' in source ? source : withPipes(source);
    this.identifiers = identifiers;
    this.#place = place;
    this.name = 'load' in source ? source.name : sourceOfSpec(source).name;
    this.files = 'load' in source ? [] : filesOf(source);
    this.imageSource = { name: this.name, digest: sourceDigest(source, this.name) };
  }

  /** @throws LecternErrors of the source; the signal's reason */
  async load(request: LoadRequest): Promise<Done> {
    const { previousVersion, served, deltas, signal } = request;
    const { name } = this;
    this.#throwIfStuck();
    const bounds = {
      ...request.bounds,
      memoryBytesMax: request.bounds.memoryBytesMax ?? memoryForLoad(),
    };
    const { identifiers } = this;
    const common = { task: 'load', identifiers, previousVersion, served, deltas, bounds } as const;
    if ('load' in this.#source) {
      const loading = Promise.resolve(this.#source.load({ previous: previousVersion, signal }));
      const given = checkRecordLoad(await abortable(loading, signal), name, previousVersion);
      if ('notModified' in given) return { kind: 'not-modified' };
      const source = { kind: 'stream', content: 'records', name, version: given.version } as const;
      return this.#place === 'thread'
        ? this.run({ ...common, source }, request, recordChunks(given.records))
        : this.run({ ...common, source }, request, null, memorySource(plainRecords(given.records), name));
    }
    if (isStandardInput(this.#source) && this.#place === 'thread') {
      // It can be read once, and then it is what it was; and only this thread has it.
      if (this.#standardInput !== null) {
        await this.#standardInput;
        return { kind: 'not-modified' };
      }
      const source = { kind: 'stream', content: 'bytes', name, version: null } as const;
      const loading = this.run({ ...common, source }, request, standardInputChunks(signal));
      this.#standardInput = loading.then(() => {});
      this.#standardInput.catch(() => {});
      return loading;
    }
    const { timeLimits = null } = request;
    const source = timeLimits === null ? this.#source : withTimeLimits(this.#source, timeLimits);
    return this.run({ ...common, source }, request, null);
  }

  /**
   * Does any task in the loader's place.
   *
   * @param feed what a thread is fed, where its source is a stream; `source` is that stream right here
   */
  run(
    task: Task,
    request: Pick<LoadRequest, 'signal' | 'onProgress' | 'keepsProcessAlive'>,
    feed: Feed | null = null,
    source: Source | null = null,
  ): Promise<Done> {
    const { signal, onProgress, keepsProcessAlive } = request;
    const progress = onProgress === undefined ? {} : { onProgress };
    if (this.#place === 'thread') {
      const onStuck = (end: Promise<void>): void => this.#setStuck(end);
      return spawnTask(task, {
        signal,
        keepsProcessAlive,
        onStuck,
        ...progress,
        ...(feed === null ? {} : { feed }),
      });
    }
    const done = runTaskHere(task, {
      signal,
      ...progress,
      openStream: ({ name }) => source ?? memorySource([], name),
    }) as Promise<Done>;
    return abortable(done, signal);
  }

  #setStuck(end: Promise<void>): void {
    this.#stuckSinceMs = Date.now();
    void end.then(() => {
      this.#stuckSinceMs = null;
    });
  }

  /** Each thread that waits for the system keeps one of a few that read files for the whole process. */
  #throwIfStuck(): void {
    if (this.#stuckSinceMs === null) return;
    const seconds = Math.round((Date.now() - this.#stuckSinceMs) / 1000);
    throw new LecternError(
      'source-unreadable',
      `cannot read ${this.name}: a load that was given up ${seconds} s ago still waits for the file system, which does not answer`,
    );
  }

  /** Calls back whenever there may be something new, until closed. Keeps no process alive. */
  watch(onChange: () => void): { close(): void } {
    if (!('load' in this.#source)) return watchSource(this.#source, onChange);
    return checkWatch(this.#source.watch?.(onChange), this.name);
  }
}

/** @throws LecternError `source-malformed` where a watch was begun that nobody can end */
function checkWatch(given: unknown, name: string): { close(): void } {
  if (given === undefined || given === null) return { close() {} };
  if (typeof (given as { readonly close?: unknown }).close === 'function') return given as { close(): void };
  // A promise of a watch, say, whose rejection would be nobody's.
  if (given instanceof Promise) given.catch(() => {});
  throw new LecternError(
    'source-malformed',
    `watch() of ${name} gave no object with a close(); expected one`,
  );
}

/**
 * What a source of the embedding program gave, once it is certain that it is what it should be: programs without types
 * give other things, and none of them may pass for an empty timetable.
 */
function checkRecordLoad(given: RecordLoad, name: string, previous: string | null): RecordLoad {
  const fault = (problem: string): LecternError =>
    new LecternError('source-malformed', `load() of ${name} ${problem}`);
  if (typeof given !== 'object' || given === null) {
    throw fault('gave no object; expected { records, version } or { notModified: true }');
  }
  if ('notModified' in given) {
    if (previous !== null) return given;
    throw fault('says that nothing changed, but was not asked whether anything did: `previous` is null');
  }
  const { records, version = null } = given as { readonly records?: unknown; readonly version?: unknown };
  if (typeof records !== 'object' || records === null || !isIterable(records)) {
    throw fault('gave no records that can be iterated');
  }
  if (version !== null && typeof version !== 'string') {
    throw fault('gave a version that is no text; expected a text or null');
  }
  return { records, version };
}

function isIterable(value: object): value is Records {
  return Symbol.iterator in value || Symbol.asyncIterator in value;
}

function isStandardInput(source: SourceSpec): boolean {
  return source.kind === 'file' && source.path === '-';
}

async function* standardInputChunks(signal: AbortSignal): Feed {
  // Waiting for more of it would keep the process alive.
  signal.addEventListener('abort', () => void process.stdin.destroy(), { once: true });
  // A copy each: what arrives may be a part of a larger buffer, which cannot be handed over.
  for await (const chunk of process.stdin) yield Uint8Array.from(chunk as Uint8Array);
}
