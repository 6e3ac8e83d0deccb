import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../waiting/until.js';
import type { TestServer } from './server.js';

export interface PostgresWriter {
  readonly transactions: number;
  /** Resolves once all transactions have ended. */
  pause(): Promise<void>;
  resume(): void;
  stop(): Promise<void>;
}

/** Pairs of rows that one transaction changes together. */
const PAIRS = 50;
const CONNECTIONS = 2;

/** Numerical Recipes' linear congruential generator. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Changes the table `events` in transactions of one to some hundred rows, on several connections, until stopped. */
export function startPostgresWriter(
  server: TestServer,
  { events, perSecond, seed }: { readonly events: number; readonly perSecond: number; readonly seed: number },
): PostgresWriter {
  const random = seeded(seed);
  let isPaused = false;
  let isStopped = false;
  let underWay = 0;
  let transactions = 0;

  function statement(): string {
    const row = (): string => `id = md5('event${1 + random(events)}')::uuid`;
    const pair = random(PAIRS);
    switch (random(10)) {
      case 0:
        return `DELETE FROM events WHERE ${row()}`;
      case 1:
        return `INSERT INTO events SELECT md5('event${1 + random(events)}')::uuid, now(), now(), 'new' ON CONFLICT (id) DO UPDATE SET title = 'again'`;
      case 2:
        return `UPDATE events SET id = md5('moved${random(1e9)}')::uuid WHERE ${row()}`;
      case 3:
        return `BEGIN; UPDATE events SET title = 'rolled back' WHERE ${row()}; ROLLBACK`;
      case 4:
        return random(20) === 0
          ? `UPDATE events SET type = 'T${random(5)}' WHERE "studyGroup" = 'G-${random(300)}'`
          : `UPDATE events SET "lecturerId" = null WHERE ${row()}`;
      case 5:
        return random(400) === 0
          ? 'TRUNCATE events'
          : `UPDATE events SET "time" = now(), "endTime" = now() WHERE ${row()}`;
      case 6:
      case 7:
        return `BEGIN; SELECT pg_advisory_xact_lock(${pair}); DELETE FROM events WHERE title = 'pair ${pair}';
          INSERT INTO events SELECT md5(random()::text)::uuid, now(), now(), 'pair ${pair}', null, null, null, 'L${random(1e9)}' FROM generate_series(1, 2); COMMIT`;
      case 8:
        return `BEGIN; SELECT pg_advisory_xact_lock(${pair}); UPDATE events SET lecturer = 'L${random(1e9)}' WHERE title = 'pair ${pair}'; COMMIT`;
      default:
        return `UPDATE events SET title = 'title ${random(1e9)}' WHERE ${row()}`;
    }
  }

  async function work(): Promise<void> {
    let client = null;
    let nextMs = performance.now();
    while (!isStopped) {
      nextMs = Math.max(nextMs + (1000 * CONNECTIONS) / perSecond, performance.now() - 1000);
      const waitMs = nextMs - performance.now();
      // The pace of the writer.
      if (waitMs > 0) await delay(waitMs);
      if (isPaused) continue;
      underWay++;
      try {
        client ??= await server.connect();
        await client.query(statement());
        transactions++;
      } catch {
        // The server was stopped, two writers collided, or the end of a transaction was lost.
        await client?.query('ROLLBACK').catch(() => {
          client = null;
        });
      } finally {
        underWay--;
      }
    }
  }

  const working = Promise.all(Array.from({ length: CONNECTIONS }, work));
  return {
    get transactions() {
      return transactions;
    },
    async pause() {
      isPaused = true;
      await until(
        () => underWay,
        (seen) => seen === 0,
      );
    },
    resume() {
      isPaused = false;
    },
    async stop() {
      isStopped = true;
      await working;
    },
  };
}
