import type { IncomingMessage } from 'node:http';
import { type AuthPlan, authenticatorOfPlan } from '../auth/auth-plan.js';
import type { Authenticator } from '../auth/authenticator.js';
import { parseEnrolments } from '../auth/enrolments.js';
import { canonicalIdentities, type IdentityValues } from '../auth/identity.js';
import type { KeyMaterial } from '../auth/key-set.js';
import { RemoteKeys } from '../auth/remote-keys.js';
import { planRemoteKeys, REMOTE_KEYS_SECONDS } from '../auth/remote-keys-plan.js';
import { TOKEN_TYPES, type TokenType } from '../auth/verifier.js';
import { LecternError } from '../errors.js';
import { createHandler, type RequestHandler } from '../http/handler.js';
import type { Logger } from '../http/logger.js';
import type { IdentifierMode } from '../model/event.js';
import { VERSION } from '../version.js';
import type { ParseOptions } from '../view/view.js';
import type { ViewSource } from '../view/view-source.js';

/** How tokens are verified, where Lectern does it: at least one kind of key. */
export interface EmbeddedAuthOptions {
  /** At least 32 bytes. */
  readonly hs256Secret?: string | Uint8Array | undefined;
  /**
   * A JSON Web Key Set (RFC 7517) with public keys, parsed; or the http(s) address of one, which is fetched at once and
   * again and again until the timetable is closed.
   */
  readonly jwks?: object | string | undefined;
  /** Seconds between two regular fetches of an address, 1 to 86,400. Default 300. */
  readonly jwksRefreshSeconds?: number | undefined;
  /** Least seconds between any two fetches, also after a failure or for a key that is not known, 1 to 3,600. Default 30. */
  readonly jwksCooldownSeconds?: number | undefined;
  /** Seconds that fetched keys serve while they cannot be fetched again, 2 to 31,536,000. Default 86,400. */
  readonly jwksStaleSecondsMax?: number | undefined;
  /** `at+jwt` accepts only access tokens as RFC 9068 has them, and needs issuer and audience. Default `any`. */
  readonly tokenType?: TokenType | undefined;
  /** Once given, every token must have exactly this `iss`. */
  readonly issuer?: string | undefined;
  /** Once given, every token's `aud` must be or contain it. */
  readonly audience?: string | undefined;
  /** Token claims by the field that they select on, in place of the field's own. */
  readonly claims?: Readonly<Record<string, readonly string[]>> | undefined;
  /** User → field → values, added to what the claims say. */
  readonly enrolments?: object | undefined;
}

/** There is none for CORS: what pages of other origins may read, the embedding server says, for this handler as for all others. */
export interface EmbeddedHandlerOptions {
  /** Where the resources are, as the handler sees request targets. Default `/api/v1`; `/` where the framework strips it. */
  readonly basePath?: string | undefined;
  /** Verify bearer tokens. Without it the embedding program answers for authentication: every request is let in. */
  readonly auth?: EmbeddedAuthOptions | undefined;
  /**
   * Without `auth`: what selects the events of /schedule/personal for a request that the embedding program has let in; null
   * where nothing does. Default: nothing.
   */
  readonly identify?: ((req: IncomingMessage) => IdentityValues | null) | undefined;
  readonly log?: Logger | undefined;
}

const HANDLER_NAMES = [
  'basePath',
  'auth',
  'identify',
  'log',
] as const satisfies (keyof EmbeddedHandlerOptions)[];
const AUTH_NAMES = [
  'hs256Secret',
  'jwks',
  'jwksRefreshSeconds',
  'jwksCooldownSeconds',
  'jwksStaleSecondsMax',
  'tokenType',
  'issuer',
  'audience',
  'claims',
  'enrolments',
] as const satisfies (keyof EmbeddedAuthOptions)[];

/** @throws LecternError `option-invalid`, `key-invalid`, `key-missing` */
export function createEmbeddedHandler(
  views: ViewSource,
  options: EmbeddedHandlerOptions,
  reading: {
    readonly unknownParameters: ParseOptions['unknownParameters'];
    readonly identifiers: IdentifierMode;
    readonly cacheBytesMax: number;
    /** Takes what is to be called when the timetable is closed. */
    readonly whenClosed: (close: () => void) => void;
  },
): RequestHandler {
  checkNames('handler()', options, HANDLER_NAMES);
  const { auth, identify = () => null, basePath, log } = options;
  if (auth !== undefined && options.identify !== undefined) {
    throw new LecternError('option-invalid', 'handler() takes auth or identify, not both');
  }
  const { unknownParameters, identifiers, cacheBytesMax, whenClosed } = reading;
  return createHandler(views, {
    mode: 'production',
    version: VERSION,
    unknownParameters,
    cacheBytesMax,
    ...(basePath === undefined ? {} : { basePath }),
    ...(log === undefined ? {} : { log }),
    ...(auth === undefined
      ? { identify: (req) => canonicalIdentities(checkIdentity(identify(req)), identifiers) }
      : { authenticator: authenticatorHere(planAuth('handler', auth, identifiers), log, whenClosed) }),
  });
}

