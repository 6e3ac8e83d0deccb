import { PAGE_POLICY } from '../../answer/page-rows.js';
import type { RequestHead } from '../node/lane.js';

/** The last header fields of every answer: rules for browsers, and CORS (https://fetch.spec.whatwg.org/#http-cors-protocol). */
export interface AnswerFields {
  readonly flat: readonly string[];
  /** These fields as lines of a head, each with its line end. */
  readonly text: string;
  /**
   * Stands before the target in the key of a cached answer. It is empty, or begins with a space, as no target
   * does.
   */
  readonly keyPrefix: string;
  /** The fields for answers with their own Content-Security-Policy; null if these fields already lack one. */
  readonly withoutPolicy: AnswerFields | null;
  /** The fields for answers whose address is a secret; null if these fields are already for such answers. */
  readonly ofSecretAddress: AnswerFields | null;
  /** The fields for the page at a secret address, which runs its own script; null except in `ofSecretAddress`. */
  readonly ofPage: AnswerFields | null;
}

const NO_SNIFFING: readonly string[] = ['X-Content-Type-Options', 'nosniff'];
/** In a browser, an answer runs no scripts and loads nothing, and no page can frame it. */
const NOTHING_RUNS: readonly string[] = [
  'Content-Security-Policy',
  "default-src 'none'; frame-ancestors 'none'",
];

/** Keeps the address from other sites and search engines. */
const SECRET_ADDRESS: readonly string[] = ['Referrer-Policy', 'no-referrer', 'X-Robots-Tag', 'noindex'];

/** Header fields that a page may read besides the safelisted ones (https://fetch.spec.whatwg.org/#cors-safelisted-response-header-name). */
const EXPOSED = 'ETag, Link, X-Total-Count, Lectern-Version, Retry-After, WWW-Authenticate';

/** Header fields that a page may send besides the safelisted ones. */
export const PREFLIGHT_FIELDS: readonly string[] = Object.entries({
  'Access-Control-Allow-Methods': 'GET, HEAD',
  'Access-Control-Allow-Headers': 'Authorization, Accept, If-None-Match, Last-Event-ID, Lectern-Min-Version',
  // The longest time that Chromium accepts.
  'Access-Control-Max-Age': '7200',
}).flat();

function fieldsOf(more: readonly string[], keyPrefix: string): AnswerFields {
  const form = (flat: readonly string[], others: Partial<AnswerFields> = {}): AnswerFields => {
    let text = '';
    for (let i = 0; i < flat.length; i += 2) text += `${flat[i]}: ${flat[i + 1]}\r\n`;
    return { flat, text, keyPrefix, withoutPolicy: null, ofSecretAddress: null, ofPage: null, ...others };
  };
  const usual = [...NO_SNIFFING, ...NOTHING_RUNS, ...more];
  const page = [...NO_SNIFFING, 'Content-Security-Policy', PAGE_POLICY, ...more, ...SECRET_ADDRESS];
  return form(usual, {
    withoutPolicy: form([...NO_SNIFFING, ...more]),
    ofSecretAddress: form([...usual, ...SECRET_ADDRESS], { ofPage: form(page) }),
  });
}

export const PLAIN_FIELDS: AnswerFields = fieldsOf([], '');

export class OriginFields {
  readonly #others: AnswerFields;
  readonly #allowed: ReadonlyMap<string, AnswerFields>;

  /**
   * @param origins in the browsers' spelling: see {@link originFault}; without any, answers do not mention
   * origins
   */
  constructor(origins: readonly string[]) {
    // Other origins and requests without an origin get Vary, too, because a cache must not give their answers
    // to allowed pages.
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
   * Whether a request is a preflight (https://fetch.spec.whatwg.org/#cors-preflight-request) of an allowed origin. A browser sends no
   * token with a preflight, and a page cannot read why a preflight fails.
   */
  isPreflight(req: RequestHead): boolean {
    // Node builds the object of all header fields on first use.
    if (req.method !== 'OPTIONS') return false;
    const { headers } = req;
    if (headers?.['access-control-request-method'] === undefined) return false;
    return headers.origin !== undefined && this.#allowed.has(headers.origin);
  }
}

/** The fault of an origin that is not in the browsers' spelling; null for a correct one. */
export function originFault(origin: string): string | null {
  // Never repeats a password.
  const shown = JSON.stringify(origin.replace(/^.*@/s, ''));
  if (origin.includes('*') || origin === 'null') {
    return `it must be an exact origin, without wildcards, but was ${shown}`;
  }
  let url: URL;
  try {
    url = new URL(origin);
  } catch {
    return `it must be an origin, such as https://timetable.example.org, but was ${shown}`;
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return `it must begin with https:// or http://, but was ${shown}`;
  return url.origin === origin ? null : `it must be only an origin: ${url.origin}`;
}
