import { UPSTREAM_HEADERS_MS_MAX, UPSTREAM_IDLE_MS_MAX, UPSTREAM_TOTAL_MS_MAX } from '../../limits.js';
import { parseAddress, withoutCredentials } from '../../upstream/address.js';
import { type AskSecretHeaders, UpstreamCall } from '../../upstream/call.js';
import type { HttpSpec } from '../http.js';
import type { RecordDelta, RecordWatch } from '../records.js';
import { type AskSecretHeadersOf, askOf, type SourceSpec } from '../spec.js';
import { Credentials } from './credentials.js';
import { changesAddress, readChanges, snapshotOfVersion } from './lectern.js';
import { LecternWatch } from './lectern-watch.js';

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
