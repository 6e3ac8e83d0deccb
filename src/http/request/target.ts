import type { ParameterPairs } from '../../answer/view.js';
import type { ParameterFault } from '../../base/errors.js';
import { PARAMETER_FAULTS_MAX } from '../../base/limits.js';

/** The absolute form, which proxies send and every server must accept (RFC 9112 section 3.2.2). */
const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;

/** Path and query; the authority of the absolute form is dropped. */
export function splitTarget(target: string): { path: string; query: string } {
  let origin = target;
  if (target.charCodeAt(0) !== 0x2f) {
    const authority = ABSOLUTE_FORM.exec(target);
    if (authority !== null) {
      origin = target.slice(authority[0].length);
      if (origin.charCodeAt(0) !== 0x2f) origin = `/${origin}`;
    }
  }
  const mark = origin.indexOf('?');
  return mark < 0
    ? { path: origin, query: '' }
    : { path: origin.slice(0, mark), query: origin.slice(mark + 1) };
}

interface RequestTarget {
  readonly url?: string | undefined;
  /** Set by frameworks. */
  readonly originalUrl?: unknown;
}

/**
 * The path under which a framework such as Express has mounted the handler; '' without a mount path. Links
 * show paths as clients know them.
 */
export function mountPathOf({ url, originalUrl }: RequestTarget): string {
  if (typeof originalUrl !== 'string' || url === undefined || originalUrl === url) return '';
  // Express leaves a slash if the mount path is the whole path.
  const rest = url === '/' && !originalUrl.endsWith('/') ? '' : url.replace(/^\/(?=\?)/, '');
  return originalUrl.endsWith(rest) ? originalUrl.slice(0, originalUrl.length - rest.length) : '';
}

interface QueryString {
  readonly pairs: ParameterPairs;
  /**
   * One `malformed-encoding` for each pair that cannot be decoded. Each fault costs 7 µs, so parsing stops at
   * the last fault that is sent.
   */
  readonly faults: readonly ParameterFault[];
}

const EMPTY: QueryString = { pairs: [], faults: [] };

const NEEDS_DECODING = /[%+]/;

/**
 * Parses a query (without the "?"): pairs separated by "&", "+" is a space, percent-encoded UTF-8. A pair without "=" has an
 * empty value; empty pairs ("&&") are skipped. node:http refuses targets with bytes above 0x7f.
 */
export function parseQueryString(query: string): QueryString {
  if (query === '') return EMPTY;
  const decode = NEEDS_DECODING.test(query);
  const pairs: [string, string][] = [];
  const faults: ParameterFault[] = [];
  let start = 0;
  while (start <= query.length && faults.length < PARAMETER_FAULTS_MAX) {
    let end = query.indexOf('&', start);
    if (end < 0) end = query.length;
    if (end > start) {
      let equals = query.indexOf('=', start);
      if (equals < 0 || equals > end) equals = end;
      const name = query.slice(start, equals);
      const value = query.slice(equals + 1, end);
      if (!decode) {
        pairs.push([name, value]);
      } else {
        const decodedName = decodeComponent(name);
        const decodedValue = decodeComponent(value);
        if (decodedName !== null && decodedValue !== null) pairs.push([decodedName, decodedValue]);
        else faults.push(encodingFault(decodedName ?? name, decodedName === null));
      }
    }
    start = end + 1;
  }
  return { pairs, faults };
}

function decodeComponent(raw: string): string | null {
  if (!NEEDS_DECODING.test(raw)) return raw;
  try {
    return decodeURIComponent(raw.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

function encodingFault(parameter: string, inName: boolean): ParameterFault {
  return {
    parameter,
    code: 'malformed-encoding',
    detail: `the percent-encoding of the ${inName ? 'name' : 'value'} is broken or is not UTF-8; "%" itself is written %25`,
  };
}

/** The inverse of parseQueryString, for links: encodes all characters with a meaning in queries or header fields. */
export function formatQueryString(pairs: ParameterPairs): string {
  const query = pairs
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&');
  // RFC 3986 section 3.4 allows ":" in a query, so times can stay readable.
  return query.replaceAll('%3A', ':');
}
