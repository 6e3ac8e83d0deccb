/** Feed addresses that must not be accepted: damaged, spliced, cut, forged, expired and revoked. */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { FeedGrant } from '../../src/auth/feed-address.js';
import { FeedAddresses } from '../../src/auth/feed-address.js';
import { seeded } from './hostile-tokens.js';

export const NOW_MS: number = Date.UTC(2026, 10, 23);
const DAY_MS = 86_400_000;
/** A user whose addresses are all revoked. */
export const REVOKED = 'mallory';
export const SECRETS: readonly [signing: Uint8Array, earlier: Uint8Array] = [
  randomBytes(32),
  randomBytes(32),
];

export function addressesOf(secrets: readonly Uint8Array[] = SECRETS): FeedAddresses {
  return new FeedAddresses({
    secrets,
    revocations: () => new Map([[REVOKED, NOW_MS + 1]]),
    now: () => NOW_MS,
  });
}

export function grantFor(subject: string, more: Partial<FeedGrant> = {}): FeedGrant {
  return {
    subject,
    claimed: [{ field: 'studyGroup', values: ['A'] }],
    pairs: [['type', 'Lab']],
    issuedMs: NOW_MS - DAY_MS,
    expiresMs: NOW_MS + DAY_MS,
    ...more,
  };
}

/** Texts that a careless implementation could accept. */
function oddities(payload: string, mac: string): readonly string[] {
  const json = Buffer.from(payload.slice(4), 'base64url').toString();
  const unkeyed = createHash('sha256').update(payload).digest('base64url');
  const emptyKey = createHmac('sha256', '').update(payload).digest('base64url');
  return [
    '',
    '.',
    '..',
    payload,
    mac,
    `${payload}.`,
    `.${mac}`,
    `${payload}.${mac}.`,
    `${payload}.${mac}=`,
    `${payload}..${mac}`,
    `.${payload}.${mac}`,
    `${payload}=.${mac}`,
    `${payload}.${mac} `,
    `${payload}.${mac}\u0000`,
    `${payload}.${unkeyed}`,
    `${payload}.${emptyKey}`,
    `${payload}.${'A'.repeat(43)}`,
    `${payload}.${'\u0000'.repeat(43)}`,
    `${payload}.${mac.toUpperCase()}`,
    `${payload.toUpperCase()}.${mac}`,
    `${payload}.${Buffer.from(mac, 'base64url').toString('hex')}`,
    `${payload}.${Buffer.from(mac, 'base64url').toString('base64')}`,
    `${payload.slice(0, 4)}${Buffer.from(json.replace('studyGroup', 'type')).toString('base64url')}.${mac}`,
    `${payload.slice(0, 4)}${Buffer.from('null').toString('base64url')}.${mac}`,
    `${payload.slice(0, 4)}.${mac}`,
    `__proto__.${mac}`,
    // Other characters that become the same letters if their upper bits are dropped.
    [...`${payload}.${mac}`].map((c) => String.fromCharCode(c.charCodeAt(0) | 0x80)).join(''),
    [...`${payload}.${mac}`].map((c) => String.fromCharCode(c.charCodeAt(0) + 0x100)).join(''),
  ];
}

export function* hostileFeeds(
  count: number,
  seed: number,
): Generator<readonly [kind: string, address: string]> {
  const below = seeded(seed);
  const ours = addressesOf();
  const strangers = addressesOf([randomBytes(32)]);
  // Signed with a secret that only verifies: genuine, so here they are expired or revoked.
  const former = addressesOf([SECRETS[1]]);
  const good = Array.from({ length: 40 }, (_, n) => ours.sign(grantFor(`user ${n}`)));
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const partsOf = (address: string): [string, string] => address.split('.') as [string, string];
  const odd = good.flatMap((address) => oddities(...partsOf(address)));
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const kinds: Readonly<Record<string, () => string>> = {
    changed() {
      const address = pick(good);
      const at = below(address.length);
      const other = pick([...letters].filter((letter) => letter !== address[at]));
      return address.slice(0, at) + other + address.slice(at + 1);
    },
    cut() {
      const address = pick(good);
      const from = below(address.length);
      return address.slice(0, from) + address.slice(from + 1 + below(8));
    },
    inserted() {
      const address = pick(good);
      const at = below(address.length + 1);
      return address.slice(0, at) + pick([...letters, '.']) + address.slice(at);
    },
    spliced() {
      const n = below(good.length);
      const [payload] = partsOf(good[n] as string);
      const [, mac] = partsOf(good[(n + 1 + below(good.length - 1)) % good.length] as string);
      return `${payload}.${mac}`;
    },
    'spliced within': () => {
      const n = below(good.length);
      const one = good[n] as string;
      const other = good[(n + 1 + below(good.length - 1)) % good.length] as string;
      // Cuts between the subject and the mac; both differ in the two addresses.
      return one.slice(0, 40) + other.slice(40);
    },
    stranger: () => strangers.sign(grantFor(`user ${below(40)}`)),
    expired() {
      const expiresMs = NOW_MS - below(10) * below(DAY_MS);
      return pick([ours, former]).sign(grantFor(`user ${below(40)}`, { expiresMs }));
    },
    revoked: () => pick([ours, former]).sign(grantFor(REVOKED, { issuedMs: NOW_MS - below(DAY_MS) })),
    random: () =>
      `${randomBytes(1 + below(90)).toString('base64url')}.${randomBytes(32).toString('base64url')}`,
    odd: () => pick(odd),
  };
  const names = Object.keys(kinds);
  for (let n = 0; n < count; n++) {
    const kind = names[n % names.length] as string;
    yield [kind, (kinds[kind] as () => string)()];
  }
}
