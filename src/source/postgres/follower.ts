import { randomUUID } from 'node:crypto';
import { cannotRead, type LecternError } from '../../base/errors.js';
import {
  DATABASE_HEARTBEAT_MS,
  FOLLOWED_BYTES_MAX,
  FOLLOWED_CHANGES_MAX,
  FOLLOWED_ROWS_AT_ONCE,
  FOLLOWED_SILENT_MS_MAX,
  retryPauseMs,
  UPSTREAM_HEADERS_MS_MAX,
} from '../../base/limits.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import type { FollowState } from '../../base/model/source-state.js';
import type { RecordLoadOptions } from '../memory-source.js';
import { ChangeStream, parseLsn } from './change-stream.js';
import { Database, failureOf, Hang } from './database.js';
import { checkMappedColumns, describeRows } from './described-rows.js';
import { type FollowPlan, planFollowing, stateOf, type TableState } from './follow-plan.js';
import { ProtocolFault } from './message-guard.js';
import {
  checkPostgresSpec,
  type FollowedLoad,
  type PostgresAddress,
  type PostgresSpec,
  postgresName,
} from './postgres-address.js';

/** Time until the next load, if the stream reported a transaction that is not visible yet. */
const UNSEEN_MS = 20;

/** Microseconds since 2000, as in the protocol of replication. */
const SERVER_CLOCK = '((extract(epoch FROM clock_timestamp()) - 946684800) * 1000000)::int8::text';
/**
 * Where the log ends. With synchronous_commit off, a commit is visible before the server writes it to disk and streams
 * it, which takes at most three times wal_writer_delay.
 */
const LOG_END = `(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
  WHEN current_setting('synchronous_commit') = 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END)::text`;
/** $1 is a process, $2 a position of the log, $3 the SERVER_CLOCK at that position. The clock is read last. */
const SENDER_STATE = `SELECT (SELECT coalesce(wait_event, '') FROM pg_stat_activity WHERE pid = $1) AS waits,
  CASE WHEN pg_is_in_recovery() THEN true WHEN pg_current_wal_flush_lsn() >= $2::pg_lsn THEN true
    ELSE ${SERVER_CLOCK}::int8 - $3::int8 > 3000000 * extract(epoch FROM current_setting('wal_writer_delay')::interval) END AS "isOnDisk",
  ${SERVER_CLOCK} AS at`;
/** The name of the wait for a longer log in PostgreSQL 10 to 18, whose letters differ in case. */
const WAITS_FOR_LOG = 'walsenderwaitforwal';

type FollowedChanges = Extract<FollowedLoad, { readonly chunks: unknown }>;
type Versions = Pick<RecordLoadOptions, 'previous' | 'served'>;

interface SnapshotFacts {
  readonly seen: string;
  readonly lsn: string;
  readonly at: string;
  /** The exported snapshot; null if none was requested. */
  readonly snapshot: string | null;
}

interface SenderRow {
  readonly waits: string | null;
  readonly isOnDisk: boolean;
  readonly at: string;
}

/** The last instant that a Date can hold; a false server may send others. */
const DATE_MS_MAX = 8.64e15;

/** One session with the database: it begins with a new slot, and ends with a failure or a change of structure. */
interface Session {
  /** A part of the versions of this session's loads. */
  readonly origin: string;
  readonly reader: Database;
  readonly plan: FollowPlan;
  readonly stream: ChangeStream;
  readonly pending: PendingChanges;
  /** Number of loads so far. */
  version: number;
}

/**
 * Follows one table, or the tables of one query, by logical replication. The stream reports the keys of changed rows.
 * Of a query, the rows that they concern are found by the joins of its plan (src/source/postgres/query-plan.ts): rows
 * that were concerned before the change, too, because the stream also has the old keys. These rows are read again, with
 * the same statement as all rows, so the results are equal. Each load uses one snapshot of the database, and waits until
 * the stream has reported everything that the snapshot sees. After a break or a change of structure everything starts
 * again.
 */
