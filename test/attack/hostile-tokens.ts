/** Tokens that must be refused: a catalogue of attacks by name, and any number of tokens generated from a seed. */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { KeySet } from '../../src/auth/key-set.js';
import { createPublicKeySet, createSecretKeySet } from '../../src/auth/key-set.js';
import { base64url, SECRET } from '../auth/tokens.js';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ed = generateKeyPairSync('ed25519');
const strangers = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ed: generateKeyPairSync('ed25519'),
};

export const ISSUER = 'https://issuer.example/';
export const AUDIENCE = 'timetable';

/** The keys of the service under attack: a secret, and one public key of each kind. */
export const KEY_SETS: readonly KeySet[] = [
  createSecretKeySet(Buffer.from(SECRET)),
  createPublicKeySet(
    {
      keys: [
        { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'rsa' },
        { ...ec.publicKey.export({ format: 'jwk' }), kid: 'ec' },
        { ...ed.publicKey.export({ format: 'jwk' }), kid: 'ed' },
      ],
    },
    'keys',
  ),
];

type Header = Readonly<Record<string, unknown>>;
type Key = KeyObject | string | Buffer;

function signatureOf(alg: unknown, input: string, key: Key): Buffer {
  if (typeof key === 'string' || Buffer.isBuffer(key)) {
    return createHmac('sha256', key).update(input).digest();
  }
  const data = Buffer.from(input);
  if (key.asymmetricKeyType === 'ed25519') return sign(null, data, key);
  return sign(alg === 'RS512' ? 'sha512' : 'sha256', data, { key, dsaEncoding: 'ieee-p1363' });
}

/** Signed as the header says, or by the given key. Texts are used unchanged. */
export function make(header: Header | string, claims: object | string, key: Key): string {
  const input = `${base64url(header)}.${base64url(claims)}`;
  const alg = typeof header === 'string' ? undefined : header.alg;
  return `${input}.${signatureOf(alg, input, key).toString('base64url')}`;
}

const nowSeconds = (): number => Math.floor(Date.now() / 1000);

export function claims(more: object = {}): object {
  return { sub: 'mallory', exp: nowSeconds() + 3600, iss: ISSUER, aud: AUDIENCE, ...more };
}

/** Good tokens, so that a service that refuses everything fails. */
export function goodTokens(): string[] {
  return [
    make({ alg: 'HS256', typ: 'JWT' }, claims(), SECRET),
    make({ alg: 'RS256', kid: 'rsa' }, claims(), rsa.privateKey),
    make({ alg: 'ES256', kid: 'ec' }, claims(), ec.privateKey),
    make({ alg: 'EdDSA', kid: 'ed' }, claims(), ed.privateKey),
  ];
}

const withSignature = (token: string, signature: string | Buffer): string =>
  token.replace(/[^.]*$/, typeof signature === 'string' ? signature : signature.toString('base64url'));

/** The last character with an extra bit that encodes nothing: another spelling of the same signature. */
function respelled(token: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return token.slice(0, -1) + alphabet.charAt(alphabet.indexOf(token.slice(-1)) | 1);
}

