import { type FSWatcher, statSync, watch } from 'node:fs';
import { lstat, readlink, stat } from 'node:fs/promises';
import { dirname, join, parse, resolve, sep } from 'node:path';
import { FILE_LINKS_MAX, FILE_POLL_MS, FILE_SETTLE_MS } from '../limits.js';
import type { SourceSpec } from './spec.js';

export interface WatchOptions {
  /** How often each file is looked at, in milliseconds. Default FILE_POLL_MS. */
  readonly pollMs?: number;
  /** How long a change must have been the last one. Default FILE_SETTLE_MS. */
  readonly settleMs?: number;
  /** Whether to listen to the system's notices as well, so as not to wait for the next look. Default true. */
  readonly useNotices?: boolean;
}

export interface SourceWatch {
  /** Ends the watch. Nothing is called afterwards, and nothing is left open. */
  close(): void;
}

/**
 * Tells when the files that a source is made of change: by an atomic rename, a write in place, another target of a
 * symbolic link anywhere on the path, by vanishing and by coming back. It tells once a file has stayed as it is for a
 * while, so that one that is being written is not taken half-way. What was changed before this was called counts as
 * known: to miss nothing, watch first and load afterwards.
 *
 * Nothing here keeps the process alive. A source without files is never told of.
 *
 * @param onChange called without arguments, any number of times
 */
export function watchSource(spec: SourceSpec, onChange: () => void, options: WatchOptions = {}): SourceWatch {
  const watches = [...new Set(filesOf(spec))].map((path) => new FileWatch(path, onChange, options));
  return {
    close() {
      for (const each of watches) each.close();
    },
  };
}

/** Every file that a source is made of, with its absolute path; standard input is none. */
export function filesOf(spec: SourceSpec): string[] {
  const files = typeof spec.lecturerIds === 'string' ? [resolve(spec.lecturerIds)] : [];
  if (spec.kind === 'merged') return [...files, ...spec.specs.flatMap(filesOf)];
  return spec.kind === 'file' && spec.path !== '-' ? [...files, resolve(spec.path)] : files;
}

/** Between a notice and the look that it causes: one write makes many notices. */
const NOTICE_DELAY_MS = 20;

/**
 * One file. What stat says of it, looked at every now and then, is the truth. Notices (inotify and the like) only make
 * the next look come sooner: they are missing on network file systems, and follow an inode and not a path.
 */
class FileWatch {
  readonly #path: string;
  readonly #onChange: () => void;
  readonly #pollMs: number;
  readonly #settleMs: number;
  readonly #useNotices: boolean;
  /** What was told of last. */
  #known: string;
  /** What was found since, if it is different, and when it was first found. */
  #found: string | null = null;
  #foundMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #timerMs = 0;
  #looking = false;
  #lookAgain = false;
  #closed = false;
  /** By directory and its inode: a directory that was replaced is another. */
  #notices: ReadonlyMap<string, FSWatcher> = new Map();

  constructor(path: string, onChange: () => void, options: WatchOptions) {
    this.#path = path;
    this.#onChange = onChange;
    this.#pollMs = options.pollMs ?? FILE_POLL_MS;
    this.#settleMs = options.settleMs ?? FILE_SETTLE_MS;
    this.#useNotices = options.useNotices ?? true;
    // The one synchronous look: a change right after this call must not become what is known.
    this.#known = stateNow(path);
    void this.#listen();
    this.#lookIn(this.#pollMs);
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const notices of this.#notices.values()) notices.close();
    this.#notices = new Map();
  }

