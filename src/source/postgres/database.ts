import type { EventEmitter } from 'node:events';
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import type { Client, ClientConfig, QueryResult } from 'pg';
import type { CopyToStreamQuery } from 'pg-copy-streams';
import { cannotRead, LecternError } from '../../base/errors.js';
import { readTextFile } from '../../base/files/text-file.js';
import { DATABASE_FILE_BYTES_MAX, DATABASE_KEEPALIVE_MS } from '../../base/limits.js';
import { inTime } from '../../base/model/clock.js';
import { guardMessages, type MessageGuard, OUT_OF_TURN, ProtocolFault } from './message-guard.js';
import { type PostgresAddress, type PostgresHost, showHost } from './postgres-address.js';

export interface DatabaseOptions {
  /** For messages. */
  readonly name: string;
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

  /** @param client that is not connected yet; `open` connects it */
  constructor(client: Client, options: DatabaseOptions) {
    this.client = client;
    this.#options = options;
    this.#guard = guardMessages(client);
    client.on('error', (error) => {
      this.lost ??= error;
    });
  }

  static async open(address: PostgresAddress, options: DatabaseOptions): Promise<Database> {
    const database = await connect(address, options);
    const close = (): void => database.close();
    options.signal?.addEventListener('abort', close, { once: true });
    database.client.once('end', () => options.signal?.removeEventListener('abort', close));
    return database;
  }

  /** Time since the server sent anything. */
  get silentMs(): number {
    return performance.now() - this.#guard.heardMs;
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
      return await inTime(promise, msMax, () => new Hang(msMax));
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
    await inTime(ending, END_MS_MAX, () => new Hang(END_MS_MAX)).catch(() => this.close());
  }
}

const END_MS_MAX = 1000;

