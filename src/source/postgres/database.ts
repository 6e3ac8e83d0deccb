import type { Socket } from 'node:net';
import type { Client, ClientConfig, QueryResult } from 'pg';
import type { CopyToStreamQuery } from 'pg-copy-streams';
import { LecternError } from '../../errors.js';
import { DATABASE_KEEPALIVE_MS } from '../../limits.js';
import { BoundLogin } from './bound-login.js';
import { describeConnection, failureOf, Hang } from './database-failure.js';
import { tlsWays } from './database-tls.js';
import { guardMessages, type MessageGuard } from './message-guard.js';
import type { PostgresAddress, PostgresHost } from './postgres-address.js';
import { passwordFor } from './postgres-password.js';

export interface DatabaseOptions {
  /** For messages. */
  readonly name: string;
  readonly passwordFile?: string | undefined;
  /** Longest time until a connection is ready, or until a statement has an answer. */
  readonly answerMsMax: number;
  readonly signal?: AbortSignal | undefined;
  /** Whether the connection speaks the replication protocol. Default false. */
  readonly replicates?: boolean | undefined;
}

/** One connection to a database. Every wait has a limit. Failures are LecternErrors with one sentence. */
export class Database {
  readonly client: Client;
  /** Why the connection was lost; null if it was closed without a reason. */
  lost: Error | null = null;
  readonly #guard: MessageGuard;
  readonly #options: DatabaseOptions;
  #last: Promise<unknown> = Promise.resolve();

  private constructor({ client, guard }: Connected, options: DatabaseOptions) {
    this.client = client;
    this.#guard = guard;
    client.on('error', (error) => {
      this.lost ??= error;
    });
    this.#options = options;
  }

  static async open(address: PostgresAddress, options: DatabaseOptions): Promise<Database> {
    const database = new Database(await connect(address, options), options);
    const close = (): void => database.close();
    options.signal?.addEventListener('abort', close, { once: true });
    database.client.once('end', () => options.signal?.removeEventListener('abort', close));
    return database;
  }

  /** Rows as objects, values as `pg` reads them. */
  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return (await this.result<Row>(text, values)).rows;
  }

  /** Checks that the server still answers, and closes the connection if not. */
  async beat(msMax: number): Promise<void> {
    await this.#alone(() => this.client.query('SELECT 1'), msMax).catch(() => {});
  }

  async result<Row extends object>(text: string, values: readonly unknown[] = []): Promise<QueryResult<Row>> {
    return this.#alone(() => this.client.query<Row>(text, [...values]));
  }

  /** The rows of one statement, values as the server writes them. Several statements are refused. */
  async texts(text: string): Promise<QueryResult<(string | null)[]>> {
    const asSent = { getTypeParser: () => (value: unknown) => value } as never;
    const query = { text, rowMode: 'array', queryMode: 'extended', types: asSent } as const;
    return this.#alone(() => this.client.query<(string | null)[]>(query as never));
  }

  /** Runs one statement at a time: `pg` warns of a statement that begins before the last one has ended. */
  #alone<Value>(run: () => Promise<Value>, msMax: number = this.#options.answerMsMax): Promise<Value> {
    const running = this.#last.then(() => this.within(run(), msMax));
    this.#last = running.catch(() => {});
    return running;
  }

  /** Reads the bytes of a COPY. */
  copy(statement: CopyToStreamQuery): CopyToStreamQuery {
    this.#guard.isCopying = true;
    return this.client.query(statement);
  }

  /** Settles like the promise, but closes the connection after the limit. */
  async within<Value>(promise: Promise<Value>, msMax: number): Promise<Value> {
    try {
      return await withLimit(promise, msMax);
    } catch (error) {
      this.#options.signal?.throwIfAborted();
      if (error instanceof Hang) {
        this.lost ??= error;
        this.close();
      }
      throw failureOf(error, this.#options.name);
    }
  }

  /** Lets the process end although the connection is open. */
  unref(): this {
    socketOf(this.client).unref();
    return this;
  }

  /** Closes at once, even during a statement. */
  close(): void {
    socketOf(this.client).destroy();
  }

  /** Closes with a goodbye message, so that the server does not log a lost connection. */
  async end(): Promise<void> {
    const ending = this.client.end().catch(() => {});
    await withLimit(ending, END_MS_MAX).catch(() => this.close());
  }
}

const END_MS_MAX = 1000;

