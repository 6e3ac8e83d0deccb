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
  /** Arguments that name the source again, without passwords and values of header fields. */
  readonly args: readonly string[];
}

/** @throws LecternError `option-invalid` */
export function namedSource(text: string | readonly string[], reading: ReadingSettings): NamedSource {
  const { table, query, sourceHeaders } = reading;
  const spec = parseSourceArgument(text, {
    environment: process.env,
    postgres: databaseOptionsOf(reading),
    headers: sourceHeaders,
  });
  const args = [
    ...[text].flat().map((each) => shellQuoted(hidePassword(each))),
    ...Object.keys(sourceHeaders ?? {}).map((name) => `--header ${shellQuoted(`${name}: …`)}`),
    ...(table === undefined ? [] : [`--table ${shellQuoted(table)}`]),
    ...(query === undefined ? [] : [`--query ${shellQuoted(query)}`]),
  ];
  return { spec, name: sourceOfSpec(spec).name, args };
}
