/** Key sets and secrets, as they are read. Inside, because each case would need a service of its own. */
import { createHmac, generateKeyPairSync, webcrypto } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import {
  createPublicKeySet,
  createSecretKeySet,
  parsePublicKeys,
  readSecrets,
} from '../../src/auth/key-set.js';
import { readTextFile } from '../../src/base/files/text-file.js';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const smallRsa = generateKeyPairSync('rsa', { modulusLength: 1024 });
const publicJwk = rsa.publicKey.export({ format: 'jwk' });

test('a secret has at least 32 bytes', async (t) => {
  const bytesOf = (secret: string | Uint8Array): number =>
    readSecrets(secret, 'the secret', 'HS256')[0]?.length ?? 0;
  t.throws(() => bytesOf('x'.repeat(31)), { code: 'key-invalid', message: /31 bytes.*at least 32/ });
  t.equal(bytesOf('x'.repeat(32)), 32);
  t.equal(bytesOf('ä'.repeat(16)), 32, 'bytes, not characters');
  t.throws(() => bytesOf(new Uint8Array(31)), { code: 'key-invalid' });
  t.same(createSecretKeySet(Buffer.alloc(32)).algorithms, ['HS256']);
});

test('a text has one secret a line, the present one first', async (t) => {
  const [one, two] = ['1'.repeat(32), '2'.repeat(40)];
  const read = (text: string): string[] =>
    readSecrets(text, 'the file', 'HS256').map((bytes) => Buffer.from(bytes).toString());
  t.strictSame(read(one), [one]);
  t.strictSame(read(`${one}\n${two}\n`), [one, two]);
  t.strictSame(read(`${one}\r\n\r\n${two}\r\n`), [one, two], 'empty lines are left out');
  for (const [text, message] of [
    ['', /the file is invalid: it is empty; expected a secret of at least 32 bytes$/],
    ['\n\n', /it is empty/],
    [`${one}\nshort`, /in line 2, it has 5 bytes; HS256 needs at least 32; each line is one secret$/],
    [`${one}\n`.repeat(9), /it has 9 lines; expected one secret a line, at most 8$/],
  ] as const)
    t.throws(() => read(text), { code: 'key-invalid', message });
});

test('a secret that was read has its own memory', async (t) => {
  const pooled = Buffer.from('x'.repeat(32));
  t.ok(pooled.buffer.byteLength > 32);
  for (const secret of [pooled, 'x'.repeat(32)])
    t.equal(readSecrets(secret, 'the secret', 'feed')[0]?.buffer.byteLength, 32);
});

test('a key set that must not be used is refused, with the reason', async (t) => {
  const cases: [name: string, json: unknown, message: RegExp][] = [
    ['an array', [], /no array "keys"/],
    ['null', null, /no array "keys"/],
    ['no keys', { keys: [] }, /no key that verifies/],
    ['a key that is null', { keys: [null] }, /key 1 is not an object/],
    ['no kty', { keys: [{}] }, /key 1 has no "kty"/],
    ['a symmetric key', { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] }, /key 1 is symmetric.*public keys only/],
    ['a private key', { keys: [rsa.privateKey.export({ format: 'jwk' })] }, /key 1 is a private key/],
    [
      'a private key beside a good one',
      { keys: [publicJwk, { kty: 'OKP', crv: 'Ed25519', d: 'x' }] },
      /^keys\.json, key 2 is a private key; use the public key/,
    ],
    [
      'a symmetric key beside a good one, and for encryption only',
      { keys: [publicJwk, { kty: 'oct', k: 'c2VjcmV0', use: 'enc' }] },
      /^keys\.json, key 2 is symmetric/,
    ],
    ['two bad keys', { keys: [null, {}] }, /: key 1 is not an object; key 2 has no "kty"$/],
    ['a small RSA key', { keys: [smallRsa.publicKey.export({ format: 'jwk' })] }, /1024 bits.*at least 2048/],
    ['an RSA key with the exponent 1', { keys: [{ ...publicJwk, e: 'AQ' }] }, /exponent 1; expected an odd/],
    ['an RSA key with an even exponent', { keys: [{ ...publicJwk, e: 'BA' }] }, /exponent 4/],
    [
      'only keys whose operations are no list',
      { keys: [{ ...publicJwk, key_ops: 'verify' }] },
      /no key that verifies/,
    ],
    ['a huge RSA key', { keys: [{ ...publicJwk, n: 'w'.repeat(1400) }] }, /at most 8192/],
    ['a broken RSA key', { keys: [{ kty: 'RSA', n: 1, e: 'AQAB' }] }, /not a valid RSA public key/],
    ['a point off the curve', { keys: [{ kty: 'EC', crv: 'P-256', x: 'AQ', y: 'AQ' }] }, /not a valid EC/],
    ['kid a number', { keys: [{ ...publicJwk, kid: 1 }] }, /"kid" that is not a string/],
    ['only keys for encryption', { keys: [{ ...publicJwk, use: 'enc' }] }, /no key that verifies/],
    ['only an unsupported curve', { keys: [{ kty: 'OKP', crv: 'X25519', x: 'AQ' }] }, /no key that verifies/],
    [
      'an algorithm of another kind of key',
      { keys: [{ ...publicJwk, alg: 'HS256' }] },
      /no key that verifies/,
    ],
  ];
  for (const [name, json, message] of cases) {
    t.throws(() => createPublicKeySet(json, 'keys.json'), { code: 'key-invalid', message }, name);
  }
});

