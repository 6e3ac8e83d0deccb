/** Access rules from options, or from files that are read again when they change. */
import type { ParseOptions } from '../answer/view.js';
import { type Access, PresentAccess } from '../auth/access.js';
import type { AuthPlan } from '../auth/authenticator.js';
import { parseRevocations } from '../auth/feed-address.js';
import { parseEnrolments } from '../auth/identity.js';
import { KEYS_LEFT_OUT_TOLD_MAX, parsePublicKeys, readSecrets } from '../auth/key-set.js';
import { isAddress, planRemoteKeys } from '../auth/remote-keys.js';
import { LecternError } from '../base/errors.js';
import {
  FILE_KINDS,
  type FileReport,
  type KeptFile,
  type KeptText,
  keptText,
  type Take,
} from '../base/files/kept-files.js';
import { ENROLMENT_FILE_BYTES_MAX, FEED_REVOCATIONS_BYTES_MAX, KEY_FILE_BYTES_MAX } from '../base/limits.js';
import type { IdentifierMode } from '../base/model/event.js';
import { describeJsonFault } from '../base/model/json-fault.js';
import type { FeedSettings } from '../http/feeds.js';
import type { Logger } from '../http/logger.js';
import type { EmbeddedAuthOptions, FeedServingOptions, Resolved } from '../options/option-types.js';

export interface AccessOptions {
  readonly auth: Resolved<'auth'>;
  readonly feed: Resolved<'feed'> | undefined;
  readonly identifiers: IdentifierMode;
}

/** Access from the options, and the files that give the rest. Throws LecternError `option-invalid`, `key-invalid`. */
export function liveAccess(
  { auth, feed, identifiers }: AccessOptions,
  log: Logger | undefined,
): { readonly access: PresentAccess; readonly files: readonly KeptFile[] } {
  const access = new PresentAccess();
  const change = (more: Partial<Access>): void => access.change(more);
  const files = [
    ...ofTokens(auth, access, log),
    ...ofEnrolments(auth, identifiers, change),
    ...(feed === undefined ? [] : ofFeeds(feed, change)),
  ];
  return { access, files };
}

/** Logs the result of each later read. */
export function logFiles(log: Logger | undefined): (report: FileReport) => void {
  return ({ kind, path: file, error }) => {
    if (error === null) log?.info({ file }, `${FILE_KINDS[kind]} read again`);
    else log?.warn({ file, reason: error.message }, `${FILE_KINDS[kind]} not read: the earlier ones stay`);
  };
}

function ofTokens(auth: EmbeddedAuthOptions, access: PresentAccess, log: Logger | undefined): KeptFile[] {
  const { hs256Secret, hs256SecretFile, jwks } = auth;
  const given = { secret: hs256Secret, secretFile: hs256SecretFile };
  const files = ofSecrets('HS256', given, (secrets) =>
    access.change({ tokenKeys: { ...access.access.tokenKeys, secrets } }),
  );
  const take = (text: string, name: string): Take => {
    const { jwks: keys, leftOut } = parsePublicKeys(text, name);
    return () => {
      access.change({ tokenKeys: { ...access.access.tokenKeys, jwks: keys } });
      const reasons = leftOut.slice(0, KEYS_LEFT_OUT_TOLD_MAX);
      if (leftOut.length > 0)
        log?.warn({ keySet: name, leftOut: leftOut.length, reasons }, 'keys of the key set left out');
    };
  };
  // The round trip keeps only plain JSON, which crosses threads.
  if (typeof jwks === 'object') take(JSON.stringify(jwks), 'auth.jwks')();
  if (typeof jwks !== 'string' || isAddress(jwks)) return files;
  const file = {
    path: jwks,
    name: `key set ${jwks}`,
    bytesMax: KEY_FILE_BYTES_MAX,
    code: 'key-invalid',
  } as const;
  return [...files, keptText('token-keys', file, (text) => take(text, file.name))];
}

