import { randomUUID } from 'node:crypto';
import { LecternError } from '../errors.js';
import { digitsOf } from '../model/identifier.js';

/**
 * Records in memory: an array, a generator, a database cursor. Each should be a `TimetableRecord`. A load rejects the records
 * that cannot be served.
 */
export type Records = Iterable<unknown> | AsyncIterable<unknown>;

/** The result of {@link RecordSource.load}. */
export type RecordLoad =
  | {
      /** All records of the source. */
      readonly records: Records;
      /** Opaque: equal only for loads of the same records. Null: unknown. */
      readonly version: string | null;
    }
  | {
      /** The source still has the served version. */
      readonly notModified: true;
    };

/** Given to {@link RecordSource.load}. */
export interface RecordLoadOptions {
  /** The served version. A source that still has it may answer `{ notModified: true }`. */
  readonly previous: string | null;
  /** Aborted when the load is no longer wanted. */
  readonly signal: AbortSignal;
}

/** A watch of a {@link RecordSource}. */
export interface RecordWatch {
  /** Ends the watch. */
  close(): void;
}

/** A source that the embedding program implements itself. */
export interface RecordSource {
  /** For messages. */
  readonly name: string;
  /** Gives all records, or reports that nothing has changed. An error fails the load. */
  load(options: RecordLoadOptions): RecordLoad | Promise<RecordLoad>;
  /** Calls back after each possible change, until closed. */
  watch?(onChange: () => void): RecordWatch;
}

/** A small change of a {@link MemorySource}. */
export interface RecordChange {
  /** Records to add; they replace those with the same id. */
  readonly upsert?: Iterable<object>;
  /** Ids to remove; unknown ones are skipped. */
  readonly remove?: Iterable<string | number>;
}

/**
 * Records that the embedding program holds and changes. A timetable opened on this source follows each change; changes close together
 * become one rebuild.
 */
export class MemorySource implements RecordSource {
  /** For messages. */
  readonly name: string;
  #records: Records;
  /** Whether `#records` is a stream that was read. */
  #isSpent = false;
  /** The records by id; used in place of `#records` once a change was applied. */
  #byId: Map<string, unknown> | null = null;
  /** Records outside `#byId`. They will be rejected, because they have no id or the id of an earlier record. */
  #strays: readonly { readonly id: string | null; readonly record: unknown }[] = [];
  /** Different in each process, since versions are kept in snapshot files. */
  readonly #origin = randomUUID();
  #changes = 0;
  readonly #watchers = new Set<() => void>();

  /** @param name for messages. Throws LecternError `option-invalid` for records that are not iterable. */
  constructor(records: Records = [], name = 'records in memory') {
    this.#records = checkRecords(records, 'new MemorySource()');
    this.name = name;
  }

  /** @throws LecternError `source-unreadable` if the records are a stream that was already read */
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

  /** Replaces all records. Throws LecternError `option-invalid` for records that are not iterable. */
  replace(records: Records): void {
    this.#records = checkRecords(records, 'replace()');
    this.#isSpent = false;
    this.#byId = null;
    this.#strays = [];
    this.#changed();
  }

  /**
   * Adds, replaces and removes single records. The case of UUIDs does not count.
   *
   * @throws LecternError `option-invalid` for an upsert without an id, an upsert or remove that is not a
   *   list, or records that were given as a stream. Nothing is changed then.
   */
  apply(change: RecordChange): void {
    const upserts = listOf(change, 'upsert').map((record) => {
      const id = idOf(record);
      if (id === null) throw invalid('a record to upsert needs an id that is a text or a whole number');
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
    // A function may watch several times.
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
    this.#records = [];
    return byId;
  }
}

function invalid(problem: string): LecternError {
  return new LecternError('option-invalid', problem);
}

/** A string is iterable, too, but its characters are not records. */
function checkRecords(given: unknown, taker: string): Records {
  const isIterable =
    typeof given === 'object' &&
    given !== null &&
    (Symbol.iterator in given || Symbol.asyncIterator in given);
  if (isIterable) return given as Records;
  throw invalid(`${taker} takes an iterable of records, such as an array`);
}

/** Whether the records can be read only once: a generator, or a stream of Node or the web. */
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
