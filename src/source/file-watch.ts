import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { FILE_POLL_MS, FILE_SETTLE_MS } from '../limits.js';
import { type FolderSpec, findFiles, type GlobSpec } from './found-files.js';
import type { RecordWatch } from './records.js';
import type { SourceSpec } from './spec.js';

/** The pause after a check of many files is at least this many times as long as the check. */
const LOOK_PAUSE_FACTOR = 20;
const FIRST_LOOK_MS_MAX = 1000;

export interface WatchOptions {
  readonly pollMs?: number;
  /** How long a file must stay unchanged before the call. Default FILE_SETTLE_MS. */
  readonly settleMs?: number;
}

/** A watch, and the end of its first check, if that takes time. Earlier changes count as known. */
export interface SourceWatch extends RecordWatch {
  readonly ready: Promise<unknown> | null;
}

/**
 * Calls back when a file of the source has changed and settled, or one was added or removed. Earlier changes count as known, so
 * watch before loading. A watch does not keep the process alive.
 */
export function watchSource(spec: SourceSpec, onChange: () => void, options: WatchOptions = {}): SourceWatch {
  const files = [...new Set(filesOf(spec))].map(
    (path) => new Watch(() => lookAtFile(path), stateNow(path), onChange, options),
  );
  const found = foundBy(spec).map((each) => new Watch(() => lookAtFound(each), null, onChange, options));
  const looked = Promise.all(found.map(({ ready }) => ready));
  return {
    // A network file system may not answer. The load reports this.
    ready: found.length === 0 ? null : Promise.race([looked, delay(FIRST_LOOK_MS_MAX)]),
    close() {
      for (const each of [...files, ...found]) each.close();
    },
  };
}

/** Absolute paths of the source's named files, without standard input. */
export function filesOf(spec: SourceSpec): string[] {
  const files = typeof spec.lecturerIds === 'string' ? [resolve(spec.lecturerIds)] : [];
  if (spec.kind === 'merged') return [...files, ...spec.specs.flatMap(filesOf)];
  return spec.kind === 'file' && spec.path !== '-' ? [...files, resolve(spec.path)] : files;
}

function foundBy(spec: SourceSpec): (FolderSpec | GlobSpec)[] {
  if (spec.kind === 'merged') return spec.specs.flatMap(foundBy);
  return spec.kind === 'folder' || spec.kind === 'glob' ? [spec] : [];
}

/** Polls, because notices of the system follow inodes instead of paths, and network file systems send none. */
class Watch {
  readonly ready: Promise<unknown>;
  readonly #look: () => Promise<string>;
  readonly #onChange: () => void;
  readonly #pollMs: number;
  readonly #settleMs: number;
  #known: string | null;
  #found: string | null;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  /** @param state the present state; null to read it first */
  constructor(
    look: () => Promise<string>,
    state: string | null,
    onChange: () => void,
    { pollMs = FILE_POLL_MS, settleMs = FILE_SETTLE_MS }: WatchOptions,
  ) {
    this.#look = look;
    this.#known = state;
    this.#found = state;
    this.#onChange = onChange;
    this.#pollMs = pollMs;
    this.#settleMs = settleMs;
    this.ready = state === null ? this.#lookAgain() : Promise.resolve();
    if (state !== null) this.#lookIn(pollMs);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #lookAgain(): Promise<void> {
    const beganMs = performance.now();
    const state = await this.#look();
    if (this.#isClosed) return;
    const isSettled = state === this.#found && state !== this.#known && this.#known !== null;
    if (isSettled || this.#known === null) this.#known = state;
    this.#found = state;
    const tookMs = performance.now() - beganMs;
    const pauseMs = state === this.#known ? this.#pollMs : this.#settleMs;
    this.#lookIn(Math.max(pauseMs, LOOK_PAUSE_FACTOR * tookMs));
    if (isSettled) this.#onChange();
  }

  #lookIn(ms: number): void {
    this.#timer = setTimeout(() => void this.#lookAgain(), ms).unref();
  }
}

function lookAtFile(path: string): Promise<string> {
  return stat(path, { bigint: true }).then(describe, failureCode);
}

async function lookAtFound(spec: FolderSpec | GlobSpec): Promise<string> {
  const hash = createHash('sha256');
  try {
    const { paths } = await findFiles(spec);
    for (const path of paths) hash.update(`${path} ${await lookAtFile(path)}\n`);
    return hash.digest('base64url');
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
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
