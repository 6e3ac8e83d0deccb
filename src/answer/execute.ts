/**
 * Turns parameters into a plan and into event numbers. This half of the folder makes no bytes and knows
 * nothing of HTTP.
 */

import { sortUnique } from '../base/structures/ordinal-set.js';
import { results } from '../base/structures/slabs.js';
import type { FieldIndex, Snapshot } from '../snapshot/snapshot.js';
import { type Narrowing, narrowLists } from './narrow.js';
import type { Clause, Plan } from './plan.js';
import { ordinalsOf, type Picks, Selection } from './selection.js';
import type { WindowOrdinals } from './window.js';

/** Above this number, posting lists are united by sorting instead of merging. */
const MERGED_LISTS_MAX = 8;
/** Above this number, codes are looked up in a bitmap instead of a Set. */
const SET_CODES_MAX = 16;
/** Larger results do not record their origin and bypass the row cache. */
const ORIGIN_ENTRIES_MAX = 4096;

export function executePlan(snapshot: Snapshot, plan: Plan): Selection {
  const { lead, window, checks } = plan;
  if (lead.kind === 'nothing') return Selection.ofRuns(new Uint32Array(0));
  if (lead.kind === 'runs') {
    const { runs, count } = window.all;
    return checks.length === 0
      ? Selection.ofRuns(runs)
      : filterRuns(runs, count, checkerOf(snapshot, checks));
  }
  const candidates = narrowedPostings(snapshot, lead.narrowing, window);
  return checks.length === 0 ? candidates : filterSelection(candidates, checkerOf(snapshot, checks));
}

function narrowedPostings(snapshot: Snapshot, narrowing: Narrowing, window: WindowOrdinals): Selection {
  const parts = narrowLists(snapshot, window, narrowing);
  const only = parts.length === 1 ? parts[0] : undefined;
  if (only !== undefined) return Selection.ofPicks(only);
  let count = 0;
  for (const part of parts) count += part.count;
  return parts.length <= MERGED_LISTS_MAX && count <= ORIGIN_ENTRIES_MAX
    ? mergeLists(parts, count)
    : uniteLists(snapshot, parts, count);
}

function mergeLists(parts: readonly Picks[], countMax: number): Selection {
  const ordinals = parts.map(ordinalsOf);
  const merged = results.uint32(countMax);
  const listOf = results.uint32(countMax);
  const positions = results.uint32(countMax);
  const heads: number[] = new Array(parts.length).fill(0);
  let count = 0;
  for (;;) {
    let least = NO_ORDINAL;
    let from = 0;
    for (let p = 0; p < parts.length; p++) {
      const list = ordinals[p]!;
      const head = heads[p]!;
      if (head >= list.length || list[head]! >= least) continue;
      least = list[head]!;
      from = p;
    }
    // Terminates: every round advances a head.
    if (least === NO_ORDINAL) break;
    merged[count] = least;
    listOf[count] = from;
    const { positions: known, first } = parts[from]!;
    positions[count] = known === null ? first + heads[from]! : known[heads[from]!]!;
    count++;
    for (let p = 0; p < parts.length; p++) {
      if (ordinals[p]![heads[p]!] === least) heads[p]!++;
    }
  }
  return Selection.ofList(merged.subarray(0, count), {
    lists: parts.map(({ ref }) => ref),
    listOf: listOf.subarray(0, count),
    positions: positions.subarray(0, count),
    first: 0,
  });
}

/** A number larger than every ordinal. */
const NO_ORDINAL = 0xffffffff;

function uniteLists(snapshot: Snapshot, parts: readonly Picks[], count: number): Selection {
  const union = results.uint32(count);
  let written = 0;
  for (const part of parts) {
    union.set(ordinalsOf(part), written);
    written += part.count;
  }
  // Lists interleave, and lists of different fields can share events.
  return Selection.ofList(union.subarray(0, sortUnique(union, count, snapshot.eventCount)));
}

export type Checker = (ordinal: number) => boolean;

export function checkerOf(snapshot: Snapshot, clauses: readonly Clause[]): Checker {
  const tests = clauses.map((clause) => clauseChecker(snapshot, clause));
  const [first, second] = tests;
  if (first !== undefined && second === undefined) return first;
  return (ordinal) => {
    for (const test of tests) if (!test(ordinal)) return false;
    return true;
  };
}

function clauseChecker(snapshot: Snapshot, clause: Clause): Checker {
  const tests = clause.terms.map((term) => termChecker(snapshot.field(term.field), term.codes));
  const only = tests.length === 1 ? tests[0] : undefined;
  const matches = only ?? ((ordinal: number) => tests.some((test) => test(ordinal)));
  return clause.isExcluding ? (ordinal) => !matches(ordinal) : matches;
}

function termChecker({ codes, dictionary }: FieldIndex, wanted: readonly number[]): Checker {
  const only = wanted.length === 1 ? wanted[0] : undefined;
  if (only !== undefined) return (ordinal) => codes[ordinal] === only;
  if (wanted.length <= SET_CODES_MAX) {
    const set = new Set(wanted);
    return (ordinal) => set.has(codes[ordinal]!);
  }
  const { size } = dictionary;
  const bits = new Uint32Array((size + 31) >>> 5);
  for (const code of wanted) bits[code >>> 5]! |= 1 << (code & 31);
  return (ordinal) => {
    const code = codes[ordinal]!;
    // An event without a value has a code beyond the dictionary.
    return code < size && (bits[code >>> 5]! & (1 << (code & 31))) !== 0;
  };
}

function filterRuns(runs: Uint32Array, countMax: number, passes: Checker): Selection {
  const list = results.uint32(countMax);
  let count = 0;
  for (let r = 0; r < runs.length; r += 2) {
    for (let ordinal = runs[r]!; ordinal < runs[r + 1]!; ordinal++) {
      if (passes(ordinal)) list[count++] = ordinal;
    }
  }
  return Selection.ofList(list.subarray(0, count));
}

function filterSelection(candidates: Selection, passes: Checker): Selection {
  const { count, origin } = candidates;
  const ordinals = candidates.ordinals!;
  const kept = results.uint32(count);
  let keptCount = 0;
  for (let entry = 0; entry < count; entry++) if (passes(ordinals[entry]!)) kept[keptCount++] = entry;
  if (keptCount === count) return candidates;
  const entries = kept.subarray(0, keptCount);
  if (origin === null || count > ORIGIN_ENTRIES_MAX) {
    for (let i = 0; i < keptCount; i++) entries[i] = ordinals[entries[i]!]!;
    return Selection.ofList(entries);
  }
  const { lists, listOf, positions, first } = origin;
  if (listOf === null) {
    for (let i = 0; i < keptCount; i++) {
      entries[i] = positions === null ? first + entries[i]! : positions[entries[i]!]!;
    }
    return Selection.ofPicks({ ref: lists[0]!, positions: entries, first: 0, count: keptCount });
  }
  return Selection.ofList(pick(ordinals, entries), {
    lists,
    listOf: pick(listOf, entries),
    positions: pick(positions!, entries),
    first: 0,
  });
}

function pick(from: Uint32Array, places: Uint32Array): Uint32Array {
  const { length } = places;
  const picked = results.uint32(length);
  for (let i = 0; i < length; i++) picked[i] = from[places[i]!]!;
  return picked;
}
