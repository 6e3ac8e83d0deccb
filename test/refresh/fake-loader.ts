/** A loader with answers that a test sets in advance. */

import { compare } from '../../src/change/compare.js';
import { extendHistory } from '../../src/change/history.js';
import type { Loader, LoadRequest } from '../../src/refresh/loader.js';
import type { Done, DoneOf, LoadDone, Task } from '../../src/refresh/thread/task-messages.js';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import type { IntakeBounds, Refusal } from '../../src/snapshot/intake-bounds.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';

/** The content of the source: data with a version, an abandoned load, or a failure. */
export type FakeSource =
  | { readonly image: SnapshotImage; readonly version: string | null; readonly isPatch?: true }
  | (Refusal & { readonly version?: string })
  | Error;

export class FakeLoader {
  readonly name = 'fake';
  readonly files: readonly string[] = [];
  readonly rules = { identifiers: 'uuid' } as const;
  source: FakeSource;
  /** The content of the snapshot file, or why it cannot be read. */
  stored: { readonly image: SnapshotImage; readonly sourceVersion: string | null } | Error | null = null;
  /** Images that were written. */
  readonly written: { readonly image: SnapshotImage; readonly sourceVersion: string | null }[] = [];
  writeFailure: Error | null = null;
  /** The version that each load asked about. */
  readonly asked: (string | null)[] = [];
  /** The bounds of each load. */
  readonly bounds: IntakeBounds[] = [];
  /** Whether each load was allowed to patch. */
  readonly mayPatch: boolean[] = [];
  onChange: (() => void) | null = null;
  /** While it is pending, loads do not end. */
  gate: Promise<void> = Promise.resolve();

  constructor(source: FakeSource) {
    this.source = source;
  }

  get asLoader(): Loader {
    return this as unknown as Loader;
  }

  async load({ previousVersion, served, mayPatch, past, bounds, listeners }: LoadRequest): Promise<LoadDone> {
    const { signal, onVersion } = listeners;
    this.asked.push(previousVersion);
    this.bounds.push(bounds);
    this.mayPatch.push(mayPatch);
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
    await Promise.race([this.gate, aborted]);
    const { source } = this;
    if (source instanceof Error) throw source;
    const { version = null } = source;
    if (version !== null && version === previousVersion) return { kind: 'not-modified' };
    if ('detail' in source) {
      if (version !== null) onVersion?.(version);
      return { kind: 'refused', refusal: source };
    }
    const { image } = source;
    if (served?.summary.id === image.summary.id && served.summary.rejected === image.summary.rejected) {
      return { kind: 'unchanged', sourceVersion: version };
    }
    const loaded = { kind: 'loaded', image, sourceVersion: version } as const;
    if (served === null) return { ...loaded, changes: [], history: null };
    const present = new Snapshot(image);
    const changes = [compare(new Snapshot(served), present, 100_000)];
    const history = extendHistory(past, changes, present);
    return { ...loaded, changes, history, ...(source.isPatch ? { isPatched: true } : {}) };
  }

  async run<T extends Task>(task: T): Promise<DoneOf<T>> {
    return (await this.#run(task)) as DoneOf<T>;
  }

  async #run(task: Task): Promise<Done> {
    if (task.task === 'read-image') {
      if (this.stored === null || this.stored instanceof Error)
        throw this.stored ?? new Error('no such file');
      const none = { sequence: null, source: null, beside: null, history: null };
      const place = { inode: 0, imageBytes: 0, bytes: 0, fileBytes: 0 };
      return { kind: 'stored', ...none, ...this.stored, place };
    }
    if (task.task !== 'write-image') throw new Error('loads come by load()');
    if (this.writeFailure !== null) throw this.writeFailure;
    const { image, sourceVersion } = task;
    this.written.push({ image, sourceVersion });
    return { kind: 'done' };
  }

  watch(onChange: () => void): { close(): void } {
    this.onChange = onChange;
    return {
      close: () => {
        this.onChange = null;
      },
    };
  }
}
