import type { Snapshot } from '../snapshot/snapshot.js';
import { sortUnique } from '../structures/ordinal-set.js';
import type { Clause, Plan } from './plan.js';
import { Selection } from './selection.js';
import type { WindowOrdinals } from './window.js';

/** Carries out a plan. The result is ascending and without repeats, and so in the documented order. */
export function executePlan(snapshot: Snapshot, plan: Plan): Selection {
  if (plan.lead.kind === 'nothing') return Selection.ofRuns(new Uint32Array(0));
  if (plan.lead.kind === 'runs') {
    return plan.checks.length === 0
      ? Selection.ofRuns(plan.window.runs)
      : filterRuns(plan.window.runs, plan.window.runsCount, checkerOf(snapshot, plan.checks));
  }
  const candidates = narrowedPostings(snapshot, plan.lead.clause, plan.window);
  if (plan.checks.length === 0) return Selection.ofList(candidates);
  return filterList(candidates, checkerOf(snapshot, plan.checks));
}

/** The union of a clause's posting lists, within the window. A view of the snapshot where one piece of a list covers it. */
function narrowedPostings(snapshot: Snapshot, clause: Clause, window: WindowOrdinals): Uint32Array {
  const lists: Uint32Array[] = [];
  for (const term of clause.terms) {
    const field = snapshot.field(term.field);
    for (const code of term.codes) lists.push(window.narrow(field, code));
  }
  const only = lists.length === 1 ? lists[0] : undefined;
  if (only !== undefined) return only;
  let count = 0;
  for (const list of lists) count += list.length;
  const union = new Uint32Array(count);
  let written = 0;
  for (const list of lists) {
    union.set(list, written);
    written += list.length;
  }
  // Several lists interleave, and those of different fields can share events.
  return union.subarray(0, sortUnique(union, count, snapshot.eventCount));
}

/** Whether an event passes every clause. */
type Checker = (ordinal: number) => boolean;

function checkerOf(snapshot: Snapshot, clauses: readonly Clause[]): Checker {
  const tests = clauses.map((clause) => clauseChecker(snapshot, clause));
  const [first, second] = tests;
  if (first !== undefined && second === undefined) return first;
  return (ordinal) => {
    for (const test of tests) if (!test(ordinal)) return false;
    return true;
  };
}

function clauseChecker(snapshot: Snapshot, clause: Clause): Checker {
  const tests = clause.terms.map((term): Checker => {
    const { codes } = snapshot.field(term.field);
    const only = term.codes.length === 1 ? term.codes[0] : undefined;
    if (only !== undefined) return (ordinal) => codes[ordinal] === only;
    const wanted = new Set(term.codes);
    return (ordinal) => wanted.has(codes[ordinal]!);
  });
  const only = tests.length === 1 ? tests[0] : undefined;
  return only ?? ((ordinal) => tests.some((test) => test(ordinal)));
}

function filterRuns(runs: Uint32Array, countMax: number, passes: Checker): Selection {
  const list = new Uint32Array(countMax);
  let count = 0;
  for (let r = 0; r < runs.length; r += 2) {
    for (let ordinal = runs[r]!; ordinal < runs[r + 1]!; ordinal++) {
      if (passes(ordinal)) list[count++] = ordinal;
    }
  }
  return Selection.ofList(list.subarray(0, count));
}

function filterList(candidates: Uint32Array, passes: Checker): Selection {
  const list = new Uint32Array(candidates.length);
  let count = 0;
  for (let i = 0; i < candidates.length; i++) {
    const ordinal = candidates[i]!;
    if (passes(ordinal)) list[count++] = ordinal;
  }
  return Selection.ofList(list.subarray(0, count));
}