export class PostgresFollower {
  readonly #spec: PostgresSpec;
  readonly #rules: ReadRules;
  readonly #address: PostgresAddress;
  readonly #name: string;
  readonly #onChange: () => void;
  #session: Session | null = null;
  #timer: NodeJS.Timeout | undefined;
  #lookTimer: NodeJS.Timeout | undefined;
  /** A fault of the server or the network that ended the last session; the next load reports it. */
  #lost: LecternError | null = null;
  /** Sessions in a row that ended before a commit or a heartbeat. */
  #breaks = 0;

  /**
   * @param onChange is called when a load would find something new: after each commit that changed a table, after the
   * structure of a table was altered, after a while without a word of the server, and when the session has ended
   * @throws LecternError `option-invalid`
   */
  constructor(spec: PostgresSpec, rules: ReadRules, onChange: () => void) {
    this.#onChange = onChange;
    this.#spec = spec;
    this.#rules = rules;
    this.#address = checkPostgresSpec(spec);
    this.#name = postgresName(this.#address, spec);
  }

  state: FollowState = { lastCommitMs: null, waitingSinceMs: null, wholeReads: [] };

  /** Makes one load at a time. A failure ends the session, and the caller tries again later. */
  async next(versions: Versions): Promise<FollowedLoad> {
    try {
      const lost = this.#lost;
      this.#lost = null;
      if (lost !== null) throw lost;
      const load = await this.#load(this.#session ?? (await this.#begin()), versions);
      if (load !== null) return load;
      this.#leave();
      const again = await this.#load(await this.#begin(), versions);
      // The table was altered again meanwhile, which the next load sees.
      if (again === null) throw new Error('the table is being altered');
      return again;
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  async #begin(): Promise<Session> {
    const answerMsMax = this.#spec.headersMsMax ?? UPSTREAM_HEADERS_MS_MAX;
    const options = { name: this.#name, answerMsMax };
    const reader = (await Database.open(this.#address, options)).unref();
    try {
      const rows = await describeRows(reader, this.#spec, this.#name);
      checkMappedColumns(rows.columns, this.#rules, this.#name, true);
      const plan = await planFollowing(reader, rows, this.#rules, this.#name, this.#spec.followTables);
      this.state = { ...this.state, wholeReads: plan.wholeReads };
      const pending = new PendingChanges(FOLLOWED_CHANGES_MAX);
      const lost: LecternError[] = [];
      const stream = await ChangeStream.open(this.#address, options, plan, {
        row: (oid, key, xid) => pending.addRow(JSON.stringify([oid, ...key]), xid),
        all: (xid) => pending.addAll(xid),
        committed: (atMs) => {
          this.#breaks = 0;
          const lastCommitMs = Math.abs(atMs) <= DATE_MS_MAX ? atMs : null;
          const waitingSinceMs = this.state.waitingSinceMs ?? Date.now();
          this.state = { ...this.state, lastCommitMs, waitingSinceMs };
          this.#onChange();
        },
        unknown: (oid) => void this.#look(oid),
        broken: (error) => {
          lost.push(error);
          this.#broken(error);
        },
      });
      // The stream may break in the same turn of the event loop in which it begins.
      for (const error of lost) throw error;
      const session = { origin: randomUUID(), reader, plan, stream, pending, version: 0 };
      this.#session = session;
      // A lost connection also ends the session.
      reader.client.once('end', () => {
        if (this.#session === session) this.#broken(failureOf(reader.lost, this.#name));
      });
      this.#lookTimer = setInterval(() => void this.#lookAlive(session), DATABASE_HEARTBEAT_MS).unref();
      return session;
    } catch (error) {
      reader.close();
      throw error;
    }
  }

  /** Null if the structure was altered meanwhile. */
  async #load(session: Session, { previous, served }: Versions): Promise<FollowedLoad | null> {
    const { origin, reader, plan, stream, pending } = session;
    const own = (version: string | null): number | null =>
      version?.startsWith(`${origin} `) === true ? Number(version.slice(origin.length + 1)) : null;
    const [previousOwn, servedOwn] = [own(previous), own(served)];
    if (servedOwn !== null) pending.confirm(servedOwn);
    const isWhole = previous === null || servedOwn === null || pending.isWhole;
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const [facts] = await reader.query<SnapshotFacts>(
      // The position is requested after the snapshot was taken, so it covers everything that the snapshot sees.
      `SELECT txid_current_snapshot()::text AS seen,
         ${LOG_END} AS lsn,
         ${SERVER_CLOCK} AS at,
         ${isWhole ? 'pg_export_snapshot()' : 'null'} AS snapshot`,
    );
    const state = await stateOf(reader, plan.relations);
    if (facts === undefined || state?.structure !== plan.structure) return null;
    const seen = parseSnapshot(facts.seen);
    if (isWhole) return this.#readWhole(session, seen, String(facts.snapshot), state);
    const { lsn, at } = facts;
    await stream.receiveUntil({ lsn: parseLsn(lsn), at: BigInt(at) }, async (pid) => {
      const [sender] = await reader.query<SenderRow>(SENDER_STATE, [pid, lsn, at]);
      // A pooler hides the process.
      const waits = (sender?.waits ?? WAITS_FOR_LOG).toLowerCase() === WAITS_FOR_LOG;
      return { isIdle: waits && sender?.isOnDisk === true, at: BigInt(sender?.at ?? 0) };
    });
    // Meanwhile the stream may have reported more keys than are kept.
    if (pending.isWhole) {
      await reader.query('ROLLBACK');
      return this.#load(session, { previous: null, served });
    }
    const hasChanges = pending.hasSince(previousOwn ?? servedOwn);
    if (hasChanges) pending.take(++session.version, seen);
    const keys = hasChanges ? await concernedKeys(reader, plan, pending.keys) : [];
    const read = keys && (await this.#readKeys(reader, plan, keys));
    if (read === null) {
      await reader.query('ROLLBACK');
      return this.#load(session, { previous: null, served });
    }
    if (!(await this.#endRead(session, state))) return null;
    return hasChanges ? { ...read, version: `${origin} ${session.version}` } : { notModified: true };
  }

  /**
   * Ends a read. False if the table was altered during the read, or if rows may be missing: a snapshot does not see
   * the rows of a table that was rewritten or truncated after it was taken.
   */
  async #endRead({ reader, plan, pending }: Session, before: TableState): Promise<boolean> {
    await reader.query('COMMIT');
    const after = await stateOf(reader, plan.relations);
    if (pending.hasSince(Number.POSITIVE_INFINITY)) this.#tellIn(UNSEEN_MS);
    else this.state = { ...this.state, waitingSinceMs: null };
    return after?.structure === before.structure && after.files === before.files;
  }

  async #readWhole(
    session: Session,
    seen: SeenTransactions,
    snapshot: string,
    state: TableState,
  ): Promise<FollowedLoad> {
    const { origin, reader, pending } = session;
    await reader.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    pending.take(++session.version, seen);
    const { versionQuery: _, ...spec } = this.#spec;
    return {
      whole: { ...spec, follow: false, snapshot },
      version: `${origin} ${session.version}`,
      end: async (isGood) => {
        let isSame = false;
        try {
          isSame = isGood && (await this.#endRead(session, state));
        } finally {
          if (!isSame) this.#leave();
        }
        if (isSame || !isGood) return;
        throw cannotRead(this.#name, 'it was altered while it was read');
      },
    };
  }

  /** Null if the rows have more bytes than are held, or if several rows have one id. */
  async #readKeys(
    reader: Database,
    { id, readByKeys }: FollowPlan,
    keys: readonly Key[],
  ): Promise<Pick<FollowedChanges, 'chunks' | 'ids' | 'removals'> | null> {
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    let bytes = 0;
    const ids: (string | number)[] = [];
    const removals: (string | number)[] = [];
    for (let at = 0; at < keys.length; at += FOLLOWED_ROWS_AT_ONCE) {
      const some = keys.slice(at, at + FOLLOWED_ROWS_AT_ONCE);
      const lines: string[] = [];
      const read = await reader.query<{ readonly key: string; readonly line: string | null }>(
        readByKeys,
        columnsOfKeys(some),
      );
      if (read.length > some.length) return null;
      for (const { key, line } of read) {
        const of = idOfKey(JSON.parse(key), id);
        if (line !== null) lines.push(line);
        (line === null ? removals : ids).push(of);
      }
      if (lines.length === 0) continue;
      const chunk = new TextEncoder().encode(`${lines.join('\n')}\n`) as Uint8Array<ArrayBuffer>;
      bytes += chunk.length;
      if (bytes > FOLLOWED_BYTES_MAX) return null;
      chunks.push(chunk);
    }
    return { chunks, ids, removals };
  }

  /** Checks whether the table was altered, or has a partition that is not followed. */
  async #look(oid: number | null): Promise<void> {
    const session = this.#session;
    if (session === null) return;
    const state = await stateOf(session.reader, session.plan.relations).catch(() => undefined);
    if (this.#session !== session) return;
    if (state?.structure !== session.plan.structure) this.#onChange();
    else if (oid !== null) session.stream.ignore(oid);
  }

  async #lookAlive(session: Session): Promise<void> {
    await session.reader.beat(FOLLOWED_SILENT_MS_MAX);
    if (this.#session !== session) return;
    this.#breaks = 0;
    await this.#look(null);
  }

  /**
   * Ends the session and asks for a load: the first time at once, then after longer pauses, because each load reads
   * everything. Silence and a breach of the protocol are reported first.
   */
  #broken(error: LecternError): void {
    if (error.cause instanceof Hang || error.cause instanceof ProtocolFault) this.#lost = error;
    this.#leave();
    this.#tellIn(this.#breaks === 0 ? 0 : retryPauseMs(this.#breaks));
    this.#breaks++;
  }

  #leave(): void {
    clearTimeout(this.#timer);
    clearInterval(this.#lookTimer);
    const session = this.#session;
    this.#session = null;
    session?.stream.close();
    session?.reader.close();
  }

  #tellIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#onChange, ms).unref();
  }
}

type Key = readonly (string | null)[];

/** One array for each column of the keys. */
function columnsOfKeys(keys: readonly Key[]): (string | null)[][] {
  return (keys[0] ?? []).map((_, n) => keys.map((key) => key[n] ?? null));
}

/**
 * The keys of all rows that changed rows concern, in the snapshot of the transaction. Null if they are more than are
 * kept. A row with a null in its key is not an event.
 *
 * @param changed `[oid, …key]` as JSON
 */
export async function concernedKeys(
  reader: Database,
  { concerned }: FollowPlan,
  changed: readonly string[],
): Promise<readonly Key[] | null> {
  const byTable = new Map<number, Key[]>();
  for (const text of changed) {
    const [oid, ...key] = JSON.parse(text) as [number, ...string[]];
    const keys = byTable.get(oid);
    if (keys === undefined) byTable.set(oid, [key]);
    else keys.push(key);
  }
  const found = new Map<string, Key>();
  const add = (key: Key): void => {
    if (!key.includes(null)) found.set(JSON.stringify(key), key);
  };
  for (const [oid, keys] of byTable) {
    const statements = concerned.get(oid);
    if (statements === undefined) keys.forEach(add);
    for (const statement of statements ?? []) {
      for (let at = 0; at < keys.length; at += FOLLOWED_ROWS_AT_ONCE) {
        const arrays = columnsOfKeys(keys.slice(at, at + FOLLOWED_ROWS_AT_ONCE));
        for (const row of await reader.query<Record<string, string | null>>(statement, arrays))
          add(Object.values(row));
        if (found.size > FOLLOWED_CHANGES_MAX) return null;
      }
    }
  }
  return [...found.values()];
}

/** The id of a row, in the form that the field map gives it. */
function idOfKey(key: Readonly<Record<string, string | number>>, id: FollowPlan['id']): string | number {
  const [only, ...others] = id;
  if (typeof only === 'object' && others.length === 0) return key[only.column] ?? '';
  return id.map((part) => (typeof part === 'string' ? part : String(key[part.column]))).join('');
}

/** The transactions that a snapshot of the database sees. */
interface SeenTransactions {
  sees(xid: number): boolean;
}

/**
 * Reads the result of `txid_current_snapshot()`: `xmin:xmax:xid,xid`. These numbers have 64 bits; the stream gives
 * only the lower 32.
 */
export function parseSnapshot(text: string): SeenTransactions {
  const [, end = '', running = ''] = text.split(':');
  const endXid = BigInt(end);
  const low = Number(endXid & 0xffff_ffffn);
  const active = new Set(
    running.split(',').flatMap((xid) => (xid === '' ? [] : [Number(BigInt(xid) & 0xffff_ffffn)])),
  );
  return {
    // The distance of the transaction from the end, as an int32, because numbers are reused after 2^32.
    sees: (xid) => ((low - xid) | 0) > 0 && !active.has(xid),
  };
}

interface Mark {
  readonly xid: number;
  /** Version of the load that saw the transaction; null if no load has. */
  version: number | null;
}

/**
 * Keys of changed rows, kept until a load that saw the change is served. The stream may report a change before other
 * sessions see it. A load that does not see such a change leaves its key here.
 */
export class PendingChanges {
  readonly #keysMax: number;
  readonly #rows = new Map<string, Mark>();
  /** Transactions with changes that are not known by row, such as TRUNCATE. */
  readonly #whole = new Map<number, Mark>();

  /** @param keysMax with more keys, the table counts as changed as a whole */
  constructor(keysMax: number) {
    this.#keysMax = keysMax;
  }

  addRow(key: string, xid: number): void {
    if (this.#whole.has(xid) && this.#whole.get(xid)?.version === null) return;
    this.#rows.set(key, { xid, version: null });
    if (this.#rows.size <= this.#keysMax) return;
    for (const mark of this.#rows.values()) this.addAll(mark.xid);
    this.#rows.clear();
  }

  addAll(xid: number): void {
    this.#whole.set(xid, { xid, version: null });
  }

  /** The load `version` is served, so the changes that it saw are finished. */
  confirm(version: number): void {
    for (const marks of [this.#rows, this.#whole] as Map<unknown, Mark>[]) {
      for (const [key, mark] of marks)
        if (mark.version !== null && mark.version <= version) marks.delete(key);
    }
  }

  /** Notes that the load `version` reads in this snapshot, and so sees the changes that the snapshot sees. */
  take(version: number, snapshot: SeenTransactions): void {
    for (const mark of this.#marks())
      if (mark.version === null && snapshot.sees(mark.xid)) mark.version = version;
  }

  /** Keys of all unconfirmed changes. */
  get keys(): string[] {
    return [...this.#rows.keys()];
  }

  /** Whether the table has to be read whole. */
  get isWhole(): boolean {
    return this.#whole.size > 0;
  }

  /** Whether there are changes that the load `version` did not see; of Infinity, that no load has seen. */
  hasSince(version: number): boolean {
    for (const mark of this.#marks()) if (mark.version === null || mark.version > version) return true;
    return false;
  }

  *#marks(): Generator<Mark> {
    yield* this.#rows.values();
    yield* this.#whole.values();
  }
}
