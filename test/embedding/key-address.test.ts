/** Programs that give the address of a key set. */
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Test, test } from 'tap';
import { signed } from '../auth/tokens.js';
import { timeForAFault, until } from '../waiting/until.js';
import { MemorySource, openTimetable, record } from './built.js';

const key = generateKeyPairSync('ed25519');
const exp = Math.floor(Date.now() / 1000) + 3600;
const token = signed({ sub: 'alice', exp }, key.privateKey, { alg: 'EdDSA', kid: 'a' });
const headers = { authorization: `Bearer ${token}` };

async function issuer(t: Test): Promise<{ readonly address: string; readonly asked: () => number }> {
  let asked = 0;
  const server = createServer((_, res) => {
    asked++;
    res.end(JSON.stringify({ keys: [{ ...key.publicKey.export({ format: 'jwk' }), kid: 'a' }] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`, asked: () => asked };
}

test('a handler and a server verify tokens with keys from an address', async (t) => {
  const { address, asked } = await issuer(t);
  const timetable = openTimetable({ source: new MemorySource([record(1)]) });
  await timetable.ready;
  t.teardown(() => timetable.close());
  const auth = { jwks: address };
  const server = await timetable.serve({ port: 0, auth, workers: 2 });
  const mounted = createServer(timetable.handler({ auth }));
  await new Promise<void>((resolve) => mounted.listen(0, '127.0.0.1', resolve));
  const origins = [server.address.origin, `http://127.0.0.1:${(mounted.address() as AddressInfo).port}`];
  for (const origin of origins) {
    const answer = await fetch(`${origin}/api/v1/schedule`, { headers });
    t.equal(answer.status, 200, origin);
    t.equal(((await answer.json()) as unknown[]).length, 1);
    const refused = await fetch(`${origin}/api/v1/schedule`, {
      headers: { authorization: `Bearer ${token}A` },
    });
    t.equal(refused.status, 401);
  }
  t.equal(asked(), 2, 'one for the server with any number of threads, and one for the handler');
  mounted.closeAllConnections();
  mounted.close();
});

test('keys are fetched again until the timetable is closed', async (t) => {
  const { address, asked } = await issuer(t);
  const timetable = openTimetable({ source: new MemorySource([record(1)]) });
  await timetable.ready;
  const auth = { jwks: address, jwksRefreshSeconds: 1 };
  await timetable.serve({ port: 0, auth });
  timetable.handler({ auth });
  await until(asked, (seen) => seen >= 4);
  await timetable.close();
  const before = asked();
  await timeForAFault(1300);
  t.equal(asked(), before, 'nothing is fetched after close()');
});

test('impossible options are refused at once', async (t) => {
  const timetable = openTimetable({ source: new MemorySource([record(1)]) });
  t.teardown(() => timetable.close());
  await timetable.ready;
  const jwks = 'https://issuer.example/keys';
  const inline = { keys: [key.publicKey.export({ format: 'jwk' })] };
  const cases: [auth: object, message: RegExp][] = [
    [{ jwks: 'keys.json' }, /^key set keys\.json cannot be read: there is no such file$/],
    [
      { jwks: 'https://user:hidden@issuer.example/' },
      /^auth\.jwks is invalid: its address must not hold a user or password$/,
    ],
    [{ jwks, jwksRefreshSeconds: 0 }, /auth\.jwksRefreshSeconds is 0: it must be a number from 1 to 86400/],
    [{ jwks, jwksRefreshSeconds: '30' }, /auth\.jwksRefreshSeconds is "30": it must be a number/],
    [{ jwks, jwksRefreshSeconds: Number.NaN }, /auth\.jwksRefreshSeconds is NaN: it must be a number/],
    [{ jwks: inline, jwksRefreshSeconds: 60 }, /auth\.jwksRefreshSeconds has no effect/],
    [{ jwks: 7 }, /it must be a path or an http\(s\) address; in a program also a parsed key set$/],
    [{ jwks: inline, tokenType: 'jwt' }, /auth\.tokenType is "jwt": it must be any or at\+jwt/],
    [{ jwks: inline, tokenType: 'at+jwt', issuer: 'i' }, /needs auth\.issuer and auth\.audience/],
  ];
  for (const [auth, message] of cases) {
    t.throws(() => timetable.handler({ auth }), { message }, String(message));
    await t.rejects(timetable.serve({ auth, port: 0 }), { name: 'LecternError' });
  }
});
