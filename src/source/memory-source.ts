import { randomUUID } from 'node:crypto';
import { cannotRead, type LecternError, optionInvalid } from '../base/errors.js';
import { MEMORY_OVERLAY_ENTRIES_MIN } from '../base/limits.js';
import { digitsOf } from '../base/model/identifier.js';

/**
 * Records in memory: an array, a generator, a database cursor. Each record should be a `TimetableRecord`; the
 * load rejects other records.
 */
export type Records = Iterable<unknown> | AsyncIterable<unknown>;

/** The result of {@link RecordSource.load}. */
export type RecordLoad =
  | {
      /** All records of the source. */
      readonly records: Records;
      /** An opaque text, equal only for loads of the same records; null if unknown. */
      readonly version: string | null;
    }
  | {
      /** The source still has the served version. */
      readonly notModified: true;
    }
  | RecordDelta;

/** The changes since the version `previous`, instead of all records. Allowed only if `previous` is not null. */
export interface RecordDelta {
  /**
   * Records to add, or to replace the records with the same ids. Of several records with one id, the last
   * counts.
   */
  readonly upserts: Records;
  /** Ids to remove; unknown ids are skipped. An id that is also among the upserts is not removed. */
  readonly removals: Iterable<string | number>;
  /**
   * The version after the changes, as for a load of all records. Null if unknown, so that the next load asks
   * for all records.
   */
  readonly version: string | null;
}

/** Options of {@link RecordSource.load}. */
export interface RecordLoadOptions {
  /**
   * The version of the last load, served or refused; null to load in any case. A source that still has this
   * version may answer `{ notModified: true }`. A source that knows the changes since this version may give a
   * {@link RecordDelta}.
   */
  readonly previous: string | null;
  /**
   * The served version; null if none is served, or if it is unknown. Only a delta since this version can be
   * applied. A source that gives another delta is asked again, with this version as `previous`.
   */
  readonly served: string | null;
  /** Aborted when the load is no longer needed. */
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
  /** Gives all records or the changes since `previous`, or reports that there are no changes. An error fails the load. */
  load(options: RecordLoadOptions): RecordLoad | Promise<RecordLoad>;
  /** Calls back after each possible change, until closed. */
  watch?(onChange: () => void): RecordWatch;
}

/** A small change of a {@link MemorySource}. */
export interface RecordChange {
  /** Records to add, or to replace the records with the same ids. */
  readonly upsert?: Iterable<object>;
  /** Ids to remove; unknown ids are skipped. */
  readonly remove?: Iterable<string | number>;
}

interface LoggedChange {
  /** The number of the `apply` call that made this change. */
  readonly number: number;
  /** The id in comparable form. */
  readonly key: string;
  /** The id as given. */
  readonly id: string | number;
  /** The new record; null for a removal. */
  readonly record: object | null;
}

/**
 * Records that the embedding program holds and changes. A timetable opened on this source follows each change;
 * changes close together are loaded together. The source passes only the changes to the timetable.
 */
export class MemorySource implements RecordSource {
  /** For messages. */
  readonly name: string;
  #records: Records;
  /** Whether `#records` is a stream that was read. */
  #isSpent = false;
  /** The changes since `#firstChange`, oldest first. */
  #log: LoggedChange[] = [];
  /** What changes have made of `#records`. Empty after a stream was read, because a stream cannot be loaded again. */
  readonly #overlay: Overlay = new Map();
  /** A part of all versions. It differs in each process, because snapshot files may hold versions of another process. */
  readonly #origin = randomUUID();
  #changes = 0;
  /** The earliest change since which a delta is known. */
  #firstChange = 0;
  readonly #watchers = new Set<() => void>();

  /** @param name for messages. Throws LecternError `option-invalid` for records that are not iterable. */
  constructor(records: Records = [], name = 'records in memory') {
    this.#records = checkRecords(records, 'new MemorySource()');
    this.name = name;
  }

