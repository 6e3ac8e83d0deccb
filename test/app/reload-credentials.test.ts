/**
 * Header files and client secrets of a source are changed under load: no load and no read fails, credentials that are gone
 * are not sent again, and a bad file changes nothing.
 */
import { randomBytes } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Test, test } from 'tap';
import { hs256, SECRET } from '../auth/tokens.js';
import { size } from '../hard/size.js';
import { startService } from '../refresh/built.js';
import { startUpstream } from '../source/http/upstream.js';
import { until } from '../waiting/until.js';
import { scrape, total } from './scrape.js';
import { get, keptLog } from './threads.js';

const ROUNDS = size(2, 20);
/** A busy machine is slower than a second. */
const TAKEN_UP_MS_MAX = size(10_000, 1000);
/** Tokens are requested again after half of this time. */
const TOKEN_SECONDS = 4;
const AUTHORIZATION = `Bearer ${hs256({ sub: 'a', exp: 4_000_000_000 })}`;

const body = (n: number): string =>
  `${JSON.stringify({ id: 'one', time: '2026-01-01T08:00:00Z', endTime: '2026-01-01T09:00:00Z', title: `${n}` })}\n`;

/** An upstream that knows the credentials of the present and, until the new ones were seen, of the previous round. */
class Gate {
  good: readonly string[] = [];
  seen = '';
  loads = 0;
  readonly refused: string[] = [];

  takes(credential: string, response: ServerResponse): boolean {
    if (this.good.includes(credential)) {
      this.seen = credential;
      return true;
    }
    this.refused.push(credential);
    response.writeHead(401).end();
    return false;
  }

  send(response: ServerResponse): void {
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).end(body(++this.loads));
  }
}

type Options = Partial<Parameters<typeof startService>[0]>;

async function changeUnderLoad(t: Test, path: string, gate: Gate, options: Options): Promise<void> {
  const put = (text: string): void => {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  };
  const fresh = (): string => randomBytes(24).toString('hex');
  let now = fresh();
  gate.good = [now];
  put(now);
  const { log, lines } = keptLog();
  const service = await startService(
    {
      source: '',
      port: 0,
      adminPort: 0,
      hs256Secret: SECRET,
      identifiers: 'any',
      refreshSeconds: 0.05,
      ...options,
    },
    { log },
  );
  t.teardown(() => service.close());
  await service.ready;
  const loads: Record<string, number> = {};
  service.timetable.on('loaded', ({ result }) => {
    loads[result] = (loads[result] ?? 0) + 1;
  });
  const reads = { all: 0, failed: 0 };
  let isOver = false;
  const read = async (): Promise<void> => {
    while (!isOver) {
      const { status } = await get(`${service.baseUrl}/schedule`, { authorization: AUTHORIZATION });
      reads.all++;
      if (status !== 200) reads.failed++;
      // The client pauses between requests.
      await delay(5);
    }
  };
  const reading = Promise.all([read(), read(), read()]);
  const tookMs: number[] = [];
  const used = [now];
  const refusedFiles = async () =>
    total(await scrape(service.adminAddress?.origin ?? ''), 'lectern_files_refused');
  for (let round = 0; round < ROUNDS; round++) {
    const next = fresh();
    used.push(next);
    gate.good = [next, now];
    const beganMs = performance.now();
    put(next);
    await until(
      () => gate.seen,
      (seen) => seen === next,
    );
    tookMs.push(performance.now() - beganMs);
    now = next;
    gate.good = [now];
    put('');
    await until(refusedFiles, (seen) => seen === 1);
    const loadsBefore = gate.loads;
    await until(
      () => gate.loads,
      (seen) => seen >= loadsBefore + 3,
    );
  }
  isOver = true;
  await reading;
  t.equal(loads.failed, undefined, `no load fails: ${JSON.stringify(loads)}`);
  t.ok((loads.published ?? 0) > ROUNDS);
  t.equal(reads.failed, 0, `${reads.all} reads`);
  t.strictSame(gate.refused, [], 'nothing is sent that is gone');
  tookMs.sort((a, b) => a - b);
  const median = tookMs[tookMs.length >> 1] as number;
  t.ok(median < TAKEN_UP_MS_MAX, `taken up after ${tookMs.map(Math.round).join(', ')} ms`);
  t.comment(
    `${reads.all} reads, ${gate.loads} loads; taken up after ${tookMs.map(Math.round).join(', ')} ms`,
  );
  const text = JSON.stringify(lines);
  for (const credential of used) t.notOk(text.includes(credential), 'no credential in the log');
  t.ok(text.includes(path), 'the log names the file');
}

test('a header file of a source is changed under load', async (t) => {
  const gate = new Gate();
  const { origin } = await startUpstream(t, (request: IncomingMessage, response: ServerResponse) => {
    if (gate.takes(String(request.headers['x-key']), response)) gate.send(response);
  });
  const path = join(t.testdir({}), 'key');
  await changeUnderLoad(t, path, gate, {
    source: `${origin}/all`,
    sourceHeaders: { 'X-Key': `file:${path}` },
  });
});

test('a client secret of a source is changed under load', async (t) => {
  const gate = new Gate();
  const goodUntilMs = new Map<string, number>();
  const { origin } = await startUpstream(t, {
    '/token': (request, response) => {
      const basic = Buffer.from(String(request.headers.authorization).slice('Basic '.length), 'base64');
      request.resume().on('end', () => {
        if (!gate.takes(basic.toString().slice('replica:'.length), response)) return;
        const token = randomBytes(16).toString('hex');
        goodUntilMs.set(token, Date.now() + 1000 * TOKEN_SECONDS);
        const grant = { access_token: token, token_type: 'Bearer', expires_in: TOKEN_SECONDS };
        response.writeHead(200).end(JSON.stringify(grant));
      });
    },
    '/all': (request, response) => {
      const token = String(request.headers.authorization).slice('Bearer '.length);
      if (Date.now() < (goodUntilMs.get(token) ?? 0)) gate.send(response);
      else response.writeHead(401).end();
    },
  });
  const path = join(t.testdir({}), 'secret');
  await changeUnderLoad(t, path, gate, {
    source: {
      kind: 'http',
      url: `${origin}/all`,
      clientCredentials: { tokenUrl: `${origin}/token`, clientId: 'replica', clientSecret: { file: path } },
    },
  });
});