/** Every attack of the catalogue, by name. */
export function attackMatrix(): [name: string, token: string][] {
  const [hs = '', rs = '', es = '', eddsa = ''] = goodTokens();
  const unsigned = (alg: string): string => `${base64url({ alg })}.${base64url(claims())}.`;
  const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const pkcs1 = rsa.publicKey.export({ type: 'pkcs1', format: 'pem' }).toString();
  const der = rsa.publicKey.export({ type: 'spki', format: 'der' });
  const jwk = (key: KeyObject): object => key.export({ format: 'jwk' });
  const exp = nowSeconds() + 3600;
  const hsWith = (more: object): string => make({ alg: 'HS256' }, claims(more), SECRET);
  const hsHeader = (header: Header): string => make({ alg: 'HS256', ...header }, claims(), SECRET);
  const text = (json: string): string => make({ alg: 'HS256' }, json, SECRET);
  const esInput = es.slice(0, es.lastIndexOf('.'));
  const common = `"iss":"${ISSUER}","aud":"${AUDIENCE}"`;
  return [
    ...['none', 'None', 'NONE', 'nOnE', ''].map((alg): [string, string] => [`alg ${alg}`, unsigned(alg)]),
    ['alg none with a signature', make({ alg: 'none' }, claims(), SECRET)],
    ...['hs256', 'Hs256', 'HS256 ', 'rs256', 'HS384', 'HS512', 'HS1', 'RS1', 'ES256K', 'dir', 'A128KW'].map(
      (alg): [string, string] => [`alg ${alg}`, make({ alg }, claims(), SECRET)],
    ),
    ['alg an array', hsHeader({ alg: ['HS256'] })],
    ['alg null', hsHeader({ alg: null })],
    ['no alg', make({ typ: 'JWT' }, claims(), SECRET)],
    ['HS256 by the public key as PEM', make({ alg: 'HS256' }, claims(), pem)],
    [
      'HS256 by the public key as PEM without its last line end',
      make({ alg: 'HS256' }, claims(), pem.trim()),
    ],
    ['HS256 by the public key as PKCS #1', make({ alg: 'HS256' }, claims(), pkcs1)],
    ['HS256 by the public key as DER', make({ alg: 'HS256', kid: 'rsa' }, claims(), der)],
    ['HS256 by the modulus', make({ alg: 'HS256', kid: 'rsa' }, claims(), String(jwk(rsa.publicKey)))],
    ['HS256 by an empty secret', make({ alg: 'HS256' }, claims(), '')],
    ['RS256 by the secret', make({ alg: 'RS256', kid: 'rsa' }, claims(), SECRET)],
    ['RS256 by an EC key', make({ alg: 'RS256', kid: 'ec' }, claims(), ec.privateKey)],
    ['ES256 by an RSA key', make({ alg: 'ES256', kid: 'rsa' }, claims(), rsa.privateKey)],
    ['PS256 over an RS256 signature', make({ alg: 'PS256', kid: 'rsa' }, claims(), rsa.privateKey)],
    ...['rsa', 'ec', 'ed'].map((kid): [string, string] => {
      const key = strangers[kid as keyof typeof strangers].privateKey;
      const alg = { rsa: 'RS256', ec: 'ES256', ed: 'EdDSA' }[kid] ?? '';
      return [`a strange ${kid} key of the same kid`, make({ alg, kid }, claims(), key)];
    }),
    ...[
      "' OR 1=1--",
      '../../dev/null',
      '/dev/null',
      '',
      '__proto__',
      'rsa\u0000',
      'RSA',
      'rsa ',
      '*',
      '%',
      '|/bin/id',
    ].map((kid): [string, string] => [
      `kid ${JSON.stringify(kid)}`,
      make({ alg: 'RS256', kid }, claims(), strangers.rsa.privateKey),
    ]),
    ['kid /dev/null, by an empty secret', make({ alg: 'HS256', kid: '/dev/null' }, claims(), '')],
    ['kid an object', make({ alg: 'RS256', kid: { toString: 'rsa' } }, claims(), rsa.privateKey)],
    ['kid an array', make({ alg: 'RS256', kid: ['rsa'] }, claims(), rsa.privateKey)],
    ['a good key under an unknown kid', make({ alg: 'RS256', kid: 'other' }, claims(), rsa.privateKey)],
    ...(['jwk', 'jku', 'x5u', 'x5c', 'x5t', 'x5t#S256'] as const).map((name): [string, string] => {
      const value = {
        jwk: jwk(strangers.rsa.publicKey),
        jku: 'http://127.0.0.1:1/keys',
        x5u: 'http://127.0.0.1:1/cert',
        x5c: ['MIIB'],
        x5t: 'x',
        'x5t#S256': 'x',
      }[name];
      return [
        `${name} in the header`,
        make({ alg: 'RS256', [name]: value }, claims(), strangers.rsa.privateKey),
      ];
    }),
    [
      'a symmetric jwk in the header',
      make({ alg: 'HS256', jwk: { kty: 'oct', k: 'AA' } }, claims(), Buffer.alloc(1)),
    ],
    ['an ECDSA signature of zeros', withSignature(es, Buffer.alloc(64))],
    [
      'an ECDSA signature of r = 0',
      withSignature(es, Buffer.concat([Buffer.alloc(32), Buffer.alloc(32, 1)])),
    ],
    ['an ECDSA signature of the order of the curve', withSignature(es, Buffer.alloc(64, 0xff))],
    ['an ECDSA signature as DER', withSignature(es, sign('sha256', Buffer.from(esInput), ec.privateKey))],
    ['an ECDSA signature of another length', withSignature(es, Buffer.alloc(96))],
    ['an EdDSA signature of zeros', withSignature(eddsa, Buffer.alloc(64))],
    ['an RSA signature of zeros', withSignature(rs, Buffer.alloc(256))],
    ['an RSA signature of ones', withSignature(rs, Buffer.concat([Buffer.alloc(255), Buffer.from([1])]))],
    [
      'an RSA signature with a zero before it',
      withSignature(rs, Buffer.concat([Buffer.alloc(1), Buffer.from(rs.split('.')[2] ?? '', 'base64url')])),
    ],
    ['an empty signature', withSignature(hs, '')],
    ['half of the signature', hs.slice(0, -22)],
    ['the signature twice', `${hs}${hs.split('.')[2]}`],
    ['the signature of another token', withSignature(hs, rs.split('.')[2] ?? '')],
    ['other claims under the signature', hs.replace(/\.[^.]+\./, `.${base64url(claims({ sub: 'admin' }))}.`)],
    ...[
      { crit: ['x'], x: 1 },
      { crit: ['exp'], exp: 1 },
      { crit: [] },
      { crit: ['b64'], b64: true },
      { crit: 'b64' },
    ].map((header): [string, string] => [`header ${JSON.stringify(header)}`, hsHeader(header)]),
    ['b64 false', hsHeader({ b64: false })],
    ['b64 false, called critical', hsHeader({ b64: false, crit: ['b64'] })],
    ['cty JWT', hsHeader({ cty: 'JWT' })],
    ['cty application/jwt', hsHeader({ cty: 'application/jwt' })],
    ['a token in the token', make({ alg: 'HS256', cty: 'JWT' }, hs, SECRET)],
    ['a token in the token that is not said', make({ alg: 'HS256' }, hs, SECRET)],
    ['a header that is an array', make('[]', claims(), SECRET)],
    ['a header that is no JSON', make('{"alg":"HS256"', claims(), SECRET)],
    ['a header that is null', make('null', claims(), SECRET)],
    ['alg given twice, the good one first', make('{"alg":"HS256","alg":"none"}', claims(), SECRET)],
    ['a byte order mark before the header', make('\ufeff{"alg":"HS256"}', claims(), SECRET)],
    ['a byte order mark before the claims', text(`\ufeff${JSON.stringify(claims())}`)],
    ['half of a surrogate pair in a claim', text(`{"sub":"\\ud800",${common},"exp":${exp}}`)],
    ['one part', hs.replaceAll('.', '')],
    ['two parts', hs.slice(0, hs.lastIndexOf('.'))],
    ['four parts', `${hs}.x`],
    ['five parts, as encrypted ones have', `${hs}.x.y`],
    ['an empty fourth part', `${hs}.`],
    ['empty parts', '..'],
    ['padding', `${hs}=`],
    ['padding in the header', hs.replace('.', '=.')],
    ['the other base64 alphabet', `${hs.slice(0, -2)}+/`],
    ['a last character of another spelling', respelled(hs)],
    ['the same, RS256', respelled(rs)],
    ['white space before', `\t${hs}`],
    ['white space inside', hs.replace('.', ' .')],
    ['too long', `${hs.slice(0, hs.lastIndexOf('.'))}${'A'.repeat(8192)}.AAAA`],
    ...[null, true, '9999999999', [exp], { a: 1 }, -1, 1e300, 0].map((value): [string, string] => [
      `exp ${JSON.stringify(value)}`,
      hsWith({ exp: value }),
    ]),
    ['exp infinite', text(`{"sub":"a",${common},"exp":1e400}`)],
    ['exp not a number', text(`{"sub":"a",${common},"exp":NaN}`)],
    ['no exp', text(`{"sub":"a",${common}}`)],
    ['exp in the prototype', text(`{"sub":"a",${common},"__proto__":{"exp":${exp}}}`)],
    ['exp given twice, the good one first', text(`{"sub":"a",${common},"exp":${exp},"exp":1}`)],
    ['iss given twice, the good one first', text(`{"sub":"a","exp":${exp},${common},"iss":"x"}`)],
    ['aud given twice, the good one first', text(`{"sub":"a","exp":${exp},${common},"aud":"x"}`)],
    ['sub given twice, the good one first', text(`{"sub":"a","exp":${exp},${common},"sub":7}`)],
    ['exp under another spelling', text(`{"sub":"a",${common},"EXP":${exp}}`)],
    ...[null, '', 7, ['mallory'], { a: 1 }, true].map((value): [string, string] => [
      `sub ${JSON.stringify(value)}`,
      hsWith({ sub: value }),
    ]),
    ...[exp, String(exp), null, [1], -1, 1e300].map((value): [string, string] => [
      `nbf ${JSON.stringify(value)}`,
      hsWith({ nbf: value }),
    ]),
    ...['now', null, 1e300, -1].map((value): [string, string] => [
      `iat ${JSON.stringify(value)}`,
      hsWith({ iat: value }),
    ]),
    ...['https://issuer.example', null, [ISSUER], '', 7].map((value): [string, string] => [
      `iss ${JSON.stringify(value)}`,
      hsWith({ iss: value }),
    ]),
    ...['timetables', '', null, [], [''], { timetable: 1 }, [['timetable']]].map(
      (value): [string, string] => [`aud ${JSON.stringify(value)}`, hsWith({ aud: value })],
    ),
    ['claims that are an array', text(`[${JSON.stringify(claims())}]`)],
    ['claims that are a text', text('"x"')],
    ['claims that are no JSON', text('{')],
    ['claims deep in arrays', text(`${'['.repeat(2000)}${']'.repeat(2000)}`)],
  ];
}

