import { test } from 'tap';
import { LecternError } from '../../../src/base/errors.js';
import { CLIENT_TOKEN_BACK_OFF_MS_MAX } from '../../../src/base/limits.js';
import { ClientToken, type GrantedToken } from '../../../src/source/http/credentials.js';
import { type Answer, shown, startUpstream } from './upstream.js';

const PLAN = { tokenUrl: new URL('https://issuer.example/token'), clientId: 'me', scope: undefined };

/** An issuer with a clock that the test sets. */
function issuer(lifeMs: number | null) {
  const state = { nowMs: 0, fetches: 0, fails: false, retryAfterMs: null as number | null, heldUp: false };
  let release = (): void => {};
  const fetch = async (): Promise<GrantedToken> => {
    const n = ++state.fetches;
    if (state.heldUp) await new Promise<void>((resolve) => (release = resolve));
    const { fails, retryAfterMs } = state;
    if (fails) throw new LecternError('source-unreadable', 'no issuer', { retryAfterMs });
    return { token: `token-${n}`, lifeMs };
  };
  const around = { fetch, now: () => state.nowMs, random: () => 0 };
  return { state, token: new ClientToken(PLAN, () => 'secret', around), release: () => release() };
}

test('a token is fetched once, and again when a third of its life remains', async (t) => {
  const { state, token } = issuer(60_000);
  t.equal((await token.get(null)).token, 'token-1');
  state.nowMs = 39_999;
  t.equal((await token.get(null)).token, 'token-1');
  state.nowMs = 40_000;
  t.equal((await token.get(null)).token, 'token-2');
  t.equal(state.fetches, 2);
});

test('if the issuer gives no lifetime, a new token is fetched only after a refusal', async (t) => {
  const { state, token } = issuer(null);
  const first = await token.get(null);
  state.nowMs = 1e12;
  t.equal(await token.get(null), first);
  const second = await token.get(first.version);
  t.equal(second.token, 'token-2');
  t.equal((await token.get(first.version)).token, 'token-2', 'an older refusal says nothing of it');
});

test('tokens are fetched one at a time', async (t) => {
  const { state, token, release } = issuer(60_000);
  state.heldUp = true;
  const all = Array.from({ length: 100 }, () => token.get(null));
  release();
  t.strictSame(new Set((await Promise.all(all)).map((got) => got.token)), new Set(['token-1']));
  t.equal(state.fetches, 1);
});

test('while the issuer fails, a token is used until it expires, with growing pauses between fetches', async (t) => {
  const { state, token } = issuer(60_000);
  await token.get(null);
  state.fails = true;
  state.nowMs = 50_000;
  t.equal((await token.get(null)).token, 'token-1', 'good for ten seconds');
  state.nowMs = 60_000;
  await t.rejects(token.get(null), { code: 'source-unreadable', message: 'no issuer' });
  const before = state.fetches;
  for (let second = 0; second < 3600; second++) {
    state.nowMs += 1000;
    await token.get(null).catch(() => {});
  }
  const fetches = state.fetches - before;
  t.ok(
    fetches >= 3_600_000 / CLIENT_TOKEN_BACK_OFF_MS_MAX - 5 && fetches < 75,
    `${fetches} fetches in an hour`,
  );
  state.fails = false;
  state.nowMs += CLIENT_TOKEN_BACK_OFF_MS_MAX;
  t.match((await token.get(null)).token, /^token-/);
});

test('Retry-After of the issuer is honoured, and a new secret ends the pause', async (t) => {
  const { state, token } = issuer(60_000);
  Object.assign(state, { fails: true, retryAfterMs: 100_000 });
  await t.rejects(token.get(null));
  state.nowMs = 99_000;
  await t.rejects(token.get(null), { message: 'no issuer', retryAfterMs: 1000 });
  t.equal(state.fetches, 1);
  state.fails = false;
  token.forgetFailure();
  t.equal((await token.get(null)).token, 'token-2');
});

const GRANT = { access_token: 'abc.def', token_type: 'bearer', expires_in: 60 };

test('the request follows RFC 6749, and the client secret goes only to the issuer', async (t) => {
  let answer: Answer = (_, response) => response.end(JSON.stringify(GRANT));
  let body = '';
  const upstream = await startUpstream(t, (request, response) => {
    body = '';
    request.on('data', (chunk) => (body += chunk)).on('end', () => answer(request, response));
  });
  const tokenUrl = new URL(`${upstream.origin}/token`);
  const get = () =>
    new ClientToken({ tokenUrl, clientId: 'me:1', scope: 'read all' }, () => 'top+secret', {}).get(null);
  t.equal((await get()).token, 'abc.def');
  const { method, headers } = upstream.requests[0] as (typeof upstream.requests)[number];
  t.equal(method, 'POST');
  t.equal(headers['content-type'], 'application/x-www-form-urlencoded');
  t.equal(body, 'grant_type=client_credentials&scope=read+all');
  t.equal(headers.authorization, `Basic ${Buffer.from('me%3A1:top%2Bsecret').toString('base64')}`);
  const cases: [what: string, answer: Answer, message: RegExp][] = [
    [
      'a redirect',
      (_, response) => response.writeHead(307, { location: '/other' }).end(),
      /the answer is 307/,
    ],
    [
      'a refusal',
      (_, response) =>
        response.writeHead(401).end('{"error":"invalid_client","error_description":"top+secret"}'),
      /the answer is 401 Unauthorized; expected 200; the error is invalid_client$/,
    ],
    [
      'an unknown error',
      (_, response) => response.writeHead(400).end('{"error":"top+secret"}'),
      /expected 200$/,
    ],
    ['no JSON', (_, response) => response.end('top+secret'), /no access_token/],
    [
      'no bearer',
      (_, response) => response.end(JSON.stringify({ ...GRANT, token_type: 'mac' })),
      /not Bearer/,
    ],
    [
      'two lines',
      (_, response) => response.end(JSON.stringify({ ...GRANT, access_token: 'a\nb' })),
      /no access_token/,
    ],
    [
      'no time',
      (_, response) => response.end(JSON.stringify({ ...GRANT, expires_in: 'soon' })),
      /expires_in/,
    ],
    ['too much', (_, response) => response.end('x'.repeat(70_000)), /more than 65536 bytes/],
  ];
  for (const [what, given, message] of cases) {
    answer = given;
    const error = await get().then(
      () => null,
      (reason: Error) => reason,
    );
    t.match(error?.message, message, what);
    t.notMatch(shown(error), 'top+secret', what);
  }
  t.strictSame(new Set(upstream.paths), new Set(['/token']));
});
