import type { ReadRules } from '../base/model/read-rules.js';
import { isTimetableFile } from '../options/conditions.js';
import type { ReadingSettings, RuleOption, TimetableOptions } from '../options/option-types.js';
import { databaseOptionsOf, readRulesOf, ruleOptionsOf } from '../options/source-of-settings.js';
import { readTimetableFile } from '../options/timetable-file.js';
import { adviceOnSecrets, secretParameters } from '../source/http/call.js';
import { hidePassword } from '../source/postgres/postgres-address.js';
import type { RoomsSpec } from '../source/rooms-file.js';
import { liftRules, parseSourceArgument, type SourceSpec, sourceOfSpec } from '../source/spec.js';
import { writeError } from './faults.js';
import { shellQuoted } from './printable.js';

/** The source of a command, and how it is read. */
export interface ReadSource {
  readonly spec: SourceSpec;
  /** For messages. */
  readonly name: string;
  /** The paths and addresses, without passwords. */
  readonly from: readonly string[];
  /** Arguments that name the source again, without secrets. */
  readonly args: readonly string[];
  /** Sentences on the secrets that the arguments lack. */
  readonly hidden: readonly string[];
  readonly rules: ReadRules;
  /** For `openTimetable`. */
  readonly options: Pick<TimetableOptions, 'source' | 'timetable' | RuleOption>;
  /** Whether a timetable file says how the source is read. */
  readonly isOfFile: boolean;
  /** The rooms of a timetable file. */
  readonly rooms?: RoomsSpec | undefined;
}

/** A value of `--header` that names a variable or a file, and so holds no secret. */
const PLACE = /^(?:\S+ +)?(?:env|file):/;

/** The source and the rules of a command, or those of a timetable file. @throws LecternError `option-invalid` */
export async function readSource(
  text: string | readonly string[],
  reading: ReadingSettings,
): Promise<ReadSource> {
  const [path, ...others] = [text].flat();
  if (path !== undefined && others.length === 0 && isTimetableFile(path)) {
    const { source, rules: given, rooms, warnings } = await readTimetableFile(path);
    for (const warning of warnings) writeError(`warning: ${warning}`);
    const { spec, rules } = liftRules(source, given);
    return {
      ...{ spec, rules, rooms, name: path, isOfFile: true },
      options: { timetable: path },
      from: [path],
      args: [shellQuoted(path)],
      hidden: [],
    };
  }
  const { table, query, sourceHeaders = {} } = reading;
  const spec = parseSourceArgument(text, {
    environment: process.env,
    postgres: databaseOptionsOf(reading),
    headers: reading.sourceHeaders,
  });
  const texts = [text].flat();
  const shown = texts.map(hidePassword);
  const headers = Object.entries(sourceHeaders).map(([name, value]) => ({
    field: `${name}: ${PLACE.test(value) ? value : '…'}`,
    isHidden: !PLACE.test(value),
  }));
  const args = [
    ...shown.map((each) => shellQuoted(withoutSecrets(each))),
    ...headers.map(({ field }) => `--header ${shellQuoted(field)}`),
    ...Object.entries({ table, query }).flatMap(([flag, value]) =>
      value === undefined ? [] : [`--${flag} ${shellQuoted(value)}`],
    ),
  ];
  const hidden: string[] = [];
  if (shown.join() !== texts.join())
    hidden.push(
      'the password of the address is not shown: give it as PGPASSWORD, or in the file of PGPASSFILE',
    );
  const secrets = texts.flatMap(secretParameters);
  if (secrets.length > 0) hidden.push(`${adviceOnSecrets(secrets)}; here … stands for it`);
  if (headers.some(({ isHidden }) => isHidden))
    hidden.push(
      'values of --header are not shown: write them in place of the …, or as env:NAME or file:PATH',
    );
  return {
    ...{ spec, name: sourceOfSpec(spec).name, from: shown, args, hidden, isOfFile: false },
    rules: readRulesOf(reading),
    options: { source: spec, ...ruleOptionsOf(reading) },
  };
}

/** An address with … in place of the secrets of its query. */
function withoutSecrets(text: string): string {
  const isSecret = new Set(secretParameters(text));
  return text.replace(/(?<=[?&])([^=&#]*)=[^&#]*/g, (pair, name: string) => {
    const [[decoded = ''] = []] = [...new URLSearchParams(name)];
    return isSecret.has(decoded) ? `${name}=…` : pair;
  });
}
