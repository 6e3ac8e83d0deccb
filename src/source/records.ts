import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LecternError } from '../errors.js';
import { digitsOf } from '../model/identifier.js';
import type { Source } from './source.js';

/** Records between two turns of the event loop: with 5 µs a record about 10 ms. */
const RECORDS_PER_TURN = 2048;

/**
 * Records in memory: an array, a generator, a database cursor. Each should be a `TimetableRecord`. They are checked one by one
 * when they are loaded, and those that cannot be served are rejected.
 */
export type Records = Iterable<unknown> | AsyncIterable<unknown>;

/** What a load of a {@link RecordSource} gives. */
export type RecordLoad =
  | {
      /** All records of the source. */
      readonly records: Records;
      /** Opaque: equal for two loads only where both give the same records. Null: it cannot say. */
      readonly version: string | null;
    }
  | {
      /** The source still has the version that is served. */
      readonly notModified: true;
    };

/** What a load is told. */
export interface RecordLoadOptions {
  /** The version that is served. A source that still has it may answer `{ notModified: true }`. */
  readonly previous: string | null;
  /** Aborted when the load is not wanted any more. */
  readonly signal: AbortSignal;
}

/** What {@link RecordSource.watch} began. */
export interface RecordWatch {
  /** Ends it. */
  close(): void;
}

/** A source that the embedding program implements itself. */
export interface RecordSource {
  /** For messages. */
  readonly name: string;
  /** Gives all records, or says that nothing is new. What it throws is a failed load. */
  load(options: RecordLoadOptions): RecordLoad | Promise<RecordLoad>;
  /** Calls back whenever there may be something new, until closed. */
  watch?(onChange: () => void): RecordWatch;
}

/** A small change of a {@link MemorySource}. */
export interface RecordChange {
  /** Records to add, or to put in the place of those with the same id. */
  readonly upsert?: Iterable<object>;
  /** Ids to take out; unknown ones are skipped. */
  readonly remove?: Iterable<string | number>;
}

/**
 * Records that the embedding program holds and changes. A timetable that is opened on it follows: changes that come close
 * together become one rebuild.
 */
export class MemorySource implements RecordSource {
  /** For messages. */
  readonly name: string;
  #records: Records;
  /** Whether `#records` is a stream that was read. */
  #isSpent = false;
  /** In place of `#records` once a change was applied. */
  #byId: Map<string, unknown> | null = null;
  /** Beside `#byId`: records that will be rejected, without an id or with one that an earlier record has. */
  #strays: readonly { readonly id: string | null; readonly record: unknown }[] = [];
  /** Different in each process, since versions are kept in snapshot files. */
  readonly #origin = randomUUID();
  #changes = 0;
  readonly #watchers = new Set<() => void>();

  /**
   * @param name for messages
   * @throws LecternError `option-invalid` for what cannot be iterated
   */
  constructor(records: Records = [], name = 'records in memory') {
    this.#records = checkRecords(records, 'new MemorySource()');
    this.name = name;
  }

