/** Cost and length of compressed answers: figures of docs/reliability.md. */
import { test } from 'tap';
import { type Asked, ask, cpuPerRequestMs } from './changed-service.js';
import {
  AUTHORIZATION,
  latencyP99Ms,
  type ServiceProcess,
  startWarmService,
  timetableFile,
  told,
} from './http-service.js';
import { HARD, size } from './size.js';

const EVENTS = 100_000;
/**
 * The limit as a multiple of the processor time without a coding. The short form runs beside other tests, so
 * its limit is higher.
 */
const RATIO_MAX = HARD ? 1.1 : 2;
const ATTEMPTS = 5;

async function untilCompressed(service: ServiceProcess, asked: Asked): Promise<number> {
  const untilMs = performance.now() + 30_000;
  while (performance.now() < untilMs) {
    const { headers, bytes } = await ask(service, asked);
    if (headers['content-encoding'] !== undefined) return bytes;
  }
  throw new Error(`${asked.path} was never compressed`);
}

/** All events of one room. */
async function hotPath({ port }: ServiceProcess): Promise<string> {
  const headers = { Authorization: AUTHORIZATION };
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/schedule?limit=1`, { headers });
  const [event] = (await answer.json()) as { roomId: string }[];
  return `/api/v1/schedule?roomId=${event?.roomId}`;
}

test('compressed answers cost no more than plain ones, and all events shrink to a tenth', {
  timeout: 300_000,
}, async (t) => {
  const teardown = (end: () => unknown): unknown => t.teardown(end);
  const service = await startWarmService(teardown, await timetableFile(teardown, EVENTS));
  const figures: string[] = [];
  for (const [name, path, requests] of [
    ['everything', '/api/v1/schedule/all', size(5, 40)],
    ['a hot answer', await hotPath(service), size(200, 2000)],
  ] as const) {
    const plain = { method: 'GET', path } as const;
    const packed = { ...plain, headers: { 'Accept-Encoding': 'br' } };
    const { bytes } = await ask(service, plain);
    const packedBytes = await untilCompressed(service, packed);
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
  const teardown = (end: () => unknown): unknown => t.teardown(end);
  const service = await startWarmService(teardown, await timetableFile(teardown, EVENTS));
  const before = await latencyP99Ms(service, size(1000, 3000));
  for (let n = 0; n < 2; n++)
    await ask(service, {
      method: 'GET',
      path: '/api/v1/schedule/all?format=msgpack',
      headers: { 'Accept-Encoding': 'br' },
    });
  const meanwhile = await latencyP99Ms(service, 700);
  t.ok(meanwhile <= Math.max(25, 2 * before), `p99 ${meanwhile.toFixed(1)} ms, before ${before.toFixed(1)}`);
  t.comment(told(`p99 ${meanwhile.toFixed(1)} ms, before ${before.toFixed(1)}`, 'compression-bystander'));
});
