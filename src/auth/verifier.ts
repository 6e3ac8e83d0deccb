/**
 * Verifies bearer tokens with jose: signature against an explicit list of algorithms, then the claims.
 */
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { TOKEN_HEADERS_MAX } from '../limits.js';
import { describeTokenShapeFault } from './credential.js';
import type { KeyLookup, KeySet, TokenHeader, VerificationKey } from './key-set.js';
import { describeTextFault } from './token-text.js';
import { VerificationLoad } from './verification-load.js';

/**
 * What kind of token is accepted: any JWT, or only access tokens as RFC 9068 has them, so that no other token of the same
 * issuer (an ID token, say) passes for one.
 */
export const TOKEN_TYPES = ['any', 'at+jwt'] as const;
/** One of {@link TOKEN_TYPES}. */
export type TokenType = (typeof TOKEN_TYPES)[number];

export interface VerifierOptions {
  /** Tried in order; each only with tokens of its own algorithms. At least one. */
  readonly keySets: readonly KeySet[];
  /** Once given, every token must have exactly this `iss`. */
  readonly issuer?: string | undefined;
  /** Once given, every token's `aud` must be or contain it. */
  readonly audience?: string | undefined;
  /** Default `any`. */
  readonly tokenType?: TokenType | undefined;
  /** How far clocks may differ, in milliseconds. Default 5,000. */
  readonly clockToleranceMs?: number;
  /** Epoch milliseconds. Default `Date.now`. */
  readonly now?: () => number;
  /** For tests. Default: the bounds of limits.ts. */
  readonly load?: VerificationLoad;
}

/** The claims of a token whose signature and claims are good. */
export interface VerifiedClaims {
  readonly subject: string;
  /** The first instant at which the token is no longer accepted: its `exp` and the clock tolerance. */
  readonly usableUntilMs: number;
  /** The first at which it is: its `nbf` less the tolerance, or -Infinity. */
  readonly usableFromMs: number;
  /** All claims as they were signed; nothing but the above has been looked at. */
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
  /** 503: the fault is ours. The description is for the log. */
  | { readonly outcome: 'unavailable'; readonly description: string; readonly retryAfterSeconds: number }
  /** 503: as many are being verified as may be, and nothing is known of this one. */
  | { readonly outcome: 'overloaded' };

export type Verification = { readonly outcome: 'ok'; readonly token: VerifiedClaims } | VerificationFailure;

export interface Verifier {
  /** Never rejects: whatever is wrong with a token is a value. */
  verify(token: string): Promise<Verification>;
}

export const CLOCK_TOLERANCE_MS_DEFAULT = 5000;

/** 9999-12-31T23:59:59Z in seconds. A later expiry (1e300 is finite, too) is a mistake or an attack. */
const NUMERIC_DATE_MAX = 253_402_300_799;

/** jose checks signature, issuer, audience and presence; what it says is put into our words here. */
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

/** Creates a verifier. Of tokens it keeps nothing but the headers of good ones, which most have in common. */
export function createVerifier(options: VerifierOptions): Verifier {
  const { keySets, issuer, audience, tokenType = 'any' } = options;
  const isAccessToken = tokenType === 'at+jwt';
  if (keySets.length === 0) throw new TypeError('createVerifier needs at least one key set');
  const now = options.now ?? Date.now;
  const toleranceMs = options.clockToleranceMs ?? CLOCK_TOLERANCE_MS_DEFAULT;

  const headers = new HeaderMemo();
  const requiredClaims = isAccessToken ? ACCESS_TOKEN_CLAIMS : ['exp', 'sub'];
  const clockTolerance = toleranceMs / 1000;
  const load = options.load ?? new VerificationLoad();

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
        clockTolerance,
        currentDate: new Date(now()),
        // jose takes undefined for "whatever".
        issuer: issuer as string,
        audience: audience as string,
      });
      // Only now: what is not signed is not looked at.
      const textFault = describeTextFault(token.split('.', 2)[1] as string);
      if (textFault !== null) return invalid('malformed', `The payload of the token ${textFault}.`);
      const fault = isAccessToken ? accessTokenFault(payload) : null;
      return fault ?? checkClaims(payload, now(), toleranceMs);
    } catch (error) {
      if (error instanceof errors.JWSSignatureVerificationFailed) return undefined;
      return describeJoseError(error);
    }
  }

  /** Undefined: by none of them. */
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
        const lookup: KeyLookup | null = asked instanceof Promise ? await load.wait(asked) : asked;
        if (lookup === null) return OVERLOADED;
        if ('unavailable' in lookup) {
          unavailable = {
            outcome: 'unavailable',
            description: `${set.name}: ${lookup.unavailable}`,
            retryAfterSeconds: lookup.retryAfterSeconds,
          };
          continue;
        }
        const { keys } = lookup;
        if (keys.length === 0) continue;
        tried += keys.length;
        const verification = await verifyWithKeys(token, set, keys);
        if (verification === undefined) continue;
        if (verification.outcome === 'ok') headers.keep(token, header);
        return verification;
      }
      // A key that cannot be had may be the one: only with all of them is a refusal certain.
      if (unavailable !== null) return unavailable;
      return tried === 0
        ? invalid('no-key', 'The token is signed with a key that is not known.')
        : invalid('signature', 'The signature of the token is not valid.');
    },
  };
}

