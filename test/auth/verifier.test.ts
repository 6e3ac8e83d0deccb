/** Verification of tokens. Inside, because it turns the clock, and answers give fewer reasons. */
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { test } from 'tap';
import { createDevelopmentIssuer } from '../../src/auth/development-issuer.js';
import { createClaimTable } from '../../src/auth/identity.js';
import { createPublicKeySet, createSecretKeySet, type KeySet } from '../../src/auth/key-set.js';
import { createVerifier, type Verification } from '../../src/auth/verifier.js';
import { base64url, goodClaims, hs256, NOW_MS, NOW_SECONDS, SECRET, signed } from './tokens.js';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const otherRsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ed = generateKeyPairSync('ed25519');

const rsaJwk = { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'rsa-1' };
const secretSet = createSecretKeySet(Buffer.from(SECRET));
const publicSet = createPublicKeySet(
  {
    keys: [
      rsaJwk,
      { ...ec.publicKey.export({ format: 'jwk' }), kid: 'ec-1' },
      { ...ed.publicKey.export({ format: 'jwk' }), kid: 'ed-1' },
    ],
  },
  'the test key set',
);

function verifierOf(keySets: readonly KeySet[], more: object = {}) {
  return createVerifier({ keySets, now: () => NOW_MS, ...more });
}

function outcomeOf(verification: Verification): string {
  return verification.outcome === 'invalid' ? verification.reason : verification.outcome;
}

test('good tokens of every kind of key are accepted', async (t) => {
  const verifier = verifierOf([secretSet, publicSet]);
  const tokens: [name: string, token: string][] = [
    ['HS256', hs256(goodClaims())],
    ['HS256 with a kid', hs256(goodClaims(), { header: { alg: 'HS256', kid: 'anything' } })],
    ['RS256', signed(goodClaims(), rsa.privateKey, { alg: 'RS256', kid: 'rsa-1' })],
    ['RS256 without a kid', signed(goodClaims(), rsa.privateKey, { alg: 'RS256' })],
    ['ES256', signed(goodClaims(), ec.privateKey, { alg: 'ES256', kid: 'ec-1' })],
    ['EdDSA', signed(goodClaims(), ed.privateKey, { alg: 'EdDSA', kid: 'ed-1' })],
    ['Ed25519', signed(goodClaims(), ed.privateKey, { alg: 'Ed25519', kid: 'ed-1' })],
  ];
  for (const [name, token] of tokens) {
    const verification = await verifier.verify(token);
    t.match(verification, { outcome: 'ok', token: { subject: 'alice' } }, name);
  }
});

