/** Answers to probes during an overload: alive and ready. Only a probe with ?overload=true gets 503. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Test, test } from 'tap';
import { hs256, SECRET } from '../auth/tokens.js';
import { timetableFile } from '../hard/http-service.js';
import { startService } from '../refresh/built.js';
import { until } from '../waiting/until.js';
import { get } from './threads.js';

const CLIENTS = fileURLToPath(new URL('../hard/load-clients.mjs', import.meta.url));
const AUTHORIZATION = `Bearer ${hs256({ sub: 'alice', exp: Math.floor(Date.now() / 1000) + 3600 })}`;
/** Each takes a millisecond or more, has a small answer, and is requested once. */
const PATH = '/api/v1/schedule/conflicts?by=room&limit=1&startTime=2020-01-01T00:00:00.{n}Z';
const CONNECTIONS = 400;
/** Client processes for each thread, because a single client could not send as fast as a thread refuses. */
const LOADS = 2;
/** The load ends after this many reports of an overload, or after this time. */
const TOLD = 3;
const LOAD_MS_MAX = 25_000;
/** Seconds would be too long for a probe, but on a busy machine single answers may take them. */
const LIVE_MS_MAX = 500;

const source = await timetableFile((end) => process.once('exit', end), 20_000);

/** Clients in a separate process, which repeat their request after each answer until stopped. */
function load(t: Test, port: number): () => Promise<void> {
  const child: ChildProcess = spawn(process.execPath, [CLIENTS, String(port), AUTHORIZATION, PATH], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const end = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  t.teardown(end);
  child.stdin?.write(`${JSON.stringify({ connections: CONNECTIONS, forMs: LOAD_MS_MAX })}\n`);
  return end;
}

for (const workers of [1, 2]) {
  test(`an overloaded service is alive and ready: ${workers} serving threads`, async (t) => {
    const service = await startService({
      source,
      watch: false,
      port: 0,
      adminPort: 0,
      workers,
      overloadMs: 20,
      hs256Secret: SECRET,
      dev: false,
    });
    t.teardown(() => service.close());
    await service.ready;
    const admin = service.adminAddress?.origin ?? '';
    const ready = async (path = '/ready?overload=true'): Promise<string> => {
      const { status, body } = await get(`${admin}${path}`);
      const { reasons, overloaded } = JSON.parse(body.toString());
      return `${status} [${reasons}] ${overloaded}`;
    };
    const atRest = '200 [] false';
    t.equal(await ready(), atRest);
    t.equal(await ready('/ready'), atRest);

    const loads = Array.from({ length: LOADS * workers }, () => load(t, service.address.port));
    const loadEndMs = performance.now() + LOAD_MS_MAX;
    const seen = new Map<string, number>();
    const liveMs: number[] = [];
    let plainReady = '';
    while ((liveMs.length < TOLD || Math.min(...liveMs) > LIVE_MS_MAX) && performance.now() < loadEndMs) {
      const state = await ready();
      seen.set(state, (seen.get(state) ?? 0) + 1);
      if (state !== atRest) {
        plainReady = await ready('/ready');
        const beganMs = performance.now();
        t.equal((await get(`${admin}/live`)).status, 200);
        liveMs.push(performance.now() - beganMs);
      }
      // The state is requested with pauses.
      await delay(20);
    }
    await Promise.all(loads.map((end) => end()));
    t.same(
      [...seen.keys()].filter((state) => state !== atRest),
      ['503 [overloaded] true'],
      JSON.stringify([...seen]),
    );
    t.equal(plainReady, '200 [] true', 'the service still sends requests to overloaded pods');
    // Other work of the machine delays some of them.
    t.ok(Math.min(...liveMs) < LIVE_MS_MAX, `/live took ${liveMs.map((ms) => ms.toFixed(0)).join(', ')} ms`);

    await until(ready, (seen) => seen === atRest);
  });
}
