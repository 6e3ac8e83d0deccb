/**
 * Verifies bearer tokens with jose: the form of the token first, then its signature against an explicit list of
 * algorithms, then its claims.
 */
import { isUtf8 } from 'node:buffer';
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import {
  KEY_TRIES_UNDER_WAY_MAX,
  KEY_WAITS_MAX,
  TOKEN_BYTES_MAX,
  TOKEN_HEADERS_MAX,
} from '../base/limits.js';
import { TextMemo } from '../base/structures/text-memo.js';
import type { KeyLookup, KeySet, TokenHeader, VerificationKey } from './key-set.js';
import type { Usable } from './token-cache.js';

/** `at+jwt` accepts only access tokens of RFC 9068, so that ID tokens are refused. */
export const TOKEN_TYPES = ['any', 'at+jwt'] as const;
/** Accepted tokens: any JWT, or access tokens only. */
export type TokenType = (typeof TOKEN_TYPES)[number];

/** Plain data, checked by the table of settings. */
export interface TokenRules {
  /** Required `iss` of every token. */
  readonly issuer?: string | undefined;
  /** Every token's `aud` must be or contain this text. */
  readonly audience?: string | undefined;
  readonly tokenType?: TokenType | undefined;
}

export interface VerifierOptions extends TokenRules {
  /** Tried in order. */
  readonly keySets: readonly KeySet[];
  /** Default 5,000. */
  readonly clockToleranceMs?: number;
  /** Epoch milliseconds. Default `Date.now`. */
  readonly now?: () => number;
  /** For tests. */
  readonly triesMax?: number;
}

interface VerifiedClaims extends Usable {
  readonly subject: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

type TokenFault =
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
  /** 401. The description is for the client and reveals nothing of the token. */
  | { readonly outcome: 'invalid'; readonly reason: TokenFault; readonly description: string }
  /** 503: the keys are missing. The description is for the log. */
  | { readonly outcome: 'unavailable'; readonly description: string; readonly retryAfterSeconds: number }
  /** 503: too many tokens are being verified. */
  | { readonly outcome: 'overloaded' };

export type Verification = { readonly outcome: 'ok'; readonly token: VerifiedClaims } | VerificationFailure;

export interface Verifier {
  /** Never rejects. */
  verify(token: string): Promise<Verification>;
}

/** 9999-12-31T23:59:59Z in seconds. Later expiries are mistakes or attacks. */
const NUMERIC_DATE_MAX = 253_402_300_799;

/** RFC 9068 section 2.2. */
const ACCESS_TOKEN_CLAIMS = ['iss', 'exp', 'aud', 'sub', 'client_id', 'iat', 'jti'];

const OVERLOADED: Verification = { outcome: 'overloaded' };
const EXPIRED = invalid('expired', 'The token has expired.');
const NBF_INVALID = invalid('claims', 'The "nbf" claim of the token is not a valid time.');

const CLAIM_FAULTS: Readonly<Record<string, VerificationFailure>> = {
  iss: invalid('issuer', 'The token is from another issuer, or has no issuer.'),
  aud: invalid('audience', 'The token is for another audience, or has no audience.'),
  nbf: invalid('not-yet-valid', 'The token is not valid yet.'),
  exp: noTime('exp'),
  iat: noTime('iat'),
};

export function createVerifier(options: VerifierOptions): Verifier {
  if (options.keySets.length === 0) throw new TypeError('createVerifier needs at least one key set');
  return new KeySetVerifier(options);
}

class KeySetVerifier implements Verifier {
  readonly #options: VerifierOptions;
  readonly #isAccessToken: boolean;
  readonly #toleranceMs: number;
  readonly #now: () => number;
  /** Headers of good tokens. Most tokens of an issuer have the same header. */
  readonly #headers = new TextMemo<ReadHeader>(TOKEN_HEADERS_MAX, TOKEN_BYTES_MAX);
  /**
   * Number of keys that libuv's threads are trying now. The number is bounded, because a flood of forged
   * tokens would delay good tokens by seconds.
   */
  #tries = 0;
  #waits = 0;

  constructor(options: VerifierOptions) {
    this.#options = options;
    this.#isAccessToken = options.tokenType === 'at+jwt';
    this.#toleranceMs = options.clockToleranceMs ?? 5000;
    this.#now = options.now ?? Date.now;
  }

