/** Verifies bearer tokens with jose: signature against an explicit list of algorithms, then the claims. */
import { errors, type JWTPayload, jwtVerify } from 'jose';
import { KEY_TRIES_UNDER_WAY_MAX, KEY_WAITS_MAX } from '../limits.js';
import { describeTokenShapeFault } from './credential.js';
import type { KeySet, VerificationKey } from './key-set.js';
import { describeTextFault, HeaderMemo, isAccessTokenType, readHeader } from './token-header.js';

/**
 * What kind of token is accepted: any JWT, or only access tokens as RFC 9068 has them, so that no other token of the same
 * issuer (an ID token, say) passes for one.
 */
export const TOKEN_TYPES = ['any', 'at+jwt'] as const;
/** One of {@link TOKEN_TYPES}. */
export type TokenType = (typeof TOKEN_TYPES)[number];

export interface VerifierOptions {
  /** At least one, tried in order, each with tokens of its own algorithms. */
  readonly keySets: readonly KeySet[];
  /** Once given, every token must have exactly this `iss`. */
  readonly issuer?: string | undefined;
  /** Once given, every token's `aud` must be or contain it. */
  readonly audience?: string | undefined;
  /** Default `any`. */
  readonly tokenType?: TokenType | undefined;
  /** How far clocks may differ. Default 5,000. */
  readonly clockToleranceMs?: number;
  /** Epoch milliseconds. Default `Date.now`. */
  readonly now?: () => number;
  /** For tests. */
  readonly load?: VerificationLoad;
}

/** The claims of a token whose signature and claims are good. */
export interface VerifiedClaims {
  readonly subject: string;
  /** Exclusive: `exp` and the clock tolerance. */
  readonly usableUntilMs: number;
  /** Inclusive: `nbf` less the tolerance, or -Infinity. */
  readonly usableFromMs: number;
  /** All claims as they were signed; the others are unchecked. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Why a token is refused, for logs and tests. */
export type TokenFault =
  | 'malformed'
  | 'algorithm'
  | 'type'
  | 'no-key'
  | 'signature'
  | 'expired'
  | 'not-yet-valid'
  | 'issuer'
  | 'audience'
  | 'claims';

export type VerificationFailure =
  /** 401. The description is for the client and repeats nothing of the token. */
  | { readonly outcome: 'invalid'; readonly reason: TokenFault; readonly description: string }
  /** 503: the keys are missing. The description is for the log. */
  | { readonly outcome: 'unavailable'; readonly description: string; readonly retryAfterSeconds: number }
  /** 503: too many tokens are being verified to look at this one. */
  | { readonly outcome: 'overloaded' };

export type Verification = { readonly outcome: 'ok'; readonly token: VerifiedClaims } | VerificationFailure;

export interface Verifier {
  /** Never rejects: all faults of a token are values. */
  verify(token: string): Promise<Verification>;
}

/**
 * Bounds what verifications take at a time. Threads of libuv do their work: without a bound a flood of forged tokens would pile
 * up there for seconds, before good ones. It counts keys that are tried, so that a token with one key finds room where a
 * token with many does not.
 */
export class VerificationLoad {
  readonly #triesMax: number;
  readonly #waitsMax: number;
  #tries = 0;
  #waits = 0;

  constructor(triesMax: number = KEY_TRIES_UNDER_WAY_MAX, waitsMax: number = KEY_WAITS_MAX) {
    this.#triesMax = triesMax;
    this.#waitsMax = waitsMax;
  }

