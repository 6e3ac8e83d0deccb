/**
 * The enrolment map: a JSON file that says what each user is enrolled in, for issuers whose tokens do not.
 *
 *     { "alice": { "studyGroup": ["CS-1"], "courseId": ["2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417"] } }
 */
import { LecternError, type LecternErrorCode } from '../errors.js';
import { ENROLMENT_FILE_BYTES_MAX, IDENTITY_VALUES_MAX } from '../limits.js';
import type { IdentifierMode } from '../model/event.js';
import { INDEXED_FIELDS, type IndexedFieldName } from '../model/fields.js';
import { describeIdentifier } from '../model/identifier.js';
import { describeJsonFault } from '../model/json-fault.js';
import { canonicalValue, type Enrolment, type Enrolments } from './identity.js';
import { readTextFile } from './text-file.js';

/** Any fault refuses the whole map (`source-malformed`): a missing user would see an empty timetable. */
export async function readEnrolments(path: string, mode: IdentifierMode): Promise<Enrolments> {
  const name = `enrolment map ${path}`;
  const text = await readTextFile(path, {
    name,
    bytesMax: ENROLMENT_FILE_BYTES_MAX,
    code: 'source-unreadable',
  });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's message quotes the text around the fault.
    throw new LecternError('source-malformed', `${name} is not JSON: ${describeJsonFault(text)}`);
  }
  return parseEnrolments(json, mode, name, 'source-malformed');
}

class CheckedEnrolments extends Map<string, Enrolment> {}

/** @param given unchecked, or from {@link readEnrolments}. Throws LecternError `option-invalid`. */
export function enrolmentsOf(given: object, mode: IdentifierMode, name: string): Enrolments {
  return given instanceof CheckedEnrolments ? given : parseEnrolments(given, mode, name);
}

export function parseEnrolments(
  json: unknown,
  mode: IdentifierMode,
  name: string,
  code: LecternErrorCode = 'option-invalid',
): Enrolments {
  const fault = (message: string): LecternError => new LecternError(code, message);

  function parseEnrolment(entry: unknown, where: string): Enrolment {
    if (!isObject(entry)) throw fault(`${where}: not an object of the form {"studyGroup": ["…"]}`);
    const enrolment: Partial<Record<IndexedFieldName, readonly string[]>> = {};
    let count = 0;
    for (const [key, values] of Object.entries(entry)) {
      const field = INDEXED_FIELDS.find((f) => f.name === key);
      if (field === undefined) {
        const known = INDEXED_FIELDS.map((f) => f.name).join(', ');
        throw fault(`${where}: there is no field ${JSON.stringify(key)}; the fields are ${known}`);
      }
      if (!Array.isArray(values)) throw fault(`${where}: ${key} is not an array of strings`);
      enrolment[field.name] = values.map((value: unknown, i) => {
        const canonical = typeof value === 'string' ? canonicalValue(value, field, mode) : null;
        if (canonical !== null) return canonical;
        const wanted =
          field.kind === 'identifier' ? describeIdentifier(mode) : 'a non-empty, well-formed string';
        throw fault(`${where}: value ${i + 1} of ${key} is not ${wanted}`);
      });
      count += values.length;
    }
    if (count <= IDENTITY_VALUES_MAX) return enrolment;
    throw fault(`${where}: ${count} values; at most ${IDENTITY_VALUES_MAX} are allowed`);
  }

  if (!isObject(json)) throw fault(`${name} is not an object of the form {"user": {"studyGroup": ["…"]}}`);
  const enrolments = new CheckedEnrolments();
  for (const [subject, entry] of Object.entries(json)) {
    enrolments.set(subject, parseEnrolment(entry, `${name}, user ${JSON.stringify(subject)}`));
  }
  return enrolments;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
