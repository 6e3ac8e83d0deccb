/**
 * Generated requests. A recipe chooses values and boundaries by number, so that one generator serves every
 * event set. Resolving it against a set gives the parameters to send, their meaning, and the expected faults.
 */
import fc from 'fast-check';
import type { ParameterFaultCode } from '../../src/base/errors.js';
import type { IdentifierMode, NormalisedEvent } from '../../src/base/model/event.js';
import {
  CONFLICT_DIMENSIONS,
  type ConflictBy,
  PARAMETER_FIELDS,
  type ParameterFieldName,
} from '../../src/base/model/fields.js';
import { INSTANT_MS_MAX, INSTANT_MS_MIN } from '../../src/base/model/time.js';
import type { OracleFilter, OracleQuery } from '../oracle/schedule.js';

export interface FilterRecipe {
  readonly field: ParameterFieldName;
  readonly picks: readonly number[];
  /** Adds a well-formed value that no event has. */
  readonly unknown: boolean;
  /** Leaves the values out. */
  readonly excludes: boolean;
}

interface EdgeRecipe {
  readonly pick: number;
  readonly deltaMs: number;
}

export interface Recipe {
  readonly filters: readonly FilterRecipe[];
  readonly start: EdgeRecipe | null;
  /** A separate boundary, or a number of milliseconds after the start. */
  readonly end: EdgeRecipe | { readonly lengthMs: number } | null;
  /** Chooses among equivalent spellings of a request. */
  readonly spelling: number;
}

const HOUR_MS = 3_600_000;
const edge: fc.Arbitrary<EdgeRecipe> = fc.record({
  pick: fc.nat(1_000_000),
  deltaMs: fc.constantFrom(-1, 0, 0, 1),
});
const length = fc
  .constantFrom(1, 2, HOUR_MS, 24 * HOUR_MS, 7 * 24 * HOUR_MS)
  .map((lengthMs) => ({ lengthMs }));

const ALL_FIELDS = PARAMETER_FIELDS.map((field) => field.name);

export const recipes: fc.Arbitrary<Recipe> = fc.record({
  filters: fc.uniqueArray(
    fc.record({
      field: fc.constantFrom(...ALL_FIELDS),
      picks: fc.oneof(
        { arbitrary: fc.tuple(fc.nat(1_000_000)), weight: 5 },
        { arbitrary: fc.array(fc.nat(1_000_000), { minLength: 2, maxLength: 5 }), weight: 2 },
        { arbitrary: fc.constant<number[]>([]), weight: 1 },
      ),
      unknown: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
      excludes: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
    }),
    { selector: ({ field, excludes }) => `${field} ${excludes}`, maxLength: 3 },
  ),
  start: fc.option(edge, { freq: 2 }),
  end: fc.option(fc.oneof(edge, length), { freq: 2 }),
  spelling: fc.nat(1_000_000),
});

/** The values and boundaries of a data set. */
export interface Universe {
  readonly identifiers: IdentifierMode;
  readonly values: ReadonlyMap<ParameterFieldName, readonly string[]>;
  /** Every start and end, distinct and ascending. */
  readonly boundariesMs: readonly number[];
}

export function universeOf(events: readonly NormalisedEvent[], identifiers: IdentifierMode): Universe {
  const values = new Map<ParameterFieldName, string[]>();
  for (const field of ALL_FIELDS) {
    const distinct = new Set(events.map((event) => event[field]).filter((value) => value !== null));
    values.set(field, [...distinct]);
  }
  const boundaries = new Set(events.flatMap((event) => [event.time, event.endTime]));
  return { identifiers, values, boundariesMs: [...boundaries].sort((a, b) => a - b) };
}

export interface ExpectedFault {
  /** Null if any of several parameters may be named. */
  readonly parameter: string | null;
  readonly code: ParameterFaultCode;
}

export interface GeneratedRequest {
  readonly pairs: readonly (readonly [string, string])[];
  readonly query: OracleQuery;
  readonly faults: readonly ExpectedFault[];
}

