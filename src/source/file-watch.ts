import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { FILE_POLL_MS, FILE_SETTLE_MS } from '../limits.js';
import type { RecordWatch } from './records.js';
import type { SourceSpec } from './spec.js';

export interface WatchOptions {
  readonly pollMs?: number;
  /** How long a file must stay unchanged before the call. Default FILE_SETTLE_MS. */
  readonly settleMs?: number;
}

/**
 * Calls back when a file of the source has changed and settled. Earlier changes count as known, so watch before loading. A watch
 * does not keep the process alive.
 */
export function watchSource(spec: SourceSpec, onChange: () => void, options: WatchOptions = {}): RecordWatch {
  const watches = [...new Set(filesOf(spec))].map((path) => watchFile(path, onChange, options));
  return {
    close() {
      for (const each of watches) each.close();
    },
  };
}

/** Absolute paths of the source's files, without standard input. */
export function filesOf(spec: SourceSpec): string[] {
  const files = typeof spec.lecturerIds === 'string' ? [resolve(spec.lecturerIds)] : [];
  if (spec.kind === 'merged') return [...files, ...spec.specs.flatMap(filesOf)];
  return spec.kind === 'file' && spec.path !== '-' ? [...files, resolve(spec.path)] : files;
}

/** Polls: notices of the system follow inodes, not paths, and network file systems send none. */
function watchFile(
  path: string,
  onChange: () => void,
  { pollMs = FILE_POLL_MS, settleMs = FILE_SETTLE_MS }: WatchOptions,
): RecordWatch {
  // Synchronous, so that a change right after this call is seen.
  let known = stateNow(path);
  let found = known;
  let isClosed = false;
  let timer: NodeJS.Timeout;
  const look = async (): Promise<void> => {
    const state = await stat(path, { bigint: true }).then(describe, failureCode);
    if (isClosed) return;
    const isSettled = state === found && state !== known;
    if (isSettled) known = state;
    found = state;
    lookIn(found === known ? pollMs : settleMs);
    if (isSettled) onChange();
  };
  const lookIn = (ms: number): void => {
    timer = setTimeout(() => void look(), ms).unref();
  };
  lookIn(pollMs);
  return {
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
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