test('JSON that parsers read differently is accepted or refused as docs/security.md says, in header and payload', async (t) => {
  const verifier = verifierOf([secretSet]);
  const exp = NOW_SECONDS + 3600;
  const claims = `{"sub":"alice","exp":${exp}}`;
  const member = (json: string): string => `{"sub":"alice","exp":${exp},${json}}`;
  const alg = '{"alg":"HS256"}';
  const withAlg = (json: string): string => `{"alg":"HS256",${json}}`;
  const token = (header: string | Buffer, payload: string | Buffer): string => {
    const input = [header, payload].map((part) => Buffer.from(part).toString('base64url')).join('.');
    return `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`;
  };
  const broken = (text: string): Buffer => Buffer.from(text.replace('alice', 'al\xffice'), 'latin1');
  const deep = `${'['.repeat(2500)}${']'.repeat(2500)}`;
  const rows: [name: string, header: string | Buffer, payload: string | Buffer, refusal: RegExp | null][] = [
    ['nothing odd', alg, claims, null],
    [
      'a byte order mark before the header',
      `\ufeff${alg}`,
      claims,
      /header .* begins with a byte order mark/,
    ],
    ['one before the payload', alg, `\ufeff${claims}`, /payload .* begins with a byte order mark/],
    ['one inside of a text', alg, member('"x":"\ufeff"'), null],
    ['UTF-16', Buffer.from(`\ufeff${alg}`, 'utf16le'), claims, /header .* is not UTF-8/],
    ['a payload that is no UTF-8', alg, broken(claims), /not a valid signed JWT/],
    ['white space of JSON around both', ` \t\r\n${alg}\n`, `\n${claims} `, null],
    ['other white space around the header', `\u00a0${alg}`, claims, /header .* is not a JSON object/],
    ['a NUL behind the payload', alg, `${claims}\0`, /not a valid signed JWT/],
    ['two objects', alg, `${claims}{}`, /not a valid signed JWT/],
    ['half of a pair in a claim', alg, member('"x":"\\ud800"'), /payload .* half of a surrogate pair/],
    ['the other half, in a name', alg, member('"\\uDFFF":1'), /payload .* half of a surrogate pair/],
    ['halves in the wrong order', alg, member('"x":"\\ude00\\ud83d"'), /half of a surrogate pair/],
    ['half behind a backslash', alg, member('"x":"\\\\\\ud800"'), /half of a surrogate pair/],
    [
      'half of a pair in the header',
      withAlg('"kid":"\\ud800"'),
      claims,
      /header .* half of a surrogate pair/,
    ],
    ['a whole pair', alg, member('"x":"\\ud83d\\uDE00"'), null],
    ['text that looks like half of a pair', alg, member('"x":"\\\\ud800"'), null],
    ['alg twice, the good one last', '{"alg":"none","alg":"HS256"}', claims, null],
    [
      'alg twice, the good one first',
      '{"alg":"HS256","alg":"none"}',
      claims,
      /algorithm that is not accepted/,
    ],
    ['exp twice, the good one first', alg, member('"exp":1'), /expired/],
    ['__proto__ with exp', alg, `{"sub":"alice","__proto__":{"exp":${exp}}}`, /no valid "exp"/],
    ['__proto__ with alg', '{"__proto__":{"alg":"HS256"}}', claims, /no "alg"/],
    ['__proto__ with crit', withAlg('"__proto__":{"crit":["x"]}'), claims, null],
    ['exp of 1e400', alg, '{"sub":"alice","exp":1e400}', /no valid "exp"/],
    ['nbf of -1e400', alg, member('"nbf":-1e400'), /"nbf" .* not a valid time/],
    ['iat of -0', alg, member('"iat":-0'), null],
    ['1e400 in another claim', alg, member('"x":1e400'), null],
    ['deep arrays in another claim', alg, member(`"x":${deep}`), null],
    ['deep arrays in the header', withAlg(`"x":${deep.slice(1000, -1000)}`), claims, null],
    ['crit', withAlg('"crit":["exp"],"exp":1'), claims, /header .* has "crit"/],
    ['b64', withAlg('"b64":true'), claims, /header .* has "b64"/],
    ['a token in the token', withAlg('"cty":"application/JWT"'), claims, /declares a nested token \("cty"\)/],
    ['cty a number', withAlg('"cty":1'), claims, /"cty" that is not a string/],
    ['kid null', withAlg('"kid":null'), claims, /"kid" that is not a string/],
    ['zip and enc, which are of encrypted tokens', withAlg('"zip":"DEF","enc":"A128GCM"'), claims, null],
    ...['jku', 'x5u', 'jwk', 'x5c'].map((name): [string, string, string, null] => [
      `${name}, which is ignored`,
      withAlg(`"${name}":"http://127.0.0.1:1/"`),
      claims,
      null,
    ]),
  ];
  for (const [name, header, payload, refusal] of rows) {
    const verification = await verifier.verify(token(header, payload));
    if (refusal === null) t.match(verification, { outcome: 'ok', token: { subject: 'alice' } }, name);
    else t.match(verification, { outcome: 'invalid', description: refusal }, name);
  }
  const forged = token(alg, `\ufeff${claims}`).replace(/[^.]*$/, 'A'.repeat(43));
  t.match(await verifier.verify(forged), { reason: 'signature' }, 'of what is not signed nothing is told');
});

test('of repeated claims, the last one counts', async (t) => {
  const verifier = verifierOf([secretSet]);
  const exp = NOW_SECONDS + 3600;
  const cases: [claims: string, outcome: string | null][] = [
    [`{"sub":"mallory","exp":${exp},"sub":"alice"}`, null],
    [`{"sub":"alice","exp":1,"exp":${exp}}`, null],
    [`{"sub":"alice","exp":${exp},"exp":1}`, 'expired'],
  ];
  for (const [claims, outcome] of cases) {
    const verification = await verifier.verify(hs256(claims));
    if (outcome === null) t.match(verification, { outcome: 'ok', token: { subject: 'alice' } }, claims);
    else t.equal(outcomeOf(verification), outcome, claims);
  }
});

