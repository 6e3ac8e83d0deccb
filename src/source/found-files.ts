import type { Dirent } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { cannotRead, LecternError, optionInvalid } from '../base/errors.js';
import { onFirstUse } from '../base/files/load-on-use.js';
import { FILE_IDLE_MS_MAX, FOUND_FILES_MAX, FOUND_FOLDERS_MAX } from '../base/limits.js';
import { inTime } from '../base/model/clock.js';
import { compareCodePoints } from '../base/model/text.js';
import { type FileLimits, fileSource, fileUnreadable } from './file.js';
import { partsSource } from './merged.js';
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
    throw optionInvalid(`a source of the kind ${spec.kind} has no ${what}`);
  }
  const { idleMsMax = FILE_IDLE_MS_MAX, totalMsMax } = spec;
  return partsSource(name, `${spec.kind} ${resolve(name)}`, async () => {
    // A network file system may never answer.
    const { paths, skipped } = await inTime(findFiles(spec), idleMsMax, () =>
      cannotRead(name, `its files were not found within ${idleMsMax / 1000} s`),
    );
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

export interface FoundFiles {
  /** Paths, sorted by code point. */
  readonly paths: readonly string[];
  /** Number of other entries: hidden files, folders, other endings. */
  readonly skipped: number;
}

const ENDINGS = ['ndjson', 'jsonl', 'json', 'msgpack', 'csv', 'tsv', 'ics'];
const READ = new RegExp(`\\.(?:${ENDINGS.join('|')})(?:\\.gz)?$`, 'i');
const NAMES_SHOWN = 5;

/** The files directly in a folder whose names have a known ending. */
export async function filesOfFolder(folder: string): Promise<FoundFiles> {
  const entries = await readFolder(folder, folder);
  const paths: string[] = [];
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (!entry.name.startsWith('.') && READ.test(entry.name) && !(await isFolder(path))) {
      paths.push(path);
    }
  }
  if (paths.length > 0) return found(folder, paths, entries.length - paths.length);
  const endings = ENDINGS.map((ending) => `.${ending}`).join(', ');
  throw cannotRead(folder, `no file in it ends in ${endings}, with or without .gz; ${describe(entries)}`);
}

/**
 * The files that a pattern matches. As in a shell, `**` does not follow symbolic links, and hidden names must
 * be written out.
 */
export async function filesOfGlob(pattern: string): Promise<FoundFiles> {
  const walk = new FolderWalk(pattern);
  const segments = segmentsOf(pattern);
  if (segments.at(-1) === '**') segments.push('*');
  await walk.expand(pattern.startsWith('/') ? '/' : '', segments);
  if (walk.paths.size > 0) return found(pattern, [...walk.paths], walk.skipped);
  throw cannotRead(pattern, `no file matches it; ${await describeStart(pattern)}`);
}

export function isGlob(text: string): boolean {
  return /[*?[{]/.test(text);
}

/** Only globs need it. */
const loadMatcher = onFirstUse(() => import('picomatch'));

class FolderWalk {
  readonly paths = new Set<string>();
  skipped = 0;
  readonly #pattern: string;
  #folders = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  async expand(folder: string, [segment = '', ...rest]: readonly string[]): Promise<void> {
    if (segment === '**') return this.#expandAny(folder, rest);
    if (!isGlob(segment)) return this.#enter(join(folder, segment), rest);
    const { default: picomatch } = await loadMatcher();
    const matches = picomatch(segment, { posix: true });
    // Sorted, so that the first failure is always the same.
    for (const { name } of await this.#read(folder)) {
      if (matches(name)) await this.#enter(join(folder, name), rest);
    }
  }

  async #expandAny(folder: string, rest: readonly string[]): Promise<void> {
    await this.expand(folder, rest);
    for (const entry of await this.#read(folder)) {
      if (entry.isDirectory() && !entry.name.startsWith('.')) {
        await this.#expandAny(join(folder, entry.name), rest);
      }
    }
  }

  async #enter(path: string, rest: readonly string[]): Promise<void> {
    if (rest.length > 0) return this.expand(path, rest);
    // A broken link counts as a file, whose load reports the fault.
    const isThere = await lstat(path).then(
      () => true,
      (error: unknown) => !isMissing(error),
    );
    if (!isThere) return;
    if (await isFolder(path)) this.skipped++;
    else this.paths.add(path);
    if (this.paths.size > FOUND_FILES_MAX) throw tooMany(this.#pattern);
  }

  async #read(folder: string): Promise<readonly Dirent[]> {
    if (++this.#folders > FOUND_FOLDERS_MAX) {
      throw cannotRead(this.#pattern, `more than ${FOUND_FOLDERS_MAX} folders would have to be read`);
    }
    try {
      return await readFolder(folder === '' ? '.' : folder, this.#pattern);
    } catch (error) {
      // A pattern may match entries that are not folders.
      if (error instanceof LecternError && isMissing(error.cause)) return [];
      throw error;
    }
  }
}

async function readFolder(folder: string, name: string): Promise<Dirent[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.sort((a, b) => compareCodePoints(a.name, b.name));
  } catch (error) {
    const isFound = folder === name || !(error instanceof Error);
    throw fileUnreadable(isFound ? name : `${name}, in ${folder}`, error);
  }
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (status) => status.isDirectory(),
    () => false,
  );
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}

function found(name: string, paths: readonly string[], skipped: number): FoundFiles {
  if (paths.length > FOUND_FILES_MAX) throw tooMany(name);
  return { paths: [...paths].sort(compareCodePoints), skipped };
}

function tooMany(name: string): LecternError {
  return cannotRead(name, `it has more than ${FOUND_FILES_MAX} files`);
}

/** The folder in which the files are looked for. */
export function startOf(spec: FolderSpec | GlobSpec): string {
  if (spec.kind === 'folder') return spec.path;
  const segments = segmentsOf(spec.pattern);
  const named = segments.slice(0, segments.findIndex(isGlob));
  return join(spec.pattern.startsWith('/') ? '/' : '.', ...named);
}

function segmentsOf(pattern: string): string[] {
  return pattern
    .replace(/^\/+/, '')
    .split('/')
    .filter((each) => each !== '' && each !== '.');
}

async function describeStart(pattern: string): Promise<string> {
  const folder = startOf({ kind: 'glob', pattern });
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => null);
  return entries === null ? `there is no folder ${folder}` : `in ${folder} ${describe(entries)}`;
}

function describe(entries: readonly Dirent[]): string {
  if (entries.length === 0) return 'there is nothing';
  const names = entries
    .slice(0, NAMES_SHOWN)
    .map((entry) => `${entry.name}${entry.isDirectory() ? '/' : ''}`);
  const rest = entries.length - names.length;
  return `there ${entries.length === 1 ? 'is' : 'are'} ${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