test('a key is used only for its own algorithms', async (t) => {
  const set = createPublicKeySet({ keys: [{ ...publicJwk, alg: 'RS512', kid: 'a' }] }, 'keys.json');
  const count = async (alg: string, kid?: string) => {
    const lookup = await set.candidates({ alg, kid });
    return 'keys' in lookup ? lookup.keys.length : -1;
  };
  t.equal(await count('RS512'), 1);
  t.equal(await count('RS512', 'a'), 1);
  t.equal(await count('RS512', 'b'), 0);
  t.equal(await count('RS256'), 0);
  t.equal(await count('HS256'), 0);
});

test('unusable keys are skipped if there is a good one', async (t) => {
  const keys = [
    { kty: 'FOO' },
    { ...publicJwk, use: 'enc' },
    { ...publicJwk, key_ops: ['encrypt'] },
    smallRsa.publicKey.export({ format: 'jwk' }),
    { ...publicJwk, e: 'AQ' },
    null,
    {},
    { ...publicJwk, kid: 1 },
    { ...publicJwk, use: 'sig', key_ops: ['verify'] },
  ];
  const lookup = await createPublicKeySet({ keys }, 'keys.json').candidates({ alg: 'PS256', kid: undefined });
  t.equal('keys' in lookup && lookup.keys.length, 1);
});

test('a key set is read from a file; another file is refused without quoting it', async (t) => {
  const folder = t.testdir({});
  const write = (name: string, content: string | Buffer) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const readKeys = async (path: string, bytesMax: number) => {
    const name = `key set ${path}`;
    return parsePublicKeys(await readTextFile(path, { name, bytesMax, code: 'key-invalid' }), name);
  };
  const good = await readKeys(
    write('good.json', `\ufeff${JSON.stringify({ keys: [{}, { ...publicJwk, kid: 'a' }, { kty: 'FOO' }] })}`),
    1e6,
  );
  t.match(good, {
    jwks: { keys: [{ ...publicJwk, kid: 'a' }] },
    leftOut: ['key 1 has no "kty"', /^key 3 is of a kind/],
  });
  const cases: [path: string, bytesMax: number, message: RegExp][] = [
    [join(folder, 'none.json'), 1e6, /none\.json cannot be read: there is no such file/],
    [folder, 1e6, /it is a directory/],
    [write('big.json', 'x'.repeat(100)), 99, /has 100 bytes; at most 99/],
    [write('latin1.json', Buffer.from([0x22, 0xe4, 0x22])), 1e6, /not UTF-8/],
    [
      write('key.pem', '-----BEGIN PUBLIC KEY-----\nhidden\n'),
      1e6,
      /^key set .*key\.pem is a PEM; expected a JSON Web Key Set \(\{"keys": \[…\]\}\); convert it$/,
    ],
    [
      write('key.json', JSON.stringify(publicJwk)),
      1e6,
      /it is a single key; expected \{"keys": \[…\]\} around it$/,
    ],
    [write('text.json', '{"keys": hidden}'), 1e6, /^key set .*text\.json is not JSON$/],
  ];
  for (const [path, bytesMax, message] of cases) {
    await t.rejects(readKeys(path, bytesMax), { code: 'key-invalid', message }, String(message));
  }
});