test('a token that is not signed by a known key with its own algorithm is refused', async (t) => {
  const both = verifierOf([secretSet, publicSet]);
  const publicOnly = verifierOf([publicSet]);
  const secretOnly = verifierOf([secretSet]);
  const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const der = rsa.publicKey.export({ type: 'spki', format: 'der' });
  const good = hs256(goodClaims());
  const tampered = good.replace(/\.[^.]+\./, `.${base64url(goodClaims({ sub: 'mallory' }))}.`);
  const cases: [name: string, verifier: typeof both, token: string, outcome: string][] = [
    [
      'alg none, no signature',
      both,
      `${base64url({ alg: 'none' })}.${base64url(goodClaims())}.`,
      'malformed',
    ],
    ['alg none, a signature', both, hs256(goodClaims(), { header: { alg: 'none' } }), 'algorithm'],
    ['alg None', both, hs256(goodClaims(), { header: { alg: 'None' } }), 'algorithm'],
    ['alg missing', both, hs256(goodClaims(), { header: {} }), 'malformed'],
    ['alg an array', both, hs256(goodClaims(), { header: { alg: ['HS256'] } }), 'malformed'],
    ['a header that is not JSON', both, hs256(goodClaims(), { header: 'x' }), 'malformed'],
    ['kid a number', both, hs256(goodClaims(), { header: { alg: 'HS256', kid: 1 } }), 'malformed'],
    ['HS384', both, hs256(goodClaims(), { header: { alg: 'HS384' } }), 'algorithm'],
    ['HS256 by the public key as PEM', both, hs256(goodClaims(), { secret: pem }), 'signature'],
    ['HS256 by the public key as DER', both, hs256(goodClaims(), { secret: der }), 'signature'],
    ['HS256 where only public keys are known', publicOnly, hs256(goodClaims(), { secret: pem }), 'algorithm'],
    [
      'RS256 where only a secret is known',
      secretOnly,
      signed(goodClaims(), rsa.privateKey, { alg: 'RS256' }),
      'algorithm',
    ],
    ['another secret', both, hs256(goodClaims(), { secret: 'x'.repeat(32) }), 'signature'],
    ['changed claims', both, tampered, 'signature'],
    [
      'another RSA key',
      both,
      signed(goodClaims(), otherRsa.privateKey, { alg: 'RS256', kid: 'rsa-1' }),
      'signature',
    ],
    ['an unknown kid', both, signed(goodClaims(), rsa.privateKey, { alg: 'RS256', kid: 'rsa-2' }), 'no-key'],
    [
      'an RSA key called ES256',
      both,
      signed(goodClaims(), rsa.privateKey, { alg: 'ES256', kid: 'rsa-1' }),
      'no-key',
    ],
    [
      'an unknown critical header',
      both,
      hs256(goodClaims(), { header: { alg: 'HS256', crit: ['x'], x: 1 } }),
      'malformed',
    ],
    [
      'a key in the header',
      publicOnly,
      hs256(goodClaims(), { header: { alg: 'HS256', jwk: { kty: 'oct', k: base64url(SECRET) } } }),
      'algorithm',
    ],
    ['extra parts', both, `${good}.x`, 'malformed'],
    ['padding', both, `${good}=`, 'malformed'],
  ];
  for (const [name, verifier, token, outcome] of cases) {
    t.equal(outcomeOf(await verifier.verify(token)), outcome, name);
  }
});

