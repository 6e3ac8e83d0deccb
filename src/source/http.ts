import type { IncomingHttpHeaders } from 'node:http';
import {
  UPSTREAM_BYTES_MAX,
  UPSTREAM_HEADERS_MS_MAX,
  UPSTREAM_IDLE_MS_MAX,
  UPSTREAM_PAGES_MAX,
  UPSTREAM_TOTAL_MS_MAX,
} from '../base/limits.js';
import { gunzip, readRecords } from './formats/read-records.js';
import {
  type AskSecretHeaders,
  addressDigest,
  parseAddress,
  type RequestHeaders,
  redactAddress,
  refused,
  resolveReference,
  type UpstreamAnswer,
  UpstreamCall,
  unreadableAnswer,
  withoutCredentials,
} from './http/call.js';
import { type ClientCredentials, Credentials, type HeaderFields } from './http/credentials.js';
import {
  formatOf,
  type LoadOptions,
  type LoadSummary,
  type ReadSummary,
  type RowSink,
  renewedDaily,
  type Source,
} from './source.js';

/** An address as a source. The default time limits are shorter for regular refreshes; see refresh/patience.ts. */
export interface HttpSpec {
  /** Identifies this kind of source. */
  readonly kind: 'http';
  /** `http://…` or `https://…`; user and password in it are sent as Basic credentials. */
  readonly url: string;
  /** Sent only to the origin of `url`: every value counts as a secret. Default none. */
  readonly headers?: HeaderFields | undefined;
  /** Tokens for the origin of `url`, sent as `Authorization: Bearer`. Default none. */
  readonly clientCredentials?: ClientCredentials | undefined;
  /** Whether the next page may be on another origin, which gets none of the headers. Default false. */
  readonly crossOriginNext?: boolean | undefined;
  /** Certificate authorities to trust, in PEM. Default: Node's. */
  readonly ca?: string | undefined;
  /** Longest time until status and headers of an answer, connecting included. Default UPSTREAM_HEADERS_MS_MAX. */
  readonly headersMsMax?: number | undefined;
  /** Longest time between two pieces of an answer. Default UPSTREAM_IDLE_MS_MAX. */
  readonly idleMsMax?: number | undefined;
  /** Longest time of the whole load. Default UPSTREAM_TOTAL_MS_MAX. */
  readonly totalMsMax?: number | undefined;
  /** Most pages of one load. Default UPSTREAM_PAGES_MAX. */
  readonly pagesMax?: number | undefined;
  /** Most bytes of all pages together as received, and of each page unpacked. Default UPSTREAM_BYTES_MAX. */
  readonly bytesMax?: number | undefined;
}

/**
 * Formats by preference. Formats with all fields come first, the cheapest to read at the top. Calendars lack some
 * fields. Other formats are read, too.
 */
const ACCEPT = [
  'application/x-ndjson',
  'application/json;q=0.9',
  'application/vnd.msgpack;q=0.8',
  'text/csv;q=0.7',
  'text/calendar;q=0.6',
  '*/*;q=0.1',
].join(', ');

/**
 * Records from an address, in pages if answers have `Link: rel="next"`. A page that fails, or that is or may be
 * cut, fails the load.
 *
 * @param askSecretHeaders gives the secret header fields, if the spec does not
 */
export function httpSource(spec: HttpSpec, askSecretHeaders?: AskSecretHeaders): Source {
  const address = parseAddress(spec.url);
  const secretHeaders = askSecretHeaders ?? new Credentials(spec).ask;
  const url = withoutCredentials(address);
  return renewedDaily({
    name: redactAddress(url),
    id: `address ${addressDigest(url)}`,
    mayBeMissing: true,
    async load(sink, options = {}) {
      options.signal?.throwIfAborted();
      const call = new UpstreamCall(url, {
        headers: { accept: ACCEPT, 'accept-encoding': 'gzip', 'user-agent': 'lectern' },
        secretHeaders,
        ca: spec.ca,
        headersMsMax: spec.headersMsMax ?? UPSTREAM_HEADERS_MS_MAX,
        idleMsMax: spec.idleMsMax ?? UPSTREAM_IDLE_MS_MAX,
        totalMsMax: spec.totalMsMax ?? UPSTREAM_TOTAL_MS_MAX,
        bytesMax: spec.bytesMax ?? UPSTREAM_BYTES_MAX,
        signal: options.signal,
      });
      try {
        return await new HttpLoad(call, spec, sink, options).load(url);
      } finally {
        call.close();
      }
    },
  });
}

class HttpLoad {
  readonly #call: UpstreamCall;
  readonly #spec: HttpSpec;
  readonly #sink: RowSink;
  readonly #options: LoadOptions;
  #records = 0;

  constructor(call: UpstreamCall, spec: HttpSpec, sink: RowSink, options: LoadOptions) {
    this.#call = call;
    this.#spec = spec;
    this.#sink = sink;
    this.#options = options;
  }

