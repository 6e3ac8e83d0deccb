import { randomBytes, randomInt } from 'node:crypto';
import { constants } from 'node:fs';
import {
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  opendir,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LecternError } from '../base/errors.js';
import { fileCallsOf, SilentFileSystem } from '../base/files/file-calls.js';
import { PathWatch, stateOf } from '../base/files/path-watch.js';
import {
  STORE_CHUNK_BYTES,
  STORE_FILES_MAX,
  STORE_RECORD_BYTES_MAX,
  STORE_REVISIONS_LISTED_MAX,
  STORE_SILENT_MS_MAX,
} from '../base/limits.js';
import {
  type IfMissing,
  NO_STORE,
  type Store,
  type StoredBytes,
  type StoredObject,
  type StoredRecord,
  silent,
  UNUSABLE,
  unavailable,
} from './store.js';

/** Digits of a revision in a file name. */
const REVISION_DIGITS = 15;
const REVISION = new RegExp(`^\\d{${REVISION_DIGITS}}$`);
/** The last revision but one. After the first revision, no writer gets there with 7 × 10¹⁴ writes. */
const REVISION_MAX = 10 ** REVISION_DIGITS - 2;
const FIRST_REVISION_MAX = 2 ** 48 - 1;
/** This many revisions of a record stay, so that a slow reader still finds its file. */
const REVISIONS_KEPT = 8;
/** A record changes a few times a second, so a reader finds its file at once or with the next attempt. */
const READS_MAX = 100;
/** Files of other programs begin with a dot, like `.nfs…` of network file systems, or have other characters. */
const OWN = /^[\w-][\w.-]*(?<!\.tmp)$/;
const TEMPORARY = /\.[0-9a-f]{16}\.tmp$/;
/** Temporary files of crashed writers. */
const TEMPORARY_MS_MAX = 3_600_000;
/** Error codes of files that are not records. Errors of the store itself have other codes, such as EIO and ESTALE. */
const UNUSABLE_CODES = new Set<unknown>([null, 'ELOOP', 'EACCES', 'EPERM', 'ENXIO', 'ENODEV', 'ENOTDIR']);
/** Time between two looks of a watch. System notifications would not tell of the writes of other machines. */
const WATCH_MS = 250;

/**
 * A store in a folder that all machines mount. Revision n of a record is the file `records/<key>/<n>`, made
 * by a hard link, which fails if the file exists. The folder of a new record is moved to its place with its first
 * revision, which fails if there is one. So one of two writers wins, without a lock and without comparing clocks.
 *
 * A removed record leaves no file. The revisions of a new record begin at a random number, so they are others. So a writer
 * that was stopped meanwhile fails, however long: the revision that it wants to replace is missing. A time would not do,
 * because clocks are set back.
 *
 * Other programs may write to the folder. So no link is followed and no pipe is waited for. A file that is not a
 * record is read as a record that no reader accepts.
 */
export class FolderStore implements Store {
  readonly name: string;
  /** Whether a missing store is made. */
  #mayMake: boolean;
  readonly #isPrivate: boolean;
  readonly #folder: string;
  readonly #images: string;
  readonly #records: string;
  /** Number of the file system, which other calls of this process may use, too; null until it is known. */
  #device: bigint | null = null;
  readonly #silentMsMax: number;

  /**
   * @param options.isPrivate whether the folder must be of the own account, and not writable by others
   * @param options.silentMsMax time after which a call of the file system counts as hanging
   */
  constructor(
    folder: string,
    ifMissing: IfMissing,
    {
      isPrivate = false,
      silentMsMax = STORE_SILENT_MS_MAX,
    }: { readonly isPrivate?: boolean; readonly silentMsMax?: number } = {},
  ) {
    this.#isPrivate = isPrivate;
    this.name = `folder://${folder}`;
    this.#mayMake = ifMissing === 'make';
    this.#folder = folder;
    this.#images = join(folder, 'images');
    this.#records = join(folder, 'records');
    this.#silentMsMax = silentMsMax;
  }