  async verify(token: string): Promise<Verification> {
    const shapeFault = describeTokenShapeFault(token);
    if (shapeFault !== null) return invalid('malformed', shapeFault);
    const encoded = token.slice(0, token.indexOf('.'));
    const known = this.#headers.get(encoded);
    const header = known ?? readHeader(token);
    if (typeof header === 'string') return invalid('malformed', `The header of the token ${header}.`);
    if (this.#isAccessToken && !isAccessTokenType(header.typ)) {
      return invalid('type', 'The token is not an access token: its "typ" is not "at+jwt".');
    }
    const fitting = this.#options.keySets.filter((set) => set.algorithms.includes(header.alg));
    if (fitting.length === 0) {
      return invalid('algorithm', 'The token is signed with an algorithm that is not accepted.');
    }
    let tried = 0;
    let unavailable: Verification | null = null;
    for (const set of fitting) {
      const asked = set.candidates(header);
      const lookup = asked instanceof Promise ? await this.#waitFor(asked) : asked;
      if (lookup === null) return OVERLOADED;
      if ('unavailable' in lookup) {
        const { unavailable: reason, retryAfterSeconds } = lookup;
        unavailable = { outcome: 'unavailable', description: `${set.name}: ${reason}`, retryAfterSeconds };
        continue;
      }
      tried += lookup.keys.length;
      const verification = await this.#verifyWithKeys(token, set, lookup.keys);
      if (verification === undefined) continue;
      // The header is copied, because a slice would keep the whole token in memory.
      if (verification.outcome === 'ok' && known === undefined)
        this.#headers.set(Buffer.from(encoded).toString(), header);
      return verification;
    }
    // A missing key may have signed the token, so it cannot be refused.
    if (unavailable !== null) return unavailable;
    return tried === 0
      ? invalid('no-key', 'The token is signed with an unknown key.')
      : invalid('signature', 'The signature of the token is not valid.');
  }

  /** Null if too many tokens are waiting. */
  async #waitFor(lookup: Promise<KeyLookup>): Promise<KeyLookup | null> {
    if (this.#waits >= KEY_WAITS_MAX) return null;
    this.#waits++;
    try {
      return await lookup;
    } finally {
      this.#waits--;
    }
  }