  async load(url: URL): Promise<LoadSummary | 'not-modified'> {
    const { previous = null } = this.#options;
    let answer = await this.#call.get(url, true, (at) => conditionalHeaders(previous, at));
    const wasAsked = Object.keys(conditionalHeaders(previous, answer.url)).length > 0;
    if (answer.status === 304 && wasAsked) {
      if (!linksOf(answer).isPaged) return 'not-modified';
      // The 304 covers only this page, and the other pages may have changed.
      answer.message.destroy();
      answer = await this.#call.get(url, true);
    }
    expectData(answer);
    // A validator applies to one page, so an answer in pages has no version.
    const { isPaged } = linksOf(answer);
    const version = isPaged ? null : versionOf(answer);
    // For upstreams that ignore If-None-Match.
    if (version !== null && version === previous) return 'not-modified';
    if (version !== null) this.#options.onVersion?.(version);
    const modifiedMs = isPaged ? Number.NaN : Date.parse(answer.message.headers['last-modified'] ?? '');
    const modified = Number.isNaN(modifiedMs) ? {} : { modifiedMs };
    return { ...(await this.#readPages(answer)), version, ...modified };
  }

  async #readPages(first: UpstreamAnswer): Promise<ReadSummary> {
    const { pagesMax = UPSTREAM_PAGES_MAX, crossOriginNext = false } = this.#spec;
    const seen = new Set([first.url.href]);
    const reads: ReadSummary[] = [];
    let answer = first;
    for (let page = 1; ; page++) {
      // Checked before the body, so that a broken link does not cost a download.
      const next = nextPage(answer, crossOriginNext);
      reads.push(await this.#readPage(answer, page, page === 1 && next === null));
      if (next === null) break;
      if (page === pagesMax) throw unreadableAnswer(first.url, `it has more than ${pagesMax} pages`);
      if (seen.has(next.href)) {
        throw unreadableAnswer(answer.url, `its next links form a loop at ${redactAddress(next)}`);
      }
      seen.add(next.href);
      answer = await this.#call.get(next, answer.trusted && next.origin === answer.url.origin);
      expectData(answer);
    }
    return { ...formatOf(reads), bytesRead: this.#call.bytesRead };
  }

  async #readPage(answer: UpstreamAnswer, page: number, isOnly: boolean): Promise<ReadSummary> {
    const { rules, signal, onProgress, onRecord, notes, form } = this.#options;
    const recordsBefore = this.#records;
    const { headers } = answer.message;
    const sourceName = redactAddress(answer.url);
    const isEncoded = isGzipEncoded(answer);
    const length = headers['content-length'];
    const bytesTotal = isOnly && length !== undefined ? Number(length) : null;
    const bytes = this.#call.body(answer);
    const bytesMax = this.#spec.bytesMax ?? UPSTREAM_BYTES_MAX;
    const decoded = isEncoded ? gunzip(sourceName, bytes, bytesMax) : bytes;
    const read = await readRecords(decoded, this.#sinkFor(page), {
      ...{ rules, onRecord, notes, form },
      sourceName,
      bytesTotal,
      // Without these fields, the body ends with the connection, which may end for any reason (RFC 9112
      // section 6.3).
      endIsCertain: isEncoded || length !== undefined || headers['transfer-encoding'] !== undefined,
      unpackedBytesMax: bytesMax,
      signal,
      onProgress: ({ records }) => {
        this.#records = recordsBefore + records;
        // The limits apply during unpacking, too.
        this.#call.throwIfEnded();
        onProgress?.({ bytesRead: this.#call.bytesRead, bytesTotal, records: this.#records });
      },
    });
    return { ...read, gzipped: read.gzipped || isEncoded };
  }

  /** Numbers the records of all pages in one sequence. */
  #sinkFor(page: number): RowSink {
    const sink = this.#sink;
    if (page === 1) return sink;
    const before = this.#records;
    return {
      retract: (id, rules) => sink.retract?.(id, rules),
      row(row, rules) {
        const { record } = row;
        row.record += before;
        row.page = page;
        sink.row(row, rules);
        // One record may become several rows.
        row.record = record;
      },
      fault({ position, ...rejection }) {
        sink.fault({ ...rejection, position: { ...position, record: before + position.record, page } });
      },
    };
  }
}

/** RFC 9110 section 8.4. Only gzip was requested. */
function isGzipEncoded({ url, message }: UpstreamAnswer): boolean {
  const encoding = message.headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return false;
  if (encoding === 'gzip' || encoding === 'x-gzip') return true;
  throw unreadableAnswer(
    url,
    `its Content-Encoding is ${JSON.stringify(encoding.slice(0, 40))}; expected gzip or none`,
  );
}

/** Only 200 has the data: 206 is a part of it, 204 is empty, and 203 is a proxy's version. */
function expectData({ status, url, message, trusted }: UpstreamAnswer): void {
  if (status === 200) return;
  const denied = status === 401 || status === 403;
  const hint =
    denied && !trusted
      ? '; the configured headers were not sent, because a redirect led to another origin'
      : '';
  throw refused(url, status, message.headers, hint);
}

function linksOf({ url, message }: UpstreamAnswer): PageLinks {
  const field = message.headers.link ?? '';
  const links = parseLinks(Array.isArray(field) ? field.join(', ') : field);
  if (links !== null) return links;
  throw unreadableAnswer(
    url,
    'its Link header cannot be understood (RFC 8288), so it may have further pages',
  );
}

function nextPage(answer: UpstreamAnswer, crossOrigin: boolean): URL | null {
  const { url } = answer;
  const { next: target } = linksOf(answer);
  if (target === null) return null;
  const next = resolveReference(target, url);
  if ('problem' in next) throw unreadableAnswer(url, `its next page leads ${next.problem}`);
  if (crossOrigin || next.origin === url.origin) return next;
  throw unreadableAnswer(url, `its next page is on another origin, ${next.origin}; expected ${url.origin}`);
}

/** RFC 9110 section 8.8.3. */
const ENTITY_TAG = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;
/** HTTP dates have whole seconds, so the later of two changes within one second stays hidden. */
const DATE_RESOLUTION_MS = 1000;

/** The version of an answer: address and validator (RFC 9110 section 8.8). Null without a reliable validator. */
function versionOf(answer: UpstreamAnswer): string | null {
  const { url } = answer;
  const { etag, date, 'last-modified': lastModified }: IncomingHttpHeaders = answer.message.headers;
  if (etag !== undefined && ENTITY_TAG.test(etag)) return JSON.stringify({ url: addressDigest(url), etag });
  if (lastModified === undefined || date === undefined) return null;
  // Last-Modified is a strong validator if Date is at least this much later (section 8.8.2.2). NaN compares as false.
  const isSettled = Date.parse(date) - Date.parse(lastModified) >= DATE_RESOLUTION_MS;
  return isSettled ? JSON.stringify({ url: addressDigest(url), lastModified }) : null;
}

/**
 * The header field of a conditional request (RFC 9110 section 13.1). None if the version belongs to another address
 * or has an unknown form.
 */
function conditionalHeaders(previous: string | null, url: URL): RequestHeaders {
  let version: unknown;
  try {
    version = JSON.parse(previous ?? 'null');
  } catch {
    return {};
  }
  const { url: digest, etag, lastModified } = (version ?? {}) as Readonly<Record<string, unknown>>;
  if (digest !== addressDigest(url)) return {};
  if (typeof etag === 'string' && ENTITY_TAG.test(etag)) return { 'if-none-match': etag };
  if (typeof lastModified !== 'string' || Number.isNaN(Date.parse(lastModified))) return {};
  return { 'if-modified-since': new Date(lastModified).toUTCString() };
}

/** What the links of an answer say about pages. */
interface PageLinks {
  /** Whether the answer is one of several pages. */
  readonly isPaged: boolean;
  /** The reference of the next page. */
  readonly next: string | null;
}

const OF_PAGES: ReadonlySet<string> = new Set(['next', 'prev', 'previous', 'first', 'last']);
const TARGET = /[ \t,]*<([^>]*)>/y;
const PARAMETER =
  /[ \t]*;[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*(?:=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^",; \t]*)))?)?/y;
const END = /[ \t]*(?:,|$)/y;

/**
 * Parses a Link field (RFC 8288 section 3). Null if a part of the field cannot be parsed, because that part could
 * name the next page.
 */
export function parseLinks(field: string): PageLinks | null {
  let isPaged = false;
  let next: string | null = null;
  let at = 0;
  while (!/^[ \t,]*$/.test(field.slice(at))) {
    TARGET.lastIndex = at;
    const target = TARGET.exec(field)?.[1];
    if (target === undefined) return null;
    at = TARGET.lastIndex;
    const parameters = new Map<string, string>();
    for (;;) {
      PARAMETER.lastIndex = at;
      const parameter = PARAMETER.exec(field);
      if (parameter === null) break;
      at = PARAMETER.lastIndex;
      const [, name, quoted, plain] = parameter;
      // The first parameter of each name counts (section 3.3).
      if (name === undefined || parameters.has(name.toLowerCase())) continue;
      parameters.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '');
    }
    END.lastIndex = at;
    if (!END.test(field)) return null;
    at = END.lastIndex;
    // With an anchor the link concerns another resource (section 3.2).
    if (parameters.has('anchor')) continue;
    const relations =
      parameters
        .get('rel')
        ?.toLowerCase()
        .split(/[ \t]+/) ?? [];
    isPaged ||= relations.some((relation) => OF_PAGES.has(relation));
    if (relations.includes('next')) next ??= target;
  }
  return { isPaged, next };
}
