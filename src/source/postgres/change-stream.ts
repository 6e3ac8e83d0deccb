import { randomBytes } from 'node:crypto';
import { type EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  Message,
  MessageRelation,
} from 'pg-logical-replication/dist/output-plugins/pgoutput/pgoutput.types.js';
import { cannotRead, LecternError } from '../../base/errors.js';
import { DATABASE_HEARTBEAT_MS, FOLLOWED_SILENT_MS_MAX } from '../../base/limits.js';
import { Database, type DatabaseOptions, failureOf, Hang } from './database.js';
import type { PostgresAddress } from './postgres-address.js';

/** What a stream follows. */
export interface FollowedTables {
  readonly publication: string;
  /**
   * By the oid of a table or partition: the columns whose values, in this order, are the key of a row. Null if a change
   * concerns unknown rows.
   */
  readonly keys: ReadonlyMap<number, readonly string[] | null>;
}

export interface ChangeListener {
  /** A row was added, changed or removed. `key` has the values of its key, in PostgreSQL's spelling. */
  row(oid: number, key: readonly (string | null)[], xid: number): void;
  /** A change that cannot be listed row by row, such as TRUNCATE. */
  all(xid: number): void;
  /** A transaction with reported changes was committed, at this time by the clock of the server. */
  committed(atMs: number): void;
  /** The publication has a table that is not followed, perhaps a new partition. */
  unknown(oid: number): void;
  /** The stream has ended. */
  broken(error: LecternError): void;
}

/** An internal part of the client, which has no method for replication. */
type ReplicationConnection = EventEmitter & { sendCopyFromChunk(chunk: Buffer): void };

const START_MS_MAX = 30_000;
const X_LOG_DATA = 0x77;
const KEEPALIVE = 0x6b;
/** 2000-01-01 in epoch milliseconds. */
const EPOCH_MS = 946_684_800_000;
/** Time between two requests for the server's position, while it is busy. */
const ASK_PAUSE_MS_MIN = 2;
const ASK_PAUSE_MS_MAX = 100;

/** A position of the server's log, and the server's clock after it was read, in microseconds since 2000. */
export interface LogPosition {
  readonly lsn: bigint;
  readonly at: bigint;
}

/** What another connection saw of the server process that sends the stream. */
export interface SenderState {
  /** Whether the process has sent its whole log, and waits for more. */
  readonly isIdle: boolean;
  /** The server's clock after this was seen, in microseconds since 2000. */
  readonly at: bigint;
}

