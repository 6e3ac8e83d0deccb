import { validateHeaderName, validateHeaderValue } from 'node:http';
import { LecternError, optionInvalid } from '../../base/errors.js';
import { type KeptFile, keptText, type Take } from '../../base/files/kept-files.js';
import {
  CLIENT_TOKEN_BACK_OFF_MS_MAX,
  CLIENT_TOKEN_BYTES_MAX,
  CLIENT_TOKEN_FETCH_MS_MAX,
  CLIENT_TOKEN_MARGIN_MS_MAX,
  HEADER_FILE_BYTES_MAX,
  retryPauseMs,
} from '../../base/limits.js';
import {
  type AskSecretHeaders,
  isLoopback,
  parseAddress,
  type RequestHeaders,
  redactAddress,
  refused,
  type SecretHeaders,
  UpstreamCall,
  unreadableAnswer,
} from './call.js';

/** A header field whose value is in a file, which is read again when it changes. */
export interface HeaderFile {
  /** Its path. White space around the content is removed. */
  readonly file: string;
  /** Text before the content, such as `Bearer`. Default: none. */
  readonly scheme?: string | undefined;
}

/** Header fields by name: values, or files that hold them. */
export type HeaderFields = Readonly<Record<string, string | HeaderFile>>;

/** How to get tokens for an address: the client credentials grant of RFC 6749. */
export interface ClientCredentials {
  /** The issuer's token endpoint, `https://…`; `http://` only on this machine. */
  readonly tokenUrl: string;
  /** The client's id at the issuer. */
  readonly clientId: string;
  /**
   * The client's secret, or a file with the secret, which is read again when it changes. Sent as HTTP Basic
   * credentials.
   */
  readonly clientSecret:
    | string
    | {
        /** Path of the file with the secret. */
        readonly file: string;
      };
  /** Scope of the tokens. Default: the issuer's. */
  readonly scope?: string | undefined;
}

export interface CredentialOptions {
  readonly url: string;
  readonly headers?: HeaderFields | undefined;
  readonly clientCredentials?: ClientCredentials | undefined;
}

/** Whether the header fields of an address may change during a load. */
export function mayChange({ headers = {}, clientCredentials }: Omit<CredentialOptions, 'url'>): boolean {
  return clientCredentials !== undefined || Object.values(headers).some((value) => typeof value !== 'string');
}

/**
 * A key that is equal for addresses that share credentials and tokens: addresses of one origin with the same
 * options.
 */
export function credentialsKey({ url, headers, clientCredentials }: CredentialOptions): string {
  const { origin, username, password } = parseAddress(url);
  return JSON.stringify([origin, username, password, headers, clientCredentials]);
}

/** The header fields that authenticate requests to one origin. */
export class Credentials {
  /** The files of header values and of the secret. A file that no watch has read is read before the first request. */
  readonly files: readonly KeptFile[];
  readonly #url: URL;
  #fields: RequestHeaders;
  #fieldsVersion = 0;
  #secret = '';
  readonly #token: ClientToken | null;
  readonly #unread: Set<KeptFile>;

