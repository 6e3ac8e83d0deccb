/**
 * From the claims of a token, and the enrolment map, to the filters that select a user's own events.
 */
import { LecternError } from '../errors.js';
import { IDENTITY_VALUES_MAX } from '../limits.js';
import type { IdentifierMode } from '../model/event.js';
import { type Field, INDEXED_FIELDS, type IndexedFieldName } from '../model/fields.js';
import { parseIdentifier } from '../model/identifier.js';
import { compareCodePoints, normaliseText } from '../model/text.js';
import type { FieldFilter } from '../query/query.js';

/** One row: the claims whose values select on a field. */
export interface ClaimRow {
  readonly field: Field & { readonly name: IndexedFieldName };
  /** At least one. */
  readonly claims: readonly string[];
}

/** Which claims select on which field, in the order of the descriptor table. */
export type ClaimTable = readonly ClaimRow[];

/** What the enrolment map says of one user, by field; values canonical. */
export type Enrolment = Readonly<Partial<Record<IndexedFieldName, readonly string[]>>>;
/** By `sub`. */
export type Enrolments = ReadonlyMap<string, Enrolment>;

/**
 * The claim table of the descriptor table, with the claim names of some fields replaced.
 *
 * @param overrides claim names by field, as from `--claim studyGroup=groups`
 * @throws LecternError `option-invalid` for a field that cannot be selected on, or an empty claim name
 */
export function createClaimTable(overrides: Readonly<Record<string, readonly string[]>> = {}): ClaimTable {
  for (const [name, claims] of Object.entries(overrides)) {
    if (!INDEXED_FIELDS.some((field) => field.name === name)) {
      const known = INDEXED_FIELDS.map((field) => field.name).join(', ');
      throw new LecternError('option-invalid', `a claim cannot select on "${name}"; the fields are ${known}`);
    }
    if (claims.length === 0 || claims.includes('')) {
      throw new LecternError('option-invalid', `the claim that selects on ${name} has no name`);
    }
  }
  return INDEXED_FIELDS.map((field) => ({
    field,
    claims: Object.hasOwn(overrides, field.name) ? (overrides[field.name] ?? []) : field.claims,
  })).filter((row) => row.claims.length > 0);
}

/** The canonical form of a value, as a filter on the field has it; null where no event can have it. */
export function canonicalValue(value: string, field: Field, mode: IdentifierMode): string | null {
  if (field.kind === 'identifier') return parseIdentifier(value, mode);
  return value === '' ? null : normaliseText(value);
}

/**
 * The user's identities: a union of "field is one of values", in the order of the descriptor table, values sorted by
 * code point, without repeats, at most IDENTITY_VALUES_MAX in all (those beyond are cut).
 *
 * A claim counts where it is a string or an array that is empty or holds a string; members that are not strings are
 * skipped. A claim of any other type counts as absent: one odd claim should not shut out a user whose other claims
 * are good, and cannot widen what a user sees. Values that no event can have (an identifier that is not a UUID) are
 * dropped.
 *
 * @returns null where no claim counts and the enrolment map does not know the user: the request gets 403. An empty
 *   list where something counts but selects nothing: the user has no events.
 */
export function mapIdentities(
  claims: Readonly<Record<string, unknown>>,
  subject: string,
  options: { table: ClaimTable; enrolments: Enrolments | null; mode: IdentifierMode },
): readonly FieldFilter[] | null {
  const enrolment = options.enrolments?.get(subject);
  let mapped = enrolment !== undefined;
  const valuesByField = new Map<IndexedFieldName, Set<string>>();
  for (const { field, claims: names } of options.table) {
    for (const name of names) {
      const values = Object.hasOwn(claims, name) ? claimValues(claims[name]) : null;
      if (values === null) continue;
      mapped = true;
      addAll(valuesByField, field.name, canonicalValues(values, field, options.mode));
    }
  }
  if (enrolment !== undefined) {
    for (const field of INDEXED_FIELDS) addAll(valuesByField, field.name, enrolment[field.name] ?? []);
  }
  return mapped ? toFilters(valuesByField) : null;
}

/** What selects a user's events: values by field. */
export type IdentityValues = Readonly<Partial<Record<IndexedFieldName, string | readonly string[]>>>;

/**
 * Identities that an embedding program gives itself, in the form that {@link mapIdentities} gives them.
 *
 * @throws LecternError `option-invalid` for a field that is not indexed or values that are not texts: a mistake of the
 *   program, not of the user
 */
export function canonicalIdentities(
  given: IdentityValues | null,
  mode: IdentifierMode,
): readonly FieldFilter[] | null {
  if (given === null) return null;
  const valuesByField = new Map<IndexedFieldName, Set<string>>();
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    if (value === undefined) continue;
    const field = INDEXED_FIELDS.find((candidate) => candidate.name === name);
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (field === undefined || !values.every((each) => typeof each === 'string')) {
      const fields = INDEXED_FIELDS.map((candidate) => candidate.name).join(', ');
      throw new LecternError(
        'option-invalid',
        `an identity is texts for one of the fields ${fields}; got ${name}`,
      );
    }
    addAll(valuesByField, field.name, canonicalValues(values as string[], field, mode));
  }
  return toFilters(valuesByField);
}

/** Null: the claim counts as absent. */
function claimValues(claim: unknown): readonly string[] | null {
  if (typeof claim === 'string') return [claim];
  if (!Array.isArray(claim)) return null;
  const strings = claim.filter((member): member is string => typeof member === 'string');
  return strings.length > 0 || claim.length === 0 ? strings : null;
}

function canonicalValues(values: readonly string[], field: Field, mode: IdentifierMode): string[] {
  return values.map((value) => canonicalValue(value, field, mode)).filter((value) => value !== null);
}

function addAll(
  sets: Map<IndexedFieldName, Set<string>>,
  field: IndexedFieldName,
  values: readonly string[],
) {
  let set = sets.get(field);
  if (set === undefined) {
    set = new Set();
    sets.set(field, set);
  }
  for (const value of values) set.add(value);
}

function toFilters(sets: ReadonlyMap<IndexedFieldName, ReadonlySet<string>>): readonly FieldFilter[] {
  const filters: FieldFilter[] = [];
  let room = IDENTITY_VALUES_MAX;
  for (const field of INDEXED_FIELDS) {
    const values = [...(sets.get(field.name) ?? [])].sort(compareCodePoints).slice(0, room);
    room -= values.length;
    if (values.length > 0) filters.push({ field: field.name, values });
  }
  return filters;
}
