/** Hostile tokens over HTTP: none is accepted, and none makes the service fail. */
import { Agent, request } from 'node:http';
import { type Test, test } from 'tap';
import { Authenticator } from '../../src/auth/authenticator.js';
import { createClaimTable } from '../../src/auth/identity.js';
import { createVerifier } from '../../src/auth/verifier.js';
import { createHandler } from '../../src/http/handler.js';
import { recordFigure } from '../hard/figures.mjs';
import { HARD, size } from '../hard/size.js';
import { serve, USUAL, viewsOf } from '../http/harness.js';
import { AUDIENCE, attackMatrix, goodTokens, hostileTokens, ISSUER, KEY_SETS } from './hostile-tokens.js';

const GENERATED = size(4000, 100_000);
const CONNECTIONS = 16;

/** Sends a token on one of a few connections. */
async function setUp(t: Test): Promise<(token: string) => Promise<number>> {
  const authenticator = new Authenticator({
    verifier: createVerifier({ keySets: KEY_SETS, issuer: ISSUER, audience: AUDIENCE }),
    table: createClaimTable(),
    enrolments: null,
    mode: 'uuid',
  });
  const { port } = await serve(t, createHandler(viewsOf(), { ...USUAL, authenticator, ownsSocket: true }));
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  t.teardown(() => agent.destroy());
  return (token) =>
    new Promise((resolve, reject) => {
      const headers = { Authorization: `Bearer ${token}` };
      request({ host: '127.0.0.1', port, agent, path: '/api/v1/schedule/types', headers }, (res) => {
        res.resume().on('end', () => resolve(res.statusCode ?? 0));
      })
        .on('error', reject)
        .end();
    });
}

test('every attack in the table is refused', async (t) => {
  const ask = await setUp(t);
  for (const token of goodTokens()) t.equal(await ask(token), 200, 'good tokens are let in');
  const matrix = attackMatrix();
  const statuses = new Map<number, number>();
  t.ok(matrix.length >= 120, `${matrix.length} attacks`);
  for (const [name, token] of matrix) {
    const status = await ask(token);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    t.ok(status === 401 || status === 400, `${name}: ${status}`);
    const again = await ask(token);
    t.equal(again, status, `${name}: nothing of it is remembered`);
  }
  for (const token of goodTokens()) t.equal(await ask(token), 200);
  if (HARD)
    recordFigure('tokens-matrix', told(statuses, `${matrix.length} attacks`), Object.fromEntries(statuses));
});

/** The numbers of accepted tokens and of failures of the service. */
function told(statuses: ReadonlyMap<number, number>, among: string): string {
  const entries = [...statuses];
  const sum = (counts: (status: number) => boolean): number =>
    entries.reduce((total, [status, count]) => total + (counts(status) ? count : 0), 0);
  return `${sum((status) => status < 400)} accepted, ${sum((status) => status >= 500)} answers of 5xx among ${among}`;
}

test(`${GENERATED} generated tokens are refused`, async (t) => {
  const ask = await setUp(t);
  const tokens = hostileTokens(GENERATED, 20_240_902);
  const statuses = new Map<number, number>();
  const accepted: string[] = [];
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (const token of tokens) {
        const status = await ask(token);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status !== 401 && status !== 400) accepted.push(token);
      }
    }),
  );
  t.same(accepted, [], 'each is answered with 400 or 401');
  t.equal((statuses.get(400) ?? 0) + (statuses.get(401) ?? 0), GENERATED);
  t.ok((statuses.get(401) ?? 0) > GENERATED / 2, 'most look like tokens');
  for (const token of goodTokens()) t.equal(await ask(token), 200, 'good tokens are let in afterwards');
  t.comment(JSON.stringify([...statuses]));
  if (HARD) recordFigure('tokens', told(statuses, `${GENERATED} generated`), Object.fromEntries(statuses));
});
