import type { ReadRules } from '../base/model/read-rules.js';
import type { PostgresOptions } from '../source/postgres/postgres-address.js';
import { parseSourceArgument } from '../source/spec.js';
import { isStoreAddress } from '../store/store-address.js';
import { isTimetableFile } from './conditions.js';
import type { PublisherSettings, Resolved, ResolvedSettings, RuleOption } from './option-types.js';

/** The source or the timetable file that the settings name. @throws LecternError `option-invalid` */
export function sourceOf(
  settings: PublisherSettings | ResolvedSettings,
): Pick<Resolved<'openTimetable'>, 'source' | 'timetable'> {
  const { source, sourceHeaders, pin } = settings;
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
  });
  return { source: spec };
}

/** The options of reading, for `openTimetable`. */
export function ruleOptionsOf({
  identifiers,
  fieldMap,
  dateOrder,
  timeZone,
  calendarFrom,
  calendarTo,
}: Pick<Resolved<'openTimetable'>, RuleOption>): Pick<Resolved<'openTimetable'>, RuleOption> {
  return { identifiers, fieldMap, dateOrder, timeZone, calendarFrom, calendarTo };
}

export function readRulesOf(options: Pick<Resolved<'openTimetable'>, RuleOption>): ReadRules {
  const { calendarFrom: from, calendarTo: to, ...rules } = ruleOptionsOf(options);
  return { ...rules, from, to };
}

/** The database settings of sources. */
export function databaseOptionsOf({ table, query, follow }: PostgresOptions): PostgresOptions {
  return { table, query, follow };
}
