/** A client that reads a replica all the time. */
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { hs256 } from '../../auth/tokens.js';
import type { Machine } from './machine.js';

const PAUSE_MS = 100;
const TOKEN = hs256({ sub: 'alice', exp: Math.floor(Date.now() / 1000) + 4 * 3600 });

export interface Read {
  readonly status: number;
  /** Value of Lectern-Version. */
  readonly version: string;
  readonly etag: string;
  /** Value of X-Total-Count; NaN for none. */
  readonly total: number;
  readonly body: string;
}

/** @throws if there is no answer in a minute */
export function read(
  port: number,
  path: string,
  { agent, headers = {} }: { readonly agent?: Agent; readonly headers?: Record<string, string> } = {},
): Promise<Read> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: `/api/v1${path}`, timeout: 60_000 };
    const all = { Authorization: `Bearer ${TOKEN}`, ...headers };
    const req = request({ ...options, headers: all, ...(agent === undefined ? {} : { agent }) }, (res) => {
      let body = '';
      res.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      res.on('error', reject).on('end', () => {
        const [version, etag] = [
          String(res.headers['lectern-version'] ?? ''),
          String(res.headers.etag ?? ''),
        ];
        const total = Number(res.headers['x-total-count'] ?? Number.NaN);
        resolve({ status: res.statusCode ?? 0, version, etag, total, body });
      });
    });
    req.on('timeout', () => req.destroy(new Error('no answer in a minute')));
    req.on('error', reject).end();
  });
}

/** Reads a replica, and notes what it serves. A version must not go back while the replica runs. A replica that is down, or has never served since it lost its disk, is not read. */
export class Reader {
  readonly #machine: Machine;
  readonly #eventsOfAll: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #running: Promise<void>;
  #isEnding = false;
  /** Changes whenever the replica goes down, so that a read in between does not count. */
  lives = 0;
  /** False while the replica has no timetable yet. */
  isReady = true;
  /** The last good answer since the replica came up. */
  last: Read | null = null;
  reads = 0;
  readonly ids: Set<string> = new Set();
  readonly failures: string[] = [];

  /** @param eventsOfAll of every good timetable */
  constructor(machine: Machine, eventsOfAll: number) {
    this.#machine = machine;
    this.#eventsOfAll = eventsOfAll;
    this.#running = this.#run();
  }

  /** The replica goes down, or begins to come up. */
  interrupt(isReady: boolean = this.isReady): void {
    this.lives++;
    this.last = null;
    this.isReady = isReady;
  }

  async close(): Promise<void> {
    this.#isEnding = true;
    this.#agent.destroy();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isEnding) {
      if (this.#machine.isRunning && this.#machine.port !== 0) await this.#readOnce();
      // The client pauses between requests.
      await delay(PAUSE_MS);
    }
  }

  async #readOnce(): Promise<void> {
    const life = this.lives;
    try {
      const found = await read(this.#machine.port, '/schedule?limit=1', { agent: this.#agent });
      if (life !== this.lives) return;
      if (found.status !== 200) throw new Error(`status ${found.status}: ${found.body.slice(0, 200)}`);
      this.isReady = true;
      this.reads++;
      const [before, after] = [this.last?.version ?? '', found.version];
      if (Number.parseInt(after, 10) < Number.parseInt(before, 10))
        this.failures.push(`${this.#machine.name}: ${after} was served after ${before}`);
      if (found.total !== this.#eventsOfAll)
        this.failures.push(`${this.#machine.name}: served ${found.total} events, a poison timetable`);
      this.last = found;
      this.ids.add(found.version.split('.')[1] ?? found.version);
    } catch (error) {
      if (life === this.lives && this.isReady && !this.#isEnding)
        this.failures.push(`${this.#machine.name}: ${(error as Error).message}`);
    }
  }
}