test('claims are checked exactly at their limits', async (t) => {
  const verifier = verifierOf([secretSet]);
  const configured = verifierOf([secretSet], { issuer: 'https://issuer.example', audience: 'timetable' });
  const own = { iss: 'https://issuer.example', aud: 'timetable' };
  const exp = NOW_SECONDS + 60;
  const cases: [name: string, verifier: typeof verifier, claims: object | string, outcome: string][] = [
    ['no exp', verifier, { sub: 'a' }, 'claims'],
    ['exp a string', verifier, { sub: 'a', exp: String(exp) }, 'claims'],
    ['exp null', verifier, { sub: 'a', exp: null }, 'claims'],
    ['exp 1e300', verifier, '{"sub":"a","exp":1e300}', 'claims'],
    ['exp 1e400, infinite', verifier, '{"sub":"a","exp":1e400}', 'claims'],
    ['exp in the year 10000', verifier, { sub: 'a', exp: 253_402_300_800 }, 'claims'],
    ['exp negative', verifier, { sub: 'a', exp: -1 }, 'expired'],
    ['exp now, within the tolerance', verifier, { sub: 'a', exp: NOW_SECONDS }, 'ok'],
    ['exp 4 s ago, within the tolerance', verifier, { sub: 'a', exp: NOW_SECONDS - 4 }, 'ok'],
    ['exp 5 s ago', verifier, { sub: 'a', exp: NOW_SECONDS - 5 }, 'expired'],
    ['exp with a fraction', verifier, { sub: 'a', exp: NOW_SECONDS - 4.5 }, 'ok'],
    ['nbf in 5 s, within the tolerance', verifier, { sub: 'a', exp, nbf: NOW_SECONDS + 5 }, 'ok'],
    ['nbf in 6 s', verifier, { sub: 'a', exp, nbf: NOW_SECONDS + 6 }, 'not-yet-valid'],
    ['nbf in 5.5 s', verifier, { sub: 'a', exp, nbf: NOW_SECONDS + 5.5 }, 'not-yet-valid'],
    ['nbf a string', verifier, { sub: 'a', exp, nbf: 'now' }, 'claims'],
    ['nbf negative', verifier, { sub: 'a', exp, nbf: -1 }, 'claims'],
    ['iat a string', verifier, { sub: 'a', exp, iat: 'now' }, 'claims'],
    ['iat 1e300', verifier, '{"sub":"a","exp":1725264060,"iat":1e300}', 'claims'],
    ['no sub', verifier, { exp }, 'claims'],
    ['sub empty', verifier, { sub: '', exp }, 'claims'],
    ['sub an object', verifier, { sub: { a: 1 }, exp }, 'claims'],
    ['sub a number', verifier, { sub: 1, exp }, 'claims'],
    ['sub null', verifier, { sub: null, exp }, 'claims'],
    ['claims that are an array', verifier, [], 'malformed'],
    ['claims that are not JSON', verifier, 'x', 'malformed'],
    ['issuer and audience where none is configured', verifier, goodClaims(own), 'ok'],
    ['the configured issuer and audience', configured, goodClaims(own), 'ok'],
    ['the audience among others', configured, goodClaims({ ...own, aud: ['x', 'timetable'] }), 'ok'],
    ['another issuer', configured, goodClaims({ ...own, iss: 'https://issuer.example/' }), 'issuer'],
    ['no issuer', configured, goodClaims({ aud: 'timetable' }), 'issuer'],
    ['another audience', configured, goodClaims({ ...own, aud: 'other' }), 'audience'],
    ['no audience', configured, goodClaims({ iss: own.iss }), 'audience'],
    ['an audience that only contains it', configured, goodClaims({ ...own, aud: 'timetables' }), 'audience'],
  ];
  for (const [name, subject, claims, outcome] of cases) {
    t.equal(outcomeOf(await subject.verify(hs256(claims))), outcome, name);
  }
});

test('an access token needs the type and the claims of RFC 9068', async (t) => {
  const own = {
    iss: 'https://issuer.example',
    aud: 'timetable',
    client_id: 'app',
    iat: NOW_SECONDS,
    jti: 'x',
  };
  const verifier = verifierOf([secretSet], {
    issuer: own.iss,
    audience: own.aud,
    tokenType: 'at+jwt',
  });
  const ask = async (claims: object, typ: unknown = 'at+jwt') =>
    outcomeOf(await verifier.verify(hs256(claims, { header: { alg: 'HS256', typ } })));
  for (const typ of ['at+jwt', 'application/at+jwt', 'AT+JWT', 'Application/At+Jwt']) {
    t.equal(await ask(goodClaims(own), typ), 'ok', typ);
  }
  for (const typ of [
    'JWT',
    'jwt',
    'at+jwt ',
    'application/application/at+jwt',
    'x/at+jwt',
    '',
    null,
    ['at+jwt'],
    7,
  ]) {
    t.equal(await ask(goodClaims(own), typ), 'type', JSON.stringify(typ));
  }
  t.equal(outcomeOf(await verifier.verify(hs256(goodClaims(own), { header: { alg: 'HS256' } }))), 'type');
  const missing: [claim: string, outcome: string][] = [
    ['iss', 'issuer'],
    ['aud', 'audience'],
    ['exp', 'claims'],
    ['sub', 'claims'],
    ['client_id', 'claims'],
    ['iat', 'claims'],
    ['jti', 'claims'],
  ];
  for (const [claim, outcome] of missing) {
    t.equal(await ask(goodClaims({ ...own, [claim]: undefined })), outcome, `without ${claim}`);
  }
  for (const value of ['', null, 7, ['app'], {}]) {
    t.equal(
      await ask(goodClaims({ ...own, client_id: value })),
      'claims',
      `client_id ${JSON.stringify(value)}`,
    );
    t.equal(await ask(goodClaims({ ...own, jti: value })), 'claims', `jti ${JSON.stringify(value)}`);
  }
  t.equal(await ask(goodClaims({ ...own, iat: 'now' })), 'claims');
  const any = verifierOf([secretSet], { issuer: own.iss, audience: own.aud });
  t.equal(outcomeOf(await any.verify(hs256(goodClaims(own)))), 'ok', 'where any type is accepted');
});