function socketOf(client: Client): Socket {
  return (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream;
}

export async function withLimit<Value>(promise: Promise<Value>, msMax: number): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Hang(msMax)), msMax);
  });
  try {
    return await Promise.race([promise, tooLong]);
  } finally {
    clearTimeout(timer);
  }
}

interface Connected {
  readonly client: Client;
  readonly guard: MessageGuard;
}

/** Connects to the first suitable host, with or without TLS as `sslmode` says. */
async function connect(address: PostgresAddress, options: DatabaseOptions): Promise<Connected> {
  const { default: pg } = await import('pg');
  const ways = await tlsWays(address);
  const beganMs = performance.now();
  const places = placesOf(address);
  let failed: { readonly error: unknown; readonly place: PostgresHost } | null = null;
  for (const [n, place] of places.entries()) {
    for (const ssl of place.host.startsWith('/') ? [false as const] : ways) {
      options.signal?.throwIfAborted();
      const leftMs = options.answerMsMax - (performance.now() - beganMs);
      if (leftMs <= 0) break;
      // Each host gets its share of the time, so that a silent host leaves time for the next ones.
      const msMax = Math.ceil(Math.min(leftMs / (places.length - n), address.connectMsMax ?? leftMs));
      const login = address.bindsChannel ? new BoundLogin() : null;
      const config: ClientConfig & { readonly replication?: 'database' } = {
        host: place.host,
        port: place.port,
        user: address.user,
        database: address.database,
        // The types require a text, although there may be no password.
        password: () => {
          login?.check();
          return passwordFor(address, place, options.passwordFile) as Promise<string>;
        },
        ssl,
        sslnegotiation: ssl === false ? 'postgres' : address.sslnegotiation,
        enableChannelBinding: address.bindsChannel,
        application_name: address.applicationName,
        client_encoding: 'UTF8',
        keepAlive: true,
        keepAliveInitialDelayMillis: DATABASE_KEEPALIVE_MS,
        ...(address.options === null ? {} : { options: address.options }),
        ...(options.replicates === true ? { replication: 'database' } : {}),
      };
      const client = new pg.Client(config);
      const guard = guardMessages(client);
      try {
        login?.watch(client);
        await connectOne(client, msMax, options.signal);
        login?.checkDone();
        if (await withLimit(fits(client, place.sessions), msMax)) return { client, guard };
        const problem = `it is not a ${place.sessions} server, as target_session_attrs requires`;
        failed = { error: new LecternError('source-unreadable', problem), place };
        socketOf(client).destroy();
      } catch (error) {
        socketOf(client).destroy();
        options.signal?.throwIfAborted();
        failed = { error, place };
        // Other hosts have the same users, so they would refuse the login, too.
        if (isRefused(error) && ssl === ways.at(-1))
          throw describeConnection(error, options.name, address, place);
        if (!isRefused(error) && !isTlsProblem(error)) break;
      }
    }
  }
  const { error, place } = failed ?? {
    error: new Hang(options.answerMsMax),
    place: address.hosts[0] as PostgresHost,
  };
  throw describeConnection(error, options.name, address, place);
}

async function connectOne(client: Client, msMax: number, signal: AbortSignal | undefined): Promise<void> {
  // Running statements report a lost connection. Without a listener, the event would end the process.
  client.on('error', () => {});
  const abort = (): void => void socketOf(client).destroy();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    await withLimit(client.connect() as unknown as Promise<void>, msMax);
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

type Sessions = PostgresAddress['sessions'];

/** The hosts to try, in order. With `prefer-standby`, a second round accepts any server. */
function placesOf({
  hosts,
  sessions,
}: PostgresAddress): readonly (PostgresHost & { readonly sessions: Sessions })[] {
  const rounds: readonly Sessions[] = sessions === 'prefer-standby' ? ['standby', 'any'] : [sessions];
  return rounds.flatMap((round) => hosts.map((place) => ({ ...place, sessions: round })));
}

async function fits(client: Client, sessions: Sessions): Promise<boolean> {
  if (sessions === 'any') return true;
  const { rows } = await client.query<{ readonly standby: boolean; readonly reads: boolean }>(
    "SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS reads",
  );
  const { standby = false, reads = false } = rows[0] ?? {};
  if (sessions === 'read-only') return standby || reads;
  if (sessions === 'read-write') return !standby && !reads;
  return sessions === 'standby' ? standby : !standby;
}

function isRefused(error: unknown): boolean {
  return /^28/.test(String((error as { readonly code?: unknown }).code));
}

function isTlsProblem(error: unknown): boolean {
  return error instanceof Error && /SSL connection/.test(error.message);
}
