/** An issuer in memory: its keys, its tokens, and a key set that can be withheld. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { Authenticator } from '../../src/auth/authenticator.js';
import { createClaimTable } from '../../src/auth/identity.js';
import { createRemoteKeySet } from '../../src/auth/key-set.js';
import { RemoteKeys, type RemoteKeysPlan } from '../../src/auth/remote-keys.js';
import { createVerifier } from '../../src/auth/verifier.js';
import { signed } from '../auth/tokens.js';
import { type FakeClock, fakeClock } from './clock.js';

export const PLAN: RemoteKeysPlan = {
  url: 'https://issuer.example/keys?secret=x',
  refreshMs: 300_000,
  cooldownMs: 30_000,
  staleMsMax: 3_600_000,
};

export interface Issuer {
  /** Published from now on. */
  publish(...kids: string[]): void;
  /** Replaces the answer. */
  failure: Error | null;
  /** The answer waits for this promise. */
  hold: Promise<void> | null;
  /** An answer that replaces the keys. */
  document: unknown;
  /** When it got a request, on the test's clock. */
  readonly askedMs: number[];
  token(kid: string, claims?: object): string;
  fetch(): Promise<unknown>;
}

export function createIssuer(clock: FakeClock): Issuer {
  const keys = new Map<string, { publicKey: KeyObject; privateKey: KeyObject }>();
  const keyOf = (kid: string) => {
    const key = keys.get(kid) ?? generateKeyPairSync('ed25519');
    keys.set(kid, key);
    return key;
  };
  const issuer: Issuer = {
    failure: null,
    hold: null,
    document: { keys: [] },
    askedMs: [],
    publish(...kids) {
      issuer.document = {
        keys: kids.map((kid) => ({ ...keyOf(kid).publicKey.export({ format: 'jwk' }), kid })),
      };
    },
    token: (kid, claims = {}) =>
      signed(
        { sub: 'alice', exp: Math.floor(clock.now() / 1000) + 36_000, ...claims },
        keyOf(kid).privateKey,
        {
          alg: 'EdDSA',
          kid,
        },
      ),
    async fetch() {
      issuer.askedMs.push(clock.now());
      if (issuer.hold !== null) await issuer.hold;
      if (issuer.failure !== null) throw issuer.failure;
      return issuer.document;
    },
  };
  return issuer;
}

export interface LogLine {
  readonly level: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

export interface StartedKeys {
  readonly remote: RemoteKeys;
  readonly authenticator: Authenticator;
  /** How often the token cache was cleared. */
  readonly cleared: number;
  /** Looks a token up or verifies it, as the handler does. */
  ask(token: string): Promise<string>;
}

export interface SetUp {
  readonly clock: FakeClock;
  readonly issuer: Issuer;
  readonly lines: readonly LogLine[];
  start(): StartedKeys;
}

/** All parts between a token and its user, on one clock. */
export function setUp(plan: Partial<RemoteKeysPlan> = {}, kids: readonly string[] = ['a']): SetUp {
  const clock = fakeClock();
  const issuer = createIssuer(clock);
  issuer.publish(...kids);
  const lines: LogLine[] = [];
  const line = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields: fields as LogLine['fields'], message });
  const start = () => {
    const remote = new RemoteKeys(
      { ...PLAN, ...plan },
      {
        fetch: issuer.fetch,
        now: clock.now,
        schedule: clock.schedule,
        random: () => 0.5,
        log: { info: line('info'), warn: line('warn') },
      },
    );
    let cleared = 0;
    const keySet = createRemoteKeySet(
      remote,
      () => {
        cleared++;
        authenticator?.clear();
      },
      clock.now,
    );
    let authenticator: Authenticator | null = null;
    authenticator = new Authenticator({
      verifier: createVerifier({ keySets: [keySet], now: clock.now }),
      table: createClaimTable(),
      enrolments: null,
      mode: 'uuid',
      now: clock.now,
    });
    const inner = authenticator;
    const ask = async (token: string): Promise<string> => {
      if (inner.lookup(token) !== undefined) return 'remembered';
      const authentication = await inner.verify(token);
      return authentication.outcome === 'invalid' ? authentication.reason : authentication.outcome;
    };
    return {
      remote,
      authenticator: inner,
      ask,
      get cleared() {
        return cleared;
      },
    };
  };
  return { clock, issuer, lines, start };
}

/** The least time between two fetches. */
export function leastGapMs(askedMs: readonly number[]): number {
  return Math.min(...askedMs.slice(1).map((atMs, i) => atMs - (askedMs[i] as number)));
}
