import { LecternError } from '../../base/errors.js';
import type { KeptFile, Take } from '../../base/files/kept-files.js';
import { keptTexts } from '../../base/files/kept-texts.js';
import { HEADER_FILE_BYTES_MAX } from '../../base/limits.js';
import { isLoopback, parseAddress } from './address.js';
import type { AskSecretHeaders, RequestHeaders, SecretHeaders } from './call.js';
import { ClientToken } from './client-token.js';
import { checkHeaders } from './headers.js';

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
  /** Identifies the fields that were returned last. */
  #issued = { version: 0, of: '', tokenVersion: null as number | null };
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
    const refusedToken = refused === this.#issued.version ? this.#issued.tokenVersion : null;
    await this.#read(refused === null ? [...this.#unread] : this.files, refused !== null);
    const token = (await this.#token?.get(refusedToken, signal)) ?? null;
    const authorization = token === null ? {} : { authorization: `Bearer ${token.token}` };
    const of = `${this.#fieldsVersion} ${token?.version}`;
    if (of !== this.#issued.of) {
      const version = this.#issued.version + 1;
      this.#issued = { version, of, tokenVersion: token?.version ?? null };
    }
    return {
      version: this.#issued.version,
      headers: { ...this.#fields, ...authorization },
    } satisfies SecretHeaders;
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
    const kept = keptTexts(kind, [file], ([given = '']) => {
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
    const fault = (problem: string): LecternError => new LecternError('option-invalid', problem);
    if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
      throw fault(
        'the token address of the source is not valid: its scheme is http; expected https, or an address of this machine',
      );
    }
    if (url.username !== '' || url.password !== '') {
      throw fault(
        'the token address of the source must not hold a user or password; give the client id and secret',
      );
    }
    if (Object.hasOwn(this.#fields, 'authorization')) {
      throw fault(
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