  /**
   * @throws LecternError `source-unreadable` if a stream would have to be read again
   */
  load({ previous, served }: RecordLoadOptions): RecordLoad {
    const version = `${this.#origin}-${this.#changes}`;
    const since = this.#changeOf(served);
    if (previous === version) return { notModified: true };
    if (since !== null && (previous !== null || this.#isSpent))
      return { ...this.#deltaSince(since), version };
    if (this.#isSpent) {
      const problem = 'they are a stream that was already read; expected replace() with other records';
      throw cannotRead(this.name, problem);
    }
    // A copy, because more changes may arrive while all records are read.
    const records = overlaid(this.#records, new Map(this.#overlay));
    this.#isSpent = isStream(this.#records);
    if (this.#isSpent) this.#overlay.clear();
    return { records, version };
  }

  /** Replaces all records. Throws LecternError `option-invalid` for records that are not iterable. */
  replace(records: Records): void {
    this.#records = checkRecords(records, 'replace()');
    this.#isSpent = false;
    this.#log = [];
    this.#overlay.clear();
    this.#firstChange = this.#changes + 1;
    this.#changed();
  }

  /**
   * Adds, replaces and removes single records. The case of UUIDs is ignored.
   *
   * @throws LecternError `option-invalid` for an upsert without an id, or an upsert or remove that is not a list. Nothing is
   *   changed then.
   */
  apply(change: RecordChange): void {
    const upserts = listOf(change, 'upsert').map((record) => {
      const id = idOf(record);
      if (id === null) throw optionInvalid('a record to upsert needs an id that is a text or a whole number');
      return [id, record as { readonly id: string | number }] as const;
    });
    const removed = listOf(change, 'remove') as (string | number)[];
    const number = this.#changes + 1;
    for (const id of removed) {
      const key = comparable(id);
      if (key !== null) this.#put({ number, key, id, record: null });
    }
    for (const [key, record] of upserts) this.#put({ number, key, id: record.id, record });
    this.#fold(number);
    this.#changed();
  }

  /** Calls back after each change, until closed. */
  watch(onChange: () => void): RecordWatch {
    // One function may be used for several watches.
    const watcher = (): void => onChange();
    this.#watchers.add(watcher);
    return { close: () => void this.#watchers.delete(watcher) };
  }

  #changed(): void {
    this.#changes++;
    for (const watcher of this.#watchers) watcher();
  }

  #put(change: LoggedChange): void {
    this.#log.push(change);
    if (this.#isSpent) return;
    // The latest record comes last.
    this.#overlay.delete(change.key);
    this.#overlay.set(change.key, change.record);
  }

  /** The last change that a version contains. Null for another source, or if some later changes are no longer kept. */
  #changeOf(version: string | null): number | null {
    const prefix = `${this.#origin}-`;
    if (version === null || !version.startsWith(prefix)) return null;
    const change = Number(version.slice(prefix.length));
    return change < this.#firstChange ? null : change;
  }

  /** Each record has only its last change. */
  #deltaSince(change: number): Omit<RecordDelta, 'version'> {
    // Only one timetable can have read a stream, so this one needs no earlier change.
    if (this.#isSpent) this.#forget(change);
    const first = this.#log.findLastIndex(({ number }) => number <= change) + 1;
    const changes = [...new Map(this.#log.slice(first).map((each) => [each.key, each])).values()];
    return {
      upserts: changes.flatMap(({ record }) => record ?? []),
      removals: changes.flatMap(({ id, record }) => (record === null ? [id] : [])),
    };
  }

  #forget(change: number): void {
    this.#log = this.#log.filter(({ number }) => number > change);
    this.#firstChange = Math.max(this.#firstChange, change);
  }

  /** Many changes are merged into the list of records. The next load is then one of all records. */
  #fold(change: number): void {
    const records = this.#records;
    const size = Array.isArray(records) ? records.length : records instanceof Set ? records.size : null;
    if (this.#isSpent || this.#log.length <= Math.max(size ?? 0, MEMORY_OVERLAY_ENTRIES_MIN)) return;
    this.#forget(change);
    if (size === null) return;
    this.#records = [...(overlaid(records, this.#overlay) as Iterable<unknown>)];
    this.#overlay.clear();
  }
}

/** A string is iterable, too, but its characters are not records. */
function checkRecords(given: unknown, taker: string): Records {
  const isIterable =
    typeof given === 'object' &&
    given !== null &&
    (Symbol.iterator in given || Symbol.asyncIterator in given);
  if (isIterable) return given as Records;
  throw optionInvalid(`${taker} takes an iterable of records, such as an array`);
}

/** Whether the records can be read only once: a generator, or a stream of Node or the web. */
function isStream(records: Records): boolean {
  return ['next', 'pipe', 'getReader'].some(
    (name) => typeof (records as unknown as Readonly<Record<string, unknown>>)[name] === 'function',
  );
}

function listOf(change: unknown, name: keyof RecordChange): unknown[] {
  const fault = (problem: string): LecternError =>
    optionInvalid(`apply() takes { upsert: [records], remove: [ids] }: ${problem}`);
  if (typeof change !== 'object' || change === null) throw fault('it got no object');
  const unknown = Object.keys(change).find((key) => key !== 'upsert' && key !== 'remove');
  if (unknown !== undefined) throw fault(`it does not take ${JSON.stringify(unknown)}`);
  const list: unknown = (change as RecordChange)[name];
  if (list === undefined) return [];
  if (typeof list === 'object' && list !== null && Symbol.iterator in list)
    return [...(list as Iterable<unknown>)];
  throw fault(`${name} is not a list`);
}

/** For each comparable id, the record that replaces all records with that id; null removes them. */
type Overlay = Map<string, object | null>;

/** The records that the overlay does not replace, followed by the records of the overlay. */
function overlaid(records: Records, overlay: Overlay): Records {
  if (overlay.size === 0) return records;
  return Symbol.iterator in records ? overlaidHere(records, overlay) : overlaidInTime(records, overlay);
}

function* overlaidHere(records: Iterable<unknown>, overlay: Overlay): Generator<unknown> {
  for (const record of records) if (!isReplaced(record, overlay)) yield record;
  for (const record of overlay.values()) if (record !== null) yield record;
}

async function* overlaidInTime(records: AsyncIterable<unknown>, overlay: Overlay): AsyncGenerator<unknown> {
  for await (const record of records) if (!isReplaced(record, overlay)) yield record;
  for (const record of overlay.values()) if (record !== null) yield record;
}

function isReplaced(record: unknown, overlay: Overlay): boolean {
  const id = idOf(record);
  return id !== null && overlay.has(id);
}

/** The id of a record in comparable form; null if it has none. */
function idOf(record: unknown): string | null {
  if (typeof record !== 'object' || record === null || !('id' in record)) return null;
  return comparable(record.id);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The comparable form of an id: equal for all spellings of a UUID, and for a number and its digits; null for a
 * value that is not an id.
 */
function comparable(id: unknown): string | null {
  if (typeof id !== 'string') return digitsOf(id);
  return UUID.test(id) ? id.toLowerCase() : id;
}