export function requestOf(recipe: Recipe, universe: Universe): GeneratedRequest {
  const pairs: [string, string][] = [];
  const filters: OracleFilter[] = [];
  const faults: ExpectedFault[] = [];
  let spelling = recipe.spelling;
  for (const filter of recipe.filters) {
    const known = universe.values.get(filter.field) ?? [];
    const values = known.length === 0 ? [] : filter.picks.map((pick) => known[pick % known.length] as string);
    if (values.length === 0 || filter.unknown) values.push(unknownValueOf(filter.field, universe));
    filters.push({ field: filter.field, values, isExcluding: filter.excludes });
    const name = filter.excludes ? `${filter.field}!` : filter.field;
    for (const value of values) pairs.push([name, spell(filter.field, value, spelling++, universe)]);
  }
  const startMs = recipe.start === null ? null : edgeOf(recipe.start, universe);
  let endMs: number | null = null;
  if (recipe.end !== null) {
    if (!('lengthMs' in recipe.end)) endMs = edgeOf(recipe.end, universe);
    else if (startMs !== null) endMs = Math.min(startMs + recipe.end.lengthMs, INSTANT_MS_MAX);
  }
  if (startMs !== null) pairs.push(['startTime', spellInstant(startMs, spelling++)]);
  if (endMs !== null) pairs.push(['endTime', spellInstant(endMs, spelling++)]);
  if (startMs !== null && endMs !== null && endMs <= startMs) {
    faults.push({ parameter: null, code: 'empty-window' });
  }
  if (recipe.spelling % 3 === 1) pairs.reverse();
  return { pairs, query: { filters, startMs, endMs }, faults };
}

function edgeOf(recipe: EdgeRecipe, universe: Universe): number {
  const boundaries = universe.boundariesMs;
  const boundary = boundaries[recipe.pick % Math.max(boundaries.length, 1)] ?? Date.UTC(2024, 8, 2);
  return Math.min(Math.max(boundary + recipe.deltaMs, INSTANT_MS_MIN), INSTANT_MS_MAX);
}

function kindOf(name: ParameterFieldName): string | undefined {
  return PARAMETER_FIELDS.find((field) => field.name === name)?.kind;
}

function unknownValueOf(name: ParameterFieldName, universe: Universe): string {
  const isUuid = kindOf(name) === 'identifier' && universe.identifiers === 'uuid';
  return isUuid ? '11111111-1111-4111-8111-111111111111' : 'no such value';
}

/** Another spelling of the same value: UUIDs in upper case, text decomposed. */
function spell(name: ParameterFieldName, value: string, spelling: number, universe: Universe): string {
  if (spelling % 2 === 0) return value;
  if (kindOf(name) === 'text') return value.normalize('NFD');
  return universe.identifiers === 'uuid' ? value.toUpperCase() : value;
}

const OFFSETS = [
  { text: '+02:00', minutes: 120 },
  // A "+" that arrived as a space.
  { text: ' 05:30', minutes: 330 },
  { text: '-08:00', minutes: -480 },
];

/** Another spelling of the same instant, in RFC 3339. */
export function spellInstant(instantMs: number, spelling: number): string {
  const text = new Date(instantMs).toISOString();
  const way = spelling % 7;
  if (way === 0) return text.replace('.000Z', 'Z');
  if (way === 1) return text.toLowerCase();
  if (way === 2) return text.replace('Z', '999Z');
  const offset = OFFSETS[way - 3];
  if (offset === undefined) return text;
  const localMs = instantMs + offset.minutes * 60_000;
  if (localMs < INSTANT_MS_MIN || localMs > INSTANT_MS_MAX) return text;
  return new Date(localMs).toISOString().replace('Z', offset.text);
}

export interface ConflictRecipe {
  readonly by: readonly ConflictBy[];
  readonly merge: 'true' | 'false' | null;
}

export const conflictRecipes: fc.Arbitrary<ConflictRecipe> = fc.record({
  by: fc.array(fc.constantFrom(...CONFLICT_DIMENSIONS.map((dimension) => dimension.by)), { maxLength: 3 }),
  merge: fc.constantFrom(null, null, 'true' as const, 'false' as const),
});

/** The parameters of a conflict recipe; without `by`, all three kinds. */
export function conflictPairsOf(recipe: ConflictRecipe): (readonly [string, string])[] {
  const pairs = recipe.by.map((by) => ['by', by] as const);
  return recipe.merge === null ? pairs : [...pairs, ['merge', recipe.merge] as const];
}

export function selectedKinds(recipe: ConflictRecipe): readonly ConflictBy[] {
  return recipe.by.length === 0 ? CONFLICT_DIMENSIONS.map((dimension) => dimension.by) : recipe.by;
}
