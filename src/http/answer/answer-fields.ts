import type { IncomingMessage } from 'node:http';

/** Header fields that every answer ends with: what browsers are told, and CORS (https://fetch.spec.whatwg.org/#http-cors-protocol). */
export interface AnswerFields {
  readonly flat: readonly string[];
  /** As lines of a head, each with its end. */
  readonly text: string;
  /** An answer with these fields is cached under this and its target. Empty, or begins with a space, as no target does. */
  readonly keyPrefix: string;
  /** For an answer that has a Content-Security-Policy of its own; null if these have none. */
  readonly withoutPolicy: AnswerFields | null;
  /** For an answer whose address is a secret; null if these are such. */
  readonly ofSecretAddress: AnswerFields | null;
}

const NO_SNIFFING: readonly string[] = ['X-Content-Type-Options', 'nosniff'];
/** Nothing in an answer that is shown by itself is run or loaded, and no page frames it. */
const NOTHING_RUNS: readonly string[] = [
  'Content-Security-Policy',
  "default-src 'none'; frame-ancestors 'none'",
];

/** The address goes to no other site and into no search engine. */
const SECRET_ADDRESS: readonly string[] = ['Referrer-Policy', 'no-referrer', 'X-Robots-Tag', 'noindex'];

/** Beside those that a page may always read (https://fetch.spec.whatwg.org/#cors-safelisted-response-header-name). */
const EXPOSED = 'ETag, Link, X-Total-Count, Lectern-Version, Retry-After, WWW-Authenticate';

/** What a page may send besides what is always allowed. */
export const PREFLIGHT_FIELDS: readonly string[] = Object.entries({
  'Access-Control-Allow-Methods': 'GET, HEAD',
  'Access-Control-Allow-Headers': 'Authorization, Accept, If-None-Match, Last-Event-ID, Lectern-Min-Version',
  // Chromium's longest.
  'Access-Control-Max-Age': '7200',
}).flat();

function fieldsOf(more: readonly string[], keyPrefix: string): AnswerFields {
  const form = (flat: readonly string[], others: Partial<AnswerFields> = {}): AnswerFields => {
    let text = '';
    for (let i = 0; i < flat.length; i += 2) text += `${flat[i]}: ${flat[i + 1]}\r\n`;
    return { flat, text, keyPrefix, withoutPolicy: null, ofSecretAddress: null, ...others };
  };
  const usual = [...NO_SNIFFING, ...NOTHING_RUNS, ...more];
  return form(usual, {
    withoutPolicy: form([...NO_SNIFFING, ...more]),
    ofSecretAddress: form([...usual, ...SECRET_ADDRESS]),
  });
}

export const PLAIN_FIELDS: AnswerFields = fieldsOf([], '');

export class OriginFields {
  readonly #others: AnswerFields;
  readonly #allowed: ReadonlyMap<string, AnswerFields>;

  /** @param origins as browsers write them: see {@link originFault}; if there are none, answers do not mention origins */
  constructor(origins: readonly string[]) {
    // Also for other origins and for none: a cache must not give their answer to pages that are allowed.
    this.#others = origins.length === 0 ? PLAIN_FIELDS : fieldsOf(['Vary', 'Origin'], '');
    this.#allowed = new Map(
      origins.map((origin) => [
        origin,
        fieldsOf(
          ['Vary', 'Origin', 'Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', EXPOSED],
          ` ${origin} `,
        ),
      ]),
    );
  }

  of(origin: string | undefined): AnswerFields {
    return (origin === undefined ? undefined : this.#allowed.get(origin)) ?? this.#others;
  }

  /**
   * Whether it is a preflight (https://fetch.spec.whatwg.org/#cors-preflight-request) of an allowed origin. A browser sends no
   * token with it, and if it fails, a page cannot even read why.
   */
  isPreflight(req: IncomingMessage): boolean {
    // Node makes the object of all header fields when it is first asked for.
    if (req.method !== 'OPTIONS') return false;
    const { headers } = req;
    if (headers['access-control-request-method'] === undefined) return false;
    return headers.origin !== undefined && this.#allowed.has(headers.origin);
  }
}

/** What keeps a text from being an origin as browsers write it; null if it is one. */
export function originFault(origin: string): string | null {
  if (origin.includes('*') || origin === 'null') {
    return 'it must be an exact origin: every page that may read the timetable is named';
  }
  let url: URL;
  try {
    url = new URL(origin);
  } catch {
    return 'it must be an origin, such as https://timetable.example.org';
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'it must begin with https:// or http://';
  return url.origin === origin ? null : `it must be an origin without anything else; expected ${url.origin}`;
}
