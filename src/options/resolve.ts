/** Rules between settings. Refuses settings without effect. */
import { isAddress } from '../auth/remote-keys.js';
import { LecternError } from '../errors.js';
import { suggest } from '../model/suggest.js';
import { isPostgresAddress } from '../source/postgres/postgres-address.js';
import { POSTGRES_RULES, type RowsSpec } from '../source/postgres/postgres-spec.js';
import { isStoreAddress } from '../store/store-address.js';
import type {
  PublisherSettings,
  ReadingSettings,
  Resolved,
  ResolvedSettings,
  ServiceOptions,
} from './option-types.js';
import { COMMAND_READING_SETTINGS } from './reading-settings.js';
import { type CommandName, isObject, type Place, type Setting, variableOf } from './setting.js';
import { settingsOf, settingsOfCommand } from './table.js';

/** Checked values and defaults, by the names of their settings. */
type Values = Readonly<Record<string, unknown>>;

type IsBroken = (values: Values, isGiven: (name: string) => boolean) => boolean;

/** Messages and their conditions. `{name}` is a setting. A place checks only rules about its own settings. */
type Rules = Readonly<Record<string, IsBroken>>;

const NOT_FOR_STORES = [
  'sourceHeaders',
  'fieldMap',
  'mapFile',
  'lecturerIdsFile',
  'dateOrder',
  'encoding',
  'calendarFrom',
  'calendarTo',
];

const MAKE_KEYS =
  'To make publisher.key for the publishers and publisher.pub for the replicas, run: lectern channel keys';

const RULES: Rules = {
  ...rulesOf(
    ['jwksRefreshSeconds'],
    (name) => `{${name}} has no effect, as {jwks} is not an http(s) address`,
    ({ jwks }) => !isFetched(jwks),
  ),
  '{calendarFrom} must be before {calendarTo}': ({ calendarFrom, calendarTo }) =>
    calendarFrom !== undefined && calendarTo !== undefined && String(calendarFrom) >= String(calendarTo),
  // RFC 9068 section 4.
  '{tokenType} at+jwt needs {issuer} and {audience}: RFC 9068 requires both checks': (values) =>
    values.tokenType === 'at+jwt' && (values.issuer === undefined || values.audience === undefined),
  'the HS256 secret is given twice: as {hs256Secret}, and as {hs256SecretFile}; expected one of the two': (
    values,
  ) => values.hs256Secret !== undefined && values.hs256SecretFile !== undefined,
  ...rulesOf(
    NOT_FOR_STORES,
    (name) => `{${name}} has no effect with a store as the source: its publisher reads the records`,
    ({ source }) => textsOf(source).some(isStoreAddress),
  ),
  ...rulesOf(
    ['publisherPublicKey', 'unsigned'],
    (name) => `{${name}} has no effect, as the source is not a store (nats://… or folder://…)`,
    ({ source, to, publishTo }) =>
      to === undefined && publishTo === undefined && !textsOf(source).some(isStoreAddress),
  ),
  [`{publisherPublicKey} is missing: a replica serves only what its publisher signed. ${MAKE_KEYS}; or, for a folder of your own account, give {unsigned}`]:
    ({ source, pin, publisherPublicKey, unsigned }) =>
      publisherPublicKey === undefined &&
      unsigned !== true &&
      pin === undefined &&
      textsOf(source).some(isStoreAddress),
  [`{publisherKey} is missing: announcements are signed. ${MAKE_KEYS}; or, for a folder of your own account, give {unsigned}`]:
    ({ publisherKey, unsigned }) => publisherKey === undefined && unsigned !== true,
  '{unsigned} and {publisherPublicKey} exclude each other: signatures are either checked, or not': (values) =>
    values.unsigned === true && values.publisherPublicKey !== undefined,
  '{unsigned} and {publisherKey} exclude each other: announcements are either signed, or not': (values) =>
    values.unsigned === true && values.publisherKey !== undefined,
};

/** Rules that apply only to programs. */
const PROGRAM_RULES: Rules = {
  'handler() takes {auth} or {identify}, not both': ({ auth, identify }) =>
    auth !== undefined && identify !== undefined,
  'handler() takes {feed} only with {auth}, which identifies the user': ({ auth, feed }) =>
    feed !== undefined && auth === undefined,
  '{publicUrl} has no effect without {feed}: there are no feeds': ({ publicUrl, feed }) =>
    publicUrl !== undefined && feed === undefined,
};

const OF_DATABASES = ['table', 'query', 'postgresPasswordFile', 'versionQuery', 'follow'];