  /** Undefined if no key signed the token. */
  async #verifyWithKeys(
    token: string,
    set: KeySet,
    keys: readonly VerificationKey[],
  ): Promise<Verification | undefined> {
    const { issuer, audience, triesMax = KEY_TRIES_UNDER_WAY_MAX } = this.#options;
    if (this.#tries + keys.length > triesMax) return OVERLOADED;
    this.#tries += keys.length;
    let untried = keys.length;
    try {
      for (const key of keys) {
        try {
          const { payload } = await jwtVerify(token, key, {
            algorithms: set.algorithms as string[],
            requiredClaims: this.#isAccessToken ? ACCESS_TOKEN_CLAIMS : ['exp', 'sub'],
            clockTolerance: this.#toleranceMs / 1000,
            currentDate: new Date(this.#now()),
            // undefined means "any" to jose.
            issuer: issuer as string,
            audience: audience as string,
          });
          return this.#checkPayload(token, payload);
        } catch (error) {
          if (!(error instanceof errors.JWSSignatureVerificationFailed)) return describeJoseError(error);
        }
        this.#tries--;
        untried--;
      }
    } finally {
      this.#tries -= untried;
    }
    return undefined;
  }

  /** Call this after the signature was verified, so that unsigned text is never read. */
  #checkPayload(token: string, payload: JWTPayload): Verification {
    const textFault = describeTextFault(token.slice(token.indexOf('.') + 1, token.lastIndexOf('.')));
    if (textFault !== null) return invalid('malformed', `The payload of the token ${textFault}.`);
    const fault = this.#isAccessToken ? accessTokenFault(payload) : null;
    return fault ?? checkClaims(payload, this.#now(), this.#toleranceMs);
  }
}

function accessTokenFault(claims: JWTPayload): Verification | null {
  const odd = ['iss', 'client_id', 'jti'].find(
    (name) => typeof claims[name] !== 'string' || claims[name] === '',
  );
  return odd === undefined ? null : noText(odd);
}

function isNumericDate(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= NUMERIC_DATE_MAX;
}

/** The checks that jose leaves out: types of `sub` and the times, and the range of the times. */
function checkClaims(claims: JWTPayload, nowMs: number, toleranceMs: number): Verification {
  const { exp, nbf, iat, sub } = claims as Readonly<Record<string, unknown>>;
  if (typeof sub !== 'string' || sub === '') return noText('sub');
  if (!isNumericDate(exp)) return noTime('exp');
  if (nbf !== undefined && !isNumericDate(nbf)) return NBF_INVALID;
  if (iat !== undefined && !isNumericDate(iat)) return noTime('iat');
  const usableUntilMs = exp * 1000 + toleranceMs;
  const usableFromMs = nbf === undefined ? Number.NEGATIVE_INFINITY : nbf * 1000 - toleranceMs;
  // jose rounds the present down to whole seconds, so it notices `exp` too late.
  if (nowMs >= usableUntilMs) return EXPIRED;
  return { outcome: 'ok', token: { subject: sub, usableUntilMs, usableFromMs, claims } };
}

function describeJoseError(error: unknown): Verification {
  if (error instanceof errors.JWTExpired) return EXPIRED;
  if (error instanceof errors.JWTClaimValidationFailed) {
    const isOdd = error.claim === 'nbf' && error.reason !== 'check_failed';
    return isOdd ? NBF_INVALID : (CLAIM_FAULTS[error.claim] ?? noText(error.claim));
  }
  if (error instanceof errors.JOSEError) return invalid('malformed', 'The token is not a valid signed JWT.');
  // The key has the wrong kind, for example.
  return invalid('signature', 'The signature of the token cannot be verified.');
}

function invalid(reason: TokenFault, description: string): VerificationFailure {
  return { outcome: 'invalid', reason, description };
}

function noTime(name: string): VerificationFailure {
  return invalid('claims', `The token has no valid "${name}" claim.`);
}

function noText(name: string): VerificationFailure {
  return invalid('claims', `The "${name}" claim of the token is missing or is not a non-empty string.`);
}

const PARTS = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** The unused bits of the last character, by the length modulo 4. A remainder of 1 cannot occur. */
const SPARE_BITS = [0, null, 0b1111, 0b11] as const;

/** RFC 4648 section 3.5. */
function isCanonicalBase64url(part: string): boolean {
  const spare = SPARE_BITS[part.length % 4] ?? null;
  return spare !== null && (ALPHABET.indexOf(part.charAt(part.length - 1)) & spare) === 0;
}

/**
 * RFC 7515 section 7.1. Only canonical base64url is accepted, because every other spelling would need another
 * place in the token cache.
 */
export function describeTokenShapeFault(token: string): string | null {
  if (token.length > TOKEN_BYTES_MAX) return `The token is longer than ${TOKEN_BYTES_MAX} bytes.`;
  const parts = PARTS.exec(token);
  if (parts === null) return 'The token is not a signed JWT of three base64url parts.';
  for (let i = 1; i <= 3; i++) {
    if (!isCanonicalBase64url(parts[i] as string)) return 'A part of the token is not canonical base64url.';
  }
  return null;
}

/** Keys and key addresses in a header are never used. */
interface ReadHeader extends TokenHeader {
  readonly typ: unknown;
}

const BYTE_ORDER_MARK = '\ufeff';
/** Escaped surrogate pairs, and escaped backslashes, because "ud800" after such a backslash is plain text. */
const WHOLE_ESCAPES = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\\\/g;
const LONE_SURROGATE = /\\u[dD][89a-fA-F]/;

/**
 * Why JSON parsers may disagree on a part of a token (RFC 8259 section 8, RFC 7515 section 5.2 step 3),
 * worded as the end of a sentence. Some parsers accept a byte order mark and lone surrogates.
 */
function describeTextFault(part: string): string | null {
  const bytes = Buffer.from(part, 'base64url');
  if (!isUtf8(bytes)) return 'is not UTF-8';
  const text = bytes.toString();
  if (text.startsWith(BYTE_ORDER_MARK)) {
    return 'begins with a byte order mark; it must be JSON and nothing else';
  }
  if (text.includes('\\u') && LONE_SURROGATE.test(text.replace(WHOLE_ESCAPES, ' '))) {
    return 'has half of a surrogate pair, which is not a character';
  }
  return null;
}

/**
 * The header, or its fault, worded as the end of a sentence. Extensions (RFC 7515 section 4.1.11), `b64` (RFC
 * 7797) and nested tokens (RFC 7519 section 5.2) are refused, other parameters ignored (RFC 7515 section 4).
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
  if (typeof alg !== 'string') return 'has no "alg" string';
  if (kid !== undefined && typeof kid !== 'string') return 'has a "kid" that is not a string';
  if (cty !== undefined && typeof cty !== 'string') return 'has a "cty" that is not a string';
  if (cty !== undefined && mediaTypeOf(cty) === 'jwt') return 'declares a nested token ("cty")';
  if (Object.hasOwn(header, 'crit')) return 'has "crit", but no extension is supported';
  if (Object.hasOwn(header, 'b64')) return 'has "b64", which a JWT must not have';
  return { alg, kid, typ };
}

/** RFC 7515 section 4.1.9. */
function mediaTypeOf(text: string): string {
  return text.toLowerCase().replace(/^application\//, '');
}

/** RFC 9068 section 4. */
function isAccessTokenType(typ: unknown): boolean {
  return typeof typ === 'string' && mediaTypeOf(typ) === 'at+jwt';
}