  /** @returns whether there is room; then each try must be given back */
  reserve(tries: number): boolean {
    if (this.#tries + tries > this.#triesMax) return false;
    this.#tries += tries;
    return true;
  }

  giveBack(tries: number): void {
    this.#tries -= tries;
  }

  /** Waits for keys, outside the room of verifications. Null, at once, where too many wait already. */
  async wait<Value>(keys: Promise<Value>): Promise<Value | null> {
    if (this.#waits >= this.#waitsMax) return null;
    this.#waits++;
    try {
      return await keys;
    } finally {
      this.#waits--;
    }
  }
}

const CLOCK_TOLERANCE_MS_DEFAULT = 5000;

/** 9999-12-31T23:59:59Z in seconds. A later expiry (1e300 is finite, too) is a mistake or an attack. */
const NUMERIC_DATE_MAX = 253_402_300_799;

/** RFC 9068 section 2.2. */
const ACCESS_TOKEN_CLAIMS = ['iss', 'exp', 'aud', 'sub', 'client_id', 'iat', 'jti'];

const OVERLOADED: Verification = { outcome: 'overloaded' };

/** Our words for faults of claims, whether jose finds them or the checks below. */
const CLAIM_DESCRIPTIONS: Readonly<Record<string, readonly [reason: TokenFault, description: string]>> = {
  iss: ['issuer', 'The token is from another issuer, or names none.'],
  aud: ['audience', 'The token is for another audience, or names none.'],
  exp: ['claims', 'The token has no valid "exp" claim.'],
  nbf: ['not-yet-valid', 'The token is not valid yet.'],
  sub: ['claims', 'The token has no "sub" claim that is a non-empty string.'],
  iat: ['claims', 'The token has no valid "iat" claim.'],
  client_id: ['claims', 'The token has no "client_id" claim that is a non-empty string.'],
  jti: ['claims', 'The token has no "jti" claim that is a non-empty string.'],
};

export function createVerifier(options: VerifierOptions): Verifier {
  const { keySets, issuer, audience, now = Date.now, load = new VerificationLoad() } = options;
  if (keySets.length === 0) throw new TypeError('createVerifier needs at least one key set');
  const isAccessToken = options.tokenType === 'at+jwt';
  const requiredClaims = isAccessToken ? ACCESS_TOKEN_CLAIMS : ['exp', 'sub'];
  const toleranceMs = options.clockToleranceMs ?? CLOCK_TOLERANCE_MS_DEFAULT;
  const headers = new HeaderMemo();

  /** Undefined: the signature is not by this key. */
  async function verifyWithKey(
    token: string,
    set: KeySet,
    key: VerificationKey,
  ): Promise<Verification | undefined> {
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: set.algorithms as string[],
        requiredClaims,
        clockTolerance: toleranceMs / 1000,
        currentDate: new Date(now()),
        // jose takes undefined for "any".
        issuer: issuer as string,
        audience: audience as string,
      });
      // Only now: nothing unsigned is looked at.
      const textFault = describeTextFault(token.split('.', 2)[1] as string);
      if (textFault !== null) return invalid('malformed', `The payload of the token ${textFault}.`);
      return (isAccessToken ? accessTokenFault(payload) : null) ?? checkClaims(payload, now(), toleranceMs);
    } catch (error) {
      if (error instanceof errors.JWSSignatureVerificationFailed) return undefined;
      return describeJoseError(error);
    }
  }

  /** Undefined: the signature is by none of the keys. */
  async function verifyWithKeys(
    token: string,
    set: KeySet,
    keys: readonly VerificationKey[],
  ): Promise<Verification | undefined> {
    if (!load.reserve(keys.length)) return OVERLOADED;
    let untried = keys.length;
    try {
      for (const key of keys) {
        const verification = await verifyWithKey(token, set, key);
        if (verification !== undefined) return verification;
        load.giveBack(1);
        untried--;
      }
    } finally {
      load.giveBack(untried);
    }
    return undefined;
  }

