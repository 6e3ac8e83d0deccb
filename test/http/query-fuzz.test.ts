/** Generated query strings, given to the handler itself: no 5xx, and none that takes long. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import fc from 'fast-check';
import { test } from 'tap';
import { generateEvents } from '../../src/generate/events.js';
import { recordFigure } from '../hard/figures.mjs';
import { HARD, size } from '../hard/size.js';
import { MemorySource, openTimetable } from '../refresh/built.js';

const QUERIES = size(6000, 100_000);
const EVENTS = size(5000, 100_000);
const WORST_MS = 5;
/** Other work of the machine comes in between again and again; how long a query takes shows in the least of its times. */
const ATTEMPTS_MAX = 20;
const SEED = 20_240_902;
const PATHS = ['', '/all', '/types', '/conflicts', '/personal', '/changes'].map(
  (end) => `/api/v1/schedule${end}`,
);

/** Runs the handler on a request that exists in memory only; the status, and how long the handler took. */
function ask(
  handler: (req: IncomingMessage, res: ServerResponse) => void,
  url: string,
): { readonly status: number; readonly tookMs: number } {
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
    // A client that does not read: of a large body the first slice is made, as in the turn of its request.
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
  const beganMs = performance.now();
  handler(req as unknown as IncomingMessage, res as unknown as ServerResponse);
  return { status, tookMs: performance.now() - beganMs };
}

test(`${QUERIES} generated query strings cause no 5xx, and none takes longer than ${WORST_MS} ms`, {
  timeout: size(60_000, 900_000),
}, async (t) => {
  const events = [...generateEvents({ events: EVENTS, seed: 7 })];
  // Without caches: an answer that is kept says nothing of what it takes to make.
  const timetable = openTimetable({ source: new MemorySource(events), cacheMb: 0 });
  t.teardown(() => timetable.close());
  await timetable.ready;
  const handler = timetable.handler();
  const known = (name: 'roomId' | 'courseId' | 'studyGroup' | 'type'): fc.Arbitrary<string> =>
    fc.constantFrom(...new Set(events.slice(0, 2000).map((event) => String(event[name]))));
  const value = fc.oneof(
    known('roomId'),
    known('courseId'),
    known('studyGroup'),
    known('type'),
    fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map((date) => date.toISOString()),
    fc.string({ unit: 'binary', maxLength: 30 }),
    fc.constantFrom(
      '',
      '0',
      '1',
      '10000',
      '10001',
      '-1',
      'json',
      'msgpack',
      'room',
      'true',
      'NaN',
      '%',
      '%ff',
      '+',
    ),
  );
  const name = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.constantFrom(
        'roomId',
        'courseId',
        'studyGroup',
        'type',
        'lecturerId',
        'startTime',
        'endTime',
        'limit',
        'cursor',
        'format',
        'by',
        'merge',
        'since',
      ),
    },
    { weight: 1, arbitrary: fc.string({ maxLength: 12 }) },
  );
  const pair = fc
    .tuple(
      name,
      value,
      fc.constantFrom(encodeURIComponent, encodeURI, (text: string) => text),
    )
    .map(([key, text, encode]) => {
      try {
        return `${encode(key)}=${encode(text)}`;
      } catch {
        // A lone surrogate cannot be encoded.
        return `${key}=%ED%A0%80`;
      }
    });
  const query = fc.oneof(
    { weight: 12, arbitrary: fc.array(pair, { maxLength: 5 }).map((pairs) => pairs.join('&')) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
    // As long as a target may be.
    {
      weight: 1,
      arbitrary: fc
        .tuple(pair, fc.integer({ min: 10, max: 200 }))
        .map(([one, times]) => Array(times).fill(one).join('&').slice(0, 8000)),
    },
    {
      weight: 1,
      arbitrary: fc
        .array(pair, { minLength: 50, maxLength: 120 })
        .map((pairs) => pairs.join('&').slice(0, 8000)),
    },
  );
  const counts = new Map<number, number>();
  const slow: string[] = [];
  let worstFirstMs = 0;
  let slowAtFirst = 0;
  let longest = 0;
  // As node:http gives it: bytes above ASCII and blanks never reach the handler.
  const targets = fc
    .tuple(fc.constantFrom(...PATHS), query)
    .map(
      ([path, text]) =>
        `${path}?${text.replace(/[^\x21-\x7e]/g, (character) => encodeURIComponent(character.isWellFormed() ? character : '?'))}`,
    );
  const batch = 1000;
  for (let n = 0; n < QUERIES; n += batch) {
    for (const target of fc.sample(targets, { numRuns: batch, seed: SEED + n })) {
      const first = ask(handler, target);
      counts.set(first.status, (counts.get(first.status) ?? 0) + 1);
      longest = Math.max(longest, target.length);
      // A pause of the collector, or other work of the machine, does not come back with the same query.
      let { tookMs } = first;
      worstFirstMs = Math.max(worstFirstMs, tookMs);
      if (tookMs > WORST_MS) slowAtFirst++;
      for (let again = 0; tookMs > WORST_MS && again < ATTEMPTS_MAX; again++)
        tookMs = Math.min(tookMs, ask(handler, target).tookMs);
      if (tookMs > WORST_MS) slow.push(`${tookMs.toFixed(1)} ms: ${target.slice(0, 300)}`);
      if (first.status >= 500 || first.status === 0)
        t.fail(`status ${first.status}: ${target.slice(0, 300)}`);
    }
    // Slices and timers have their turn.
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.same(slow, []);
  t.ok(
    (counts.get(200) ?? 0) > QUERIES / 50 && (counts.get(400) ?? 0) > QUERIES / 50,
    'good and bad ones are among them',
  );
  t.ok(longest > 6000, 'some are nearly as long as may be');
  t.comment(JSON.stringify({ counts: [...counts], worstFirstMs, slowAtFirst }));
  if (HARD) {
    t.equal(
      [...counts.values()].reduce((sum, n) => sum + n, 0),
      100_000,
    );
    recordFigure(
      'query-fuzz',
      `${slow.length === 0 ? 'none' : `${slow.length} slower at their best`}; at the first attempt ${slowAtFirst} took longer, at most ${worstFirstMs.toFixed(1)} ms`,
      { counts: Object.fromEntries(counts), worstFirstMs, slowAtFirst },
    );
  }
});
