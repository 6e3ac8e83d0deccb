/** Key sets of hostile or broken issuers: the used keys, and the cost of reading the set and of a bad token. */
import { createHash, generateKeyPairSync, type JsonWebKey } from 'node:crypto';
import { test } from 'tap';
import {
  candidatesOf,
  createPublicKeySet,
  PUBLIC_KEY_ALGORITHMS,
  readUsableKeys,
} from '../../src/auth/key-set.js';
import { createVerifier } from '../../src/auth/verifier.js';
import { DEAR_KEYS_TRIED_MAX, KEY_SET_KEYS_MAX, KEYS_TRIED_MAX } from '../../src/base/limits.js';
import { base64url, goodClaims, NOW_MS, signed } from '../auth/tokens.js';
import { recordFigure } from '../hard/figures.mjs';
import { HARD, size } from '../hard/size.js';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ecs = ['P-256', 'P-384', 'P-521'].map((namedCurve) => generateKeyPairSync('ec', { namedCurve }));
const [p256, p384, p521] = ecs.map(({ publicKey }) => publicKey.export({ format: 'jwk' })) as [
  JsonWebKey,
  JsonWebKey,
  JsonWebKey,
];
const ed = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
const good = rsa.publicKey.export({ format: 'jwk' });

/** Odd, with the highest bit set, and equal in each run. */
function number(bits: number, seed = 0): string {
  const bytes = Buffer.concat(
    Array.from({ length: Math.ceil(bits / 256) }, (_, n) =>
      createHash('sha256').update(`${seed} ${n}`).digest(),
    ),
  ).subarray(0, bits / 8);
  bytes[0] = (bytes[0] ?? 0) | 0x80;
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 1;
  return bytes.toString('base64url');
}

function rsaJwk(bits: number, exponent = 'AQAB', seed = 0): JsonWebKey {
  return { kty: 'RSA', n: number(bits, seed), e: exponent };
}

function cpuMsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const times = (count: number, key: (n: number) => object): object[] =>
  Array.from({ length: count }, (_, n) => key(n));

test('odd keys are used, or left out with a reason', async (t) => {
  const rows: [name: string, keys: readonly object[], used: number, reason: RegExp | null][] = [
    ['100 keys', times(100, (n) => rsaJwk(2048, 'AQAB', n)), 100, null],
    ['10,000 keys', times(10_000, () => ed), KEY_SET_KEYS_MAX, /only the first 100 keys are read/],
    ['a modulus of 16,384 bits', [good, rsaJwk(16_384)], 1, /"n" of 2731 characters; .* at most 8192 bits/],
    ['a modulus of 8,200 bits', [good, rsaJwk(8200)], 1, /at most 8192/],
    ['a modulus of 8,192 bits', [good, rsaJwk(8192)], 2, null],
    ['a modulus of 1,000,000 bits', [good, rsaJwk(1_000_000)], 1, /"n" of .* at most 8192 bits/],
    ['a modulus of 1,024 bits', [good, rsaJwk(1024)], 1, /at least 2048/],
    ['the exponent 1', [good, { ...good, e: 'AQ' }], 1, /exponent 1; expected an odd number/],
    ['the exponent 3', [good, { ...good, e: 'Aw' }], 2, null],
    ['an even exponent', [good, { ...good, e: 'BA' }], 1, /exponent 4/],
    ['an exponent of 32 bits', [good, { ...good, e: number(32) }], 2, null],
    ['an exponent of 40 bits', [good, { ...good, e: number(40) }], 1, /at most 32 bits/],
    ['an exponent of 2,048 bits', [good, { ...good, e: number(2048) }], 1, /"e" of .* at most 32 bits/],
    ['an exponent of 100,000 bits', [good, { ...good, e: number(102_400) }], 1, /"e" of .* at most 32 bits/],
    ['a coordinate of 1,000,000 bits', [good, { ...p256, x: number(1_000_000) }], 1, /"x" of .* at most/],
    ['a point off the curve', [good, { ...p256, x: p256.y }], 1, /not a valid EC/],
    ['an alg of another kind', [good, { ...good, alg: 'ES256' }], 1, /"alg" that is not accepted/],
    ['an alg for encryption', [good, { ...good, alg: 'RSA-OAEP' }], 1, /"alg" that is not accepted/],
    ['the alg none', [good, { ...good, alg: 'none' }], 1, /"alg" that is not accepted/],
    ['use: enc', [good, { ...good, use: 'enc' }], 1, null],
    ['use: enc beside key_ops: verify', [good, { ...good, use: 'enc', key_ops: ['verify'] }], 1, null],
    ['key_ops: encrypt', [good, { ...good, key_ops: ['encrypt'] }], 1, null],
    ['a symmetric key', [good, { kty: 'oct', k: 'AA' }], 1, /symmetric/],
    ['a private key', [good, rsa.privateKey.export({ format: 'jwk' })], 1, /private key/],
    ['a kid of 100,000 characters', [good, { ...good, kid: 'k'.repeat(100_000) }], 2, null],
  ];
  for (const [name, keys, used, reason] of rows) {
    const read = readUsableKeys({ keys }, 'a set');
    t.equal(read.keys.length, used, name);
    if (reason === null) t.strictSame(read.leftOut, [], name);
    else t.match(read.leftOut.join(), reason, name);
  }
});

