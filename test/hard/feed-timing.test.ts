/**
 * Whether the time of a refusal reveals why a feed address is bad. Unreadable payloads take longer. This reveals nothing,
 * because the sender knows the payload: it must only be the same with every mac.
 */
import { createHmac } from 'node:crypto';
import { type Test, test } from 'tap';
import { FeedAddresses } from '../../src/auth/feed-address.js';
import { addressesOf, grantFor, NOW_MS, SECRETS } from '../attack/hostile-feeds.js';
import { seeded } from '../attack/hostile-tokens.js';
import { recordFigure } from './figures.mjs';
import { HARD, size } from './size.js';

const BATCHES = size(800, 5000);
const BATCH = 40;
const SEED = 20_261_123;
/** A share of a refusal's 4 µs, which other tests beside this one can change; a network varies a hundred times as much. */
const DIFFERENCE_MAX = 0.1;
/** Work of other processes changes the times of one attempt. */
const ATTEMPTS_MAX = size(8, 3);
const USUAL = 'mac changed';
const UNREADABLE = 'unreadable';
/** As many as other subjects, and as long, because texts that were read before are read faster. */
const REVOKED_SUBJECTS = Array.from({ length: 200 }, (_, n) => `rev${1000 + n}`);
const TIMEOUT = { timeout: 600_000 };

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] as number;
}

function resigned(address: string): string {
  const payload = address.slice(0, address.lastIndexOf('.'));
  const key = createHmac('sha256', SECRETS[0]).update('lectern feed addresses, 1').digest();
  return `${payload}.${createHmac('sha256', key).update(payload).digest('base64url')}`;
}

/** Subjects of equal length, so that all addresses are as long. */
function addressesByKind(): Readonly<Record<string, readonly string[]>> {
  const ours = addressesOf();
  const former = addressesOf([SECRETS[1]]);
  const many = (make: (subject: string) => string) =>
    Array.from({ length: 200 }, (_, n) => make(`son${1000 + n}`));
  const changed = (address: string, at: number): string =>
    address.slice(0, at) + (address[at] === 'A' ? 'B' : 'A') + address.slice(at + 1);
  const expiresMs = NOW_MS - 1;
  return {
    'mac changed': many((subject) => changed(ours.sign(grantFor(subject)), 120)),
    'mac changed, again': many((subject) => changed(ours.sign(grantFor(subject)), 130)),
    'first letter of the mac': many((subject) => {
      const address = ours.sign(grantFor(subject));
      return changed(address, address.lastIndexOf('.') + 1);
    }),
    spliced: many((subject) => {
      const mac = ours.sign(grantFor(`other ${subject}`)).split('.')[1];
      return `${ours.sign(grantFor(subject)).split('.')[0]}.${mac}`;
    }),
    'unknown key': many((subject) => changed(ours.sign(grantFor(subject)), 1)),
    'mac cut': many((subject) => ours.sign(grantFor(subject)).slice(0, -1)),
    expired: many((subject) => ours.sign(grantFor(subject, { expiresMs }))),
    'expired, previous key': many((subject) => former.sign(grantFor(subject, { expiresMs }))),
    revoked: REVOKED_SUBJECTS.map((subject) => ours.sign(grantFor(subject))),
    [UNREADABLE]: many((subject) => changed(ours.sign(grantFor(subject)), 4)),
    'unreadable, again': many((subject) => changed(ours.sign(grantFor(subject)), 4)),
    'unreadable, right mac': many((subject) => resigned(changed(ours.sign(grantFor(subject)), 4))),
    'unreadable, mac changed': many((subject) => changed(changed(ours.sign(grantFor(subject)), 4), 130)),
  };
}

interface Measured {
  readonly medians: ReadonlyMap<string, number>;
  /** How far a kind is from the usual one, and how far it may be, in microseconds. */
  readonly differences: readonly {
    readonly kind: string;
    readonly micros: number;
    readonly allowed: number;
  }[];
}

function measureKinds(t: Test): Measured {
  const revoked = new Map(REVOKED_SUBJECTS.map((subject) => [subject, NOW_MS + 1]));
  const addresses = new FeedAddresses({ secrets: SECRETS, revocations: () => revoked, now: () => NOW_MS });
  const kinds = Object.entries(addressesByKind());
  const times = new Map(kinds.map(([kind]) => [kind, [] as number[]]));
  const below = seeded(SEED);
  let accepted = 0;
  const measure = ([kind, list]: (typeof kinds)[number]): void => {
    const batch = Array.from({ length: BATCH }, () => list[below(list.length)] as string);
    const began = process.hrtime.bigint();
    for (const address of batch) if (addresses.grantOf(address) !== null) accepted++;
    const micros = Number(process.hrtime.bigint() - began) / 1000 / BATCH;
    times.get(kind)?.push(micros);
  };
  for (let n = 0; n < 500; n++) for (const kind of kinds) measure(kind);
  for (const list of times.values()) list.length = 0;
  for (let n = 0; n < BATCHES; n++) {
    // In another order each time, because cache effects must not always hit the same kind.
    const order = kinds.map((kind) => ({ kind, at: below(1_000_000) })).sort((a, b) => a.at - b.at);
    for (const { kind } of order) measure(kind);
  }
  t.equal(accepted, 0);
  const medians = new Map([...times].map(([kind, list]) => [kind, median(list)]));
  const differences = [...medians].map(([kind, micros]) => {
    const usualKind = kind.startsWith(UNREADABLE) ? UNREADABLE : USUAL;
    const usual = medians.get(usualKind) as number;
    const noise = Math.abs((medians.get(`${usualKind}, again`) as number) - usual);
    return { kind, micros: Math.abs(micros - usual), allowed: Math.max(usual * DIFFERENCE_MAX, 3 * noise) };
  });
  return { medians, differences };
}

test('every bad address is refused in the same time', TIMEOUT, async (t) => {
  for (let attempt = 1; ; attempt++) {
    const { medians, differences } = measureKinds(t);
    const told = [...medians].map(([kind, micros]) => `${kind} ${micros.toFixed(2)} µs`).join(', ');
    t.comment(told);
    const differing = differences.filter(({ micros, allowed }) => micros > allowed);
    if (differing.length > 0 && attempt < ATTEMPTS_MAX) continue;
    t.strictSame(differing, [], 'each kind takes as long as the usual one');
    if (HARD) recordFigure('feed-timing', `medians: ${told}; attempt ${attempt} of up to ${ATTEMPTS_MAX}`);
    return;
  }
});
