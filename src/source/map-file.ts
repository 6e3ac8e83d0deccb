import { LecternError } from '../errors.js';
import { MAP_FILE_BYTES_MAX } from '../limits.js';
import type { FieldMap } from '../model/read-rules.js';
import { fieldMapFault } from './field-map.js';
import { readJsonObject } from './json-file.js';
import { preparePatterns } from './map-value.js';

/** The entries of the command line and of a file; the command line wins. */
export async function readFieldMap({
  mapFile,
  fieldMap,
}: {
  readonly mapFile?: string | undefined;
  readonly fieldMap?: FieldMap | undefined;
}): Promise<FieldMap | undefined> {
  if (mapFile === undefined) return fieldMap;
  const name = `the field map ${mapFile}`;
  const form = '{"field": "column"}';
  const given = (await readJsonObject(mapFile, { name, form, bytesMax: MAP_FILE_BYTES_MAX })) as FieldMap;
  await preparePatterns(given);
  const fault = fieldMapFault(given);
  if (fault !== null) throw new LecternError('option-invalid', `${name} is invalid: ${fault}`);
  return { ...given, ...fieldMap };
}