test('a secret may be base64 text; its length counts after decoding, and errors never repeat it', async (t) => {
  const random = Buffer.from(Array.from({ length: 48 }, (_, i) => (i * 89 + 251) & 0xff));
  const plain = random.toString('base64');
  t.match(plain, /[+/]/, 'the two alphabets differ in it');
  const url = random.toString('base64url');
  const good: readonly [text: string, bytes: Uint8Array][] = [
    [`base64:${plain}`, random],
    [`base64: ${plain}\r\n`, random],
    [`base64url:${url}`, random],
    [`base64:${random.subarray(0, 32).toString('base64')}`, random.subarray(0, 32)],
    [`base64:${random.subarray(0, 32).toString('base64').replace('=', '')}`, random.subarray(0, 32)],
    [`base64url:${random.subarray(0, 32).toString('base64url')}=`, random.subarray(0, 32)],
    [`Base64:${plain}`, Buffer.from(`Base64:${plain}`)],
    [plain, Buffer.from(plain)],
  ];
  for (const [text, bytes] of good) {
    const [secret = new Uint8Array(0)] = readSecrets(text, 'the file', 'HS256');
    const { candidates } = createSecretKeySet(secret);
    const lookup = await candidates({ alg: 'HS256', kid: undefined });
    const [key] = 'keys' in lookup ? lookup.keys : [];
    t.equal(key?.type, 'secret', text.slice(0, 10));
    if (key !== undefined) t.ok(await isKeyOf(bytes, key as webcrypto.CryptoKey), text.slice(0, 10));
  }
  const bad: readonly [text: string, message: RegExp][] = [
    ['base64:', / is invalid: it has 0 bytes; HS256 needs at least 32$/],
    [
      `base64:${random.subarray(0, 31).toString('base64')}`,
      / is invalid: it has 31 bytes; HS256 needs at least 32$/,
    ],
    [`base64:${'x'.repeat(40)}`, / is invalid: it has 30 bytes/],
    [`base64:${url}`, / is invalid: it begins with base64:, but the rest is not base64 \(RFC 4648\)$/],
    [`base64url:${plain}`, / begins with base64url:, but the rest is not base64url \(RFC 4648\)$/],
    [`base64:${plain}A`, /not base64 /],
    [`base64:${plain}=`, /not base64 /],
    [`base64:${plain.slice(0, 40)}=${plain.slice(40)}`, /not base64 /],
    [`base64:${random.subarray(0, 32).toString('base64').replace(/.=$/, '/=')}`, /not base64 /],
    [`base64:${plain}é`, /not base64 /],
    [`base64:${plain}\u0000`, /not base64 /],
  ];
  for (const [text, message] of bad) {
    const error = faultOf(() => readSecrets(text, 'the file', 'HS256'));
    t.match(error, { code: 'key-invalid', message }, message.source);
    const shown = text.replace(/^base64(url)?:/, '').slice(0, 8);
    if (shown !== '') t.notOk(error?.message.includes(shown), 'the secret is not repeated');
  }
});

function faultOf(act: () => unknown): Error | null {
  try {
    act();
    return null;
  } catch (error) {
    return error as Error;
  }
}

/** Whether the key verifies a signature of these bytes. */
function isKeyOf(bytes: Uint8Array, key: webcrypto.CryptoKey): Promise<boolean> {
  const signature = createHmac('sha256', bytes).update('text').digest();
  return webcrypto.subtle.verify('HMAC', key, signature, Buffer.from('text'));
}
