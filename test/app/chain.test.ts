/** One Lectern behind another, with tokens that live for four seconds. */

import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { request as ask, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Test, test } from 'tap';
import type { Service } from '../../src/app/service.js';
import { hs256, SECRET } from '../auth/tokens.js';
import { size } from '../hard/size.js';
import { MemorySource, startService } from '../refresh/built.js';
import { startUpstream, type Upstream } from '../source/http/upstream.js';
import { until } from '../waiting/until.js';
import { openHere } from './open-here.js';
import { get, keptLog } from './threads.js';

const LIFE_MS = 4000;
const CHAIN_MS = size(3000, 20_000);
const CLIENT_SECRET = 'a client secret of the tests';

function recordsOf(n: number) {
  return Array.from({ length: 50 }, (_, i) => ({
    id: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
    time: '2026-10-05T08:00:00Z',
    endTime: '2026-10-05T09:00:00Z',
    title: `${i === 0 ? n : ''}`,
  }));
}

/** Tokens, each with the time until which the gate accepts it. */
class Issuer {
  readonly goodUntilMs = new Map<string, number>();
  #issued = 0;

  issue(): string {
    const exp = Math.ceil((Date.now() + LIFE_MS) / 1000);
    const token = hs256({ sub: 'replica', exp, jti: String(this.#issued++) });
    this.goodUntilMs.set(token, Date.now() + LIFE_MS);
    return token;
  }

  get issued(): number {
    return this.#issued;
  }
}

/** The token endpoint. */
function startIssuer(t: Test, issuer: Issuer): Promise<Upstream> {
  return startUpstream(t, (request, response) => {
    const basic = Buffer.from(`replica:${new URLSearchParams({ '': CLIENT_SECRET }).toString().slice(1)}`);
    const isGood = request.headers.authorization === `Basic ${basic.toString('base64')}`;
    const grant = { access_token: issuer.issue(), token_type: 'Bearer', expires_in: LIFE_MS / 1000 };
    request.resume().on('end', () => response.writeHead(isGood ? 200 : 401).end(JSON.stringify(grant)));
  });
}

/** A timetable that changes constantly, behind a gate without any tolerance for expired tokens. */
async function startFirst(t: Test, issuer: Issuer): Promise<string> {
  const source = new MemorySource(recordsOf(0));
  const first = await startService({ source, port: 0, hs256Secret: SECRET });
  t.teardown(() => first.close());
  await first.ready;
  let n = 0;
  const changing = setInterval(() => source.replace(recordsOf(++n)), 100);
  const gate = createServer((req, res) => {
    const token = req.headers.authorization?.replace(/^Bearer /, '') ?? '';
    if (Date.now() >= (issuer.goodUntilMs.get(token) ?? 0)) {
      res.writeHead(401).end();
      return;
    }
    const { headers, url } = req;
    ask(`${first.address.origin}${url}`, { headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(res);
    }).end();
  });
  gate.listen(0, '127.0.0.1');
  await once(gate, 'listening');
  t.teardown(() => {
    clearInterval(changing);
    gate.closeAllConnections();
    gate.close();
  });
  return `http://127.0.0.1:${(gate.address() as AddressInfo).port}/api/v1/schedule/all`;
}

/**
 * Reads from the second service while it loads, until changes came with three tokens. Counts its loads by
 * outcome, and answers other than 200.
 */
async function runFor(
  ms: number,
  second: Service,
  issuer: Issuer,
): Promise<{ loads: Record<string, number>; failed: number }> {
  const loads: Record<string, number> = {};
  second.timetable.on('loaded', ({ result }) => {
    loads[result] = (loads[result] ?? 0) + 1;
  });
  await second.ready;
  const untilMs = performance.now() + ms;
  const authorization = `Bearer ${hs256({ sub: 'a', exp: 4_000_000_000 })}`;
  let failed = 0;
  const read = async (): Promise<void> => {
    while (performance.now() < untilMs || (loads.published ?? 0) < 3 || issuer.issued < 3) {
      const { status } = await get(`${second.baseUrl}/schedule?limit=5`, { authorization });
      if (status !== 200) failed++;
      // The client pauses between requests.
      await delay(5);
    }
  };
  await Promise.all([read(), read(), read(), read()]);
  return { loads, failed };
}

test(`no refresh fails with tokens of an issuer for ${CHAIN_MS / 1000} s`, async (t) => {
  const issuer = new Issuer();
  const source = await startFirst(t, issuer);
  const issuing = await startIssuer(t, issuer);
  const { log, lines } = keptLog();
  const tokenUrl = `${issuing.origin}/token`;
  const clientCredentials = { tokenUrl, clientId: 'replica', clientSecret: CLIENT_SECRET };
  const second = await startService(
    {
      source: { kind: 'http', url: source, clientCredentials },
      port: 0,
      refreshSeconds: 0.1,
      hs256Secret: SECRET,
    },
    { log },
  );
  t.teardown(() => second.close());
  const { loads, failed } = await runFor(CHAIN_MS, second, issuer);
  t.equal(loads.failed ?? 0, 0, JSON.stringify(loads));
  t.equal(failed, 0, 'every read was answered');
  const text = JSON.stringify(lines);
  for (const token of issuer.goodUntilMs.keys()) t.notOk(text.includes(token), 'no token in the log');
  t.notOk(text.includes(CLIENT_SECRET), 'no secret in the log');
});

test(`no refresh fails in the library with its own load thread for ${CHAIN_MS / 1000} s`, async (t) => {
  const issuer = new Issuer();
  const url = await startFirst(t, issuer);
  const tokenUrl = `${(await startIssuer(t, issuer)).origin}/token`;
  const clientCredentials = { tokenUrl, clientId: 'replica', clientSecret: CLIENT_SECRET };
  const source = { kind: 'http', url, clientCredentials } as const;
  const timetable = openHere({ source, refreshSeconds: 0.1 });
  t.teardown(() => timetable.close());
  const loads: Record<string, number> = {};
  timetable.on('loaded', ({ result }) => {
    loads[result] = (loads[result] ?? 0) + 1;
  });
  const untilMs = performance.now() + CHAIN_MS;
  await until(() => performance.now() >= untilMs && (loads.published ?? 0) >= 10 && issuer.issued >= 3);
  t.equal(loads.failed ?? 0, 0, JSON.stringify({ ...loads, tokens: issuer.issued }));
});

test(`no refresh fails with a renewed token file for ${CHAIN_MS / 1000} s`, async (t) => {
  const issuer = new Issuer();
  const folder = mkdtempSync(join(tmpdir(), 'lectern-chain-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'token');
  const renew = (): void => {
    writeFileSync(`${path}.new`, `${issuer.issue()}\n`);
    renameSync(`${path}.new`, path);
  };
  renew();
  const renewing = setInterval(renew, LIFE_MS / 4);
  t.teardown(() => clearInterval(renewing));
  const source = await startFirst(t, issuer);
  const sourceHeaders = { [`${new URL(source).origin} Authorization`]: `Bearer file:${path}` };
  const options = { source, port: 0, refreshSeconds: 0.1, hs256Secret: SECRET, sourceHeaders, workers: 2 };
  const second = await startService(options);
  t.teardown(() => second.close());
  const { loads, failed } = await runFor(CHAIN_MS, second, issuer);
  t.equal(loads.failed ?? 0, 0, JSON.stringify(loads));
  t.equal(failed, 0, 'every read was answered');
});

test('without its token file the service does not start, and names the file', async (t) => {
  const source = 'http://127.0.0.1:1/all';
  const sourceHeaders = { Authorization: 'Bearer file:/no/such/token' };
  const service = await startService({
    source,
    port: 0,
    refreshSeconds: 60,
    hs256Secret: SECRET,
    sourceHeaders,
  });
  t.teardown(() => service.close());
  await t.rejects(service.ready, {
    code: 'key-invalid',
    message:
      'the file /no/such/token of header Authorization of the source cannot be read: there is no such file',
  });
});
