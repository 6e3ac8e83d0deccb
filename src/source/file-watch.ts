import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { FILE_POLL_MS, FILE_SETTLE_MS } from '../limits.js';
import type { SourceSpec } from './spec.js';

export interface WatchOptions {
  /** How often each file is looked at, in milliseconds. Default FILE_POLL_MS. */
  readonly pollMs?: number;
  /** How long a change must have been the last one. Default FILE_SETTLE_MS. */
  readonly settleMs?: number;
}

export interface SourceWatch {
  /** Ends the watch. Nothing is called afterwards, and nothing is left open. */
  close(): void;
}

/**
 * Tells when the files of a source change: an atomic rename, a write in place, another target of a symbolic link anywhere on
 * the path, a file that vanishes or comes back. It waits until a file has stayed as it is for a while, so that half a file is
 * not taken. Changes before this call count as known: to miss nothing, watch first and load afterwards.
 *
 * Nothing here keeps the process alive. A source without files never changes.
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

/**
 * One file, looked at every now and then. The system's notices are not used: they follow inodes and not paths, and network file
 * systems have none.
 */
class FileWatch {
  readonly #path: string;
  readonly #onChange: () => void;
  readonly #pollMs: number;
  readonly #settleMs: number;
  /** What was told last. */
  #known: string;
  /** What was found since, if it is different, and when it was first found. */
  #found: string | null = null;
  #foundMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(path: string, onChange: () => void, options: WatchOptions) {
    this.#path = path;
    this.#onChange = onChange;
    this.#pollMs = options.pollMs ?? FILE_POLL_MS;
    this.#settleMs = options.settleMs ?? FILE_SETTLE_MS;
    // Synchronous: a change right after this call must not become what is known.
    this.#known = stateNow(path);
    this.#lookIn(this.#pollMs);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #lookIn(ms: number): void {
    this.#timer = setTimeout(() => void this.#look(), ms).unref();
  }

  async #look(): Promise<void> {
    const state = await stateOf(this.#path);
    if (this.#closed) return;
    const nowMs = performance.now();
    let settled = false;
    if (state === this.#known) {
      this.#found = null;
    } else if (state !== this.#found) {
      this.#found = state;
      this.#foundMs = nowMs;
    } else if (nowMs - this.#foundMs >= this.#settleMs) {
      this.#known = state;
      this.#found = null;
      settled = true;
    }
    // A millisecond more than needed, as timers round down.
    const restMs = this.#foundMs + this.#settleMs - nowMs + 1;
    this.#lookIn(this.#found === null ? this.#pollMs : Math.max(1, Math.min(this.#pollMs, restMs)));
    if (settled) this.#onChange();
  }
}

/** What there is at a path, in a form to compare. */
function stateOf(path: string): Promise<string> {
  return stat(path, { bigint: true }).then(describe, failureCode);
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
