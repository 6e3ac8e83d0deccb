/** Generated query strings, passed to the handler itself: none gives a 5xx or takes long. */
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test } from 'tap';
import { generateEvents } from '../../../bench/generate.mjs';
import { recordFigure } from '../../hard/figures.mjs';
import { HARD, size } from '../../hard/size.js';
import { MemorySource, openTimetable } from '../../refresh/built.js';
import { collectGarbage } from '../collect-garbage.js';
import { generateTargets, PATHS } from './query-strings.js';

const QUERIES = size(6000, 100_000);
/**
 * Requested first, because code is slow when it runs for the first time. Queries of another seed, and those
 * with the largest results, come first; their duration is recorded, too.
 */
const WARM_UP = 2000;
const LARGEST = PATHS.flatMap((path) =>
  ['format=json', 'format=msgpack', 'type=LAB&type=LEC'].map((query) => `${path}?${query}`),
);
const EVENTS = size(5000, 100_000);
const WORST_MS = 5;
/** Garbage collections and other work disturb single measurements, so the least time of a query counts. */
const AGAIN_MAX = 20;
const SEED = 20_240_902;
/** A file of Linux, which exists if configured. */
const SCHEDULER_FILE = '/proc/self/schedstat';

interface Asked {
  readonly status: number;
  /** Elapsed time. */
  readonly tookMs: number;
  /** Part of this time in which the thread waited for a processor used by others. */
  readonly waitedMs: number;
}

/** Calls a handler with requests that exist only in memory. */
class Asker {
  readonly #handler: (req: IncomingMessage, res: ServerResponse) => void;
  readonly #schedulerFile = existsSync(SCHEDULER_FILE) ? openSync(SCHEDULER_FILE, 'r') : null;
  readonly #schedulerText = Buffer.alloc(100);

  constructor(handler: (req: IncomingMessage, res: ServerResponse) => void) {
    this.#handler = handler;
  }

  ask(url: string): Asked {
    let status = 0;
    const res = {
      shouldKeepAlive: true,
      headersSent: false,
      socket: null,
      writeHead(code: number) {
        status = code;
        res.headersSent = true;
      },
      cork() {},
      uncork() {},
      // A client that does not read: only the first slice of a large body is made, in the turn of its request.
      write: () => false,
      end() {},
      once() {},
      off() {},
      destroy() {},
    };
    const req = {
      method: 'GET',
      url,
      httpVersion: '1.1',
      httpVersionMajor: 1,
      rawHeaders: ['Host', 'a'],
      socket: {},
    };
    const waitedBeforeMs = this.#waitedMs();
    const beganMs = performance.now();
    this.#handler(req as unknown as IncomingMessage, res as unknown as ServerResponse);
    const tookMs = performance.now() - beganMs;
    return { status, tookMs, waitedMs: this.#waitedMs() - waitedBeforeMs };
  }

  close(): void {
    if (this.#schedulerFile !== null) closeSync(this.#schedulerFile);
  }

  /** Time that the main thread has waited for a processor; 0 if the system does not report it. */
  #waitedMs(): number {
    if (this.#schedulerFile === null) return 0;
    const length = readSync(this.#schedulerFile, this.#schedulerText, 0, this.#schedulerText.length, 0);
    // Time on a processor and waiting time in nanoseconds, and the number of time slices.
    return Number(this.#schedulerText.toString('latin1', 0, length).split(' ')[1]) / 1e6;
  }
}

test(`${QUERIES} generated query strings cause no 5xx, and none takes longer than ${WORST_MS} ms`, async (t) => {
  const events = [...generateEvents({ events: EVENTS, seed: 7 })];
  const warmUp = generateTargets(events, WARM_UP, SEED - WARM_UP);
  const targets = generateTargets(events, QUERIES, SEED);
  // Without caches, because a kept answer does not show the cost of making it.
  const timetable = openTimetable({ source: new MemorySource(events), cacheMb: 0 });
  t.teardown(() => timetable.close());
  await timetable.ready;
  const asker = new Asker(timetable.handler());
  t.teardown(() => asker.close());
  // Collects the garbage of generating and loading before a query is timed.
  collectGarbage();
  let worstColdMs = 0;
  for (const target of LARGEST) worstColdMs = Math.max(worstColdMs, asker.ask(target).tookMs);
  for (let n = 0; n < WARM_UP; n++) {
    worstColdMs = Math.max(worstColdMs, asker.ask(warmUp.at(n)).tookMs);
    await afterTurn(n);
  }
  const counts = new Map<number, number>();
  const slow: string[] = [];
  const atFirst = { worstByClockMs: 0, worstMs: 0, slower: [] as string[] };
  let longest = 0;
  for (let n = 0; n < QUERIES; n++) {
    const target = targets.at(n);
    const first = asker.ask(target);
    counts.set(first.status, (counts.get(first.status) ?? 0) + 1);
    longest = Math.max(longest, target.length);
    let ownMs = first.tookMs - first.waitedMs;
    atFirst.worstByClockMs = Math.max(atFirst.worstByClockMs, first.tookMs);
    atFirst.worstMs = Math.max(atFirst.worstMs, ownMs);
    if (ownMs > WORST_MS) atFirst.slower.push(`${n}: ${ownMs.toFixed(1)} ms: ${target.slice(0, 300)}`);
    for (let again = 0; ownMs > WORST_MS && again < AGAIN_MAX; again++)
      ownMs = Math.min(ownMs, asker.ask(target).tookMs);
    if (ownMs > WORST_MS) slow.push(`${ownMs.toFixed(1)} ms: ${target.slice(0, 300)}`);
    if (first.status >= 500 || first.status === 0) t.fail(`status ${first.status}: ${target.slice(0, 300)}`);
    await afterTurn(n);
  }
  t.same(slow, []);
  t.ok(
    (counts.get(200) ?? 0) > QUERIES / 50 && (counts.get(400) ?? 0) > QUERIES / 50,
    'good and bad ones are among them',
  );
  t.ok(longest > 6000, 'some are nearly as long as may be');
  t.comment(JSON.stringify({ counts: [...counts], atFirst, worstColdMs }));
  if (HARD) {
    t.equal(
      [...counts.values()].reduce((sum, n) => sum + n, 0),
      100_000,
    );
    const { slower, worstMs, worstByClockMs } = atFirst;
    recordFigure(
      'query-fuzz',
      `${slow.length === 0 ? 'none' : `${slow.length} slower at their best`}; ${slower.length} first attempts took longer, the longest ${worstMs.toFixed(1)} ms; with waits for a processor at most ${worstByClockMs.toFixed(1)} ms; ${LARGEST.length + WARM_UP} earlier queries, on cold code, at most ${worstColdMs.toFixed(1)} ms`,
      { counts: Object.fromEntries(counts), atFirst, worstColdMs },
    );
  }
});

/** Slices and timers sometimes get a turn. */
async function afterTurn(n: number): Promise<void> {
  if (n % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
}