/** Numbers from 0 to below `n`, the same for the same seed (mulberry32). */
export function seeded(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return Math.floor((((x ^ (x >>> 14)) >>> 0) / 4_294_967_296) * n);
  };
}

const PRINTABLE = Array.from({ length: 94 }, (_, n) => String.fromCharCode(33 + n)).join('');

/** Generates hostile tokens: damaged, spliced and forged ones. */
export function* hostileTokens(count: number, seed: number): Generator<string> {
  const below = seeded(seed);
  const good = goodTokens();
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const flipped = (part: string): string => {
    const bytes = Buffer.from(part, 'base64url');
    const at = below(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << below(8));
    return bytes.toString('base64url');
  };
  const odd = [null, true, 0, -1, 1e300, '', 'x', [], {}, [[]], '\u0000', 'HS256', 'none', 'rsa'];
  const names = [
    'alg',
    'kid',
    'typ',
    'cty',
    'jwk',
    'jku',
    'x5u',
    'x5c',
    'crit',
    'b64',
    'zip',
    'enc',
    '__proto__',
  ];
  const strange: readonly Key[] = [strangers.ed.privateKey, strangers.ec.privateKey, 'x'.repeat(32), ''];
  const kinds: readonly (() => string)[] = [
    () => {
      const parts = pick(good).split('.');
      const at = below(3);
      parts[at] = flipped(parts[at] ?? '');
      return parts.join('.');
    },
    () => {
      const [first, second] = [below(good.length), below(good.length - 1)];
      const a = (good[first] ?? '').split('.');
      const b = (good[(first + 1 + second) % good.length] ?? '').split('.');
      return [a[0], b[1], pick([a, b])[2]].join('.') === good.find((g) => g === [a[0], b[1], b[2]].join('.'))
        ? `${a[0]}.${flipped(b[1] ?? '')}.${b[2]}`
        : [a[0], b[1], below(2) === 0 ? flipped(a[2] ?? '') : flipped(b[2] ?? '')].join('.');
    },
    () => {
      const token = pick(good);
      const at = below(token.length);
      return token.slice(0, at) + pick([...PRINTABLE, '', '..']) + token.slice(at + 2);
    },
    () => pick(good).slice(0, -1 - below(40)),
    () => pick(good) + pick([...PRINTABLE]).repeat(1 + below(5)),
    () => {
      const header = { alg: pick(['HS256', 'EdDSA', 'ES256', 'none', 'RS256']), [pick(names)]: pick(odd) };
      return make(header, claims({ [pick(['sub', 'exp', 'aud', 'x'])]: pick(odd) }), pick(strange));
    },
    () => make({ alg: 'HS256' }, claims({ [pick(['exp', 'iss', 'aud'])]: pick(odd) }), SECRET),
    () =>
      make({ alg: 'HS256' }, claims({ sub: pick(odd.filter((value) => typeof value !== 'string')) }), SECRET),
    () =>
      Array.from({ length: 3 }, () =>
        Array.from({ length: below(60) }, () => pick([...PRINTABLE])).join(''),
      ).join('.'),
  ];
  const isGood = new Set(good);
  for (let n = 0; n < count; n++) {
    const token = (kinds[n % kinds.length] as () => string)();
    // A character may be replaced by an equal one, for example.
    yield isGood.has(token) ? `${token}A` : token;
  }
}
