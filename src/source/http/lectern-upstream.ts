import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import {
  UPSTREAM_HEADERS_MS_MAX,
  UPSTREAM_IDLE_MS_MAX,
  UPSTREAM_STREAM_IDLE_MS_MAX,
  UPSTREAM_STREAM_RETRY_MS_MAX,
  UPSTREAM_STREAM_RETRY_MS_MIN,
  UPSTREAM_TOTAL_MS_MAX,
} from '../../limits.js';
import { parseVersion } from '../../model/timetable-version.js';
import { parseAddress, withoutCredentials } from '../../upstream/address.js';
import { type AskSecretHeaders, type RequestHeaders, UpstreamCall } from '../../upstream/call.js';
import type { HttpSpec } from '../http.js';
import type { RecordDelta, RecordWatch } from '../records.js';
import { type AskSecretHeadersOf, askOf, type SourceSpec } from '../spec.js';
import { Credentials } from './credentials.js';
import { changesAddress, readChanges, snapshotOfVersion } from './lectern.js';

/** Addresses of a source where another Lectern may answer. */
export function lecternUpstreamsOf(spec: SourceSpec, ask: AskSecretHeadersOf | undefined): LecternUpstream[] {
  if (spec.kind === 'merged') return spec.specs.flatMap((each) => lecternUpstreamsOf(each, ask));
  if (spec.kind !== 'http' || changesAddress(parseAddress(spec.url)) === null) return [];
  return [new LecternUpstream(spec, askOf(spec, ask))];
}

/** An address whose path is that of all events of a Lectern. Only its answers show whether a Lectern is there. */
export class LecternUpstream {
  readonly #spec: HttpSpec;
  readonly #all: URL;
  readonly #secretHeaders: AskSecretHeaders;
  #watch: LecternWatch | null = null;

  constructor(spec: HttpSpec, secretHeaders: AskSecretHeaders | undefined) {
    const address = parseAddress(spec.url);
    this.#spec = spec;
    this.#all = withoutCredentials(address);
    this.#secretHeaders = secretHeaders ?? new Credentials(spec).ask;
  }

  watch(onChange: () => void): RecordWatch {
    const watch = new LecternWatch(changesAddress(this.#all) as URL, {
      secretHeaders: this.#secretHeaders,
      ca: this.#spec.ca,
      onChange,
    });
    this.#watch = watch;
    return watch;
  }

  /**
   * The changes since a version from an earlier load. Null: load everything.
   *
   * @throws LecternError `source-unreadable`
   */
  async changes(
    version: string | null,
    limits: Partial<Pick<HttpSpec, 'headersMsMax' | 'idleMsMax' | 'totalMsMax'>>,
    signal: AbortSignal,
  ): Promise<RecordDelta | 'not-modified' | null> {
    const since = snapshotOfVersion(this.#all, version);
    if (since === null) return null;
    const spec = { ...limits, ...this.#spec };
    const call = new UpstreamCall(this.#all, {
      headers: { accept: 'application/json', 'user-agent': 'lectern' },
      secretHeaders: this.#secretHeaders,
      ca: spec.ca,
      headersMsMax: spec.headersMsMax ?? UPSTREAM_HEADERS_MS_MAX,
      idleMsMax: spec.idleMsMax ?? UPSTREAM_IDLE_MS_MAX,
      totalMsMax: spec.totalMsMax ?? UPSTREAM_TOTAL_MS_MAX,
      bytesMax: spec.bytesMax ?? Number.POSITIVE_INFINITY,
      signal,
    });
    try {
      return await readChanges(call, { all: this.#all, since, minVersion: this.#watch?.version ?? null });
    } finally {
      call.close();
    }
  }
}

interface LecternWatchOptions {
  readonly secretHeaders: AskSecretHeaders;
  readonly ca: string | undefined;
  /** Called at each start of the stream, and each time the upstream publishes a version. */
  readonly onChange: () => void;
}

/** Longer lines are data and are skipped: the changes are requested separately. */
const LINE_CHARACTERS_MAX = 256;

/**
 * Follows the event stream of another Lectern. The watch does not keep the process alive and does not follow
 * redirects.
 */
class LecternWatch {
  /** The last announced version of the upstream; null without a stream. */
  version: string | null = null;
  readonly #url: URL;
  readonly #options: LecternWatchOptions;
  readonly #abort = new AbortController();
  #pauseMs = UPSTREAM_STREAM_RETRY_MS_MIN;
  #timer: NodeJS.Timeout | undefined;
  /** The version of the secret headers that got a 401. */
  #refused: number | null = null;

  constructor(url: URL, options: LecternWatchOptions) {
    this.#url = url;
    this.#options = options;
    void this.#connect();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#abort.abort();
  }

  async #connect(): Promise<void> {
    const { signal } = this.#abort;
    if (signal.aborted) return;
    try {
      const { version, headers } = await this.#options.secretHeaders(this.#refused, signal);
      this.#refused = null;
      if (!signal.aborted) this.#request(version, headers);
    } catch {
      // A load reports the fault of the credentials.
      this.#connectLater();
    }
  }

  #connectLater(): void {
    if (this.#abort.signal.aborted) return;
    this.#timer = setTimeout(() => void this.#connect(), this.#pauseMs * (0.5 + Math.random())).unref();
    this.#pauseMs = Math.min(2 * this.#pauseMs, UPSTREAM_STREAM_RETRY_MS_MAX);
  }

  #request(secretVersion: number, headers: RequestHeaders): void {
    const { ca } = this.#options;
    const { signal } = this.#abort;
    const fields = { ...headers, accept: 'text/event-stream', 'user-agent': 'lectern' };
    const options = { headers: fields, agent: false, signal, timeout: UPSTREAM_STREAM_IDLE_MS_MAX } as const;
    const request =
      this.#url.protocol === 'https:'
        ? requestHttps(this.#url, { ...options, ca })
        : requestHttp(this.#url, options);
    request.on('socket', (socket) => socket.unref());
    request.on('timeout', () => request.destroy());
    request.on('error', () => {});
    request.on('response', (message) => {
      const isStream = message.headers['content-type']?.startsWith('text/event-stream') === true;
      message.on('error', () => {});
      if (message.statusCode !== 200 || !isStream) {
        if (message.statusCode === 401) this.#refused = secretVersion;
        request.destroy();
        return;
      }
      this.#pauseMs = UPSTREAM_STREAM_RETRY_MS_MIN;
      const read = lineReader((line) => this.#take(line));
      message.setEncoding('utf8').on('data', read);
    });
    request.on('close', () => {
      this.version = null;
      this.#connectLater();
    });
    request.end();
  }

  /** Reads only ids: the id of a message comes before its data, and is enough. */
  #take(line: string): void {
    if (!line.startsWith('id: ')) return;
    const version = line.slice(4);
    if (parseVersion(version) === null) return;
    this.version = version;
    this.#options.onChange();
  }
}

/** Calls back for each line; long lines are cut. */
function lineReader(onLine: (line: string) => void): (text: string) => void {
  let line = '';
  return (text) => {
    let from = 0;
    // Terminates: `from` grows.
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      onLine((line + text.slice(from, end)).slice(0, LINE_CHARACTERS_MAX));
      line = '';
      from = end + 1;
    }
    line = (line + text.slice(from, from + LINE_CHARACTERS_MAX)).slice(0, LINE_CHARACTERS_MAX);
  };
}
