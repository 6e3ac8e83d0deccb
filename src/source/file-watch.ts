import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { lookAtPath, PathWatch, type WatchOptions, watchPath } from '../base/files/path-watch.js';
import { type FolderSpec, findFiles, type GlobSpec } from './found-files.js';
import type { RecordWatch } from './records.js';
import type { SourceSpec } from './spec.js';

const FIRST_LOOK_MS_MAX = 1000;

/**
 * A watch. `ready` settles after the first check; it is null if the first check has already ended. Changes before
 * the first check are not reported.
 */
export interface SourceWatch extends RecordWatch {
  readonly ready: Promise<unknown> | null;
}

/**
 * Calls back when a file of the source has changed and settled, or was added or removed. Changes before the watch
 * are not reported, so watch before loading. A watch does not keep the process alive.
 */
export function watchSource(spec: SourceSpec, onChange: () => void, options: WatchOptions = {}): SourceWatch {
  const files = [...new Set(filesOf(spec))].map((path) => watchPath(path, onChange, options));
  const found = foundBy(spec).map((each) => new PathWatch(() => lookAtFound(each), null, onChange, options));
  const looked = Promise.all(found.map(({ ready }) => ready));
  return {
    // The wait has a limit, because a network file system may not answer. The load reports that fault.
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

async function lookAtFound(spec: FolderSpec | GlobSpec): Promise<string> {
  const hash = createHash('sha256');
  try {
    const { paths } = await findFiles(spec);
    for (const path of paths) hash.update(`${path} ${await lookAtPath(path)}\n`);
    return hash.digest('base64url');
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