  /** @throws LecternError `option-invalid` */
  constructor({ url, headers = {}, clientCredentials }: CredentialOptions) {
    this.#url = parseAddress(url);
    const fields = Object.entries(headers);
    const inFiles = fields.flatMap(([name, value]) =>
      typeof value === 'object' ? [{ name, ...value }] : [],
    );
    // Checks all names, and the known values.
    this.#fields = checkHeaders(
      Object.fromEntries(fields.map(([name, value]) => [name, shownOf(value)])),
      this.#url,
    );
    this.#token = clientCredentials === undefined ? null : this.#tokenOf(clientCredentials);
    this.files = [
      ...inFiles.map(({ name, file, scheme }) => this.#fieldFile(name, file, scheme)),
      ...(typeof clientCredentials?.clientSecret === 'object'
        ? [this.#secretFile(clientCredentials.clientSecret.file)]
        : []),
    ];
    for (const { name } of inFiles) this.#without(name);
    this.#unread = new Set(this.files);
  }

  /** See {@link AskSecretHeaders}. After a 401, files are read and a token is fetched at once. */
  ask: AskSecretHeaders = async (refused, signal) => {
    await this.#read(refused === null ? [...this.#unread] : this.files, refused !== null);
    const token = await this.#token?.get(refused === null ? null : Number(refused.split(' ')[1]), signal);
    const headers = { ...this.#fields, ...(token && { authorization: `Bearer ${token.token}` }) };
    return { version: `${this.#fieldsVersion} ${token?.version ?? 0}`, headers } satisfies SecretHeaders;
  };

  /** @param isAgain whether a file that was read before keeps its earlier content if it now has a fault */
  async #read(files: readonly KeptFile[], isAgain: boolean): Promise<void> {
    const signal = new AbortController().signal;
    for (const file of files) {
      try {
        (await file.read(signal))?.();
      } catch (error) {
        if (!isAgain || this.#unread.has(file)) throw error;
      }
      this.#unread.delete(file);
    }
  }

  #fieldFile(name: string, path: string, scheme: string | undefined): KeptFile {
    const what = `the file ${path} of header ${name} of the source`;
    return this.#keep('upstream-headers', path, what, (text) => {
      const value = scheme === undefined ? text : `${scheme} ${text}`;
      let checked: RequestHeaders;
      try {
        checked = checkHeaders({ [name]: value }, new URL(this.#url.origin));
      } catch {
        throw new LecternError(
          'key-invalid',
          `${what} is invalid: its content cannot be sent in a header field`,
        );
      }
      return () => {
        this.#fields = { ...this.#fields, ...checked };
      };
    });
  }

  #secretFile(path: string): KeptFile {
    return this.#keep('upstream-secrets', path, `the client secret file ${path}`, (text) => () => {
      this.#secret = text;
      this.#token?.forgetFailure();
    });
  }

  #keep(
    kind: 'upstream-headers' | 'upstream-secrets',
    path: string,
    name: string,
    check: (text: string) => Take,
  ): KeptFile {
    const file = { path, name, bytesMax: HEADER_FILE_BYTES_MAX, code: 'key-invalid' } as const;
    const kept = keptText(kind, file, (given) => {
      const text = given.trim();
      if (text === '') throw new LecternError('key-invalid', `${name} is empty`);
      const take = check(text);
      return () => {
        this.#fieldsVersion++;
        this.#unread.delete(kept);
        take();
      };
    });
    return kept;
  }

  #without(name: string): void {
    const { [name.toLowerCase()]: _, ...others } = this.#fields;
    this.#fields = others;
  }

  #tokenOf({ tokenUrl, clientId, clientSecret, scope }: ClientCredentials): ClientToken {
    const url = parseAddress(tokenUrl, 'the token address of the source');
    if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
      throw optionInvalid(
        'the token address of the source is not valid: its scheme is http; expected https, or an address of this machine',
      );
    }
    if (url.username !== '' || url.password !== '') {
      throw optionInvalid(
        'the token address of the source must not hold a user or password; give the client id and secret',
      );
    }
    if (Object.hasOwn(this.#fields, 'authorization')) {
      throw optionInvalid(
        'tokens of an issuer and the header Authorization of the source are both given; expected one of the two',
      );
    }
    if (typeof clientSecret === 'string') this.#secret = clientSecret;
    return new ClientToken({ tokenUrl: url, clientId, scope }, () => this.#secret);
  }
}

/** A placeholder for the unread content of a file. */
function shownOf(value: string | HeaderFile): string {
  return typeof value === 'string' ? value : 'in a file';
}

/** Fields that control the transfer. With a range, for example, a part of the data would look like all data. */
const RESERVED: ReadonlySet<string> = new Set(
  'accept-encoding connection content-length expect host if-match if-modified-since if-none-match if-range if-unmodified-since keep-alive range te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
);

/** Fields in lower case, with the address's credentials (RFC 7617). Messages show no value and no malformed name. */
function checkHeaders(headers: RequestHeaders, url: URL): RequestHeaders {
  const checked: Record<string, string> = {};
  for (const [i, [name, value]] of Object.entries(headers).entries()) {
    const key = name.toLowerCase();
    if (!isName(name)) {
      const expected = "expected a name such as 'Authorization' as the key and the content as its value";
      throw wrongHeader(`field ${i + 1}`, `its name is not valid as the name of a header field; ${expected}`);
    }
    if (typeof value !== 'string' || !isAccepted(() => validateHeaderValue(name, value))) {
      throw wrongHeader(name, 'its value is not valid in a header');
    }
    if (RESERVED.has(key))
      throw wrongHeader(name, 'this field must not be set; the source may set it itself');
    if (Object.hasOwn(checked, key)) throw wrongHeader(name, 'it is given twice');
    checked[key] = value;
  }
  if (url.username === '' && url.password === '') return checked;
  if (Object.hasOwn(checked, 'authorization')) {
    throw wrongHeader('Authorization', 'the address holds a user and password as well; give one of the two');
  }
  let credentials: string;
  try {
    credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  } catch {
    throw wrongHeader(
      'Authorization',
      'the percent-encoding of the user or password in the address is broken',
    );
  }
  return { ...checked, authorization: `Basic ${Buffer.from(credentials, 'utf8').toString('base64')}` };
}

