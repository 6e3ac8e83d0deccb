import type { IndexedFieldName } from '../model/fields.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import { NO_CODE } from '../structures/dictionary.js';
import { countRuns } from '../structures/ordinal-set.js';
import type { FieldFilter, Query, Window } from './query.js';

/** "field has one of codes", against one snapshot. */
export interface Term {
  readonly field: IndexedFieldName;
  readonly codes: readonly number[];
  /** Ordinals in the posting lists of the codes. */
  readonly postings: number;
}

/** At least one term must match. A filter is a clause of one term, a user's identities are one clause of several. */
export interface Clause {
  readonly label: string;
  /** Values as they were asked for, known to the snapshot or not. */
  readonly values: number;
  readonly terms: readonly Term[];
  readonly postings: number;
}

/** What leads: every candidate comes from it, and everything else is checked. */
export type Lead =
  /** Nothing can match. */
  | { readonly kind: 'nothing' }
  /** The window's runs of ordinals; of everything where there is no window. */
  | { readonly kind: 'runs' }
  /** The posting lists of one clause, narrowed by the window's runs. */
  | { readonly kind: 'postings'; readonly clause: Clause };

/** How a query is to be answered from one snapshot. */
export interface Plan {
  readonly window: Window | null;
  /** The window as runs of ordinals, [first, end) pairs; one run over everything where there is no window. */
  readonly runs: Uint32Array;
  readonly runsCount: number;
  /** Slots that were already running when the window began: what the interval tree found. */
  readonly slotsRunning: number;
  readonly lead: Lead;
  /** Clauses that are checked for each candidate, those with fewest postings first. */
  readonly checks: readonly Clause[];
}

/**
 * Chooses how to answer: the clause with the fewest postings leads, unless the window holds fewer events still. All
 * other clauses are looked up per candidate in their columns, which costs one read each and so is never worse than
 * walking a second, longer posting list.
 */
export function planQuery(snapshot: Snapshot, query: Query): Plan {
  const clauses = query.filters.map((filter) => clauseOf(snapshot, filter.field, [filter]));
  if (query.identities !== null) clauses.push(clauseOf(snapshot, 'identities', query.identities));
  clauses.sort((a, b) => a.postings - b.postings);
  const { runs, slotsRunning } = windowRuns(snapshot, query.window);
  const runsCount = countRuns(runs);
  const window = isAlways(query.window) ? null : query.window;
  const shared = { window, runs, runsCount, slotsRunning };
  const shortest = clauses[0];
  if (runsCount === 0 || shortest?.postings === 0)
    return { ...shared, lead: { kind: 'nothing' }, checks: [] };
  if (shortest === undefined || runsCount < shortest.postings) {
    return { ...shared, lead: { kind: 'runs' }, checks: clauses };
  }
  return { ...shared, lead: { kind: 'postings', clause: shortest }, checks: clauses.slice(1) };
}

function isAlways(window: Window): boolean {
  return window.startMs === Number.NEGATIVE_INFINITY && window.endMs === Number.POSITIVE_INFINITY;
}

function clauseOf(snapshot: Snapshot, label: string, filters: readonly FieldFilter[]): Clause {
  const terms: Term[] = [];
  let values = 0;
  let postings = 0;
  for (const filter of filters) {
    const field = snapshot.field(filter.field);
    const codes: number[] = [];
    let termPostings = 0;
    for (const value of filter.values) {
      values++;
      const code = field.dictionary.codeOf(value);
      if (code === NO_CODE) continue;
      codes.push(code);
      termPostings += field.postingCount(code);
    }
    if (codes.length > 0) terms.push({ field: filter.field, codes, postings: termPostings });
    postings += termPostings;
  }
  return { label, values, terms, postings };
}

/**
 * The events that overlap a window, as runs of ordinals: those of the slots already running when it begins, from the
 * interval tree, then one run of those that start within it.
 */
function windowRuns(snapshot: Snapshot, window: Window): { runs: Uint32Array; slotsRunning: number } {
  const { slotIndex } = snapshot;
  const within = slotIndex.startingWithin(window.startMs, window.endMs);
  const running = slotIndex.runningAt(window.startMs);
  const bounds: number[] = [];
  const append = (firstSlot: number, endSlot: number): void => {
    if (firstSlot === endSlot) return;
    const first = snapshot.firstOrdinal(firstSlot);
    // Slots that follow one another join into one run.
    if (bounds.at(-1) === first) bounds.pop();
    else bounds.push(first);
    bounds.push(snapshot.firstOrdinal(endSlot));
  };
  for (const slot of running) append(slot, slot + 1);
  append(within.first, within.end);
  return { runs: Uint32Array.from(bounds), slotsRunning: running.length };
}
