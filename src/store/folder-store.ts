import { randomBytes } from 'node:crypto';
import { createReadStream, type FSWatcher, watch } from 'node:fs';
import { link, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LecternError } from '../errors.js';
import { STORE_RECORD_BYTES_MAX } from '../limits.js';
import { stopSilent } from './silent-reads.js';
import {
  type IfMissing,
  NO_STORE,
  type Store,
  type StoredBytes,
  type StoredObject,
  type StoredRecord,
} from './store.js';

/** Digits of a revision in a file name. */
const REVISION_DIGITS = 12;
const REVISION = new RegExp(`^\\d{${REVISION_DIGITS},}$`);
/** This many revisions of a record stay, so that a slow reader still finds its file. */
const REVISIONS_KEPT = 8;
/** A record changes a few times a second, so a reader finds its file at once or with the next attempt. */
const READS_MAX = 100;
const TEMPORARY = /\.tmp$/;
/** Files of other programs begin with a dot, like `.nfs…` of network file systems, or have other characters. */
const OWN = /^[\w-][\w.-]*(?<!\.tmp)$/;
/** Temporary files of crashed writers. */
const TEMPORARY_MS_MAX = 3_600_000;

/**
 * A store in a folder that all machines mount. Revision n of a record is the file `records/<key>/<n>`, made
 * by a hard link, which fails if the file exists. So one of two writers wins, without a lock and without
 * comparing clocks.
 */
export class FolderStore implements Store {
  readonly name: string;
  /** Whether a missing store is made. */
  #mayMake: boolean;
  readonly #folder: string;
  readonly #images: string;
  readonly #records: string;

  constructor(folder: string, ifMissing: IfMissing) {
    this.name = `folder://${folder}`;
    this.#mayMake = ifMissing === 'make';
    this.#folder = folder;
    this.#images = join(folder, 'images');
    this.#records = join(folder, 'records');
  }

  put(name: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    return this.#attempt(async () => {
      await this.#makeFolder(this.#images);
      const path = join(this.#images, name);
      if (await exists(path)) return;
      const temporary = temporaryOf(path);
      try {
        const file = await open(temporary, 'wx');
        try {
          for await (const chunk of chunks) await file.writeFile(chunk);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(temporary, path);
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
    });
  }

  get(name: string): Promise<StoredBytes | null> {
    return this.#attempt(async () => {
      const path = join(this.#images, name);
      if (!(await exists(path))) return null;
      const chunks = stopSilent(createReadStream(path, { highWaterMark: 1024 * 1024 }), this.name);
      return Object.assign(chunks, { sha256: null });
    });
  }