  put(name: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    return this.#attempt(async () => {
      await this.#makeFolder(this.#images);
      const path = join(this.#images, name);
      if ((await this.#sizeOf(path)) !== null) return;
      const temporary = temporaryOf(path);
      try {
        const file = await this.#open(() => open(temporary, 'wx'));
        try {
          for await (const chunk of chunks) await this.#call(() => file.writeFile(chunk));
          // A slow disk takes long for this, and other calls must not wait for it.
          await file.sync();
          await this.#call(() => file.close());
        } catch (error) {
          // Not as a call: those fail while a write hangs. The end of the write is awaited without a thread.
          file.close().catch(() => {});
          throw error;
        }
        await this.#call(() => rename(temporary, path));
      } catch (error) {
        await this.#remove(temporary);
        throw error;
      }
    });
  }

  get(name: string): Promise<StoredBytes | null> {
    return this.#attempt(async () => {
      await this.#checkFolder(this.#images);
      const file = await this.#open(() => openRegular(join(this.#images, name))).catch(orNull(isUnusable));
      return file && Object.assign(this.#chunksOf(file), { sha256: null });
    });
  }

  bytesOf(name: string): Promise<number | null> {
    return this.#attempt(async () => {
      await this.#checkFolder(this.#images);
      return this.#sizeOf(join(this.#images, name));
    });
  }

  list(): Promise<readonly StoredObject[]> {
    return this.#attempt(async () => {
      const objects: StoredObject[] = [];
      for (const name of (await this.#allNames(this.#images)).filter((each) => OWN.test(each))) {
        const bytes = await this.#sizeOf(join(this.#images, name));
        if (bytes !== null) objects.push({ name, bytes });
      }
      return objects;
    });
  }

  delete(name: string): Promise<void> {
    return this.#attempt(async () => {
      await this.#checkFolder(this.#images);
      await this.#remove(join(this.#images, name));
    });
  }

  removeAbandoned(): Promise<void> {
    return this.#attempt(async () => {
      const isOld = async (path: string): Promise<boolean> => {
        const status = await this.#call(() => lstat(path)).catch(orNull(isAbsent));
        return status !== null && status.mtimeMs < Date.now() - TEMPORARY_MS_MAX;
      };
      for (const folder of [this.#images, this.#records]) {
        for (const name of (await this.#allNames(folder)).filter((each) => TEMPORARY.test(each))) {
          const path = join(folder, name);
          if (await isOld(path)) await rm(path, { recursive: true, force: true });
        }
      }
    });
  }

  read(key: string): Promise<StoredRecord | null> {
    return this.#attempt(() => this.#latest(key));
  }

  swap(key: string, text: string, revision: number | null): Promise<number | null> {
    if (Buffer.byteLength(text) > STORE_RECORD_BYTES_MAX)
      throw new RangeError(`the record ${key} is too long`);
    return this.#attempt(async () => {
      const revisions = await this.#revisions(key);
      const present = revisions?.at(-1) ?? null;
      if (revisions === null || (present ?? 0) >= REVISION_MAX) {
        await this.#discard(join(this.#records, key));
        return null;
      }
      if (present !== revision) return null;
      return revision === null ? this.#make(key, text) : this.#append(key, text, revision);
    });
  }

  keys(start = ''): Promise<readonly string[]> {
    return this.#attempt(async () => (await this.#keys()).filter((key) => key.startsWith(start)));
  }

  remove(key: string): Promise<void> {
    return this.#attempt(() => this.#discard(join(this.#records, key)));
  }

  watch(keys: readonly string[], onChange: () => void): { close(): void } {
    const look = async (): Promise<string> => {
      const states = keys.map((key) => this.#call(() => lstat(join(this.#records, key), { bigint: true })));
      const failed = (error: unknown): string => {
        // The store does not answer.
        if (error instanceof LecternError) throw error;
        return String(error);
      };
      return (await Promise.all(states.map((state) => state.then(stateOf, failed)))).join();
    };
    return new PathWatch(look, null, onChange, { pollMs: WATCH_MS, settleMs: 0 });
  }

  async close(): Promise<void> {}

  /** The last revision; revision 0 if the record's path is not a folder, or has too many files. */
  async #latest(key: string): Promise<StoredRecord | null> {
    for (let n = 0; n < READS_MAX; n++) {
      const revisions = await this.#revisions(key);
      if (revisions === null) return { text: UNUSABLE, revision: 0 };
      const revision = revisions.at(-1);
      if (revision === undefined) return null;
      const path = this.#fileOf(key, revision);
      const text = await this.#call(() => recordIn(path)).catch(orNull(isAbsent));
      if (text !== null) return { text, revision };
    }
    throw new Error(`the files of the record ${key} are listed, but cannot be opened`);
  }

  /** @returns the first revision of a new record, or null if another writer was first */
  async #make(key: string, text: string): Promise<number | null> {
    const folder = join(this.#records, key);
    const temporary = temporaryOf(folder);
    const revision = randomInt(1, FIRST_REVISION_MAX);
    await this.#makeFolder(this.#records);
    try {
      await this.#call(() => mkdir(temporary));
      await this.#call(() => writeFile(join(temporary, nameOf(revision)), text, { flush: true }));
      await this.#call(() => rename(temporary, folder));
      return revision;
    } catch (error) {
      if (!IS_THERE.has(codeOf(error))) throw error;
      // A folder that has only files of other programs makes room for the next attempt.
      if ((await this.#revisions(key))?.length === 0) await this.#discard(folder);
      return null;
    } finally {
      await this.#remove(temporary);
    }
  }

  /** @returns the revision after `present`, or null if another writer was first */
  async #append(key: string, text: string, present: number): Promise<number | null> {
    const path = this.#fileOf(key, present + 1);
    const temporary = temporaryOf(join(this.#records, key));
    try {
      await this.#call(() => writeFile(temporary, text, { flag: 'wx', flush: true }));
      await this.#call(() => link(temporary, path));
    } catch (error) {
      // Without its folder, the record was removed meanwhile.
      if (isPresent(error) || isAbsent(error)) return null;
      throw error;
    } finally {
      await this.#remove(temporary);
    }
    const revisions = (await this.#revisions(key)) ?? [];
    if (!revisions.includes(present)) {
      // After a long pause: the record was made again, or its revisions were replaced.
      await this.#remove(path);
      return null;
    }
    for (const old of revisions.slice(0, -REVISIONS_KEPT)) await this.#remove(this.#fileOf(key, old));
    return present + 1;
  }

  /** Removes a record, or what another program has put in its place: many files perhaps, so no call waits for them. */
  async #discard(path: string): Promise<void> {
    await this.#checkFolder(this.#records);
    const temporary = temporaryOf(path);
    await this.#call(() => rename(path, temporary)).catch(orNull(isAbsent));
    rm(temporary, { recursive: true, force: true }).catch(() => {});
  }

  /** A missing parent folder shows a mistyped path, or a share that is not mounted. */
  async #makeFolder(folder: string): Promise<void> {
    const parent = dirname(this.#folder);
    const isThere = await this.#call(() => stat(parent)).catch(orNull(isAbsent));
    if (isThere === null) throw new Error(`there is no folder ${parent}`);
    const mode = this.#isPrivate ? 0o700 : 0o777;
    await this.#call(() => mkdir(this.#folder, { recursive: true, mode }));
    await this.#call(() => mkdir(folder)).catch(orNull(isPresent));
    await this.#checkFolder(folder);
  }

  /** A link could lead to files of others, which cleaning would delete. */
  async #checkFolder(folder: string): Promise<void> {
    const status = await this.#call(() => lstat(folder)).catch(orNull(isAbsent));
    if (status !== null && !status.isDirectory())
      throw new Error(
        `${folder} is ${status.isSymbolicLink() ? 'a symbolic link' : 'a file'}; expected a folder`,
      );
  }

  /** In ascending order; null if the record's path is not a folder, or has too many files. */
  async #revisions(key: string): Promise<number[] | null> {
    const names = await this.#names(join(this.#records, key), STORE_REVISIONS_LISTED_MAX);
    if (names === null) return null;
    const revisions = names.filter((each) => REVISION.test(each)).map(Number);
    return revisions.sort((a, b) => a - b);
  }

  async #keys(): Promise<readonly string[]> {
    return (await this.#allNames(this.#records)).filter((each) => OWN.test(each));
  }

  async #allNames(folder: string): Promise<readonly string[]> {
    await this.#checkFolder(folder);
    const names = await this.#names(folder, STORE_FILES_MAX);
    if (names !== null) return names;
    throw new Error(
      `${folder} has more than ${STORE_FILES_MAX} files; remove those that Lectern did not make`,
    );
  }

  /** The names in a folder; empty if it is absent. Null if it is not a folder, or has more than `max`. */
  #names(folder: string, max: number): Promise<readonly string[] | null> {
    return this.#call(async () => {
      const status = await lstat(folder).catch(orNull(isAbsent));
      if (status === null) return [];
      if (!status.isDirectory()) return null;
      const names: string[] = [];
      try {
        for await (const { name } of await opendir(folder, { bufferSize: 1024 })) {
          if (names.length === max) return null;
          names.push(name);
        }
      } catch (error) {
        if (!isAbsent(error)) throw error;
      }
      return names;
    });
  }

  /** Null if there is no regular file. */
  async #sizeOf(path: string): Promise<number | null> {
    const status = await this.#call(() => lstat(path)).catch(orNull(isAbsent));
    return status?.isFile() === true ? status.size : null;
  }

  /** Links are not followed. A folder that another program made is removed, too. */
  #remove(path: string): Promise<void> {
    return this.#call(() => rm(path, { force: true, recursive: true }));
  }

  /** @param onLate gets the result of a call that returns too late */
  async #call<T>(call: () => Promise<T>, onLate?: (value: T) => void): Promise<T> {
    try {
      return await fileCallsOf(this.#device).run(call, this.#silentMsMax, onLate);
    } catch (error) {
      throw error instanceof SilentFileSystem ? silent(this.name, this.#silentMsMax) : error;
    }
  }

  #open(opening: () => Promise<FileHandle>): Promise<FileHandle> {
    return this.#call(opening, (late) => void late.close().catch(() => {}));
  }

  async *#chunksOf(file: FileHandle): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const memory = Buffer.allocUnsafe(STORE_CHUNK_BYTES);
        const { bytesRead } = await this.#attempt(() =>
          this.#call(() => file.read(memory, 0, memory.length, null)),
        );
        if (bytesRead === 0) return;
        yield memory.subarray(0, bytesRead);
      }
    } finally {
      // The end is not awaited, because it may hang like a read.
      file.close().catch(() => {});
    }
  }

  #fileOf(key: string, revision: number): string {
    return join(this.#records, key, nameOf(revision));
  }

  /** Windows has no such modes. */
  async #checkPrivate(): Promise<void> {
    const status = await this.#call(() => stat(this.#folder)).catch(orNull(isAbsent));
    const own = process.getuid?.() ?? status?.uid;
    if (status === null || (status.uid === own && (status.mode & 0o022) === 0)) return;
    const whose = status.uid === own ? 'other accounts may write to it' : 'it belongs to another account';
    throw new Error(`${whose}, so announcements must be signed; make keys with: lectern channel keys`);
  }

  async #attempt<T>(work: () => Promise<T>): Promise<T> {
    try {
      // The folder itself may be the empty mount point of a share.
      const found = await this.#call(() => lstat(this.#records, { bigint: true })).catch(orNull(isAbsent));
      this.#device = found?.dev ?? this.#device;
      this.#mayMake ||= found !== null;
      if (!this.#mayMake) throw new Error(NO_STORE);
      if (this.#isPrivate) await this.#checkPrivate();
      return await work();
    } catch (cause) {
      throw unavailable(this.name, cause);
    }
  }
}