function ofEnrolments(
  { enrolments }: EmbeddedAuthOptions,
  identifiers: IdentifierMode,
  change: (more: Partial<Access>) => void,
): KeptFile[] {
  if (typeof enrolments === 'object')
    change({ enrolments: parseEnrolments(enrolments, identifiers, 'auth.enrolments') });
  if (typeof enrolments !== 'string') return [];
  const file = jsonFile(enrolments, 'enrolment map', ENROLMENT_FILE_BYTES_MAX);
  return [
    keptText('enrolments', file, (text) => {
      const read = parseEnrolments(jsonOf(text, file.name), identifiers, file.name, 'source-malformed');
      return () => change({ enrolments: read });
    }),
  ];
}

function ofFeeds(feed: Resolved<'feed'>, change: (more: Partial<Access>) => void): KeptFile[] {
  const { revocations } = feed;
  const files = ofSecrets('feed', feed, (feedSecrets) => change({ feedSecrets }));
  if (typeof revocations === 'object')
    change({ feedRevocations: parseRevocations(revocations, 'feed.revocations') });
  if (typeof revocations !== 'string') return files;
  const file = jsonFile(revocations, 'the feed revocations', FEED_REVOCATIONS_BYTES_MAX);
  const kept = keptText('feed-revocations', file, (text) => {
    const feedRevocations = parseRevocations(jsonOf(text, file.name), file.name, 'source-malformed');
    return () => change({ feedRevocations });
  });
  return [...files, kept];
}

/** A secret file has one secret a line; the first is the present one. */
function ofSecrets(
  use: 'HS256' | 'feed',
  { secret, secretFile }: Pick<FeedServingOptions, 'secret' | 'secretFile'>,
  take: (secrets: readonly Uint8Array[]) => void,
): KeptFile[] {
  if (secret !== undefined) {
    take(readSecrets(secret, use === 'feed' ? 'feed.secret' : 'auth.hs256Secret', use));
    return [];
  }
  if (secretFile === undefined) return [];
  const name = `the ${use} secret file ${secretFile}`;
  const file = { path: secretFile, name, bytesMax: KEY_FILE_BYTES_MAX, code: 'key-invalid' } as const;
  return [
    keptText(use === 'feed' ? 'feed-secrets' : 'token-secrets', file, (text) => {
      const secrets = readSecrets(text, name, use);
      return () => take(secrets);
    }),
  ];
}

function jsonFile(path: string, what: string, bytesMax: number): KeptText {
  return { path, name: `${what} ${path}`, bytesMax, code: 'source-unreadable' };
}

function jsonOf(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the text around the fault.
    throw new LecternError('source-malformed', `${name} is not JSON: ${describeJsonFault(text)}`);
  }
}

/** How a timetable, its servers and its handlers read requests. */
export interface Reading extends ParseOptions {
  readonly identifiers: IdentifierMode;
}

/**
 * Turns `auth` options into plain data, from which each serving thread makes an authenticator.
 *
 * @param method the public method, for messages
 */
export function planAuth(
  method: string,
  auth: Resolved<'auth'>,
  identifiers: IdentifierMode,
  needsKey: boolean,
): AuthPlan {
  const { hs256Secret, hs256SecretFile, jwks, issuer, audience, tokenType, claims } = auth;
  if (needsKey && hs256Secret === undefined && hs256SecretFile === undefined && jwks === undefined) {
    throw new LecternError(
      'key-missing',
      `${method}({ auth }) needs a key: hs256Secret, hs256SecretFile or jwks`,
    );
  }
  return {
    remoteKeys: typeof jwks === 'string' && isAddress(jwks) ? planRemoteKeys(jwks, auth) : null,
    issuer,
    audience,
    tokenType,
    claims,
    identifiers,
  };
}

/** Null without feeds. */
export function planFeeds(
  method: string,
  feed: Resolved<'feed'> | undefined,
  { publicUrl }: Pick<FeedSettings, 'publicUrl'>,
): FeedSettings | null {
  if (feed === undefined) return null;
  if (feed.secret === undefined && feed.secretFile === undefined) {
    throw new LecternError('key-missing', `${method}({ feed }) needs a secret: secret or secretFile`);
  }
  return { days: feed.days, publicUrl };
}
