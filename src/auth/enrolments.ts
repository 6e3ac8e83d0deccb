/**
 * The enrolment map: a JSON file that says what each user is enrolled in, for issuers whose tokens do not.
 *
 *     { "alice": { "studyGroup": ["CS-1"], "courseId": ["2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417"] } }
 */
import { LecternError } from '../errors.js';
import { ENROLMENT_FILE_BYTES_MAX, IDENTITY_VALUES_MAX } from '../limits.js';
import type { IdentifierMode } from '../model/event.js';
import { INDEXED_FIELDS, type IndexedFieldName } from '../model/fields.js';
import { describeIdentifier } from '../model/identifier.js';
import { describeJsonFault } from '../model/json-fault.js';
import { canonicalValue, type Enrolment, type Enrolments } from './identity.js';
import { readTextFile } from './text-file.js';

/**
 * Reads an enrolment map, `sub → { field: [value, …] }`, UTF-8 JSON of at most ENROLMENT_FILE_BYTES_MAX.
 *
 * @throws LecternError `source-unreadable` where the file cannot be read, `source-malformed` with the place, or the user and
 *   field, at fault. A map with a fault is refused whole: to leave out part of what a user is enrolled in would look like an
 *   empty timetable.
 */
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
    // Not the parser's own message, which quotes the text around the fault.
    throw new LecternError('source-malformed', `${name} is not JSON: ${describeJsonFault(text)}`);
  }
  try {
    return parseEnrolments(json, mode, name);
  } catch (error) {
    // It is not the option that is wrong, but what is in the file.
    if (!(error instanceof LecternError)) throw error;
    throw new LecternError('source-malformed', error.message);
  }
}

/** Enrolments that were read and checked. */
class CheckedEnrolments extends Map<string, Enrolment> {}

/** What a program gives: an object to be checked, or what {@link readEnrolments} has read. Throws `option-invalid`. */
export function enrolmentsOf(given: object, mode: IdentifierMode, name: string): Enrolments {
  return given instanceof CheckedEnrolments ? given : parseEnrolments(given, mode, name);
}

/** The same from a parsed document; `name` is for messages. Throws `option-invalid`. */
export function parseEnrolments(json: unknown, mode: IdentifierMode, name: string): Enrolments {
  if (!isObject(json)) {
    throw invalid(`${name} is not an object of the form {"user": {"studyGroup": ["…"]}}`);
  }
  const enrolments = new CheckedEnrolments();
  for (const [subject, entry] of Object.entries(json)) {
    enrolments.set(subject, parseEnrolment(entry, mode, `${name}, user ${JSON.stringify(subject)}`));
  }
  return enrolments;
}

function parseEnrolment(entry: unknown, mode: IdentifierMode, where: string): Enrolment {
  if (!isObject(entry)) throw invalid(`${where}: not an object of the form {"studyGroup": ["…"]}`);
  const enrolment: Partial<Record<IndexedFieldName, readonly string[]>> = {};
  let count = 0;
  for (const [name, values] of Object.entries(entry)) {
    const field = INDEXED_FIELDS.find((f) => f.name === name);
    if (field === undefined) {
      const known = INDEXED_FIELDS.map((f) => f.name).join(', ');
      throw invalid(`${where}: there is no field ${JSON.stringify(name)}; the fields are ${known}`);
    }
    if (!Array.isArray(values)) throw invalid(`${where}: ${name} is not an array of strings`);
    enrolment[field.name] = values.map((value: unknown, i) => {
      const canonical = typeof value === 'string' ? canonicalValue(value, field, mode) : null;
      if (canonical !== null) return canonical;
      const wanted =
        field.kind === 'identifier' ? describeIdentifier(mode) : 'a non-empty, well-formed string';
      throw invalid(`${where}: value ${i + 1} of ${name} is not ${wanted}`);
    });
    count += values.length;
  }
  if (count > IDENTITY_VALUES_MAX) {
    throw invalid(`${where}: ${count} values; at most ${IDENTITY_VALUES_MAX} are allowed`);
  }
  return enrolment;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(message: string): LecternError {
  return new LecternError('option-invalid', message);
}
