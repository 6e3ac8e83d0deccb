import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http';
import { LecternError } from '../../base/errors.js';
import { RETRY_AFTER_MS_MAX } from '../../base/limits.js';
import { redactAddress } from './address.js';

export function unreadableAnswer(
  url: URL,
  problem: string,
  options: { cause?: unknown; retryAfterMs?: number | null } = {},
): LecternError {
  return new LecternError('source-unreadable', `cannot read ${redactAddress(url)}: ${problem}`, options);
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed',
  EPIPE: 'the connection was closed',
  ETIMEDOUT: 'the connection timed out',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ENOTFOUND: 'there is no host of this name',
  EAI_AGAIN: 'the name of the host cannot be looked up now',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate comes from an untrusted authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate comes from an untrusted authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate comes from an untrusted authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  HPE_HEADER_OVERFLOW: 'the header fields of the answer are too large',
};

export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  const reason = REASONS[code];
  if (reason !== undefined) return reason;
  if (code.startsWith('HPE_')) return `its answer is not valid HTTP (${code})`;
  // AggregateErrors have a code and no message.
  return error.message === '' ? code : error.message;
}

/** The error of an answer with this status. The message does not show the answer's own reason phrase. */
export function refused(url: URL, status: number, headers: IncomingHttpHeaders, hint: string): LecternError {
  const { 'retry-after': retryAfter, date = '' } = headers;
  // The date counts from the upstream's own clock, if it sends one.
  const sentAtMs = Date.parse(date);
  const nowMs = Number.isNaN(sentAtMs) ? Date.now() : sentAtMs;
  const retryAfterMs = retryAfter === undefined ? null : parseRetryAfter(retryAfter, nowMs);
  const phrase = STATUS_CODES[status];
  const answer = `the answer is ${status}${phrase === undefined ? '' : ` ${phrase}`}; expected 200`;
  const wait = retryAfterMs === null ? '' : `; it asks to wait ${Math.ceil(retryAfterMs / 1000)} s`;
  return unreadableAnswer(url, answer + wait + hint, { retryAfterMs });
}

/** Milliseconds from `nowMs` (RFC 9110 section 10.2.3); null for text that is neither a delay nor a date. */
export function parseRetryAfter(field: string, nowMs: number): number | null {
  const text = field.trim();
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 0), RETRY_AFTER_MS_MAX);
}
