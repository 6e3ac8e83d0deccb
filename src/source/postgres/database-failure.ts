import { cannotRead, LecternError } from '../../base/errors.js';
import { OUT_OF_TURN, ProtocolFault } from './message-guard.js';
import { type PostgresAddress, type PostgresHost, showHost } from './postgres-address.js';

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
