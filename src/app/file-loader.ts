import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { optionInvalid } from '../base/errors.js';
import type { KeptFile } from '../base/files/kept-files.js';
import { watchPath } from '../base/files/path-watch.js';
import type { ReadRules } from '../base/model/read-rules.js';
import type { FollowState } from '../base/model/source-state.js';
import { readTimetableFile, type TimetablePlan } from '../options/timetable-file.js';
import type { AnyLoader, LoadRequest, RunListeners } from '../refresh/loader.js';
import { Loader } from '../refresh/loader.js';
import type { ByteChunks, DoneOf, LoadDone, Task } from '../refresh/thread/task-messages.js';
import type { ImageSource } from '../snapshot/image-layout.js';

/** Takes up what a timetable file says besides its sources. Rejects if it cannot be used. */
export type TakePlan = (plan: TimetablePlan, loader: Loader) => Promise<void>;

interface Present {
  readonly plan: TimetablePlan;
  readonly loader: Loader;
}

/**
 * Loads from the sources of a timetable file. The file counts as a part of its sources: a change of it is a change of
 * the source, and a fault of it fails the load, so that the served timetable stays.
 */
export class FileLoader implements AnyLoader {
  readonly imageSource: ImageSource;
  readonly credentialFiles: readonly KeptFile[] = [];
  readonly #path: string;
  readonly #makeLoader: (plan: TimetablePlan) => Loader;
  #take: TakePlan = async () => {};
  #present: Present | null = null;
  /** Whether the sources are others than at the last load. */
  #isOther = false;
  #onChange: (() => void) | null = null;
  #watches: readonly { close(): void }[] = [];

  constructor(
    path: string,
    makeLoader = (plan: TimetablePlan): Loader => new Loader(plan.source, plan.rules),
  ) {
    this.#path = path;
    this.#makeLoader = makeLoader;
    const digest = createHash('sha256')
      .update(`timetable ${resolve(path)}`)
      .digest();
    this.imageSource = { name: path, digest: digest.subarray(0, 16).toString('base64url') };
  }

  get name(): string {
    return this.#path;
  }

  get files(): readonly string[] {
    return [resolve(this.#path), ...(this.#present?.loader.files ?? [])];
  }

  get rules(): ReadRules {
    return this.#present?.loader.rules ?? { identifiers: 'uuid' };
  }

  /** Reads the file for the first time. @param take is called now, and after each change */
  open(take: TakePlan): Promise<void> {
    this.#take = take;
    return this.#renew();
  }

  async load(request: LoadRequest): Promise<LoadDone> {
    await this.#renew();
    const { loader, plan } = this.#opened;
    // The parts of other sources are no parts of a single source.
    if (this.#isOther && !HAS_PARTS.has(plan.source.kind))
      request.listeners.onParts?.({ parts: [], skipped: 0 });
    this.#isOther = false;
    return loader.load(request);
  }

  run<T extends Task>(task: T, listeners: RunListeners, chunks?: ByteChunks): Promise<DoneOf<T>> {
    return this.#opened.loader.run(task, listeners, chunks);
  }

  followed(): FollowState | null {
    return this.#present?.loader.followed() ?? null;
  }

  dueMs(): number | null {
    const { source } = this.#opened.plan;
    const each = (source.kind === 'merged' ? source.specs : [source]).flatMap(
      ({ refreshSeconds = [] }) => refreshSeconds,
    );
    return each.length === 0 ? null : 1000 * Math.min(...each);
  }

  watch(onChange: () => void): { close(): void; readonly ready?: Promise<unknown> | null } {
    this.#onChange = onChange;
    const file = watchPath(this.#path, onChange);
    const ready = this.#watchSources(this.#opened.loader);
    return {
      ready,
      close: () => {
        file.close();
        for (const watch of this.#watches) watch.close();
      },
    };
  }

  get #opened(): Present {
    if (this.#present === null) throw new Error('the timetable file was not read');
    return this.#present;
  }

  #watchSources(loader: Loader): Promise<unknown> | null {
    if (this.#onChange === null) return null;
    for (const watch of this.#watches) watch.close();
    const watch = loader.watch(this.#onChange);
    this.#watches = [watch];
    return watch.ready ?? null;
  }

  /** Reads the file at each load, because the file is small, and a load may come before the watch sees a change. */
  async #renew(): Promise<void> {
    const plan = await readTimetableFile(this.#path);
    const before = this.#present;
    if (before !== null && isSame(before.plan, plan)) return;
    if (before !== null) checkFixed(this.#path, before.plan, plan);
    const loader = this.#makeLoader(plan);
    await this.#take(plan, loader);
    this.#present = { plan, loader };
    this.#isOther = before !== null;
    if (before === null) return;
    await this.#watchSources(loader);
    before.loader.endThread();
  }
}

const HAS_PARTS: ReadonlySet<string> = new Set(['merged', 'folder', 'glob']);

function isSame(a: TimetablePlan, b: TimetablePlan): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Requests and tokens are read by these rules from the start. */
function checkFixed(path: string, before: TimetablePlan, after: TimetablePlan): void {
  for (const name of ['identifiers', 'timeZone'] as const) {
    const [was, is] = [before.rules[name], after.rules[name]];
    if (was === is) continue;
    const problem = `${name} is now ${is ?? 'absent'}, and was ${was ?? 'absent'} at the start`;
    throw optionInvalid(`${path}: ${problem}; restart the service to take it up`);
  }
}
