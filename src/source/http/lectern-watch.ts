import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import {
  UPSTREAM_STREAM_IDLE_MS_MAX,
  UPSTREAM_STREAM_RETRY_MS_MAX,
  UPSTREAM_STREAM_RETRY_MS_MIN,
} from '../../limits.js';
import { parseVersion } from '../../model/timetable-version.js';
import type { AskSecretHeaders, RequestHeaders } from '../../upstream/call.js';

export interface LecternWatchOptions {
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
export class LecternWatch {
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
