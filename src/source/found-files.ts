import { LecternError } from '../base/errors.js';
import { FILE_IDLE_MS_MAX } from '../base/limits.js';
import { fileSource } from './file.js';
import { type FoundFiles, filesOfFolder, filesOfGlob } from './find-files.js';
import { partsSource } from './merged.js';
import type { FileLimits } from './open-file.js';
import type { Source } from './source.js';

/** The files directly in a folder, in the order of their names. */
export interface FolderSpec extends Omit<FileLimits, 'isPipe'> {
  /** Identifies this kind of source. */
  readonly kind: 'folder';
  /** Its path. */
  readonly path: string;
}

/** All files that match a pattern. */
export interface GlobSpec extends Omit<FileLimits, 'isPipe'> {
  /** Identifies this kind of source. */
  readonly kind: 'glob';
  /** A path with `*`, `?`, `[…]`, `{…}` in its names, or `**` in place of any folders. */
  readonly pattern: string;
}

/** The files of a folder or glob, searched again at each load. @throws LecternError `option-invalid` */
export function foundFiles(spec: FolderSpec | GlobSpec): Source {
  const name = spec.kind === 'folder' ? spec.path : spec.pattern;
  if (typeof name !== 'string' || name === '') {
    const what = spec.kind === 'folder' ? 'path' : 'pattern';
    throw new LecternError('option-invalid', `a source of the kind ${spec.kind} has no ${what}`);
  }
  const { idleMsMax = FILE_IDLE_MS_MAX, totalMsMax } = spec;
  return partsSource(name, async () => {
    const { paths, skipped } = await inTime(findFiles(spec), name, idleMsMax);
    const sources = paths.map((path): Source => {
      const file = fileSource(path, { isPipe: false, idleMsMax, totalMsMax });
      return { ...file, mayBeMissing: true };
    });
    return { sources, skipped };
  });
}

/** @throws LecternError `source-unreadable`, also if no file is found */
export function findFiles(spec: FolderSpec | GlobSpec): Promise<FoundFiles> {
  return spec.kind === 'folder' ? filesOfFolder(spec.path) : filesOfGlob(spec.pattern);
}

/** Bounds the wait, because a network file system may never answer. */
async function inTime<T>(promise: Promise<T>, name: string, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const problem = `its files were not found within ${ms / 1000} s`;
      reject(new LecternError('source-unreadable', `cannot read ${name}: ${problem}`));
    }, ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