test('a hostile set of 1 MiB costs little to read', async (t) => {
  const rows: [name: string, keys: readonly object[]][] = [
    ['one exponent of 5,000,000 bits', [{ ...good, e: number(5_000_000) }]],
    ['one modulus of 5,000,000 bits', [rsaJwk(5_000_000)]],
    ['100 exponents of 50,000 bits', times(100, () => ({ ...good, e: number(51_200) }))],
    ['100 keys of 8,192 bits', times(100, (n) => rsaJwk(8192, 'AQAB', n))],
    ['100 keys of P-521', times(100, () => p521)],
    ['300,000 entries that are not keys', times(300_000, () => [])],
  ];
  const told: string[] = [];
  for (const [name, hostile] of rows) {
    const keys = [good, ...hostile];
    const cpuMs = cpuMsOf(() => readUsableKeys({ keys }, 'a set'));
    told.push(`${name} ${cpuMs.toFixed(1)} ms`);
    // Without a bound, the first one takes more than ten minutes.
    t.ok(cpuMs < 1000, name);
  }
  t.comment(told.join(', '));
  if (HARD) recordFigure('key-sets-read', told.join(', '));
});

test('for any key set, a token is checked with a bounded number of keys', async (t) => {
  const kinds: [jwk: JsonWebKey, alg: string, most: number][] = [
    [good, 'RS256', KEYS_TRIED_MAX],
    [rsaJwk(4096), 'PS512', KEYS_TRIED_MAX],
    [rsaJwk(8192), 'RS256', DEAR_KEYS_TRIED_MAX],
    [p256, 'ES256', KEYS_TRIED_MAX],
    [p384, 'ES384', DEAR_KEYS_TRIED_MAX],
    [p521, 'ES512', DEAR_KEYS_TRIED_MAX],
    [ed, 'EdDSA', KEYS_TRIED_MAX],
  ];
  for (const [jwk, alg, most] of kinds) {
    const tried = (kidsOfKeys: (n: number) => object, kid: string | undefined): number => {
      const { keys } = readUsableKeys({ keys: times(100, (n) => ({ ...jwk, ...kidsOfKeys(n) })) }, 'a set');
      return candidatesOf(keys, { alg, kid }).length;
    };
    t.equal(
      tried(() => ({ kid: 'same' }), 'same'),
      most,
      `${alg}: 100 keys of the kid that the token names`,
    );
    t.equal(
      tried(() => ({ kid: 'same' }), 'other'),
      0,
      `${alg}: of another`,
    );
    t.equal(
      tried(() => ({}), 'any'),
      most,
      `${alg}: 100 keys without a kid`,
    );
    t.equal(
      tried((n) => ({ kid: String(n) }), '7'),
      1,
      `${alg}: 100 of different ones`,
    );
    t.equal(
      tried((n) => ({ kid: String(n) }), undefined),
      most,
      `${alg}: a token without`,
    );
  }
  const dear = times(50, () => rsaJwk(8192));
  const { keys } = readUsableKeys({ keys: [...dear, good] }, 'a set');
  t.equal(
    candidatesOf(keys, { alg: 'RS256', kid: undefined }).length,
    3,
    'expensive keys do not take the place of others',
  );
});

