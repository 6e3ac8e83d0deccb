/** What settings must be beside each other. A setting that would silently have no effect is refused. */
import { isAddress } from '../auth/key-address.js';

/** Values by the names of their settings, each good by itself, defaults filled in. */
export type Values = Readonly<Record<string, unknown>>;

/** One rule. It is checked where all settings that its problem names can be given. */
export interface Rule {
  /** For rules of the command line only: programs may do it, or cannot. */
  readonly isOfCommand?: boolean;
  readonly isBroken: (values: Values, isGiven: (name: string) => boolean) => boolean;
  /** `{name}` stands for a setting, as its user knows it. */
  readonly problem: string;
}

/** Settings of a source. A pinned snapshot has none. */
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

/** The first of each pair has no effect without the second. */
const WITHOUT_EFFECT_ALONE = [
  ['snapshotFilesKept', 'snapshotFile'],
  ['adminTokenFile', 'adminPort'],
  ['adminAllowedHosts', 'adminPort'],
  ['adminHost', 'adminPort'],
] as const;

export const RULES: readonly Rule[] = [
  ...OF_FETCHED_KEYS.map(
    (name): Rule => ({
      isBroken: ({ jwks }, isGiven) => isGiven(name) && !isFetched(jwks),
      problem: `{${name}} has no effect, as {jwks} is not an http(s) address`,
    }),
  ),
  {
    isBroken: ({ jwks, jwksCooldownSeconds, jwksRefreshSeconds }) =>
      isFetched(jwks) && Number(jwksCooldownSeconds) > Number(jwksRefreshSeconds),
    problem: '{jwksCooldownSeconds} must not be more than {jwksRefreshSeconds}',
  },
  {
    isBroken: ({ jwks, jwksStaleSecondsMax, jwksRefreshSeconds }) =>
      isFetched(jwks) && Number(jwksStaleSecondsMax) < 2 * Number(jwksRefreshSeconds),
    problem: '{jwksStaleSecondsMax} must be at least twice {jwksRefreshSeconds}',
  },
  {
    // RFC 9068 section 4.
    isBroken: ({ tokenType, issuer, audience }) =>
      tokenType === 'at+jwt' && (issuer === undefined || audience === undefined),
    problem: '{tokenType} at+jwt needs {issuer} and {audience}: RFC 9068 requires both checks',
  },
  ...WITHOUT_EFFECT_ALONE.map(
    ([name, other]): Rule => ({
      isBroken: (values, isGiven) => isGiven(name) && values[other] === undefined,
      problem: `{${name}} has no effect without {${other}}`,
    }),
  ),
  {
    isBroken: ({ auth, identify }) => auth !== undefined && identify !== undefined,
    problem: 'handler() takes {auth} or {identify}, not both',
  },
  ...WITHOUT_EFFECT_ON_A_PIN.map(
    (name): Rule => ({
      isOfCommand: true,
      isBroken: ({ pin }, isGiven) => pin !== undefined && isGiven(name),
      problem: `{${name}} has no effect with {pin}, which asks no source`,
    }),
  ),
  {
    isBroken: ({ sourceHeaders, source }) =>
      sourceHeaders !== undefined && !textsOf(source).some((text) => /^https?:\/\//i.test(text)),
    problem: '{sourceHeaders} has no effect, as no source is an http(s) address',
  },
  {
    isOfCommand: true,
    isBroken: ({ source }) => textsOf(source).filter((text) => text === '-').length > 1,
    problem: 'standard input (-) is given twice as a source, and can be read once only',
  },
  {
    isOfCommand: true,
    isBroken: ({ refreshSeconds, source }) => Number(refreshSeconds) > 0 && textsOf(source).includes('-'),
    problem: '{refreshSeconds} cannot load standard input (-) again: it can be read once only',
  },
  {
    isOfCommand: true,
    isBroken: ({ staleSecondsMax, source }) => staleSecondsMax !== undefined && textsOf(source).includes('-'),
    problem:
      '{staleSecondsMax} cannot hold for standard input (-), which is loaded once only: all answers would end after that time',
  },
  {
    // Without a level, the command chooses one at which requests are logged.
    isBroken: ({ accessLog, logLevel }) =>
      Number(accessLog) > 0 && logLevel !== undefined && logLevel !== 'info' && logLevel !== 'debug',
    problem: '{accessLog} has no effect with {logLevel} above info: requests are logged at info',
  },
  {
    isBroken: ({ adminPort, port }) => adminPort === port && port !== 0,
    problem: '{adminPort} and {port} are the same; expected two ports',
  },
  {
    isBroken: ({ hs256Secret, hs256SecretFile }) =>
      hs256Secret !== undefined && hs256SecretFile !== undefined,
    problem:
      'the HS256 secret is given twice: as {hs256Secret}, and as {hs256SecretFile}; expected one of the two',
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