  /** Looks after `ms`, or earlier where that is due already. */
  #lookIn(ms: number): void {
    const dueMs = performance.now() + ms;
    if (this.#closed || (this.#timer !== null && this.#timerMs <= dueMs)) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timerMs = dueMs;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#look();
    }, ms).unref();
  }

  async #look(): Promise<void> {
    if (this.#looking) {
      this.#lookAgain = true;
      return;
    }
    this.#looking = true;
    const state = await stateOf(this.#path);
    this.#looking = false;
    if (this.#closed) return;
    const nowMs = performance.now();
    if (state === this.#known) {
      this.#found = null;
    } else if (state !== this.#found) {
      this.#found = state;
      this.#foundMs = nowMs;
    } else if (nowMs - this.#foundMs >= this.#settleMs) {
      this.#known = state;
      this.#found = null;
      // The links on the path may lead elsewhere now.
      void this.#listen();
      this.#onChange();
    }
    // A millisecond more than needed, as timers round down.
    this.#lookIn(
      this.#found === null ? this.#pollMs : Math.max(1, this.#foundMs + this.#settleMs - nowMs + 1),
    );
    if (this.#lookAgain) {
      this.#lookAgain = false;
      this.#lookIn(NOTICE_DELAY_MS);
    }
  }

  /** Listens to every directory where a change could give the path another meaning. */
  async #listen(): Promise<void> {
    if (!this.#useNotices) return;
    const directories = await directoriesOf(this.#path);
    if (this.#closed) return;
    const present = this.#notices;
    const next = new Map<string, FSWatcher>();
    for (const [key, directory] of directories) {
      const notices = present.get(key) ?? this.#open(directory);
      if (notices !== null) next.set(key, notices);
    }
    for (const [key, notices] of present) if (!next.has(key)) notices.close();
    this.#notices = next;
    // What happened before the notices began was not told of.
    this.#lookIn(NOTICE_DELAY_MS);
  }

  #open(directory: string): FSWatcher | null {
    try {
      // Not only notices of the file's own name: a link to it has another.
      const notices = watch(directory, { persistent: false }, () => this.#lookIn(NOTICE_DELAY_MS));
      return notices.on('error', () => notices.close());
    } catch {
      // Gone again, not readable, or the system has no more to give: looking every now and then must do.
      return null;
    }
  }
}

/** What there is at a path, in a form to compare. */
async function stateOf(path: string): Promise<string> {
  try {
    return describe(await stat(path, { bigint: true }));
  } catch (error) {
    return failureCode(error);
  }
}

function stateNow(path: string): string {
  try {
    return describe(statSync(path, { bigint: true }));
  } catch (error) {
    return failureCode(error);
  }
}

function describe(status: { dev: bigint; ino: bigint; size: bigint; mtimeNs: bigint }): string {
  return `${status.dev}-${status.ino}-${status.size}-${status.mtimeNs}`;
}

function failureCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

/**
 * The directory of the file, and that of each symbolic link on the way to it, the parents included. The swapped link may
 * be high up: a mounted Kubernetes ConfigMap is `events.ndjson → ..data/events.ndjson` with `..data → ..2024_09_02`.
 *
 * @returns directories by path, device and inode; as far as the path exists
 */
async function directoriesOf(path: string): Promise<Map<string, string>> {
  const directories = new Set<string>();
  const { root } = parse(path);
  let reached = root;
  let rest = path.slice(root.length).split(sep);
  let links = 0;
  try {
    while (rest.length > 0) {
      const [segment = '', ...behind] = rest;
      rest = behind;
      if (segment === '' || segment === '.') continue;
      const at = segment === '..' ? dirname(reached) : join(reached, segment);
      const isLast = rest.length === 0;
      if (isLast) directories.add(reached);
      if (segment !== '..' && (await lstat(at)).isSymbolicLink()) {
        if (++links > FILE_LINKS_MAX) break;
        directories.add(reached);
        const target = await readlink(at);
        const targetRoot = parse(target).root;
        if (targetRoot !== '') reached = targetRoot;
        rest = [...target.slice(targetRoot.length).split(sep), ...rest];
      } else {
        reached = at;
      }
    }
  } catch {
    // Where the path ends, whatever makes it go on will happen in the last directory that there is.
    directories.add(reached);
  }
  const found = new Map<string, string>();
  for (const directory of directories) {
    const status = await stat(directory, { bigint: true }).catch(() => null);
    if (status !== null) found.set(`${status.dev}-${status.ino}-${directory}`, directory);
  }
  return found;
}