/** Rules that apply only to the command line. */
const COMMAND_RULES: Rules = {
  ...rulesOf(
    ['adminTokenFile', 'adminAllowedHosts', 'adminHost'],
    (name) => `{${name}} has no effect without {adminPort}`,
    ({ adminPort }) => adminPort === undefined,
  ),
  ...rulesOf(
    [
      'sourceHeaders',
      'upstreamTokenUrl',
      'lecturerIdsFile',
      'table',
      'query',
      'postgresPasswordFile',
      'versionQuery',
      'follow',
      'fieldMap',
      'mapFile',
      'dateOrder',
      'encoding',
      'calendarFrom',
      'calendarTo',
      'refreshSeconds',
      'shrinkPercentMax',
      'rejectPercentMax',
      'memoryMbMax',
      'staleSecondsMax',
      'snapshotFile',
    ],
    (name) => `{${name}} has no effect with {pin}, which asks no source`,
    ({ pin }) => pin !== undefined,
  ),
  ...rulesOf(
    OF_DATABASES,
    (name) => `{${name}} has no effect, as no source is a PostgreSQL address (postgres://…)`,
    ({ source, pin }) => pin === undefined && !textsOf(source).some(isPostgresAddress),
  ),
  ...Object.fromEntries(
    Object.entries(POSTGRES_RULES).map(([problem, isBroken]): [string, IsBroken] => [
      problem,
      (values) =>
        textsOf(values.source).some(isPostgresAddress) &&
        isBroken(values as RowsSpec, values.follow === true),
    ]),
  ),
  '{follow} needs a table that is the only source; with several sources, give {refreshSeconds}': ({
    follow,
    source,
  }) => follow === true && textsOf(source).length > 1 && textsOf(source).some(isPostgresAddress),
  'no source is given; expected a file, a folder, an address, or {pin}': ({ source, pin }) =>
    pin === undefined && Array.isArray(source) && source.length === 0,
  '{pin} serves a snapshot file instead of a source: give one of the two': ({ pin, source }) =>
    pin !== undefined && textsOf(source).length > 0,
  'a store cannot be merged with other sources; expected one store': ({ source }) =>
    textsOf(source).length > 1 && textsOf(source).some(isStoreAddress),
  '{follow} has no effect with {watch} off': ({ follow, watch }) => follow === true && watch === false,
  '{versionQuery} has no effect with {follow}, which knows what changed': ({ versionQuery, follow }) =>
    follow === true && versionQuery !== undefined,
  '{follow} does not work with {lecturerIdsFile}': ({ follow, lecturerIdsFile }) =>
    follow === true && lecturerIdsFile !== undefined,
  'standard input (-) is given twice as a source, and can be read once only': ({ source }) =>
    textsOf(source).filter((text) => text === '-').length > 1,
  '{refreshSeconds} cannot load standard input (-) again: it can be read once only': (values) =>
    Number(values.refreshSeconds) > 0 && textsOf(values.source).includes('-'),
  '{staleSecondsMax} does not work with standard input (-): it is loaded once, so every answer would become 503 after that time':
    ({ staleSecondsMax, source }) => staleSecondsMax !== undefined && textsOf(source).includes('-'),
  // Without a level, the command chooses one at which requests are logged.
  '{accessLog} has no effect with {logLevel} above info: requests are logged at info': (values) =>
    Number(values.accessLog) > 0 &&
    !['info', 'debug', 'trace', undefined].includes(values.logLevel as string),
  '{adminPort} and {port} are the same; expected two ports': ({ adminPort, port }) =>
    adminPort === port && port !== 0,
  ...rulesOf(
    ['feedDays', 'feedRevocationsFile', 'publicUrl'],
    (name) => `{${name}} has no effect without {feedSecret} or {feedSecretFile}: there are no feeds`,
    ({ feedSecret, feedSecretFile }) => feedSecret === undefined && feedSecretFile === undefined,
  ),
  'the feed secret is given twice: as {feedSecret}, and as {feedSecretFile}; expected one of the two': ({
    feedSecret,
    feedSecretFile,
  }) => feedSecret !== undefined && feedSecretFile !== undefined,
  ...rulesOf(
    [
      'upstreamClientId',
      'upstreamClientSecret',
      'upstreamClientSecretFile',
      'upstreamScope',
      'upstreamTokenOrigin',
    ],
    (name) => `{${name}} has no effect without {upstreamTokenUrl}`,
    ({ upstreamTokenUrl }) => upstreamTokenUrl === undefined,
  ),
  '{upstreamTokenUrl} needs {upstreamClientId}, and one of {upstreamClientSecret} and {upstreamClientSecretFile}':
    ({ upstreamTokenUrl, upstreamClientId, upstreamClientSecret, upstreamClientSecretFile }) =>
      upstreamTokenUrl !== undefined &&
      (upstreamClientId === undefined ||
        (upstreamClientSecret === undefined) === (upstreamClientSecretFile === undefined)),
  '{upstreamTokenUrl} has no effect, as no source is an http(s) or webcal address': ({
    upstreamTokenUrl,
    source,
  }) =>
    upstreamTokenUrl !== undefined &&
    !textsOf(source).some((text) => /^(?:https?|webcals?):\/\//i.test(text)),
};

/** Warnings of the command line, in the form of rules. */
const COMMAND_WARNINGS: Rules = {
  // A timetable that never changes becomes stale, too.
  '{staleSecondsMax} without {refreshSeconds}: an unchanged source is not loaded again, so every answer becomes 503 after that time, until SIGHUP or POST /refresh':
    ({ staleSecondsMax, refreshSeconds, pin, source }) =>
      staleSecondsMax !== undefined &&
      refreshSeconds === 0 &&
      pin === undefined &&
      !textsOf(source).some(isStoreAddress),
};

/** One rule for each setting, which must not be given if `isVain`. */
function rulesOf(
  names: readonly string[],
  problemOf: (name: string) => string,
  isVain: (values: Values) => boolean,
): Rules {
  return Object.fromEntries(
    names.map((name) => [problemOf(name), (values, isGiven) => isGiven(name) && isVain(values)]),
  ) as Rules;
}

function isFetched(jwks: unknown): boolean {
  return typeof jwks === 'string' && isAddress(jwks);
}

/** The sources, if all are given as strings; otherwise empty. */
function textsOf(source: unknown): readonly string[] {
  const sources = [source].flat();
  return sources.every((each) => typeof each === 'string') ? (sources as readonly string[]) : [];
}

type Settings = ReadonlyMap<string, Setting>;

/** Objects of options that were already checked here, so that no value is checked twice. */
const checked = new WeakSet<object>();

/** How messages name the options of each place: its method, and a prefix. */
const TAKERS: Readonly<Record<Place, { readonly method: string; readonly prefix: string }>> = {
  openTimetable: { method: 'openTimetable()', prefix: '' },
  gate: { method: 'openTimetable({ gate })', prefix: 'gate.' },
  serve: { method: 'serve()', prefix: '' },
  handler: { method: 'handler()', prefix: '' },
  publish: { method: 'publishTimetable()', prefix: '' },
  auth: { method: 'auth', prefix: 'auth.' },
  feed: { method: 'feed', prefix: 'feed.' },
  admin: { method: 'serve({ admin })', prefix: 'admin.' },
};

/** The argument of commands that read a source. */
const SOURCE = settingsOfCommand('serve').get('source') as Setting;

/** A setting's name within the text of a rule. */
const NAMED = /\{(\w+)\}/g;

/** Checks the options of a program and fills in defaults. Throws LecternError `option-invalid`. */
export function resolveOptions<P extends Place>(place: P, options: unknown): Resolved<P> {
  const { method, prefix } = TAKERS[place];
  const settings = settingsOf(place);
  const names = [...settings.keys()];
  if (!isObject(options)) {
    const example = place === 'openTimetable' ? ", such as { source: 'events.ndjson' }" : '';
    throw invalid(`${method} takes an object of options${example}: ${names.join(', ')}`);
  }
  if (checked.has(options)) return options as Resolved<P>;
  const unknown = Object.keys(options).find((name) => !settings.has(name));
  if (unknown !== undefined) throw unknownOption(method, unknown, names);
  const labelOf = (name: string): string => prefix + name;
  const values = checkedValues(settings, options as Values, labelOf);
  checkRules({ ...RULES, ...PROGRAM_RULES }, settings, values, labelOf);
  checked.add(values);
  return values as Resolved<P>;
}

/**
 * Checks the settings of `lectern serve` and fills in defaults. Throws `option-invalid` for the first bad value, then for
 * all broken rules between settings. Opens no file.
 */
export function resolveSettings(options: ServiceOptions): ResolvedSettings {
  if (checked.has(options)) return options as ResolvedSettings;
  const values = resolveCommand('serve', options as unknown as Values);
  checked.add(values);
  return values as unknown as ResolvedSettings;
}

/**
 * One sentence for each combination of settings that `lectern serve` accepts, but that is probably a mistake.
 */
export function warningsOf(settings: ResolvedSettings): readonly string[] {
  return brokenRules(COMMAND_WARNINGS, settingsOfCommand('serve'), settings as unknown as Values);
}

/** Checks the settings of `lectern publish` like {@link resolveSettings}. */
export function resolvePublisher(given: Values): PublisherSettings {
  return resolveCommand('publish', given) as unknown as PublisherSettings;
}

function resolveCommand(command: CommandName, given: Values): Values {
  const settings = settingsOfCommand(command);
  const values = checkedValues(settings, given);
  checkRules({ ...RULES, ...COMMAND_RULES }, settings, values);
  return values;
}

/** Checks the settings of commands that read a source, and the rules between them. Throws LecternError `option-invalid`. */
export function resolveReading(given: Values): ReadingSettings {
  const settings = new Map([SOURCE, ...COMMAND_READING_SETTINGS].map((setting) => [setting.name, setting]));
  const values = checkedValues(settings, given);
  checkRules({ ...RULES, ...COMMAND_RULES }, settings, values);
  return values as ReadingSettings;
}

/** Throws LecternError `option-invalid`. The message repeats the value, unless it may be a secret. */
export function checkValue(setting: Setting, value: unknown, label: string = labelOf(setting)): void {
  const fault = value === undefined ? null : setting.kind.fault(value);
  if (fault === null) return;
  throw invalid(
    setting.isSecret === true || value === null || typeof value === 'object'
      ? `${label} is invalid: ${fault}`
      : `${label} is ${typeof value === 'string' ? JSON.stringify(value) : String(value)}: ${fault}`,
  );
}

/** A good value of a setting, or the default. */
export function valueOrDefault<T>(name: string, value: unknown, usual: T): T {
  const setting = settingsOfCommand('serve').get(name);
  return value === undefined || setting?.kind.fault(value) !== null ? usual : (value as T);
}

/** Collects the options of one place from the settings, and adds other options. */
export function optionsOf<P extends Place>(
  place: P,
  settings: ResolvedSettings | PublisherSettings,
  more: Partial<Resolved<P>> = {},
): Resolved<P> {
  const values = settings as unknown as Values;
  const given = [...settingsOf(place)].map(([name, setting]) => [name, values[setting.name]]);
  const options = { ...Object.fromEntries(given), ...more };
  checked.add(options);
  return options;
}

function checkedValues(settings: Settings, given: Values, label?: (name: string) => string): Values {
  const values: Record<string, unknown> = {};
  for (const [name, setting] of settings) {
    const value = given[name] === undefined ? setting.default : given[name];
    if (value === undefined) {
      if (setting.isRequired === true) throw invalid(`${label?.(name) ?? labelOf(setting)} is missing`);
      continue;
    }
    checkValue(setting, value, label?.(name));
    values[name] = value;
  }
  return values;
}

type LabelOf = (name: string) => string;

function checkRules(rules: Rules, settings: Settings, values: Values, label?: LabelOf): void {
  const broken = brokenRules(rules, settings, values, label);
  if (broken.length > 0) throw invalid(broken.join('; '));
}

function brokenRules(
  rules: Rules,
  settings: Settings,
  values: Values,
  label: LabelOf = (name) => shortLabelOf(settings.get(name) as Setting),
): readonly string[] {
  // Rules ignore settings at their default.
  const isGiven = (name: string): boolean =>
    values[name] !== undefined && values[name] !== settings.get(name)?.default;
  return Object.entries(rules)
    .filter(([problem]) => [...problem.matchAll(NAMED)].every(([, name = '']) => settings.has(name)))
    .filter(([, isBroken]) => isBroken(values, isGiven))
    .map(([problem]) => problem.replace(NAMED, (_, name) => label(name)));
}

/** `--port (LECTERN_PORT)`, or the only name if the setting has one name. */
function labelOf(setting: Setting): string {
  const label = shortLabelOf(setting);
  const variable = variableOf(setting);
  return label === setting.flag && variable !== undefined ? `${label} (${variable})` : label;
}

function shortLabelOf(setting: Setting): string {
  const { name, flag, isEnvironmentOnly } = setting;
  return (isEnvironmentOnly === true ? variableOf(setting) : flag) ?? name;
}

/** The fault of an unknown option. Ignoring a misspelt `auth` or `issuer` would accept every request. */
function unknownOption(method: string, name: string, names: readonly string[]): LecternError {
  const near = suggest(name, names);
  const hint = near === null ? `its options are ${names.join(', ')}` : `did you mean ${near}?`;
  return invalid(`${method} has no option ${JSON.stringify(name)}: ${hint}`);
}

function invalid(message: string): LecternError {
  return new LecternError('option-invalid', message);
}