test('a development token is an access token where access tokens are required', async (t) => {
  const issuer = createDevelopmentIssuer({
    issuer: 'https://issuer.example',
    audience: 'timetable',
    tokenType: 'at+jwt',
    table: createClaimTable(),
    now: () => NOW_MS,
  });
  const { token } = await issuer.issue({});
  const verifier = verifierOf([issuer.keySet], {
    issuer: 'https://issuer.example',
    audience: 'timetable',
    tokenType: 'at+jwt',
  });
  t.equal(outcomeOf(await verifier.verify(token)), 'ok');
});

test('a refusal explains itself and repeats nothing of the token', async (t) => {
  const verifier = verifierOf([secretSet], { issuer: 'i', audience: 'a' });
  const token = hs256({
    sub: 'very-private',
    exp: NOW_SECONDS + 60,
    iss: 'very-private',
    aud: 'very-private',
  });
  for (const bad of [token, `${token.slice(0, -2)}AA`, hs256({ sub: 'very-private' }), 'very-private']) {
    const verification = await verifier.verify(bad);
    if (verification.outcome !== 'invalid') {
      t.fail('not refused');
      continue;
    }
    t.match(verification.description, /^[A-Z][\x20-\x7e]+\.$/);
    t.notMatch(verification.description, /very-private/);
    t.notMatch(verification.description, bad.slice(-12));
  }
});

test('if keys have no identifier, a bounded number of them is tried', async (t) => {
  const { kid: _, ...mine } = rsaJwk;
  const strangers = Array.from({ length: 8 }, () => otherRsa.publicKey.export({ format: 'jwk' }));
  const token = signed(goodClaims(), rsa.privateKey, { alg: 'RS256' });
  const within = verifierOf([createPublicKeySet({ keys: [...strangers.slice(1), mine] }, 'x')]);
  const beyond = verifierOf([createPublicKeySet({ keys: [...strangers, mine] }, 'x')]);
  t.equal(outcomeOf(await within.verify(token)), 'ok');
  t.equal(outcomeOf(await beyond.verify(token)), 'signature');
  const named = signed(goodClaims(), rsa.privateKey, { alg: 'RS256', kid: 'mine' });
  const many = createPublicKeySet({ keys: [...strangers, { ...mine, kid: 'mine' }] }, 'x');
  t.equal(outcomeOf(await verifierOf([many]).verify(named)), 'ok', 'the key of that name comes first');
});

test('missing keys give 503, unless another key verifies the token', async (t) => {
  const away: KeySet = {
    name: 'https://issuer.example/keys',
    algorithms: ['HS256'],
    candidates: async () => ({ unavailable: 'no answer', retryAfterSeconds: 7 }),
  };
  t.match(await verifierOf([away]).verify(hs256(goodClaims())), {
    outcome: 'unavailable',
    retryAfterSeconds: 7,
  });
  t.equal(outcomeOf(await verifierOf([away, secretSet]).verify(hs256(goodClaims()))), 'ok');
  const foreign = hs256(goodClaims(), { secret: 'x'.repeat(32) });
  t.equal(
    outcomeOf(await verifierOf([secretSet, away]).verify(foreign)),
    'unavailable',
    'it may be the right one',
  );
  const expired = hs256({ sub: 'a', exp: 1 });
  t.equal(
    outcomeOf(await verifierOf([away, secretSet]).verify(expired)),
    'expired',
    'the signature was verified',
  );
});

test('expiry is exact to the millisecond, although jose counts whole seconds', async (t) => {
  for (const [lateMs, outcome] of [
    [5499, 'ok'],
    [5500, 'expired'],
  ] as const) {
    const verifier = createVerifier({ keySets: [secretSet], now: () => NOW_MS + lateMs });
    t.equal(outcomeOf(await verifier.verify(hs256({ sub: 'a', exp: NOW_SECONDS + 0.5 }))), outcome);
  }
});