  /** @throws LecternError `source-unreadable` where the records are a stream that was read already */
  load({ previous }: RecordLoadOptions): RecordLoad {
    const version = `${this.#origin}-${this.#changes}`;
    if (previous === version) return { notModified: true };
    if (this.#byId !== null) {
      const strays = this.#strays.map(({ record }) => record);
      return { records: [...this.#byId.values(), ...strays], version };
    }
    if (this.#isSpent) {
      const problem = 'they are a stream, which was read already; expected replace() with others';
      throw new LecternError('source-unreadable', `cannot read ${this.name}: ${problem}`);
    }
    this.#isSpent = isStream(this.#records);
    return { records: this.#records, version };
  }

  /**
   * Puts other records in the place of all.
   *
   * @throws LecternError `option-invalid` for what cannot be iterated
   */
  replace(records: Records): void {
    this.#records = checkRecords(records, 'replace()');
    this.#isSpent = false;
    this.#byId = null;
    this.#strays = [];
    this.#changed();
  }

  /**
   * Adds, replaces and removes single records. Ids are compared without regard to case where they are UUIDs.
   *
   * @throws LecternError `option-invalid` where a record to upsert has no id, where upsert or remove is no list, or where the
   *   records were given as a stream, which cannot be read a second time. Nothing is changed then.
   */
  apply(change: RecordChange): void {
    const upserts = listOf(change, 'upsert').map((record) => {
      const id = idOf(record);
      if (id === null) throw invalid('a record to upsert has no id that is a text or a whole number');
      return [id, record] as const;
    });
    const removed = listOf(change, 'remove').map(comparable);
    const byId = this.#byId ?? this.#index();
    for (const id of removed) if (id !== null) byId.delete(id);
    for (const [id, record] of upserts) byId.set(id, record);
    if (this.#strays.length > 0) {
      const touched = new Set([...removed, ...upserts.map(([id]) => id)]);
      this.#strays = this.#strays.filter(({ id }) => id === null || !touched.has(id));
    }
    this.#changed();
  }

  /** Calls back after each change, until closed. */
  watch(onChange: () => void): RecordWatch {
    // An entry for each call, also of the same function.
    const watcher = (): void => onChange();
    this.#watchers.add(watcher);
    return { close: () => void this.#watchers.delete(watcher) };
  }

  #changed(): void {
    this.#changes++;
    for (const watcher of this.#watchers) watcher();
  }

  #index(): Map<string, unknown> {
    const records = this.#records;
    if (!Array.isArray(records) && !(records instanceof Set)) {
      throw invalid('apply() needs records that were given as an array or a Set');
    }
    const byId = new Map<string, unknown>();
    const strays: { id: string | null; record: unknown }[] = [];
    for (const record of records as Iterable<unknown>) {
      const id = idOf(record);
      if (id === null || byId.has(id)) strays.push({ id, record });
      else byId.set(id, record);
    }
    this.#byId = byId;
    this.#strays = strays;
    // Lets go of what was given.
    this.#records = [];
    return byId;
  }
}

function invalid(problem: string): LecternError {
  return new LecternError('option-invalid', problem);
}

/** A text is iterable, too, but its characters are no records. */
function checkRecords(given: unknown, taker: string): Records {
  const isIterable =
    typeof given === 'object' &&
    given !== null &&
    (Symbol.iterator in given || Symbol.asyncIterator in given);
  if (isIterable) return given as Records;
  throw invalid(`${taker} takes an iterable of records, such as an array`);
}

/** Whether records are their own iterator, as those of a generator are, or a stream of Node or the web. */
function isStream(records: Records): boolean {
  return ['next', 'pipe', 'getReader'].some(
    (name) => typeof (records as unknown as Readonly<Record<string, unknown>>)[name] === 'function',
  );
}

function listOf(change: unknown, name: keyof RecordChange): unknown[] {
  const fault = (problem: string): LecternError =>
    invalid(`apply() takes { upsert: [records], remove: [ids] }: ${problem}`);
  if (typeof change !== 'object' || change === null) throw fault('it got none');
  const unknown = Object.keys(change).find((key) => key !== 'upsert' && key !== 'remove');
  if (unknown !== undefined) throw fault(`there is no ${JSON.stringify(unknown)}`);
  const list: unknown = (change as RecordChange)[name];
  if (list === undefined) return [];
  // A text is iterable, too: the characters of one id.
  if (typeof list === 'object' && list !== null && Symbol.iterator in list)
    return [...(list as Iterable<unknown>)];
  throw fault(`${name} is no list`);
}

function idOf(record: unknown): string | null {
  if (typeof record !== 'object' || record === null || !('id' in record)) return null;
  return comparable(record.id);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function comparable(id: unknown): string | null {
  if (typeof id !== 'string') return digitsOf(id);
  return UUID.test(id) ? id.toLowerCase() : id;
}

/** A source of records that this process has, as JSON would give them. */
export function memorySource(records: Records, name = 'records in memory'): Source {
  return {
    name,
    async load(sink, { signal, onProgress } = {}) {
      signal?.throwIfAborted();
      let count = 0;
      const tell = (): void => onProgress?.({ bytesRead: 0, bytesTotal: null, records: count });
      const turn = async (): Promise<void> => {
        tell();
        await nextTurn();
        signal?.throwIfAborted();
      };
      if (Symbol.iterator in records) {
        // Not `for await`: it would wait for each record.
        for (const value of readNow(records, name)) {
          sink.record(value, { record: ++count });
          if (count % RECORDS_PER_TURN === 0) await turn();
        }
      } else {
        for await (const value of read(records, name)) {
          sink.record(value, { record: ++count });
          if (count % RECORDS_PER_TURN === 0) await turn();
        }
      }
      tell();
      return { format: 'memory', gzipped: false, bytesRead: 0, version: null };
    },
  };
}

function* readNow(records: Iterable<unknown>, name: string): Generator<unknown> {
  try {
    yield* records;
  } catch (error) {
    throw unreadable(name, error);
  }
}

async function* read(records: AsyncIterable<unknown>, name: string): AsyncGenerator<unknown> {
  try {
    yield* records;
  } catch (error) {
    throw unreadable(name, error);
  }
}

/** Failures of the records themselves. Those of the sink come through as they are. */
function unreadable(name: string, error: unknown): LecternError {
  if (error instanceof LecternError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new LecternError('source-unreadable', `cannot read ${name}: ${reason}`, { cause: error });
}
