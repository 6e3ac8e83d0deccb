import type { ReadingSettings } from '../options/option-types.js';
import { databaseOptionsOf } from '../options/reading-settings.js';
import { hidePassword } from '../source/postgres/postgres-address.js';
import { parseSourceArgument, type SourceSpec, sourceOfSpec } from '../source/spec.js';
import { shellQuoted } from './propose-map.js';

/** The source of a command. */
export interface NamedSource {
  readonly spec: SourceSpec;
  /** For messages. */
  readonly name: string;
  /** Arguments that name the source again, without its password. */
  readonly args: readonly string[];
}

/** @throws LecternError `option-invalid` */
export function namedSource(text: string | readonly string[], reading: ReadingSettings): NamedSource {
  const spec = parseSourceArgument(text, { postgres: databaseOptionsOf(reading) });
  const { table, query } = reading;
  const args = [
    ...[text].flat().map((each) => shellQuoted(hidePassword(each))),
    ...(table === undefined ? [] : [`--table ${shellQuoted(table)}`]),
    ...(query === undefined ? [] : [`--query ${shellQuoted(query)}`]),
  ];
  return { spec, name: sourceOfSpec(spec).name, args };
}
