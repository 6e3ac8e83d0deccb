import { randomUUID } from 'node:crypto';
import { LecternError } from '../errors.js';

/** Records in memory: an array, a generator, a database cursor. Plain objects as JSON would give them. */
export type Records = Iterable<unknown> | AsyncIterable<unknown>;

/** What a load of a {@link RecordSource} gives. */
export type RecordLoad =
  | {
      readonly records: Records;
      /** Opaque: equal for two loads only where both give the same records. Null: it cannot say. */
      readonly version: string | null;
    }
  | { readonly notModified: true };

export interface RecordLoadOptions {
  /** The version that is served. A source that still has it may answer `{ notModified: true }`. */
  readonly previous: string | null;
  /** Aborted when the load is not wanted any more. */
  readonly signal: AbortSignal;
}

/** A source that the embedding program implements itself. */
export interface RecordSource {
  /** For messages. */
  readonly name: string;
  load(options: RecordLoadOptions): RecordLoad | Promise<RecordLoad>;
  /** Calls back whenever there may be something new, until closed. */
  watch?(onChange: () => void): { close(): void };
}

/** A small change of a {@link MemorySource}. */
export interface RecordChange {
  /** Records to add, or to put in the place of those with the same id. */
  readonly upsert?: Iterable<object>;
  /** Ids to take out; unknown ones are skipped. */
  readonly remove?: Iterable<string>;
}

/**
 * Records that the embedding program holds and changes. A timetable that is opened on it follows: changes that come close
 * together become one rebuild.
 */
export class MemorySource implements RecordSource {
  readonly name: string;
  #records: Records;
  /** By id, once a change was applied; null while `#records` is what was given. */
  #byId: Map<string, unknown> | null = null;
  /** Another one in each process: versions are kept in snapshot files, where they must not be taken for another's. */
  readonly #origin = randomUUID();
  #changes = 0;
  readonly #watchers = new Set<() => void>();

  /** @param name for messages */
  constructor(records: Records = [], name = 'records in memory') {
    this.#records = records;
    this.name = name;
  }

  load({ previous }: RecordLoadOptions): RecordLoad {
    const version = `${this.#origin}-${this.#changes}`;
    if (previous === version) return { notModified: true };
    return { records: this.#byId === null ? this.#records : [...this.#byId.values()], version };
  }

  /** Puts other records in the place of all. */
  replace(records: Records): void {
    this.#records = records;
    this.#byId = null;
    this.#changed();
  }

  /**
   * Adds, replaces and removes single records. Ids are compared without regard to case where they are UUIDs.
   *
   * @throws LecternError `option-invalid` where a record to upsert has no id, or where the records were given as a
   *   stream, which cannot be read a second time. Nothing is changed then.
   */
  apply(change: RecordChange): void {
    const byId = this.#byId ?? this.#indexed();
    const upserts = [...(change.upsert ?? [])].map((record) => {
      const id = idOf(record);
      if (id === null)
        throw new LecternError('option-invalid', 'a record to upsert has no id that is a text');
      return [id, record] as const;
    });
    for (const id of change.remove ?? []) byId.delete(comparable(id));
    for (const [id, record] of upserts) byId.set(id, record);
    this.#byId = byId;
    this.#changed();
  }

  watch(onChange: () => void): { close(): void } {
    this.#watchers.add(onChange);
    return { close: () => void this.#watchers.delete(onChange) };
  }

  #changed(): void {
    this.#changes++;
    for (const onChange of this.#watchers) onChange();
  }

  #indexed(): Map<string, unknown> {
    const records = this.#records;
    if (!Array.isArray(records) && !(records instanceof Set)) {
      throw new LecternError('option-invalid', 'apply() needs records that were given as an array or a Set');
    }
    const byId = new Map<string, unknown>();
    let number = 0;
    for (const record of records as Iterable<unknown>) {
      // What has no id, or one a second time, is kept under a name of its own: it is rejected when it is loaded.
      const id = idOf(record);
      byId.set(id === null || byId.has(id) ? `\u0000${number}` : id, record);
      number++;
    }
    return byId;
  }
}

function idOf(record: unknown): string | null {
  if (typeof record !== 'object' || record === null || !('id' in record)) return null;
  return typeof record.id === 'string' ? comparable(record.id) : null;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function comparable(id: string): string {
  return UUID.test(id) ? id.toLowerCase() : id;
}
