import { retryPauseMs } from '../../files/retry.js';
import {
  DATABASE_HEARTBEAT_MS,
  DATABASE_RETRY_MS_MAX,
  DATABASE_RETRY_MS_MIN,
  FOLLOWED_SILENT_MS_MAX,
  UPSTREAM_HEADERS_MS_MAX,
} from '../../limits.js';
import type { RecordWatch } from '../records.js';
import type { SourceSpec } from '../spec.js';
import { Database } from './database.js';
import { checkPostgresSpec, type PostgresSpec, postgresName } from './postgres-spec.js';

/** Calls back at each NOTIFY on the channels of a source's databases. */
export function listenTo(spec: SourceSpec, onChange: () => void): RecordWatch[] {
  if (spec.kind === 'merged') return spec.specs.flatMap((each) => listenTo(each, onChange));
  if (spec.kind !== 'postgres' || spec.listen === undefined || spec.follow === true) return [];
  return [new ChannelWatch(spec, spec.listen, onChange)];
}

/**
 * Listens on one connection, and makes a new one after a loss. A notice during the gap is lost, so the
 * watch calls back after each gap.
 */
class ChannelWatch implements RecordWatch {
  readonly #spec: PostgresSpec;
  readonly #channel: string;
  readonly #onChange: () => void;
  readonly #abort = new AbortController();
  #failures = 0;

  constructor(spec: PostgresSpec, channel: string, onChange: () => void) {
    this.#spec = spec;
    this.#channel = channel;
    this.#onChange = onChange;
    void this.#listen(false);
  }

  close(): void {
    this.#abort.abort();
  }

  async #listen(isAgain: boolean): Promise<void> {
    const { signal } = this.#abort;
    const address = checkPostgresSpec(this.#spec);
    const name = postgresName(address, this.#spec);
    const { passwordFile } = this.#spec;
    let timer: NodeJS.Timeout | undefined;
    try {
      const options = { name, passwordFile, answerMsMax: UPSTREAM_HEADERS_MS_MAX, signal };
      const database = (await Database.open(address, options)).unref();
      const ended = new Promise((resolve) => database.client.once('end', resolve));
      database.client.on('notification', () => this.#onChange());
      await database.query(`LISTEN "${this.#channel.replaceAll('"', '""')}"`);
      this.#failures = 0;
      if (isAgain) this.#onChange();
      // A connection may be dead without notice.
      timer = setInterval(() => void database.beat(FOLLOWED_SILENT_MS_MAX), DATABASE_HEARTBEAT_MS).unref();
      await ended;
      // The load reports the fault.
      if (!signal.aborted) this.#onChange();
    } catch {
      // The connection is tried again.
    }
    clearInterval(timer);
    if (signal.aborted) return;
    const ms = retryPauseMs(++this.#failures, DATABASE_RETRY_MS_MAX, DATABASE_RETRY_MS_MIN);
    setTimeout(() => void this.#listen(true), ms).unref();
  }
}
