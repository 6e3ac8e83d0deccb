import { LecternError } from '../base/errors.js';
import { readTextFile } from '../base/files/text-file.js';
import { describeJsonFault } from '../base/model/json-fault.js';

/**
 * @param name for messages
 * @param form of the object, such as `{"name": "identifier"}`
 * @throws LecternError `source-unreadable`; `source-malformed` if the value is not an object
 */
export async function readJsonObject(
  path: string,
  { name, form, bytesMax }: { name: string; form: string; bytesMax: number },
): Promise<Readonly<Record<string, unknown>>> {
  const text = await readSmallFile(path, { name, bytesMax });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const problem = `it is not JSON: ${describeJsonFault(text)}`;
    throw new LecternError('source-unreadable', `cannot read ${name}: ${problem}`, { cause });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new LecternError('source-malformed', `${name}: expected an object of the form ${form}`);
}

/** The text of a configuration file that belongs to a source. @throws LecternError `source-unreadable` */
export function readSmallFile(
  path: string,
  { name, bytesMax }: { readonly name: string; readonly bytesMax: number },
): Promise<string> {
  return readTextFile(path, { name, bytesMax, code: 'source-unreadable', isRegular: true });
}