function authenticatorHere(
  plan: AuthPlan,
  log: Logger | undefined,
  whenClosed: (close: () => void) => void,
): Authenticator {
  if (plan.remoteKeys === null) return authenticatorOfPlan(plan, { feed: null });
  const feed = new RemoteKeys(plan.remoteKeys, { log });
  whenClosed(() => feed.close());
  return authenticatorOfPlan(plan, { feed });
}

/**
 * Nothing passes for nobody. A promise would pass for a user without events.
 *
 * @throws LecternError `option-invalid`
 */
function checkIdentity(given: unknown): IdentityValues | null {
  if (given === undefined || given === null) return null;
  if (typeof given === 'object' && !Array.isArray(given) && !('then' in given)) return given;
  if (given instanceof Promise) given.catch(() => {});
  throw new LecternError(
    'option-invalid',
    "identify() has to answer at once, with values by field, { studyGroup: ['CS-1'] }, or null; what takes time belongs before the handler",
  );
}

/**
 * What a program says of tokens, as plain data.
 *
 * @param taker the method that was called, for messages
 * @throws LecternError `option-invalid`, `key-missing`
 */
export function planAuth(taker: string, auth: EmbeddedAuthOptions, identifiers: IdentifierMode): AuthPlan {
  checkNames(`${taker}({ auth })`, auth, AUTH_NAMES);
  const keys: KeyMaterial[] = [];
  if (auth.hs256Secret !== undefined) keys.push({ kind: 'secret', secret: auth.hs256Secret });
  const { jwks, tokenType = 'any' } = auth;
  checkTimes(auth);
  const remoteKeys = typeof jwks === 'string' ? planRemoteKeys(jwks, auth, 'auth.jwks') : null;
  if (jwks !== undefined && typeof jwks !== 'string') keys.push({ kind: 'public', jwks, name: 'auth.jwks' });
  if (keys.length === 0 && remoteKeys === null) {
    throw new LecternError('key-missing', `${taker}({ auth }) needs a key: hs256Secret or jwks`);
  }
  const { issuer, audience, claims, enrolments } = auth;
  if (!TOKEN_TYPES.includes(tokenType)) {
    throw new LecternError('option-invalid', `auth.tokenType must be ${TOKEN_TYPES.join(' or ')}`);
  }
  // RFC 9068 section 4: both must be checked.
  if (tokenType === 'at+jwt' && (issuer === undefined || audience === undefined)) {
    throw new LecternError('option-invalid', 'auth.tokenType at+jwt needs auth.issuer and auth.audience');
  }
  return {
    keys,
    remoteKeys,
    issuer,
    audience,
    tokenType,
    claims,
    enrolments: enrolments === undefined ? null : parseEnrolments(enrolments, identifiers, 'auth.enrolments'),
    identifiers,
  };
}

const TIMES = [
  ['jwksRefreshSeconds', REMOTE_KEYS_SECONDS.refresh],
  ['jwksCooldownSeconds', REMOTE_KEYS_SECONDS.cooldown],
  ['jwksStaleSecondsMax', REMOTE_KEYS_SECONDS.stale],
] as const;

function checkTimes(auth: EmbeddedAuthOptions): void {
  for (const [name, { min, max }] of TIMES) {
    const value: unknown = auth[name];
    if (value === undefined || (typeof value === 'number' && value >= min && value <= max)) continue;
    throw new LecternError('option-invalid', `auth.${name} must be a number from ${min} to ${max}`);
  }
  const useless = TIMES.find(([name]) => auth[name] !== undefined && typeof auth.jwks !== 'string');
  if (useless !== undefined) {
    throw new LecternError('option-invalid', `auth.${useless[0]} has no effect, as auth.jwks is no address`);
  }
}

/** A mistyped `auth` or `issuer` must not pass for one that was left out: it would let in whoever comes. */
export function checkNames(taker: string, options: unknown, names: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new LecternError('option-invalid', `${taker} takes an object of options: ${names.join(', ')}`);
  }
  const unknown = Object.keys(options).filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    throw new LecternError(
      'option-invalid',
      `${taker} has no option ${unknown.map((name) => JSON.stringify(name)).join(', ')}; its options are ${names.join(', ')}`,
    );
  }
}
