import type { IndexedFieldName } from '../base/model/fields.js';
import { NO_CODE } from '../base/structures/dictionary.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import { costOfNarrowing, type Narrowing, planNarrowing } from './narrow.js';
import type { FieldFilter, Query } from './query.js';
import type { ListRef } from './selection.js';
import { WindowOrdinals } from './window.js';

interface Term {
  readonly field: IndexedFieldName;
  readonly codes: readonly number[];
}

/** At least one term must match. A filter is a clause of one term; all identities of a user are one clause. */
export interface Clause {
  readonly label: string;
  /** Whether events that match are left out. Such a clause never leads. */
  readonly isExcluding: boolean;
  /** Number of requested values, known or unknown. */
  readonly values: number;
  readonly terms: readonly Term[];
  /** Sum of the lengths of the terms' posting lists. */
  readonly postings: number;
}

type Lead =
  | { readonly kind: 'nothing' }
  /** The runs of the window; without a window, all events. */
  | { readonly kind: 'runs' }
  | { readonly kind: 'postings'; readonly clause: Clause; readonly narrowing: Narrowing };

export interface Plan {
  readonly window: WindowOrdinals;
  readonly lead: Lead;
  /** Clauses to check for each candidate, fewest postings first, excluding ones last. */
  readonly checks: readonly Clause[];
}

/** The estimated cost of walking a posting list within a window, in checks of candidates. */
const LIST_COST = 16;
/** The estimated cost of querying the interval trees for running events. */
const TREE_COST = 64;

/**
 * The clause with the fewest postings leads, unless the window holds fewer events than narrowing the clause's
 * lists would examine. Other clauses are checked in their columns, which never costs more than walking a
 * longer list.
 */
export function planQuery(snapshot: Snapshot, query: Query): Plan {
  const clauses = clausesOf(snapshot, query);
  const window = new WindowOrdinals(snapshot, query.window);
  const shortest = clauses[0]?.isExcluding === true ? undefined : clauses[0];
  if (shortest?.postings === 0) return { window, lead: { kind: 'nothing' }, checks: [] };
  if (shortest !== undefined && !isShort(window, shortest)) {
    const narrowing = planNarrowing(snapshot, window, listsOf(snapshot, shortest));
    if (narrowing.runs === null || window.all.count >= costOfNarrowing(narrowing)) {
      return { window, lead: { kind: 'postings', clause: shortest, narrowing }, checks: clauses.slice(1) };
    }
  }
  return window.all.count === 0
    ? { window, lead: { kind: 'nothing' }, checks: [] }
    : { window, lead: { kind: 'runs' }, checks: clauses };
}

/** Sorted by number of postings, excluding clauses last. */
export function clausesOf(snapshot: Snapshot, query: Query): Clause[] {
  const clauses: Clause[] = [];
  for (const filter of query.filters) {
    const clause = clauseOf(snapshot, filter.field, [filter], filter.isExcluding);
    // A value that no event has leaves nothing out.
    if (!clause.isExcluding || clause.terms.length > 0) clauses.push(clause);
  }
  if (query.identities !== null) clauses.push(clauseOf(snapshot, 'identities', query.identities));
  if (clauses.length > 1) {
    clauses.sort((a, b) => Number(a.isExcluding) - Number(b.isExcluding) || a.postings - b.postings);
  }
  return clauses;
}

function listsOf(snapshot: Snapshot, { terms }: Clause): ListRef[] {
  const lists: ListRef[] = [];
  for (const term of terms) {
    const field = snapshot.field(term.field);
    for (const code of term.codes) lists.push({ field, code });
  }
  return lists;
}

/**
 * Whether checking the window's events costs less than walking the lists. Each running slot has at least one
 * event, so `eventsMax` also bounds the slots.
 */
function isShort(window: WindowOrdinals, { terms, postings }: Clause): boolean {
  let lists = 0;
  for (const { codes } of terms) lists += codes.length;
  const eventsMax = Math.min(LIST_COST * lists, postings) - TREE_COST;
  const starting = window.starting.end - window.starting.first;
  if (starting >= eventsMax) return false;
  const found = window.upTo(eventsMax - starting);
  return found !== null && found.count < eventsMax;
}

function clauseOf(
  snapshot: Snapshot,
  label: string,
  filters: readonly FieldFilter[],
  isExcluding = false,
): Clause {
  const terms: Term[] = [];
  let values = 0;
  let postings = 0;
  for (const filter of filters) {
    const field = snapshot.field(filter.field);
    const codes: number[] = [];
    for (const value of filter.values) {
      values++;
      const code = field.dictionary.codeOf(value);
      if (code === NO_CODE) continue;
      codes.push(code);
      postings += field.postingCount(code);
    }
    if (codes.length > 0) terms.push({ field: filter.field, codes });
  }
  return { label, isExcluding, values, terms, postings };
}