/** `16/B374D848` as one number. */
export function parseLsn(text: string): bigint {
  const [high = '', low = ''] = text.split('/');
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

/**
 * The changes of a publication since the stream began, by logical replication. The slot is temporary: it ends
 * with the connection, so no slot stays behind. Changes are acknowledged when they are received: after a break the
 * table is read whole, so the server need not send them again.
 */
export class ChangeStream {
  readonly #database: Database;
  readonly #connection: ReplicationConnection;
  readonly #tables: FollowedTables;
  readonly #listener: ChangeListener;
  readonly #name: string;
  readonly #shapes = new Map<number, string>();
  readonly #ignored = new Set<number>();
  #parse: (data: Buffer) => Message = () => {
    throw new Error('the stream has not begun');
  };
  /** Everything before this position was received. */
  #position = 0n;
  /** When the server sent its last position, by its clock in microseconds since 2000. */
  #answeredAt = 0n;
  /** The server process of the stream. */
  #pid = 0;
  #xid = 0;
  #hasChanges = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #fault: LecternError | null = null;
  #onKeepalive: (() => void) | null = null;

  private constructor(database: Database, tables: FollowedTables, listener: ChangeListener, name: string) {
    this.#database = database;
    this.#connection = (
      database.client as unknown as { readonly connection: ReplicationConnection }
    ).connection;
    this.#tables = tables;
    this.#listener = listener;
    this.#name = name;
  }

  /** @throws LecternError `source-unreadable` if the server provides no slot */
  static async open(
    address: PostgresAddress,
    options: DatabaseOptions,
    tables: FollowedTables,
    listener: ChangeListener,
  ): Promise<ChangeStream> {
    const database = await Database.open(address, { ...options, replicates: true });
    const stream = new ChangeStream(database, tables, listener, options.name);
    try {
      await stream.#begin();
      return stream;
    } catch (error) {
      stream.close();
      throw error;
    }
  }

  async #begin(): Promise<void> {
    // Only the parser is imported: the whole package would bring decoders of other plug-ins.
    const { PgoutputParser } = await import(
      'pg-logical-replication/dist/output-plugins/pgoutput/pgoutput-parser.js'
    );
    const parser = new PgoutputParser();
    this.#parse = (data) => parser.parse(data);
    const slot = `lectern_${process.pid}_${randomBytes(6).toString('hex')}`;
    const [found] = await this.#database.query<{ readonly pid: number }>('SELECT pg_backend_pid() AS pid');
    this.#pid = found?.pid ?? 0;
    await this.#createSlot(slot);
    const publication = this.#tables.publication.replaceAll('"', '""').replaceAll("'", "''");
    const client = this.#database.client;
    this.#connection.on('copyData', ({ chunk }: { readonly chunk: Buffer }) => this.#take(chunk));
    const streaming = client.query(
      `START_REPLICATION SLOT "${slot}" LOGICAL 0/0 (proto_version '1', publication_names '"${publication}"')`,
    );
    const ended = streaming.then(
      () => cannotRead(this.#name, 'the server ended the stream of changes'),
      (error: unknown) => failureOf(error, this.#name),
    );
    const started = once(this.#connection, 'replicationStart').then(() => null);
    const failure = await this.#database.within(Promise.race([started, ended]), START_MS_MAX);
    if (failure !== null) throw failure;
    void ended.then((error) => this.#break(error));
    this.#timer = setInterval(() => this.#lookAlive(), DATABASE_HEARTBEAT_MS).unref();
    this.#database.unref();
  }

  /** The server creates the slot only after all open transactions that write have ended. */
  async #createSlot(slot: string): Promise<void> {
    try {
      await this.#database.query(
        `CREATE_REPLICATION_SLOT "${slot}" TEMPORARY LOGICAL pgoutput NOEXPORT_SNAPSHOT`,
      );
    } catch (error) {
      if (!(error instanceof LecternError && error.cause instanceof Hang)) throw error;
      const problem = `no replication slot became ready: the server waits for open transactions that write; see pg_stat_activity`;
      throw cannotRead(this.#name, problem, { cause: error });
    }
  }

  /** Stops reports of a table of the publication that is not followed. */
  ignore(oid: number): void {
    this.#ignored.add(oid);
  }

  /**
   * Resolves once everything that was committed before `end` was received. There are two proofs:
   *
   * 1. The server reports a position at or after `end`.
   * 2. The sender was idle after `end`. An open transaction can hold the reported position back, so the first proof may
   *    never come. The sender counts as idle after `end` if
   *    a. it answered twice after `end`: before its first answer, it may have decided to wait without reading on;
   *    b. then another connection saw it idle;
   *    c. it answered once more. This answer comes behind all that it sent before.
   *
   * @param look asks another connection for the state of the sender
   */
  async receiveUntil(end: LogPosition, look: (pid: number) => Promise<SenderState>): Promise<void> {
    let answersAfterEnd = 0;
    let idleAt: bigint | null = null;
    for (let pauseMs = ASK_PAUSE_MS_MIN; this.#position < end.lsn; ) {
      await this.#askPosition();
      if (idleAt !== null && this.#answeredAt > idleAt) return;
      if (this.#answeredAt > end.at) answersAfterEnd++;
      if (idleAt !== null || answersAfterEnd < 2) continue;
      const { isIdle, at } = await look(this.#pid);
      if (isIdle) {
        idleAt = at;
        continue;
      }
      await delay(pauseMs);
      pauseMs = Math.min(2 * pauseMs, ASK_PAUSE_MS_MAX);
    }
  }

  /** Resolves with the next report of the position. #lookAlive notices a server that falls silent. */
  async #askPosition(): Promise<void> {
    const reported = new Promise<void>((resolve) => {
      this.#onKeepalive = resolve;
    });
    this.#acknowledge(true);
    await reported;
    if (this.#isClosed) throw this.#fault ?? failureOf(null, this.#name);
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#onKeepalive?.();
    this.#database.close();
  }

  #break(error: LecternError): void {
    if (this.#isClosed) return;
    this.#fault = error;
    this.close();
    this.#listener.broken(error);
  }

  #lookAlive(): void {
    const { silentMs } = this.#database;
    if (silentMs < FOLLOWED_SILENT_MS_MAX) this.#acknowledge(true);
    else this.#break(failureOf(new Hang(silentMs), this.#name));
  }

  #take(chunk: Buffer): void {
    if (this.#isClosed) return;
    try {
      if (chunk[0] === X_LOG_DATA) {
        this.#change(this.#parse(chunk.subarray(25)));
      } else if (chunk[0] === KEEPALIVE) {
        this.#advance(chunk.readBigUInt64BE(1));
        this.#answeredAt = chunk.readBigInt64BE(9);
        if (chunk[17] === 1) this.#acknowledge(false);
        this.#onKeepalive?.();
      }
    } catch (error) {
      this.#break(failureOf(error, this.#name));
    }
  }

  #advance(position: bigint): void {
    if (position > this.#position) this.#position = position;
  }

  #change(message: Message): void {
    switch (message.tag) {
      case 'begin':
        this.#xid = message.xid >>> 0;
        this.#hasChanges = false;
        return;
      case 'relation':
        this.#relation(message);
        return;
      case 'insert':
        this.#row(message.relation, message.new);
        return;
      case 'update':
        // Old values arrive if the key changed, or if the replica identity is the whole row.
        if (message.key !== null || message.old !== null)
          this.#row(message.relation, message.key ?? message.old);
        this.#row(message.relation, message.new);
        return;
      case 'delete':
        this.#row(message.relation, message.key ?? message.old);
        return;
      case 'truncate':
        if (message.relations.some((relation) => this.#isFollowed(relation))) this.#all();
        return;
      case 'commit':
        if (message.commitEndLsn !== null) this.#advance(parseLsn(message.commitEndLsn));
        if (this.#hasChanges) this.#listener.committed(Number(message.commitTime) / 1000);
        this.#hasChanges = false;
    }
  }

  #isFollowed(relation: MessageRelation | undefined): relation is MessageRelation {
    return relation !== undefined && this.#tables.keys.has(relation.relationOid);
  }

  /** A relation message arrives before the first change of a table, and again after the table was altered. */
  #relation(relation: MessageRelation): void {
    const { relationOid, columns } = relation;
    const keyColumns = this.#tables.keys.get(relationOid) ?? [];
    // Keys are text in the server's spelling; other values are not used.
    for (const column of columns) {
      column.parser = keyColumns.includes(column.name) ? (text: unknown) => text : () => undefined;
    }
    if (!this.#isFollowed(relation)) {
      if (!this.#ignored.has(relationOid)) this.#listener.unknown(relationOid);
      return;
    }
    const shape = JSON.stringify(
      columns.map(({ name, typeOid, typeMod, flags }) => [name, typeOid, typeMod, flags]),
    );
    const known = this.#shapes.get(relationOid);
    this.#shapes.set(relationOid, shape);
    if (known !== undefined && known !== shape) this.#all();
  }

  #row(relation: MessageRelation, values: Readonly<Record<string, unknown>> | null): void {
    if (!this.#isFollowed(relation)) return;
    const { relationOid } = relation;
    const key = this.#tables.keys.get(relationOid)?.map((column) => values?.[column]);
    if (key === undefined || key.includes(undefined)) {
      this.#all();
      return;
    }
    this.#hasChanges = true;
    this.#listener.row(relationOid, key as (string | null)[], this.#xid);
  }

  #all(): void {
    this.#hasChanges = true;
    this.#listener.all(this.#xid);
  }

  /** Sends a standby status update, with one position as written, flushed and applied. */
  #acknowledge(asksForAnswer: boolean): void {
    if (this.#isClosed) return;
    const update = Buffer.alloc(34);
    update[0] = 0x72;
    for (const at of [1, 9, 17]) update.writeBigUInt64BE(this.#position, at);
    update.writeBigInt64BE(BigInt(Date.now() - EPOCH_MS) * 1000n, 25);
    update[33] = asksForAnswer ? 1 : 0;
    this.#connection.sendCopyFromChunk(update);
  }
}