function socketOf(client: Client): Socket {
  return (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream;
}

/** Connects to the first suitable host, with or without TLS as `sslmode` says. */
async function connect(address: PostgresAddress, options: DatabaseOptions): Promise<Database> {
  const { default: pg } = await import('pg');
  const ways = await tlsWays(address);
  const beganMs = performance.now();
  const places = placesOf(address);
  let failed: { readonly error: unknown; readonly place: PostgresHost } | null = null;
  for (const [n, place] of places.entries()) {
    for (const ssl of place.host.startsWith('/') ? [false as const] : ways) {
      options.signal?.throwIfAborted();
      const leftMs = options.answerMsMax - (performance.now() - beganMs);
      if (leftMs <= 0) {
        // TLS was refused, and no time is left to go on without it.
        if (isTlsProblem(failed?.error)) failed = { error: new Hang(options.answerMsMax), place };
        break;
      }
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
          return passwordFor(address, place) as Promise<string>;
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
      const database = new Database(new pg.Client(config), options);
      const { client } = database;
      const ready = <Value>(promise: Promise<Value>): Promise<Value> =>
        inTime(promise, msMax, () => new Hang(msMax), undefined, options.signal);
      try {
        login?.watch(client);
        await ready(client.connect());
        login?.checkDone();
        if (await ready(fits(client, place.sessions))) return database;
        const problem = `it is not a ${place.sessions} server, as target_session_attrs requires`;
        throw new LecternError('source-unreadable', problem);
      } catch (error) {
        database.close();
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

/**
 * Enforces `channel_binding=require`. The client uses SCRAM-SHA-256-PLUS if the server offers it, and would
 * otherwise log in without binding.
 */
class BoundLogin {
  #isOffered = false;
  #isDone = false;

  /** Call this before connecting, so that the watch sees each message before the client does. */
  watch(client: Client): void {
    const { connection } = client as unknown as { readonly connection: EventEmitter };
    connection.on('authenticationSASL', ({ mechanisms }: { readonly mechanisms: readonly string[] }) => {
      this.#isOffered = mechanisms.includes('SCRAM-SHA-256-PLUS');
    });
    connection.on('authenticationSASLFinal', () => {
      this.#isDone = true;
    });
  }

  /** Call this before the password is used, because a false server may ask for the password as text. */
  check(): void {
    if (!this.#isOffered) throw unbound();
  }

  /** Call this after connecting, because a false server may not ask for a password at all. */
  checkDone(): void {
    if (!this.#isOffered || !this.#isDone) throw unbound();
  }
}

function unbound(): LecternError {
  return new LecternError(
    'source-unreadable',
    'channel_binding=require needs TLS and a login with SCRAM-SHA-256, and the server offered no SCRAM-SHA-256-PLUS; remove the parameter to connect without it',
  );
}

/** The kinds of connection that `sslmode` allows, in libpq's order. */
async function tlsWays(address: PostgresAddress): Promise<readonly (false | ConnectionOptions)[]> {
  const { sslmode, sslrootcert, bindsChannel } = address;
  if (sslmode === 'disable') return [false];
  const own: ConnectionOptions = {
    ...(await ownCertificate(address)),
    minVersion: address.tlsMin ?? undefined,
    maxVersion: address.tlsMax ?? undefined,
  };
  if (sslmode === 'allow' || sslmode === 'prefer') {
    const unchecked = { ...own, rejectUnauthorized: false };
    if (bindsChannel) return [unchecked];
    return sslmode === 'allow' ? [false, unchecked] : [unchecked, false];
  }
  const usual = join(homedir(), '.postgresql', 'root.crt');
  const path = sslrootcert ?? (existsSync(usual) ? usual : null);
  // As in libpq, `require` checks the certificate of the server if there is a root certificate.
  if (sslmode === 'require' && path === null) return [{ ...own, rejectUnauthorized: false }];
  const isNamed = sslmode === 'verify-full' || path === 'system';
  return [
    {
      ...own,
      ca: path === null || path === 'system' ? undefined : await readCertificate(path),
      crl: address.sslcrl === null ? undefined : await readCertificate(address.sslcrl),
      rejectUnauthorized: true,
      // `require` and `verify-ca` ignore the names in the certificate.
      ...(isNamed ? {} : { checkServerIdentity: () => undefined }),
    },
  ];
}

async function ownCertificate({ sslcert, sslkey, sslpassword }: PostgresAddress): Promise<ConnectionOptions> {
  const folder = join(homedir(), '.postgresql');
  const cert = sslcert ?? join(folder, 'postgresql.crt');
  const key = sslkey ?? join(folder, 'postgresql.key');
  if (sslcert === null && sslkey === null && !(existsSync(cert) && existsSync(key))) return {};
  const passphrase = sslpassword ?? undefined;
  return { cert: await readCertificate(cert), key: await readCertificate(key), passphrase };
}

function readCertificate(path: string): Promise<string> {
  const name = `the certificate file ${path}`;
  return readTextFile(path, { name, bytesMax: DATABASE_FILE_BYTES_MAX, code: 'source-unreadable' });
}

/** The permission bits of the group and other users, which must not read a password file. */
const OPEN_TO_OTHERS = 0o077;

/**
 * The password for one host: from the address, which may name a file with only the password, or from a libpq password
 * file. Files are read at each connection, so a new password needs no restart. Undefined if there is no
 * password.
 *
 * @throws LecternError `source-unreadable` if a named file cannot be read
 */
async function passwordFor(address: PostgresAddress, place: PostgresHost): Promise<string | undefined> {
  const { password, passfile } = address;
  if (password?.startsWith('file:')) {
    const file = password.slice('file:'.length);
    const [line = ''] = (await readSecretFile(file, false)).split(/\r?\n/);
    if (line === '') throw passwordFault(file, 'its first line is empty; expected the password');
    return line;
  }
  if (password !== null) return password;
  const path = passfile ?? join(homedir(), '.pgpass');
  if (passfile === null && !existsSync(path)) return undefined;
  return passwordIn(await readSecretFile(path, true), address, place);
}

/** @param isOfUser whether this is a libpq file, which only its owner may read */
async function readSecretFile(path: string, isOfUser: boolean): Promise<string> {
  const text = await readTextFile(path, {
    name: `the password file ${path}`,
    bytesMax: DATABASE_FILE_BYTES_MAX,
    code: 'source-unreadable',
    isRegular: true,
  });
  if (isOfUser && process.platform !== 'win32' && ((await stat(path)).mode & OPEN_TO_OTHERS) !== 0) {
    throw passwordFault(path, 'other users may read it; run chmod 600 on it');
  }
  return text;
}

function passwordFault(path: string, problem: string): LecternError {
  return new LecternError('source-unreadable', `the password file ${path} cannot be used: ${problem}`);
}

/** The first line `host:port:database:user:password` that matches. `*` matches everything, `\` escapes `:` and itself. */
export function passwordIn(
  text: string,
  { database, user }: Pick<PostgresAddress, 'database' | 'user'>,
  { host, port }: PostgresHost,
): string | undefined {
  // libpq uses this name for sockets in any folder, too.
  const hosts = host.startsWith('/') ? [host, 'localhost'] : [host];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue;
    const cells = [...line.matchAll(/((?:[^:\\]|\\.)*)(?::|$)/g)].map(([, cell = '']) =>
      cell.replace(/\\(.)/g, '$1'),
    );
    const [ofHost = '', ofPort, ofDatabase, ofUser, password] = cells;
    if (password === undefined || password === '') continue;
    const isHost = ofHost === '*' || hosts.includes(ofHost);
    const isIt = (cell: string | undefined, value: string): boolean => cell === '*' || cell === value;
    if (isHost && isIt(ofPort, String(port)) && isIt(ofDatabase, database) && isIt(ofUser, user))
      return password;
  }
  return undefined;
}

/** The error of a wait in which nothing came in time. */
export class Hang extends Error {
  constructor(ms: number) {
    super(nothingCame(ms));
  }
}

/** @param ms is shown in tenths of a second, because it is often the rest of a limit */
export function nothingCame(ms: number): string {
  return `nothing came for ${Math.max(Math.round(ms / 100), 1) / 10} s`;
}

/** Facts that the server's own messages omit, by SQLSTATE. */
const STATES: Readonly<Record<string, string>> = {
  '08P01':
    'the server does not understand the request: it may be a pooler such as PgBouncer; give the address of PostgreSQL itself',
  '25006': 'the statement writes; a source may only read',
  '42501': 'a privilege is missing',
  '53300': 'the server has no connection left (max_connections, max_wal_senders)',
  '53400': 'the server has no replication slot left (max_replication_slots)',
  '55000': 'the server is not set up for this',
  '57014': 'the server cancelled the statement: it exceeded statement_timeout, or an operator ended it',
  '57P01': 'the server was shut down, or an operator ended the connection',
  '57P02': 'the server crashed',
  '57P03': 'the server is starting or stopping',
};

/** Errors of the system, by code. */
const SYSTEM: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was reset',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ENOENT: 'there is no such socket',
  EPIPE: 'the connection was closed',
  ETIMEDOUT: 'the host does not answer',
};

interface ServerError extends Error {
  readonly code?: string;
  readonly severity?: string;
  readonly hint?: string;
}

/** The error of a connection attempt, in one sentence. */
export function describeConnection(
  error: unknown,
  name: string,
  { user, database, password }: PostgresAddress,
  place: PostgresHost,
): LecternError {
  const { code = '', message } = error as ServerError;
  const where = showHost(place);
  const problem = ((): string => {
    if (error instanceof Hang) return `${where} was not ready in time: ${message}`;
    if (/client password must be a string/.test(message))
      return `the server asks for a password for ${quoteName(user)}; give it as PGPASSWORD, or in the file of PGPASSFILE or ~/.pgpass`;
    if (code === '42501' && /replication role|WAL sender/i.test(message))
      return `${quoteName(user)} may not replicate; run as a superuser: ALTER ROLE "${user.replaceAll('"', '""')}" REPLICATION; the server says: ${message}`;
    if (code === '28P01') return `the server refuses the password of ${quoteName(user)}`;
    if (code.startsWith('28')) return `the server refuses ${quoteName(user)}: ${message}`;
    if (code === '3D000') return `there is no database ${quoteName(database)} on ${where}`;
    if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `the host ${quoteName(place.host)} is not known`;
    if (error instanceof ProtocolFault) return `${where} does not speak PostgreSQL: ${message}`;
    if (/does not support SSL/.test(message)) return `${where} does not speak TLS, but sslmode requires it`;
    if (/establishing an SSL connection/.test(message)) return `${where} does not speak PostgreSQL`;
    if (/terminated unexpectedly/.test(message)) return `${where} closed the connection`;
    if (Object.hasOwn(SYSTEM, code)) return `${SYSTEM[code]}: ${where}`;
    return describeState(error as ServerError);
  })();
  return unreadable(name, withoutPassword(problem, password), error);
}

/** The error of a statement, in one sentence. */
export function failureOf(error: unknown, name: string): LecternError {
  if (error === null) return unreadable(name, LOST, null);
  if (error instanceof LecternError) return error;
  // A row before its description, for example, becomes a TypeError of the client.
  const isOdd = error instanceof TypeError;
  return unreadable(name, isOdd ? OUT_OF_TURN : describeState(error as ServerError), error);
}

const LOST = 'the connection was lost: the server ended it, or the network did';

function describeState({ code = '', message, severity, hint }: ServerError): string {
  if (/^Connection terminated|terminated unexpectedly|is not queryable$/.test(message)) return LOST;
  if (severity === undefined) return SYSTEM[code] ?? message;
  const told = hint === undefined ? message : `${message} (${hint})`;
  const more = STATES[code];
  return more === undefined ? `the server says: ${told}` : `${more}; the server says: ${told}`;
}

/** A server may repeat text that it received. */
function withoutPassword(text: string, password: string | null): string {
  return password === null || password.length < 4 ? text : text.replaceAll(password, '…');
}

function unreadable(name: string, problem: string, cause: unknown): LecternError {
  if (cause instanceof LecternError && cause.message.startsWith('cannot read')) return cause;
  const text = problem.replace(/\s+/g, ' ');
  return cannotRead(name, text, { cause });
}

export function quoteName(name: string): string {
  return JSON.stringify(name);
}
