import type { KeptFile } from '../files/kept-files.js';
import { Credentials, credentialsKey, mayChange } from '../source/http/credentials.js';
import type { HttpSpec } from '../source/http.js';
import type { AskSecretHeadersOf, NumberedCredentials, SourceSpec } from '../source/spec.js';
import { mapParts } from './patience.js';

/** Credentials that may change stay on this thread. Loading threads ask for them before each request. */
export class SourceCredentials {
  /** The source, with numbers instead of credentials. */
  readonly source: SourceSpec;
  readonly #credentials: Credentials[] = [];

  /** @throws LecternError `option-invalid` */
  constructor(source: SourceSpec) {
    const known = new Map<string, number>();
    this.source = mapParts(source, (part) => {
      if (part.kind !== 'http' || !mayChange(part)) return part;
      const { headers, clientCredentials, ...bare } = part;
      const key = credentialsKey(part);
      const number = known.get(key) ?? this.#credentials.push(new Credentials(part)) - 1;
      known.set(key, number);
      return { ...bare, credentials: number } satisfies HttpSpec & NumberedCredentials;
    });
  }

  /** The files or addresses that the credentials come from. */
  get files(): readonly KeptFile[] {
    return this.#credentials.flatMap(({ files }) => files);
  }

  ask: AskSecretHeadersOf = (number, refused, signal) => {
    const credentials = this.#credentials[number];
    if (credentials === undefined) throw new Error(`there are no credentials ${number}`);
    return credentials.ask(refused, signal);
  };

  /** @param signal aborts a slow request for a token */
  askUntil(signal: AbortSignal): AskSecretHeadersOf {
    return (number, refused) => this.ask(number, refused, signal);
  }
}