const OVERLOADED: Verification = { outcome: 'overloaded' };

/** What of a token's header is looked at, once it is well-formed. Keys and addresses of keys in it never are. */
interface ReadHeader extends TokenHeader {
  readonly typ: unknown;
}

/**
 * Headers of good tokens by how they are written: an issuer writes all of its tokens' alike. Nothing of a forged token gets in, and
 * what is found here decides no more than which key is tried.
 */
class HeaderMemo {
  readonly #known = new Map<string, ReadHeader>();

  find(token: string): ReadHeader | undefined {
    return this.#known.get(token.slice(0, token.indexOf('.')));
  }

  keep(token: string, header: ReadHeader): void {
    const written = token.slice(0, token.indexOf('.'));
    if (this.#known.has(written)) return;
    if (this.#known.size >= TOKEN_HEADERS_MAX) this.#known.clear();
    // A slice would keep the whole token.
    this.#known.set(Buffer.from(written, 'latin1').toString('latin1'), header);
  }
}

/**
 * Nothing is understood that a header could call critical (RFC 7515 section 4.1.11), `b64` (RFC 7797), which JWTs must not
 * have, included; nor a token inside the token (RFC 7519 section 5.2). Other parameters are ignored (RFC 7515 section 4); of one that is
 * given twice the last counts, as that section allows.
 *
 * @returns a text where it is at fault: what follows "The header of the token"
 */
function readHeader(token: string): ReadHeader | string {
  const textFault = describeTextFault(token.slice(0, token.indexOf('.')));
  if (textFault !== null) return textFault;
  let header: Readonly<Record<string, unknown>>;
  try {
    header = decodeProtectedHeader(token);
  } catch {
    return 'is not a JSON object';
  }
  const { alg, kid, typ, cty } = header;
  if (typeof alg !== 'string') return 'has no "alg" that is a text';
  if (kid !== undefined && typeof kid !== 'string') return 'has a "kid" that is not a text';
  if (cty !== undefined && typeof cty !== 'string') return 'has a "cty" that is not a text';
  if (cty !== undefined && mediaTypeOf(cty) === 'jwt') return 'says that there is a token in the token';
  if (Object.hasOwn(header, 'crit')) return 'has "crit", of which no extension is understood';
  if (Object.hasOwn(header, 'b64')) return 'has "b64", which no JWT may have';
  return { alg, kid, typ };
}

/** RFC 7515 section 4.1.9: `application/` may be left out, and case does not count. */
function mediaTypeOf(text: string): string {
  return text.toLowerCase().replace(/^application\//, '');
}

/** RFC 9068 section 4. */
function isAccessTokenType(typ: unknown): boolean {
  return typeof typ === 'string' && mediaTypeOf(typ) === 'at+jwt';
}

/** RFC 9068 section 2.2. */
const ACCESS_TOKEN_CLAIMS = ['iss', 'exp', 'aud', 'sub', 'client_id', 'iat', 'jti'];

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
