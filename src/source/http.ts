import {
  UPSTREAM_BYTES_MAX,
  UPSTREAM_HEADERS_MS_MAX,
  UPSTREAM_IDLE_MS_MAX,
  UPSTREAM_PAGES_MAX,
  UPSTREAM_TOTAL_MS_MAX,
} from '../limits.js';
import { parseAddress, redactAddress, resolveReference, withoutCredentials } from '../upstream/address.js';
import { type Answer, UpstreamCall } from '../upstream/call.js';
import { refused, unreadable } from '../upstream/failure.js';
import type { RequestHeaders } from '../upstream/request-headers.js';
import { gunzip } from './formats/gunzip.js';
import { readRecords } from './formats/read-records.js';
import { checkHeaders } from './http/headers.js';
import { isPage, type Link, nextTarget, parseLinks } from './http/link.js';
import { conditionalHeaders, isConditional, versionOf } from './http/validators.js';
import {
  type LoadOptions,
  type LoadSummary,
  NOT_MODIFIED,
  type NotModified,
  type ReadSummary,
  type RecordSink,
  type Source,
  type SourceFormat,
} from './source.js';

/**
 * A source at an address, as plain data. Times are milliseconds; those that are left out are shorter where the address is
 * asked regularly, see refresh/patience.ts.
 */
export interface HttpSpec {
  /** Says that this is an address. */
  readonly kind: 'http';
  /** `http://…` or `https://…`; user and password in it are sent as Basic credentials. */
  readonly url: string;
  /**
   * Sent with the request, and to no other origin than that of `url`: every value is taken for a secret. Where one is
   * to come from the environment, {@link resolveHeaders} has put it there. Default none.
   */
  readonly headers?: RequestHeaders | undefined;
  /** Whether the next page may be on another origin, which gets none of the headers. Default false. */
  readonly crossOriginNext?: boolean | undefined;
  /** Certificate authorities to trust, in PEM, in place of the usual ones. Default: those of Node. */
  readonly ca?: string | undefined;
  /** Until status and headers of an answer have come, connecting included. Default UPSTREAM_HEADERS_MS_MAX. */
  readonly headersMsMax?: number | undefined;
  /** Between two pieces of an answer. Default UPSTREAM_IDLE_MS_MAX. */
  readonly idleMsMax?: number | undefined;
  /** The whole load. Default UPSTREAM_TOTAL_MS_MAX. */
  readonly totalMsMax?: number | undefined;
  /** Default UPSTREAM_PAGES_MAX. */
  readonly pagesMax?: number | undefined;
  /** Of all pages together, as they come over the wire; and of each page once it is unpacked. Default UPSTREAM_BYTES_MAX. */
  readonly bytesMax?: number | undefined;
}

/** What we read, in the order of what it costs us. An upstream that has none of it is read by content all the same. */
const ACCEPT = 'application/x-ndjson, application/json;q=0.9, application/vnd.msgpack;q=0.8, */*;q=0.1';

/**
 * Records from an address: NDJSON, a JSON array or MessagePack, recognised by content, gzipped or not; in pages where
 * the answer has a `Link: rel="next"`. Another Lectern, or anything that has its /schedule/all, is such an address.
 *
 * Every load is all or nothing: an answer cut short, a page that cannot be had, or an end that nobody can be certain of
 * is a failure, never a smaller set.
 *
 * @throws LecternError `option-invalid` for an address or header fields that cannot be
 */
export function httpSource(spec: HttpSpec): Source {
  const address = parseAddress(spec.url);
  const secretHeaders = checkHeaders(spec.headers ?? {}, address);
  const url = withoutCredentials(address);
  return {
    name: redactAddress(url),
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
        return await load(call, url, spec, sink, options);
      } finally {
        call.close();
      }
    },
  };
}

async function load(
  call: UpstreamCall,
  url: URL,
  spec: HttpSpec,
  sink: RecordSink,
  options: LoadOptions,
): Promise<LoadSummary | NotModified> {
  const previous = options.previous ?? null;
  let answer = await call.get(url, true, (at) => conditionalHeaders(previous, at));
  if (answer.status === 304 && isConditional(previous, answer.url)) {
    call.discard(answer);
    if (!isPage(linksOf(answer))) return NOT_MODIFIED;
    // A first page that did not change says nothing of a second that is new.
    answer = await call.get(url, true);
  }
  expectData(answer);
  const version = isPage(linksOf(answer)) ? null : versionOf(answer.url, answer.message.headers);
  // An upstream that does not look at If-None-Match may give entity tags all the same.
  if (version !== null && version === previous) {
    call.discard(answer);
    return NOT_MODIFIED;
  }
  if (version !== null) options.onVersion?.(version);
  return { ...(await readPages(call, answer, spec, sink, options)), version };
}

/**
 * Reads the first page and those that follow it. A set in pages has no version: what was said of one page holds for
 * that page, and a tag that covers the whole set cannot be told from one that does not.
 */