  return {
    async verify(token) {
      const shapeFault = describeTokenShapeFault(token);
      if (shapeFault !== null) return invalid('malformed', shapeFault);
      const header = headers.find(token) ?? readHeader(token);
      if (typeof header === 'string') return invalid('malformed', `The header of the token ${header}.`);
      if (isAccessToken && !isAccessTokenType(header.typ)) {
        return invalid('type', 'The token is not an access token: its "typ" is not "at+jwt".');
      }
      const fitting = keySets.filter((set) => set.algorithms.includes(header.alg));
      if (fitting.length === 0) {
        return invalid('algorithm', 'The token is signed with an algorithm that is not accepted.');
      }
      let tried = 0;
      let unavailable: Verification | null = null;
      for (const set of fitting) {
        const asked = set.candidates(header);
        const lookup = asked instanceof Promise ? await load.wait(asked) : asked;
        if (lookup === null) return OVERLOADED;
        if ('unavailable' in lookup) {
          const { unavailable: reason, retryAfterSeconds } = lookup;
          unavailable = { outcome: 'unavailable', description: `${set.name}: ${reason}`, retryAfterSeconds };
          continue;
        }
        tried += lookup.keys.length;
        const verification = await verifyWithKeys(token, set, lookup.keys);
        if (verification === undefined) continue;
        if (verification.outcome === 'ok') headers.keep(token, header);
        return verification;
      }
      // The token's key may be among the missing ones: only with all keys is a refusal certain.
      if (unavailable !== null) return unavailable;
      return tried === 0
        ? invalid('no-key', 'The token is signed with a key that is not known.')
        : invalid('signature', 'The signature of the token is not valid.');
    },
  };
}

/** The types of what only access tokens must have (RFC 8693 section 4.3, RFC 7519 section 4.1). */
function accessTokenFault(claims: JWTPayload): Verification | null {
  for (const name of ['iss', 'client_id', 'jti']) {
    const value = claims[name];
    if (typeof value !== 'string' || value === '') {
      return invalid('claims', `The token has no "${name}" claim that is a non-empty string.`);
    }
  }
  return null;
}

function isNumericDate(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= NUMERIC_DATE_MAX;
}

/** What jose leaves unchecked: the types of `sub` and the times, and the range of the times. */
function checkClaims(claims: JWTPayload, nowMs: number, toleranceMs: number): Verification {
  const { exp, nbf, iat, sub } = claims as Readonly<Record<string, unknown>>;
  if (typeof sub !== 'string' || sub === '') return invalidClaim('sub');
  if (!isNumericDate(exp)) return invalidClaim('exp');
  if (nbf !== undefined && !isNumericDate(nbf)) {
    return invalid('claims', 'The "nbf" claim of the token is not a valid time.');
  }
  if (iat !== undefined && !isNumericDate(iat)) return invalidClaim('iat');
  const usableUntilMs = exp * 1000 + toleranceMs;
  const usableFromMs = nbf === undefined ? Number.NEGATIVE_INFINITY : nbf * 1000 - toleranceMs;
  // jose cuts the present to whole seconds, which makes it late for exp (and early, so stricter, for nbf).
  if (nowMs >= usableUntilMs) return expired();
  return { outcome: 'ok', token: { subject: sub, usableUntilMs, usableFromMs, claims } };
}

/** Errors of jose other than a signature that does not match. Its messages are not passed on. */
function describeJoseError(error: unknown): Verification {
  if (error instanceof errors.JWTExpired) return expired();
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'nbf' && error.reason !== 'check_failed') {
      return invalid('claims', 'The "nbf" claim of the token is not a valid time.');
    }
    return invalidClaim(error.claim);
  }
  if (error instanceof errors.JOSEError) {
    return invalid('malformed', 'The token is not a valid signed JWT.');
  }
  // Not jose's own: a key of the wrong kind, say. Fail closed; the signature has not been shown to be good.
  return invalid('signature', 'The signature of the token cannot be verified.');
}

function invalid(reason: TokenFault, description: string): VerificationFailure {
  return { outcome: 'invalid', reason, description };
}

function invalidClaim(claim: string): VerificationFailure {
  const [reason, description] = CLAIM_DESCRIPTIONS[claim] ?? ['claims', 'A claim of the token is not valid.'];
  return invalid(reason, description);
}

function expired(): VerificationFailure {
  return invalid('expired', 'The token has expired.');
}
