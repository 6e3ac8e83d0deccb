/** Cost and length of compressed answers: figures of docs/reliability.md. */
import t, { test } from 'tap';
import { type Asked, ask, cpuPerRequestMs } from './changed-service.js';
import { AUTHORIZATION, latencyP99Ms, startWarmService, timetableFile, told } from './http-service.js';
import { HARD, size } from './size.js';

const EVENTS = size(50_000, 100_000);
/**
 * The limit as a multiple of the processor time without a coding. The short form runs beside other tests, so
 * its limit is higher.
 */
const RATIO_MAX = HARD ? 1.1 : 2;
const ATTEMPTS = 5;
/**
 * Of the p99 of other clients. In a short run other programs want the processor, too, and only a thread that compresses
 * for a second shows.
 */
const P99_MS = size(400, 25);

const teardown = (end: () => unknown): unknown => t.teardown(end);
const service = await startWarmService(teardown, await timetableFile(teardown, EVENTS));

async function untilCompressed(asked: Asked): Promise<number> {
  const untilMs = performance.now() + 120_000;
  while (performance.now() < untilMs) {
    const { headers, bytes } = await ask(service, asked);
    if (headers['content-encoding'] !== undefined) return bytes;
  }
  throw new Error(`${asked.path} was never compressed`);
}

/** All events of one room. */
async function hotPath(): Promise<string> {
  const headers = { Authorization: AUTHORIZATION };
  const answer = await fetch(`http://127.0.0.1:${service.port}/api/v1/schedule?limit=1`, { headers });
  const [event] = (await answer.json()) as { roomId: string }[];
  return `/api/v1/schedule?roomId=${event?.roomId}`;
}

test('compressed answers cost no more than plain ones, and all events shrink to a tenth', {
  timeout: 300_000,
}, async (t) => {
  const figures: string[] = [];
  for (const [name, path, requests] of [
    ['everything', '/api/v1/schedule/all', size(5, 40)],
    ['a hot answer', await hotPath(), size(200, 2000)],
  ] as const) {
    const plain = { method: 'GET', path } as const;
    const packed = { ...plain, headers: { 'Accept-Encoding': 'br' } };
    const { bytes } = await ask(service, plain);
    const packedBytes = await untilCompressed(packed);
    let ratio = Number.POSITIVE_INFINITY;
    for (let attempt = 1; attempt <= ATTEMPTS && ratio > RATIO_MAX; attempt++) {
      const plainMs = await cpuPerRequestMs(service, plain, requests);
      const packedMs = await cpuPerRequestMs(service, packed, requests);
      ratio = packedMs / plainMs;
    }
    t.ok(ratio <= RATIO_MAX, `${name}: ${ratio.toFixed(2)} times the processor time`);
    if (name === 'everything') t.ok(packedBytes <= bytes / 10, `${packedBytes} of ${bytes} bytes`);
    figures.push(`${name} ${ratio.toFixed(2)} times, ${packedBytes} of ${bytes} bytes`);
  }
  t.comment(told(figures.join('; '), 'compression'));
});

test('other clients are served while everything is compressed', { timeout: 120_000 }, async (t) => {
  const before = await latencyP99Ms(service, size(1000, 3000));
  for (let n = 0; n < 2; n++)
    await ask(service, {
      method: 'GET',
      path: '/api/v1/schedule/all?format=msgpack',
      headers: { 'Accept-Encoding': 'br' },
    });
  const meanwhile = await latencyP99Ms(service, 700);
  t.ok(
    meanwhile <= Math.max(P99_MS, 2 * before),
    `p99 ${meanwhile.toFixed(1)} ms, before ${before.toFixed(1)}`,
  );
  t.comment(told(`p99 ${meanwhile.toFixed(1)} ms, before ${before.toFixed(1)}`, 'compression-bystander'));
});