/** Opens a regular file for reading, not through a link, and without waiting for the writer of a pipe. */
async function openRegular(path: string): Promise<FileHandle> {
  const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants;
  const file = await open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  try {
    if ((await file.stat()).isFile()) return file;
    throw new Error(`${path} is not a regular file`);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The text of a revision; UNUSABLE if the file is not a record. Throws ENOENT. */
async function recordIn(path: string): Promise<string> {
  try {
    const file = await openRegular(path);
    try {
      const memory = Buffer.allocUnsafe(STORE_RECORD_BYTES_MAX + 1);
      let length = 0;
      for (let read = 1; read > 0 && length < memory.length; length += read) {
        read = (await file.read(memory, length, memory.length - length, length)).bytesRead;
      }
      return length > STORE_RECORD_BYTES_MAX ? UNUSABLE : memory.toString('utf8', 0, length);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isAbsent(error) || !isUnusable(error)) throw error;
    return UNUSABLE;
  }
}

function temporaryOf(path: string): string {
  return `${path}.${randomBytes(8).toString('hex')}.tmp`;
}

function nameOf(revision: number): string {
  return String(revision).padStart(REVISION_DIGITS, '0');
}

/** For `catch`: null for these errors. */
function orNull(isExpected: (error: unknown) => boolean): (error: unknown) => null {
  return (error) => {
    if (isExpected(error)) return null;
    throw error;
  };
}

/** Codes of a move to a folder that has files. */
const IS_THERE = new Set<unknown>(['EEXIST', 'ENOTEMPTY']);
const isAbsent = (error: unknown): boolean => codeOf(error) === 'ENOENT';
const isPresent = (error: unknown): boolean => codeOf(error) === 'EEXIST';
const isUnusable = (error: unknown): boolean =>
  isAbsent(error) || (!(error instanceof LecternError) && UNUSABLE_CODES.has(codeOf(error)));

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : null;
}
