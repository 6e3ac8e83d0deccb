/** Tokens for an upstream by the client credentials grant (RFC 6749 section 4.4). */
import { LecternError } from '../../base/errors.js';
import {
  CLIENT_TOKEN_BACK_OFF_MS_MAX,
  CLIENT_TOKEN_BYTES_MAX,
  CLIENT_TOKEN_FETCH_MS_MAX,
  CLIENT_TOKEN_MARGIN_MS_MAX,
  retryPauseMs,
} from '../../base/limits.js';
import { redactAddress } from './address.js';
import { refused, UpstreamCall, unreadableAnswer } from './call.js';

export interface ClientTokenPlan {
  readonly tokenUrl: URL;
  readonly clientId: string;
  readonly scope: string | undefined;
}

export interface GrantedToken {
  readonly token: string;
  /** Null if the issuer does not say. */
  readonly lifeMs: number | null;
}

/** Parts that tests replace. */
export interface ClientTokenSurroundings {
  readonly fetch?: (plan: ClientTokenPlan, secret: string, signal?: AbortSignal) => Promise<GrantedToken>;
  /** Milliseconds. */
  readonly now?: () => number;
  readonly random?: () => number;
}

interface Known {
  readonly token: string;
  readonly version: number;
  /** The time from which another token is fetched. */
  readonly renewAtMs: number;
  readonly usableUntilMs: number;
}

const BACK_OFF_MS_MIN = 500;
/** A token is renewed when this share of its life is left. */
const MARGIN_SHARE = 1 / 3;
const JITTER = 0.2;

/** Fetches a token when one is needed and the last is about to expire. One fetch at a time; after failures, pauses grow. */
export class ClientToken {
  readonly #plan: ClientTokenPlan;
  readonly #secret: () => string;
  readonly #around: Required<ClientTokenSurroundings>;
  #known: Known | null = null;
  #version = 0;
  #fetching: Promise<Known> | null = null;
  #failures = 0;
  #failure: LecternError | null = null;
  #quietUntilMs = Number.NEGATIVE_INFINITY;

  /** @param secret the present client secret */
  constructor(plan: ClientTokenPlan, secret: () => string, surroundings: ClientTokenSurroundings = {}) {
    this.#plan = plan;
    this.#secret = secret;
    this.#around = { fetch: fetchToken, now: () => performance.now(), random: Math.random, ...surroundings };
  }

  /**
   * @param refusedVersion version of a token that the upstream refused: a new token is fetched unless one has
   * already arrived
   * @param signal ends a fetch
   * @throws LecternError `source-unreadable`, `source-malformed` while there is no usable token
   */
  async get(
    refusedVersion: number | null,
    signal?: AbortSignal,
  ): Promise<{ readonly token: string; readonly version: number }> {
    const nowMs = this.#around.now();
    if (this.#known !== null && this.#known.version === refusedVersion) this.#known = null;
    const known = this.#known;
    if (known !== null && nowMs < known.renewAtMs) return known;
    const isUsable = known !== null && nowMs < known.usableUntilMs;
    if (this.#fetching === null && nowMs < this.#quietUntilMs && this.#failure !== null) {
      if (isUsable) return known;
      const { code, message } = this.#failure;
      throw new LecternError(code, message, { retryAfterMs: this.#quietUntilMs - nowMs });
    }
    this.#fetching ??= this.#fetch(signal).finally(() => {
      this.#fetching = null;
    });
    // The old token stays valid until the new one has arrived.
    return isUsable ? this.#fetching.catch(() => known) : this.#fetching;
  }

  /**
   * Call this when the secret has changed: a failure with the old secret proves nothing about the new one.
   */
  forgetFailure(): void {
    this.#failures = 0;
    this.#quietUntilMs = Number.NEGATIVE_INFINITY;
  }

  async #fetch(signal: AbortSignal | undefined): Promise<Known> {
    const { fetch, now, random } = this.#around;
    // The life of the token counts from the beginning of its fetch, which is before the issuer made it.
    const beganMs = now();
    try {
      const { token, lifeMs } = await fetch(this.#plan, this.#secret(), signal);
      const marginMs = Math.min(CLIENT_TOKEN_MARGIN_MS_MAX, (lifeMs ?? 0) * MARGIN_SHARE);
      const usableUntilMs = beganMs + (lifeMs ?? Number.POSITIVE_INFINITY);
      this.#known = { token, version: ++this.#version, usableUntilMs, renewAtMs: usableUntilMs - marginMs };
      this.#failures = 0;
      this.#failure = null;
      return this.#known;
    } catch (error) {
      const failure =
        error instanceof LecternError ? error : unreadableAnswer(this.#plan.tokenUrl, String(error));
      const waitMs = retryPauseMs(++this.#failures, CLIENT_TOKEN_BACK_OFF_MS_MAX, BACK_OFF_MS_MIN);
      const pauseMs = Math.max(waitMs * (1 + JITTER * random()), failure.retryAfterMs ?? 0);
      this.#quietUntilMs = now() + pauseMs;
      this.#failure = failure;
      throw failure;
    }
  }
}

/** Codes of RFC 6749 section 5.2; no other text of the answer is shown. */
const ERROR_CODES: ReadonlySet<unknown> = new Set([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
]);

/** RFC 6750 section 2.1. */
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

async function fetchToken(
  { tokenUrl, clientId, scope }: ClientTokenPlan,
  secret: string,
  signal?: AbortSignal,
): Promise<GrantedToken> {
  const call = new UpstreamCall(tokenUrl, {
    headers: { accept: 'application/json', 'user-agent': 'lectern' },
    headersMsMax: CLIENT_TOKEN_FETCH_MS_MAX,
    idleMsMax: CLIENT_TOKEN_FETCH_MS_MAX,
    totalMsMax: CLIENT_TOKEN_FETCH_MS_MAX,
    bytesMax: CLIENT_TOKEN_BYTES_MAX,
    signal,
  });
  try {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      ...(scope === undefined ? {} : { scope }),
    });
    const answer = await call.post(tokenUrl, form, { authorization: basicOf(clientId, secret) });
    const json = objectOf((await call.bytes(answer)).toString('utf8'));
    if (answer.status === 200) return readToken(json, tokenUrl);
    const hint = ERROR_CODES.has(json.error) ? `; the error is ${json.error}` : '';
    throw refused(tokenUrl, answer.status, answer.message.headers, hint);
  } finally {
    call.close();
  }
}

/** RFC 6749 section 2.3.1: both values are form-encoded first. */
function basicOf(clientId: string, secret: string): string {
  const encode = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(secret)}`, 'utf8').toString('base64')}`;
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** RFC 6749 section 5.1. */
function readToken(json: Readonly<Record<string, unknown>>, url: URL): GrantedToken {
  const { access_token: token, token_type: type, expires_in: seconds } = json;
  const fault = (problem: string): LecternError =>
    new LecternError(
      'source-malformed',
      `the answer of ${redactAddress(url)} is not a bearer token: ${problem}`,
    );
  if (typeof token !== 'string' || !TOKEN.test(token)) throw fault('it has no access_token that can be sent');
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
    throw fault('its token_type is not Bearer');
  // Some issuers send the number as text.
  const life = seconds === undefined || seconds === null ? null : Number(seconds);
  if (life !== null && !(life > 0)) throw fault('its expires_in is not a number of seconds');
  return { token, lifeMs: life === null ? null : life * 1000 };
}
