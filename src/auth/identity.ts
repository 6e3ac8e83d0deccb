/**
 * Makes filters for a user's own events from token claims and from the enrolment map, which adds to the
 * claims. The map is a JSON file:
 *
 *     { "alice": { "studyGroup": ["CS-1"], "courseId": ["2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417"] } }
 */

import { LecternError, type LecternErrorCode } from '../base/errors.js';
import { IDENTITY_VALUES_MAX } from '../base/limits.js';
import type { IdentifierMode } from '../base/model/event.js';
import {
  type Field,
  type FieldFilter,
  IDENTITY_FIELDS,
  type IdentityFieldName,
} from '../base/model/fields.js';
import { describeIdentifier, parseIdentifier } from '../base/model/identifier.js';
import { compareCodePoints, normaliseText, quoteEscaped } from '../base/model/text.js';

const FIELD_NAMES: readonly string[] = IDENTITY_FIELDS.map((field) => field.name);

/** The names of the claims, at least one, whose values select events by a field. */
export interface ClaimRow {
  readonly field: Field & { readonly name: IdentityFieldName };
  readonly claims: readonly string[];
}

/** Sorted in the order of the descriptor table. */
export type ClaimTable = readonly ClaimRow[];

/** Canonical values of one user by field. */
type Enrolment = Readonly<Partial<Record<IdentityFieldName, readonly string[]>>>;
/** Enrolments by `sub`. */
export type Enrolments = ReadonlyMap<string, Enrolment>;

/** The fault of an object of claims by field; null for a valid one. The table of settings makes this check. */
export function claimsFault(overrides: object): string | null {
  for (const [name, claims] of Object.entries(overrides) as [string, unknown][]) {
    if (!FIELD_NAMES.includes(name))
      return `a claim cannot select on "${name}"; the fields are ${FIELD_NAMES.join(', ')}`;
    const isList = Array.isArray(claims) && claims.length > 0;
    if (!isList || !claims.every((claim) => typeof claim === 'string' && claim !== ''))
      return `${name} must have a list of names of claims, such as ["groups"]`;
  }
  return null;
}

/** @param overrides names of claims by field, which replace the names in the descriptor table */
export function createClaimTable(overrides: Readonly<Record<string, readonly string[]>> = {}): ClaimTable {
  const own = new Map(Object.entries(overrides));
  return IDENTITY_FIELDS.map((field) => ({ field, claims: own.get(field.name) ?? field.claims })).filter(
    (row) => row.claims.length > 0,
  );
}

/** Null for values that events cannot have. */
export function canonicalValue(value: string, field: ClaimRow['field'], mode: IdentifierMode): string | null {
  if (field.kind === 'identifier') return parseIdentifier(value, mode, field.name);
  return value === '' ? null : normaliseText(value);
}

/**
 * A union of clauses "field is one of values", with at most IDENTITY_VALUES_MAX values. A claim that is
 * neither a text nor a list of texts counts as absent: one odd claim must not lock out a user.
 *
 * @returns null without any claim or enrolment: the request gets 403
 */
export function mapIdentities(
  claims: Readonly<Record<string, unknown>>,
  subject: string,
  options: { table: ClaimTable; enrolments: Enrolments | null; mode: IdentifierMode },
): readonly FieldFilter[] | null {
  const enrolment = options.enrolments?.get(subject);
  let isMapped = enrolment !== undefined;
  const filters = toFilters((field) => {
    const found = [...(enrolment?.[field.name] ?? [])];
    for (const name of options.table.find((row) => row.field.name === field.name)?.claims ?? []) {
      const values = Object.hasOwn(claims, name) ? claimValues(claims[name]) : null;
      if (values === null) continue;
      isMapped = true;
      found.push(...canonicalValues(values, field, options.mode));
    }
    return found;
  });
  return isMapped ? filters : null;
}

/**
 * The identities of a personal feed: identities from the claims at its creation, and from the present
 * enrolments.
 */
export function feedIdentities(
  claimed: readonly FieldFilter[],
  subject: string,
  { enrolments, mode }: { enrolments: Enrolments | null; mode: IdentifierMode },
): readonly FieldFilter[] {
  const enrolment = enrolments?.get(subject);
  return toFilters((field) => {
    const values = claimed.find((filter) => filter.field === field.name)?.values ?? [];
    return [...(enrolment?.[field.name] ?? []), ...canonicalValues(values, field, mode)];
  });
}

/** A user's identities: values by field. */
export type IdentityValues = Readonly<Partial<Record<IdentityFieldName, string | readonly string[]>>>;

/** Identities that an embedding program provides. Throws LecternError `option-invalid`. */
export function canonicalIdentities(
  given: IdentityValues | null,
  mode: IdentifierMode,
): readonly FieldFilter[] | null {
  if (given === null) return null;
  const byName = new Map<string, string[]>();
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    if (value === undefined) continue;
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (!FIELD_NAMES.includes(name) || !values.every((each) => typeof each === 'string')) {
      const expected = `expected texts for the fields ${FIELD_NAMES.join(', ')}`;
      throw new LecternError('option-invalid', `the field ${name} of an identity is not valid; ${expected}`);
    }
    byName.set(name, values as string[]);
  }
  return toFilters((field) => canonicalValues(byName.get(field.name) ?? [], field, mode));
}

/** The values of a claim; null if it counts as absent. Members that are not strings are skipped. */
function claimValues(claim: unknown): readonly string[] | null {
  if (typeof claim === 'string') return [claim];
  if (!Array.isArray(claim)) return null;
  const strings = claim.filter((member): member is string => typeof member === 'string');
  return strings.length > 0 || claim.length === 0 ? strings : null;
}

function canonicalValues(
  values: readonly string[],
  field: ClaimRow['field'],
  mode: IdentifierMode,
): string[] {
  return values.map((value) => canonicalValue(value, field, mode)).filter((value) => value !== null);
}

/** Sorted in the order of the descriptor table; values by code point, without repeats. */
function toFilters(valuesOf: (field: ClaimRow['field']) => readonly string[]): readonly FieldFilter[] {
  const filters: FieldFilter[] = [];
  let room = IDENTITY_VALUES_MAX;
  for (const field of IDENTITY_FIELDS) {
    const values = [...new Set(valuesOf(field))].sort(compareCodePoints).slice(0, room);
    room -= values.length;
    if (values.length > 0) filters.push({ field: field.name, values });
  }
  return filters;
}

/**
 * One fault makes the whole map invalid: without their entry, users would see an empty timetable. No message names a
 * subject.
 */
export function parseEnrolments(
  json: unknown,
  mode: IdentifierMode,
  name: string,
  code: LecternErrorCode = 'option-invalid',
): Enrolments {
  const fault = (message: string): LecternError => new LecternError(code, message);

  function parseEnrolment(entry: unknown, where: string): Enrolment {
    if (!isObject(entry)) throw fault(`${where}: not an object of the form {"studyGroup": ["…"]}`);
    const enrolment: Partial<Record<IdentityFieldName, readonly string[]>> = {};
    let count = 0;
    for (const [key, values] of Object.entries(entry)) {
      const field = IDENTITY_FIELDS.find((f) => f.name === key);
      if (field === undefined) {
        const known = IDENTITY_FIELDS.map((f) => f.name).join(', ');
        throw fault(`${where}: the field ${quoteEscaped(key)} does not exist; the fields are ${known}`);
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
  const enrolments = new Map<string, Enrolment>();
  for (const [n, [subject, entry]] of Object.entries(json).entries()) {
    enrolments.set(subject, parseEnrolment(entry, `${name}, entry ${n + 1}`));
  }
  return enrolments;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
