import type { ReadRules } from '../model/read-rules.js';
import { readFieldMap } from '../source/map-file.js';
import type { PostgresOptions } from '../source/postgres/postgres-spec.js';
import { parseSourceArgument, type SourceArgumentOptions } from '../source/spec.js';
import { isStoreAddress } from '../store/store-address.js';
import { isTimetableFile } from './conditions.js';
import type {
  PublisherSettings,
  ReadingSettings,
  Resolved,
  ResolvedSettings,
  RuleOption,
} from './option-types.js';

/** Reads the file of the field map. */
export async function withFieldMap<T extends ReadingSettings>(settings: T): Promise<T> {
  return { ...settings, fieldMap: await readFieldMap(settings) };
}

/** The source or the timetable file that the settings name. @throws LecternError `option-invalid` */
export function sourceOf(
  settings: PublisherSettings | ResolvedSettings,
): Pick<Resolved<'openTimetable'>, 'source' | 'timetable'> {
  const { source, sourceHeaders, lecturerIdsFile, pin } = settings;
  const clientCredentials = clientCredentialsOf(settings);
  // A pinned snapshot asks no source.
  if (pin !== undefined) return { source: [] };
  const texts = [source].flat();
  const [first] = texts;
  if (texts.length === 1 && typeof first === 'string') {
    if (isStoreAddress(first)) return { source: first };
    if (isTimetableFile(first)) return { timetable: first };
  }
  if (texts.length === 0 || !texts.every((each) => typeof each === 'string')) {
    return { source: source as Resolved<'openTimetable'>['source'] };
  }
  const spec = parseSourceArgument(texts as readonly string[], {
    environment: process.env,
    postgres: databaseOptionsOf(settings),
    ...(sourceHeaders === undefined ? {} : { headers: sourceHeaders }),
    ...(clientCredentials === undefined ? {} : { clientCredentials }),
    ...(lecturerIdsFile === undefined ? {} : { lecturerIds: lecturerIdsFile }),
  });
  return { source: spec };
}

/** The client credentials of the settings, whose completeness the rules of settings check. */
function clientCredentialsOf(
  settings: PublisherSettings | ResolvedSettings,
): SourceArgumentOptions['clientCredentials'] {
  const { upstreamTokenUrl: tokenUrl, upstreamClientId: clientId, upstreamScope: scope } = settings;
  const { upstreamClientSecret, upstreamClientSecretFile: file, upstreamTokenOrigin: origin } = settings;
  const clientSecret = file === undefined ? upstreamClientSecret : { file };
  if (tokenUrl === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  return { tokenUrl, clientId, clientSecret, scope, origin };
}

/** The options of reading, for `openTimetable`. */
export function ruleOptionsOf({
  identifiers,
  fieldMap,
  dateOrder,
  timeZone,
  encoding,
  calendarFrom,
  calendarTo,
}: Pick<Resolved<'openTimetable'>, RuleOption>): Pick<Resolved<'openTimetable'>, RuleOption> {
  return { identifiers, fieldMap, dateOrder, timeZone, encoding, calendarFrom, calendarTo };
}

export function readRulesOf(options: Pick<Resolved<'openTimetable'>, RuleOption>): ReadRules {
  const { calendarFrom: from, calendarTo: to, ...rules } = ruleOptionsOf(options);
  return { ...rules, from, to };
}

/** The database settings of sources. */
export function databaseOptionsOf({
  table,
  query,
  postgresPasswordFile,
  versionQuery,
  follow,
}: Partial<Omit<PostgresOptions, 'passwordFile'>> & {
  readonly postgresPasswordFile?: string | undefined;
}): PostgresOptions {
  return { table, query, passwordFile: postgresPasswordFile, versionQuery, follow };
}