async function readPages(
  call: UpstreamCall,
  first: Answer,
  spec: HttpSpec,
  sink: RecordSink,
  options: LoadOptions,
): Promise<ReadSummary> {
  const pagesMax = spec.pagesMax ?? UPSTREAM_PAGES_MAX;
  const seen = new Set([first.url.href]);
  let answer = first;
  let records = 0;
  let format: SourceFormat | null = null;
  let gzipped = false;
  for (let page = 1; ; page++) {
    // Before the body: a link that leads nowhere should not cost a page.
    const next = nextPage(answer, spec.crossOriginNext === true);
    const before = records;
    const paged: RecordSink = {
      record(value, position) {
        records++;
        sink.record(value, page === 1 ? position : { ...position, record: before + position.record, page });
      },
      reject(rejection) {
        records++;
        const { position } = rejection;
        sink.reject(
          page === 1
            ? rejection
            : { ...rejection, position: { ...position, record: before + position.record, page } },
        );
      },
    };
    const { undecoded } = sink;
    if (undecoded !== undefined) {
      paged.undecoded = (bytes, view, spans, names) => {
        const isTaken = undecoded(bytes, view, spans, names);
        if (isTaken) records++;
        return isTaken;
      };
    }
    const isOnly = page === 1 && next === null;
    const read = await readPage(call, answer, spec, isOnly, paged, options, () => records);
    format = format === null || format === read.format ? read.format : 'mixed';
    gzipped ||= read.gzipped;
    if (next === null) return { format, gzipped, bytesRead: call.bytesRead };
    if (page === pagesMax) throw unreadable(first.url, `it has more than ${pagesMax} pages`);
    if (seen.has(next.href)) {
      throw unreadable(answer.url, `its next links go in a circle, to ${redactAddress(next)}`);
    }
    seen.add(next.href);
    answer = await call.get(next, answer.trusted && next.origin === answer.url.origin);
    expectData(answer);
  }
}

async function readPage(
  call: UpstreamCall,
  answer: Answer,
  spec: HttpSpec,
  isOnly: boolean,
  sink: RecordSink,
  options: LoadOptions,
  recordsSoFar: () => number,
): Promise<ReadSummary> {
  const { signal, onProgress } = options;
  const { headers } = answer.message;
  const sourceName = redactAddress(answer.url);
  const isEncoded = isGzipEncoded(answer);
  const length = headers['content-length'];
  const bytesTotal = isOnly && length !== undefined ? Number(length) : null;
  const bytes = call.body(answer);
  // Strict, unlike what fetch does: gzip data that ends early is an error.
  const decoded = isEncoded ? gunzip(sourceName, bytes) : bytes;
  const read = await readRecords(decoded, sink, {
    sourceName,
    bytesTotal,
    // Without either of these the body ends where the connection does, for whatever reason (RFC 9112 section 6.3).
    endIsCertain: isEncoded || length !== undefined || headers['transfer-encoding'] !== undefined,
    unpackedBytesMax: spec.bytesMax ?? UPSTREAM_BYTES_MAX,
    ...(signal === undefined ? {} : { signal }),
    onProgress: () => {
      // Also while what has arrived long ago is still being unpacked.
      call.throwIfEnded();
      onProgress?.({ bytesRead: call.bytesRead, bytesTotal, records: recordsSoFar() });
    },
  });
  return { ...read, gzipped: read.gzipped || isEncoded };
}

/** RFC 9110 section 8.4. We asked for gzip or nothing. */
function isGzipEncoded({ url, message }: Answer): boolean {
  const encoding = message.headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return false;
  if (encoding === 'gzip' || encoding === 'x-gzip') return true;
  message.destroy();
  throw unreadable(
    url,
    `its Content-Encoding is ${JSON.stringify(encoding.slice(0, 40))}; expected gzip or none`,
  );
}

/** 200 is the data. 206 would be a part of it, 204 nothing, and 203 something that a proxy made of it. */
function expectData({ status, url, message, trusted }: Answer): void {
  if (status === 200) return;
  const denied = status === 401 || status === 403;
  const hint =
    denied && !trusted
      ? '; it was asked without the configured headers, as a redirect led to another origin'
      : '';
  message.destroy();
  throw refused(url, status, message.headers, hint);
}

function linksOf({ url, message }: Answer): Link[] {
  const field = message.headers.link;
  if (field === undefined) return [];
  const links = parseLinks(Array.isArray(field) ? field.join(', ') : field);
  if (links !== null) return links;
  message.destroy();
  throw unreadable(url, 'its Link header cannot be understood (RFC 8288), so it may have further pages');
}

function nextPage(answer: Answer, crossOrigin: boolean): URL | null {
  const { url, message } = answer;
  const target = nextTarget(linksOf(answer));
  if (target === null) return null;
  const next = resolveReference(target, url);
  if (!('problem' in next) && (crossOrigin || next.origin === url.origin)) return next;
  message.destroy();
  if ('problem' in next) throw unreadable(url, `its next page leads ${next.problem}`);
  throw unreadable(url, `its next page is on another origin, ${next.origin}; expected ${url.origin}`);
}