  bytesOf(name: string): Promise<number | null> {
    return this.#attempt(
      async () => (await stat(join(this.#images, name)).catch(absent(null)))?.size ?? null,
    );
  }

  list(): Promise<readonly StoredObject[]> {
    return this.#attempt(async () => {
      const objects: StoredObject[] = [];
      for (const name of (await filesIn(this.#images)).filter((each) => OWN.test(each))) {
        const status = await stat(join(this.#images, name)).catch(absent(null));
        if (status?.isFile() === true) objects.push({ name, bytes: status.size });
      }
      return objects;
    });
  }

  delete(name: string): Promise<void> {
    return this.#attempt(() => rm(join(this.#images, name), { force: true }));
  }

  removeAbandoned(): Promise<void> {
    return this.#attempt(async () => {
      for (const folder of [this.#images, this.#records]) {
        for (const name of (await filesIn(folder)).filter((each) => TEMPORARY.test(each))) {
          const path = join(folder, name);
          const modifiedMs = (await stat(path).catch(absent(null)))?.mtimeMs ?? Number.POSITIVE_INFINITY;
          if (modifiedMs < Date.now() - TEMPORARY_MS_MAX) await rm(path, { force: true });
        }
      }
    });
  }

  read(key: string): Promise<StoredRecord | null> {
    return this.#attempt(async () => {
      for (let n = 0; n < READS_MAX; n++) {
        const revision = (await this.#revisions(key)).at(-1);
        if (revision === undefined) return null;
        const text = await readFile(this.#fileOf(key, revision), 'utf8').catch(absent(null));
        // An empty text marks a removed record. The revision stays, so that a late writer of an old revision
        // fails.
        if (text !== null) return text === '' ? null : { text, revision };
      }
      throw new Error(`the files of the record ${key} are listed, but cannot be opened`);
    });
  }

  swap(key: string, text: string, revision: number | null): Promise<number | null> {
    if (Buffer.byteLength(text) > STORE_RECORD_BYTES_MAX)
      throw new RangeError(`the record ${key} is too long`);
    return this.#attempt(async () => {
      const present = (await this.#revisions(key)).at(-1);
      if (revision === null ? (await this.read(key)) !== null : present !== revision) return null;
      return this.#append(key, text, (present ?? 0) + 1);
    });
  }

  keys(): Promise<readonly string[]> {
    return this.#attempt(async () => {
      const keys: string[] = [];
      for (const entry of await readdir(this.#records, { withFileTypes: true }).catch(absent([]))) {
        const { name } = entry;
        if (entry.isDirectory() && OWN.test(name) && (await this.read(name)) !== null) keys.push(name);
      }
      return keys;
    });
  }

  remove(key: string): Promise<void> {
    return this.#attempt(async () => {
      // Terminates: each further round means that another writer was first.
      for (;;) {
        const present = await this.read(key);
        if (present === null || (await this.#append(key, '', present.revision + 1)) !== null) return;
      }
    });
  }

  watch(keys: readonly string[], onChange: () => void): { close(): void } {
    let watcher: FSWatcher | null = null;
    try {
      watcher = watch(this.#records, { recursive: true, persistent: false }, (_, path) => {
        if (path === null || keys.some((key) => path.startsWith(key))) onChange();
      });
      watcher.on('error', () => {});
    } catch {
      // The folder does not exist yet, or cannot be watched.
    }
    return { close: () => watcher?.close() };
  }

  async close(): Promise<void> {}

  /** @returns null if the revision exists */
  async #append(key: string, text: string, revision: number): Promise<number | null> {
    const folder = join(this.#records, key);
    await this.#makeFolder(folder);
    const temporary = temporaryOf(join(this.#records, key));
    try {
      await writeFile(temporary, text, { flag: 'wx', flush: true });
      await link(temporary, this.#fileOf(key, revision));
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return null;
      throw error;
    } finally {
      await rm(temporary, { force: true });
    }
    const revisions = await this.#revisions(key);
    // After a long pause, this writer may have made a revision that existed before and was removed. Only
    // revisions with at least REVISIONS_KEPT later ones are removed, so with fewer later ones this revision
    // is new.
    if ((revisions.at(-1) ?? 0) >= revision + REVISIONS_KEPT) {
      await rm(this.#fileOf(key, revision), { force: true });
      return null;
    }
    for (const old of revisions.slice(0, -REVISIONS_KEPT)) await rm(this.#fileOf(key, old), { force: true });
    return revision;
  }

  /** A missing parent folder shows a mistyped path, or a share that is not mounted. */
  async #makeFolder(folder: string): Promise<void> {
    const parent = dirname(this.#folder);
    if (!(await exists(parent))) throw new Error(`there is no folder ${parent}`);
    await mkdir(folder, { recursive: true });
  }

  async #revisions(key: string): Promise<number[]> {
    const names = await filesIn(join(this.#records, key));
    return names
      .filter((each) => REVISION.test(each))
      .map(Number)
      .sort((a, b) => a - b);
  }

  #fileOf(key: string, revision: number): string {
    return join(this.#records, key, String(revision).padStart(REVISION_DIGITS, '0'));
  }

  async #attempt<T>(work: () => Promise<T>): Promise<T> {
    try {
      // The folder itself may be the empty mount point of a share.
      this.#mayMake ||= await exists(this.#records);
      if (!this.#mayMake) throw new Error(NO_STORE);
      return await work();
    } catch (cause) {
      if (cause instanceof LecternError) throw cause;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new LecternError('store-unavailable', `the store ${this.name} failed: ${reason}`, { cause });
    }
  }
}

function temporaryOf(path: string): string {
  return `${path}.${randomBytes(8).toString('hex')}.tmp`;
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(absent(null))) !== null;
}

async function filesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(absent([]));
}

/** For `catch`: returns `value` if the path does not exist. */
function absent<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (codeOf(error) === 'ENOENT') return value;
    throw error;
  };
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : null;
}
