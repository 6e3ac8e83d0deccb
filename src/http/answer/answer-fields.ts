/**
 * Header fields that every answer has, whatever it is about: what browsers are told, and to which pages of elsewhere they may
 * show it (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol).
 */
import type { IncomingMessage } from 'node:http';

/** They come last, in this order, in each of the forms that answers are written in. */
export interface AnswerFields {
  readonly flat: readonly string[];
  /** As lines of a head, each with its end. */
  readonly text: string;
  /** Before a request target, what an answer with these fields is kept under. Begins with a space, as no target does, or is empty. */
  readonly keyPrefix: string;
  /** The same for an answer that has a Content-Security-Policy of its own. */
  readonly withoutPolicy: AnswerFields;
}

const NO_SNIFFING: readonly string[] = ['X-Content-Type-Options', 'nosniff'];
/** For whatever is shown by itself: nothing in it is run or loaded, and no page frames it. */
const NOTHING_RUNS: readonly string[] = [
  'Content-Security-Policy',
  "default-src 'none'; frame-ancestors 'none'",
];

/** Beside those that a page may always read (https://fetch.spec.whatwg.org/#cors-safelisted-response-header-name). */
const EXPOSED = 'ETag, Link, X-Total-Count, Retry-After, WWW-Authenticate';

/** What a page may send: the rest is either always allowed or of no use here. */
export const PREFLIGHT_FIELDS: readonly string[] = [
  'Access-Control-Allow-Methods',
  'GET, HEAD',
  'Access-Control-Allow-Headers',
  'Authorization, Accept, If-None-Match',
  // Chromium's longest.
  'Access-Control-Max-Age',
  '7200',
];

function fieldsOf(more: readonly string[], keyPrefix: string): AnswerFields {
  const form = (flat: readonly string[]): Omit<AnswerFields, 'withoutPolicy'> => {
    let text = '';
    for (let i = 0; i < flat.length; i += 2) text += `${flat[i]}: ${flat[i + 1]}\r\n`;
    return { flat, text, keyPrefix };
  };
  const bare: AnswerFields = {
    ...form([...NO_SNIFFING, ...more]),
    get withoutPolicy() {
      return bare;
    },
  };
  return { ...form([...NO_SNIFFING, ...NOTHING_RUNS, ...more]), withoutPolicy: bare };
}

export const PLAIN_FIELDS: AnswerFields = fieldsOf([], '');

/** The fields of an answer by the origin that asks; null where no origin is allowed at all. */
export class OriginFields {
  readonly #others: AnswerFields;
  readonly #allowed: ReadonlyMap<string, AnswerFields>;

  /** @param origins as browsers write them: see {@link originFault} */
  constructor(origins: readonly string[]) {
    // Also for those who may not see the answer, and for those who do not say where they come from: a cache must not give it
    // to others.
    this.#others = fieldsOf(['Vary', 'Origin'], '');
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

  /** @param origin undefined where there is none, or it is not known */
  of(origin: string | undefined): AnswerFields {
    return (origin === undefined ? undefined : this.#allowed.get(origin)) ?? this.#others;
  }

  /**
   * Whether it is a preflight (https://fetch.spec.whatwg.org/#cors-preflight-request) of an allowed origin. A browser sends no
   * token with it, and where it fails, a page cannot even read why.
   */
  isPreflight(req: IncomingMessage): boolean {
    // Node makes the object of all header fields when it is first asked for.
    if (req.method !== 'OPTIONS') return false;
    const { headers } = req;
    if (headers['access-control-request-method'] === undefined) return false;
    return headers.origin !== undefined && this.#allowed.has(headers.origin);
  }
}

/** @returns null where no origin is allowed */
export function originFieldsOf(origins: readonly string[]): OriginFields | null {
  return origins.length === 0 ? null : new OriginFields(origins);
}

/** What keeps a text from being an origin as browsers write it; null where it is one. */
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