test('keys with the same kid are tried until one fits', async (t) => {
  const others = times(KEYS_TRIED_MAX - 1, (n) => ({ ...rsaJwk(2048, 'AQAB', n), kid: 'same' }));
  const token = signed(goodClaims(), rsa.privateKey, { alg: 'RS256', kid: 'same' });
  const outcome = async (keys: readonly object[]): Promise<string> => {
    const keySets = [createPublicKeySet({ keys }, 'a set')];
    return (await createVerifier({ keySets, now: () => NOW_MS }).verify(token)).outcome;
  };
  const named = { ...good, kid: 'same' };
  t.equal(await outcome([named, ...others]), 'ok');
  t.equal(await outcome([...others, named]), 'ok');
  t.equal(
    await outcome([...others, { ...rsaJwk(2048, 'AQAB', 99), kid: 'same' }, named]),
    'invalid',
    'bounded',
  );
});

test('a bad token costs at most a few ordinary verifications', async (t) => {
  const ROUNDS = size(100, 200);
  /** The cheapest keys, which most issuers use. */
  const ordinary = { keys: [good], alg: 'RS256', bytes: 256 };
  // Without a bound on the keys that are tried, each would cost a hundred times as much.
  const rows: [name: string, keys: readonly object[], alg: string, signatureBytes: number, most: number][] = [
    ['100 keys of RSA 2,048', times(100, () => good), 'RS256', 256, 30],
    [
      '100 keys of RSA 3,072 with exponents of 32 bits',
      times(100, () => rsaJwk(3072, number(32))),
      'RS256',
      384,
      30,
    ],
    ['100 keys of RSA 8,192', times(100, () => rsaJwk(8192)), 'RS256', 1024, 30],
    ['100 keys of P-256', times(100, () => p256), 'ES256', 64, 30],
    ['100 keys of P-521', times(100, () => p521), 'ES512', 132, 60],
    ['100 keys of Ed25519', times(100, () => ed), 'EdDSA', 64, 30],
  ];
  const told: string[] = [];
  for (const [name, keys, alg, bytes, most] of rows) {
    const [floorMs = 0, spentMs = 0] = await leastCpuMs([ordinary, { keys, alg, bytes }], ROUNDS);
    told.push(`${(spentMs / floorMs).toFixed(1)} times for ${name}`);
    t.ok(spentMs / floorMs < most, `${told.at(-1)}, at most ${most}`);
  }
  t.comment(told.join(', '));
  if (HARD) recordFigure('key-sets-tokens', `compared with an ordinary verification: ${told.join(', ')}`);
});

interface BadToken {
  readonly keys: readonly object[];
  readonly alg: string;
  /** Length of the signature. */
  readonly bytes: number;
}

/**
 * Processor time of the whole process for each token, which none of its keys has signed: the least of several rounds in
 * turns, because other work only adds time.
 */
async function leastCpuMs(tokens: readonly BadToken[], rounds: number): Promise<number[]> {
  const works = tokens.map(verifying);
  const least = works.map(() => Number.POSITIVE_INFINITY);
  for (const verify of works) await verify(rounds);
  for (let round = 0; round < 5; round++) {
    for (const [n, verify] of works.entries()) {
      const before = process.cpuUsage();
      await verify(rounds);
      const { user, system } = process.cpuUsage(before);
      least[n] = Math.min(least[n] ?? 0, (user + system) / 1000 / rounds);
    }
  }
  return least;
}

function verifying({ keys, alg, bytes }: BadToken): (count: number) => Promise<void> {
  if (!PUBLIC_KEY_ALGORITHMS.includes(alg)) throw new Error(alg);
  const verifier = createVerifier({ keySets: [createPublicKeySet({ keys }, 'a set')], now: () => NOW_MS });
  const signature = Buffer.alloc(bytes, 0x11);
  signature[0] = 0;
  signature[bytes / 2] = 0;
  const token = `${base64url({ alg })}.${base64url(goodClaims())}.${signature.toString('base64url')}`;
  return async (count) => {
    for (let n = 0; n < count; n++) {
      const verification = await verifier.verify(token);
      if (verification.outcome !== 'invalid' || verification.reason !== 'signature') throw new Error(alg);
    }
  };
}