export function isName(name: string): boolean {
  return isAccepted(() => validateHeaderName(name));
}

function isAccepted(validate: () => void): boolean {
  try {
    validate();
    return true;
  } catch {
    return false;
  }
}

function wrongHeader(name: string, problem: string): LecternError {
  return optionInvalid(`header ${name} of the source is not valid: ${problem}`);
}

/** `env:NAME` or `file:PATH`, also after a scheme: `Bearer env:UPSTREAM_TOKEN`. */
const REFERENCE = /^(?:(\S+) )?(?:env:([A-Za-z_][A-Za-z0-9_]*)|file:(\S.*))$/;

/**
 * Header fields from a command line. Each field goes to the origin that it names, or to the only origin if it
 * names none.
 *
 * @param given values by name, or by origin and name: `https://host Authorization`
 * @param origins of the sources
 * @param environment variables for `env:NAME`; undefined: `env:NAME` and `file:PATH` stay unchanged
 * @returns a function that gives the fields for an origin; undefined if the origin has none
 * @throws LecternError `option-invalid`
 */
export function headersByOrigin(
  given: Readonly<Record<string, string>>,
  origins: readonly string[],
  environment: NodeJS.ProcessEnv | undefined,
): (origin: string) => HeaderFields | undefined {
  const fields = Object.entries(given).map(([key, value], n) => {
    const { origin, name } = splitKey(key);
    const label = isName(name) ? `header ${name}` : `header field ${n + 1}`;
    if (origin !== null && !origins.includes(origin)) {
      const expected = origins.length === 0 ? 'an address among the sources' : `one of ${origins.join(', ')}`;
      throw optionInvalid(`${label} is for ${origin}, but no source has this origin; expected ${expected}`);
    }
    if (origins.length === 0)
      throw optionInvalid(`${label} has no effect, as no source is an http(s) address`);
    if (origin === null && origins.length > 1) {
      const several = `sources are on several origins: ${origins.join(', ')}`;
      const example = `'${origins[0]} ${isName(name) ? name : 'Name'}: …'`;
      throw optionInvalid(
        `${label} names no origin, and ${several}; expected an origin in front of the name, as in ${example}`,
      );
    }
    return { origin, name, value: environment === undefined ? value : resolve(value, label, environment) };
  });
  return (at) => {
    const own = fields.filter(({ origin }) => origin === null || origin === at);
    return own.length === 0 ? undefined : Object.fromEntries(own.map(({ name, value }) => [name, value]));
  };
}

function splitKey(key: string): { readonly origin: string | null; readonly name: string } {
  const [, address, name = key] = /^(https?:\/\/\S+) +(.*)$/i.exec(key) ?? [];
  if (address === undefined) return { origin: null, name };
  const url = URL.canParse(address) ? new URL(address) : null;
  const isOrigin = url !== null && url.href === `${url.origin}/`;
  if (!isOrigin)
    throw optionInvalid(
      'the address in front of a header field is not an origin; expected https://host or https://host:port',
    );
  return { origin: url.origin, name };
}

function resolve(value: string, label: string, environment: NodeJS.ProcessEnv): string | HeaderFile {
  const [reference, scheme, variable, file] = REFERENCE.exec(value) ?? [];
  if (reference === undefined) return value;
  if (file !== undefined) return { file, scheme };
  const secret = environment[variable as string]?.trim();
  if (secret === undefined || secret === '') {
    throw optionInvalid(`${label} of the source: the environment variable ${variable} is not set`);
  }
  return scheme === undefined ? secret : `${scheme} ${secret}`;
}

/** Tokens for an upstream by the client credentials grant (RFC 6749 section 4.4). */

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
