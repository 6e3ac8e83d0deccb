/** The user of a connection is remembered. Inside, because verifications are counted. */
import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Test, test } from 'tap';
import { Authenticator } from '../../src/auth/authenticator.js';
import { createClaimTable } from '../../src/auth/identity.js';
import { createSecretKeySet } from '../../src/auth/key-set.js';
import { createVerifier } from '../../src/auth/verifier.js';
import { createHandler } from '../../src/http/handler.js';
import { hs256, SECRET } from '../auth/tokens.js';
import { USUAL, viewsOf } from './harness.js';

const START_MS = Date.UTC(2024, 0, 1);

/** A server with its own clock, and a client that uses one connection. */
async function setUp(t: Test) {
  const clock = { nowMs: START_MS };
  const now = () => clock.nowMs;
  const table = createClaimTable();
  let connections = 0;
  let lookUps = 0;
  class CountingAuthenticator extends Authenticator {
    override lookup(token: string) {
      lookUps++;
      return super.lookup(token);
    }
  }
  const authenticator = new CountingAuthenticator({
    verifier: createVerifier({ keySets: [createSecretKeySet(Buffer.from(SECRET))], now }),
    table,
    enrolments: null,
    mode: 'uuid',
    now,
  });
  const handler = createHandler(viewsOf(), { ...USUAL, authenticator });
  const server = createServer(handler).on('connection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => {
    agent.destroy();
    server.close();
  });
  const ask = (headers: Record<string, string | string[]>, path = '/api/v1/schedule/personal') =>
    new Promise<{ status: number; groups: string[] }>((resolve, reject) => {
      request({ port, agent, path, headers }, async (res: IncomingMessage) => {
        let text = '';
        for await (const chunk of res.setEncoding('utf8')) text += chunk;
        const body = JSON.parse(text) as { studyGroup: string }[];
        const groups = Array.isArray(body) ? [...new Set(body.map((event) => event.studyGroup))] : [];
        resolve({ status: res.statusCode ?? 0, groups });
      })
        .on('error', reject)
        .end();
    });
  return {
    clock,
    authenticator,
    ask,
    get connections() {
      return connections;
    },
    get lookUps() {
      return lookUps;
    },
  };
}

function bearer(studyGroup: string, seconds = 3600): Record<string, string> {
  const token = hs256({ sub: 'alice', studyGroup, exp: START_MS / 1000 + seconds });
  return { Authorization: `Bearer ${token}` };
}

test('the user of a connection is looked up once, and again for another header', async (t) => {
  const set = await setUp(t);
  const [a, b] = [bearer('A'), bearer('B & <C>, "D"')];
  for (let n = 0; n < 4; n++) t.strictSame(await set.ask(a), { status: 200, groups: ['A'] });
  t.equal(set.lookUps, 2, 'the first time to find nothing, then once for the connection');
  t.strictSame(await set.ask(b), { status: 200, groups: ['B & <C>, "D"'] });
  t.strictSame(await set.ask(a), { status: 200, groups: ['A'] });
  t.equal((await set.ask({})).status, 401);
  t.equal((await set.ask({ Authorization: 'Basic YTpi' })).status, 401);
  t.strictSame(await set.ask(a), { status: 200, groups: ['A'] });
  t.equal(set.connections, 1, 'all on one connection');
});

test('a repeated token is refused, even on a connection that knows it', async (t) => {
  const set = await setUp(t);
  const { Authorization } = bearer('A');
  for (let n = 0; n < 3; n++) await set.ask({ Authorization: String(Authorization) });
  const reply = await set.ask({ Authorization: [String(Authorization), String(Authorization)] });
  t.equal(reply.status, 400);
});

test('a connection verifies a token again after it expired or its key was removed', async (t) => {
  const set = await setUp(t);
  const short = bearer('A', 30);
  for (let n = 0; n < 3; n++) t.equal((await set.ask(short)).status, 200);
  set.clock.nowMs += 29_000;
  t.equal((await set.ask(short)).status, 200);
  set.clock.nowMs += 7000;
  t.equal((await set.ask(short)).status, 401, 'past its end and the tolerance for clocks');
  const long = bearer('A', 86_400);
  set.clock.nowMs = START_MS;
  for (let n = 0; n < 3; n++) t.equal((await set.ask(long)).status, 200);
  const before = set.lookUps;
  t.equal((await set.ask(long)).status, 200);
  t.equal(set.lookUps, before);
  set.authenticator.clear();
  t.equal((await set.ask(long)).status, 200);
  t.ok(set.lookUps > before, 'forgotten with the token cache');
  const later = set.lookUps;
  set.clock.nowMs += 61_000;
  t.equal((await set.ask(long)).status, 200);
  t.ok(set.lookUps > later, 'trusted for no longer than the token cache trusts it');
});
