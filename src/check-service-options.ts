import { isAddress, REMOTE_KEYS_SECONDS } from './auth/remote-keys-plan.js';
import { LecternError } from './errors.js';
import type { ServeSettings, ServiceOptions } from './service-options.js';

/** What the options say once defaults are filled in, as far as the rules below ask. */
interface Given {
  readonly options: ServiceOptions & Pick<ServeSettings, 'logLevel'>;
  /** The sources as texts; null where a program gave another kind. */
  readonly texts: readonly string[] | null;
}

/** An option that cannot do what it says beside the others. One that has its default, or is not given, says nothing. */
interface Rule {
  readonly isBroken: (given: Given) => boolean;
  readonly problem: string;
}

/** What is asked of a source, and so of nothing once a snapshot is pinned. */
const WITHOUT_EFFECT_ON_A_PIN: readonly (readonly [
  flag: string,
  isGiven: (options: ServiceOptions) => boolean,
])[] = [
  ['--header', ({ sourceHeaders }) => sourceHeaders !== undefined],
  ['--lecturer-ids', ({ lecturerIdsFile }) => lecturerIdsFile !== undefined],
  ['--refresh-seconds', ({ refreshSeconds = 0 }) => refreshSeconds > 0],
  ['--shrink-percent-max', ({ shrinkPercentMax = 30 }) => shrinkPercentMax !== 30],
  ['--reject-percent-max', ({ rejectPercentMax = 10 }) => rejectPercentMax !== 10],
  ['--growth-percent-max', ({ growthPercentMax = 1000 }) => growthPercentMax !== 1000],
  ['--memory-mb-max', ({ memoryMbMax }) => memoryMbMax !== undefined],
  ['--events-max', ({ eventsMax }) => eventsMax !== undefined],
  ['--empty-set', ({ emptySet = 'refuse' }) => emptySet !== 'refuse'],
  ['--stale-seconds-max', ({ staleSecondsMax }) => staleSecondsMax !== undefined],
  ['--snapshot-file', ({ snapshotFile }) => snapshotFile !== undefined],
];

/** What is asked of a key set that is fetched. */
const OF_FETCHED_KEYS = [
  ['--jwks-refresh-seconds', 'jwksRefreshSeconds', REMOTE_KEYS_SECONDS.refresh.default],
  ['--jwks-cooldown-seconds', 'jwksCooldownSeconds', REMOTE_KEYS_SECONDS.cooldown.default],
  ['--jwks-stale-seconds-max', 'jwksStaleSecondsMax', REMOTE_KEYS_SECONDS.stale.default],
] as const;

const RULES: readonly Rule[] = [
  ...OF_FETCHED_KEYS.map(([flag, name, usual]) => ({
    isBroken: ({ options }: Given) => (options[name] ?? usual) !== usual && !isAddress(options.jwks ?? ''),
    problem: `${flag} has no effect, as --jwks is not an http(s) address`,
  })),
  {
    isBroken: ({ options: { jwks = '', jwksCooldownSeconds, jwksRefreshSeconds } }) =>
      isAddress(jwks) &&
      (jwksCooldownSeconds ?? REMOTE_KEYS_SECONDS.cooldown.default) >
        (jwksRefreshSeconds ?? REMOTE_KEYS_SECONDS.refresh.default),
    problem: '--jwks-cooldown-seconds must not be more than --jwks-refresh-seconds',
  },
  {
    isBroken: ({ options: { jwks = '', jwksStaleSecondsMax, jwksRefreshSeconds } }) =>
      isAddress(jwks) &&
      (jwksStaleSecondsMax ?? REMOTE_KEYS_SECONDS.stale.default) <
        2 * (jwksRefreshSeconds ?? REMOTE_KEYS_SECONDS.refresh.default),
    problem: '--jwks-stale-seconds-max must be at least twice --jwks-refresh-seconds',
  },
  {
    isBroken: ({ options: { tokenType, issuer, audience } }) =>
      tokenType === 'at+jwt' && (issuer === undefined || audience === undefined),
    problem: '--token-type at+jwt needs --issuer and --audience: RFC 9068 has both checked',
  },
  ...WITHOUT_EFFECT_ON_A_PIN.map(([flag, isGiven]) => ({
    isBroken: ({ options }: Given) => options.pin !== undefined && isGiven(options),
    problem: `${flag} has no effect with --pin, which asks no source`,
  })),
  {
    isBroken: ({ options: { snapshotFilesKept = 0, snapshotFile } }) =>
      snapshotFilesKept > 0 && snapshotFile === undefined,
    problem: '--snapshot-files-kept has no effect without --snapshot-file',
  },
  {
    isBroken: ({ options: { sourceHeaders }, texts }) =>
      sourceHeaders !== undefined && !(texts ?? []).some((text) => /^https?:\/\//i.test(text)),
    problem: '--header has no effect, as no source is an http(s) address',
  },
  {
    isBroken: ({ texts }) => (texts ?? []).filter((text) => text === '-').length > 1,
    problem: 'standard input (-) is given twice as a source, and can be read once only',
  },
  {
    isBroken: ({ options: { refreshSeconds = 0 }, texts }) =>
      refreshSeconds > 0 && (texts ?? []).includes('-'),
    problem: '--refresh-seconds cannot load standard input (-) again: it can be read once only',
  },
  {
    isBroken: ({ options: { staleSecondsMax }, texts }) =>
      staleSecondsMax !== undefined && (texts ?? []).includes('-'),
    problem:
      '--stale-seconds-max cannot hold for standard input (-), which is loaded once only: all answers would end after that time',
  },
  {
    isBroken: ({ options: { adminPort, adminTokenFile } }) =>
      adminTokenFile !== undefined && adminPort === undefined,
    problem: '--admin-token-file has no effect without --admin-port',
  },
  {
    isBroken: ({ options: { adminPort, adminHost = '127.0.0.1' } }) =>
      adminHost !== '127.0.0.1' && adminPort === undefined,
    problem: '--admin-host has no effect without --admin-port',
  },
  {
    // By default the level is low enough: see serve.ts.
    isBroken: ({ options: { accessLog = 0, logLevel = 'info' } }) =>
      accessLog > 0 && logLevel !== 'info' && logLevel !== 'debug',
    problem: '--access-log has no effect with --log-level above info: requests are logged at info',
  },
  {
    isBroken: ({ options: { adminPort, port = 3000 } }) => adminPort === port && port !== 0,
    problem: '--admin-port and --port are the same; expected two ports',
  },
  {
    isBroken: ({ options: { hs256Secret, hs256SecretFile } }) =>
      hs256Secret !== undefined && hs256SecretFile !== undefined,
    problem:
      'the HS256 secret is given twice: as LECTERN_HS256_SECRET, and as --hs256-secret-file; expected one of the two',
  },
];

/**
 * Checks options, each of which is good by itself, beside each other: what would silently have no effect is refused.
 *
 * @throws LecternError `option-invalid` with everything that is wrong
 */
export function checkTogether(options: ServiceOptions): void {
  const sources: readonly unknown[] = [options.source].flat();
  const texts = sources.every((each) => typeof each === 'string') ? (sources as readonly string[]) : null;
  const problems = RULES.filter((rule) => rule.isBroken({ options, texts })).map(({ problem }) => problem);
  if (problems.length > 0) throw new LecternError('option-invalid', problems.join('; '));
}
