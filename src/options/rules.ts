/** What settings must be beside each other. A setting that would silently have no effect is refused. */
import { isAddress } from '../auth/key-address.js';

/** Values by the names of their settings, each good by itself, defaults filled in. */
export type Values = Readonly<Record<string, unknown>>;

/** One rule. It is looked at where all settings in `names` can be given. */
export interface Rule {
  readonly names: readonly string[];
  /** Set for rules of the command line only: programs may do it, or cannot. */
  readonly isOfCommand?: boolean;
  readonly isBroken: (values: Values, isGiven: (name: string) => boolean) => boolean;
  /** @param label the setting as the person knows it who gave it */
  readonly problem: (label: (name: string) => string) => string;
}

/** Only a source is asked for these, and a pinned snapshot has none. */
const WITHOUT_EFFECT_ON_A_PIN = [
  'sourceHeaders',
  'lecturerIdsFile',
  'refreshSeconds',
  'shrinkPercentMax',
  'rejectPercentMax',
  'growthPercentMax',
  'memoryMbMax',
  'eventsMax',
  'allowEmpty',
  'staleSecondsMax',
  'snapshotFile',
];

const OF_FETCHED_KEYS = ['jwksRefreshSeconds', 'jwksCooldownSeconds', 'jwksStaleSecondsMax'];

export const RULES: readonly Rule[] = [
  ...OF_FETCHED_KEYS.map(
    (name): Rule => ({
      names: [name, 'jwks'],
      isBroken: ({ jwks }, isGiven) => isGiven(name) && !isFetched(jwks),
      problem: (label) => `${label(name)} has no effect, as ${label('jwks')} is not an http(s) address`,
    }),
  ),
  {
    names: ['jwksCooldownSeconds', 'jwksRefreshSeconds', 'jwks'],
    isBroken: ({ jwks, jwksCooldownSeconds, jwksRefreshSeconds }) =>
      isFetched(jwks) && Number(jwksCooldownSeconds) > Number(jwksRefreshSeconds),
    problem: (label) =>
      `${label('jwksCooldownSeconds')} must not be more than ${label('jwksRefreshSeconds')}`,
  },
  {
    names: ['jwksStaleSecondsMax', 'jwksRefreshSeconds', 'jwks'],
    isBroken: ({ jwks, jwksStaleSecondsMax, jwksRefreshSeconds }) =>
      isFetched(jwks) && Number(jwksStaleSecondsMax) < 2 * Number(jwksRefreshSeconds),
    problem: (label) =>
      `${label('jwksStaleSecondsMax')} must be at least twice ${label('jwksRefreshSeconds')}`,
  },
  {
    // RFC 9068 section 4.
    names: ['tokenType', 'issuer', 'audience'],
    isBroken: ({ tokenType, issuer, audience }) =>
      tokenType === 'at+jwt' && (issuer === undefined || audience === undefined),
    problem: (label) =>
      `${label('tokenType')} at+jwt needs ${label('issuer')} and ${label('audience')}: RFC 9068 requires both checks`,
  },
  {
    names: ['snapshotFilesKept', 'snapshotFile'],
    isBroken: ({ snapshotFilesKept, snapshotFile }) =>
      Number(snapshotFilesKept) > 0 && snapshotFile === undefined,
    problem: (label) => `${label('snapshotFilesKept')} has no effect without ${label('snapshotFile')}`,
  },
  {
    names: ['auth', 'identify'],
    isBroken: ({ auth, identify }) => auth !== undefined && identify !== undefined,
    problem: () => 'handler() takes auth or identify, not both',
  },
  ...WITHOUT_EFFECT_ON_A_PIN.map(
    (name): Rule => ({
      names: ['pin', name],
      isOfCommand: true,
      isBroken: ({ pin }, isGiven) => pin !== undefined && isGiven(name),
      problem: (label) => `${label(name)} has no effect with ${label('pin')}, which asks no source`,
    }),
  ),
  {
    names: ['sourceHeaders', 'source'],
    isBroken: ({ sourceHeaders, source }) =>
      sourceHeaders !== undefined && !textsOf(source).some((text) => /^https?:\/\//i.test(text)),
    problem: (label) => `${label('sourceHeaders')} has no effect, as no source is an http(s) address`,
  },
  {
    names: ['source'],
    isOfCommand: true,
    isBroken: ({ source }) => textsOf(source).filter((text) => text === '-').length > 1,
    problem: () => 'standard input (-) is given twice as a source, and can be read once only',
  },
  {
    names: ['refreshSeconds', 'source'],
    isOfCommand: true,
    isBroken: ({ refreshSeconds, source }) => Number(refreshSeconds) > 0 && textsOf(source).includes('-'),
    problem: (label) =>
      `${label('refreshSeconds')} cannot load standard input (-) again: it can be read once only`,
  },
  {
    names: ['staleSecondsMax', 'source'],
    isOfCommand: true,
    isBroken: ({ staleSecondsMax, source }) => staleSecondsMax !== undefined && textsOf(source).includes('-'),
    problem: (label) =>
      `${label('staleSecondsMax')} cannot hold for standard input (-), which is loaded once only: all answers would end after that time`,
  },
  {
    names: ['adminTokenFile', 'adminPort'],
    isBroken: ({ adminPort, adminTokenFile }) => adminTokenFile !== undefined && adminPort === undefined,
    problem: (label) => `${label('adminTokenFile')} has no effect without ${label('adminPort')}`,
  },
  {
    names: ['adminAllowedHosts', 'adminPort'],
    isBroken: ({ adminPort, adminAllowedHosts }) =>
      adminAllowedHosts !== undefined && adminPort === undefined,
    problem: (label) => `${label('adminAllowedHosts')} has no effect without ${label('adminPort')}`,
  },
  {
    names: ['adminHost', 'adminPort'],
    isBroken: ({ adminPort }, isGiven) => isGiven('adminHost') && adminPort === undefined,
    problem: (label) => `${label('adminHost')} has no effect without ${label('adminPort')}`,
  },
  {
    // Without a level, the command chooses one at which requests are logged.
    names: ['accessLog', 'logLevel'],
    isBroken: ({ accessLog, logLevel }) =>
      Number(accessLog) > 0 && logLevel !== undefined && logLevel !== 'info' && logLevel !== 'debug',
    problem: (label) =>
      `${label('accessLog')} has no effect with ${label('logLevel')} above info: requests are logged at info`,
  },
  {
    names: ['adminPort', 'port'],
    isBroken: ({ adminPort, port }) => adminPort === port && port !== 0,
    problem: (label) => `${label('adminPort')} and ${label('port')} are the same; expected two ports`,
  },
  {
    names: ['hs256Secret', 'hs256SecretFile'],
    isBroken: ({ hs256Secret, hs256SecretFile }) =>
      hs256Secret !== undefined && hs256SecretFile !== undefined,
    problem: (label) =>
      `the HS256 secret is given twice: as ${label('hs256Secret')}, and as ${label('hs256SecretFile')}; expected one of the two`,
  },
];

function isFetched(jwks: unknown): boolean {
  return typeof jwks === 'string' && isAddress(jwks);
}

/** The sources as texts; none where a program gave another kind. */
function textsOf(source: unknown): readonly string[] {
  const sources = [source].flat();
  return sources.every((each) => typeof each === 'string') ? (sources as readonly string[]) : [];
}
