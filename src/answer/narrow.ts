import type { Snapshot } from '../snapshot/snapshot.js';
import { positionsWithinRuns } from '../structures/ordinal-set.js';
import { lowerBound } from '../structures/search.js';
import { results } from '../structures/slabs.js';
import type { ListRef } from './selection.js';
import type { WindowOrdinals } from './window.js';

/** Up to this many ends of events are looked up without considering the interval trees. */
const LOOK_BACK_MAX = 32;
/**
 * Tree slots that may be visited to save one look-up of an end. Visiting three costs as much as a look-up;
 * the value is two, because the search may fail.
 */
const SLOTS_PER_LOOK_UP = 2;
/** The cost of a step of an intersection, in checks of candidates (estimated). */
const STEP_COST = 2;

export interface Narrowed {
  readonly of: ListRef;
  /** Ordinals, ascending; may be a view of the snapshot. */
  readonly list: Uint32Array;
  /** Positions in the posting list; null for consecutive positions from `first` on. */
  readonly positions: Uint32Array | null;
  readonly first: number;
}

/** A posting list before narrowing, as places in the postings of its field. */
interface Span {
  readonly of: ListRef;
  readonly low: number;
  /** Events from here to `first` may be running when the window begins. */
  readonly before: number;
  /** Events from here to `end` start in the window. */
  readonly first: number;
  readonly end: number;
}

export interface Narrowing {
  readonly spans: readonly Span[];
  /** The runs of the window; null if ends of events are looked up instead. */
  readonly runs: Uint32Array | null;
}

/**
 * Events that start in the window are one piece of a list. An earlier event may be running only if the time
 * from its start to the window is at most the longest duration of its value. If there are few such events,
 * their ends are looked up. Otherwise the interval trees are searched for the runs of the window. If this
 * search finds at most SLOTS_PER_LOOK_UP slots for each of these events, the runs are intersected with the
 * list; otherwise the ends are looked up. So a window costs at most a few look-ups per posting.
 */
export function planNarrowing(
  snapshot: Snapshot,
  window: WindowOrdinals,
  lists: readonly ListRef[],
): Narrowing {
  const spans = lists.map((list) => spanOf(snapshot, window, list));
  let lookUps = 0;
  for (const span of spans) if (isLong(span)) lookUps += span.first - span.before;
  const found = lookUps === 0 ? null : window.upTo(SLOTS_PER_LOOK_UP * lookUps);
  return { spans, runs: found?.runs ?? null };
}

function isLong({ before, first }: Span): boolean {
  return first - before > LOOK_BACK_MAX;
}

/** Estimates the cost of narrowing and uniting the lists, measured in checks of candidates. */
export function costOfNarrowing({ spans, runs }: Narrowing): number {
  let cost = 0;
  for (const span of spans) {
    const { before, first, end } = span;
    cost += end - first;
    if (isLong(span) && runs !== null) cost += STEP_COST * Math.min(runs.length / 2, first - before);
  }
  return cost;
}

/** Counts lists in which runs are looked up; for other lists, postings are looked up in the runs. */
export function countListsByRuns({ spans, runs }: Narrowing): number {
  if (runs === null) return 0;
  return spans.filter((span) => isLong(span) && runs.length / 2 < span.first - span.before).length;
}

export function narrowLists(
  snapshot: Snapshot,
  window: WindowOrdinals,
  { spans, runs }: Narrowing,
): Narrowed[] {
  const parts: Narrowed[] = [];
  for (const span of spans) {
    const part =
      runs !== null && isLong(span)
        ? narrowByRuns(span, runs, window.all.eventsRunning)
        : narrowByEnds(snapshot, window, span);
    if (part.list.length > 0) parts.push(part);
  }
  return parts;
}

function spanOf(snapshot: Snapshot, { window, starting }: WindowOrdinals, of: ListRef): Span {
  const { field, code } = of;
  const { postings } = field;
  const low = field.start[code]!;
  const high = field.start[code + 1]!;
  if (window === null) return { of, low, before: low, first: low, end: high };
  const first = lowerBound(postings, starting.first, low, high);
  const end = lowerBound(postings, starting.end, first, high);
  if (first === low || window.startMs === Number.NEGATIVE_INFINITY) {
    return { of, low, before: first, first, end };
  }
  const earliest = snapshot.ordinalFrom(window.startMs - field.longestMs[code]!);
  return { of, low, before: lowerBound(postings, earliest, low, first), first, end };
}

/** Looks up the ends of events before the window, in reverse. */
function narrowByEnds(snapshot: Snapshot, { window }: WindowOrdinals, span: Span): Narrowed {
  const { of, low, before, first, end } = span;
  const { postings } = of.field;
  const startMs = window === null ? Number.NEGATIVE_INFINITY : window.startMs;
  /** Null if the result is one piece of the list up to `end`. */
  let positions: Uint32Array | null = null;
  let from = first;
  let written = 0;
  for (let p = first - 1; p >= before; p--) {
    if (snapshot.endMsOf(postings[p]!) <= startMs) continue;
    if (positions === null && p === from - 1) from = p;
    else {
      if (positions === null) {
        positions = results.uint32(p + 1 - before + end - from);
        written = positions.length;
        for (let piece = end - 1; piece >= from; piece--) positions[--written] = piece - low;
      }
      positions[--written] = p - low;
    }
  }
  return positions === null ? pieceOf(of, from, end) : piecesOf(of, positions.subarray(written));
}

function narrowByRuns(
  { of, low, before, first, end }: Span,
  runs: Uint32Array,
  eventsRunning: number,
): Narrowed {
  const { postings } = of.field;
  const running = results.uint32(Math.min(first - before, eventsRunning));
  const count = positionsWithinRuns(postings, before, first, runs, low, running);
  // If no event is running, or only the last events before `first` are, the result is one piece of the list.
  if (count === 0 || running[0] === first - low - count) return pieceOf(of, first - count, end);
  const positions = results.uint32(count + end - first);
  positions.set(running.subarray(0, count));
  for (let p = first, written = count; p < end; p++) positions[written++] = p - low;
  return piecesOf(of, positions);
}

function pieceOf(of: ListRef, from: number, to: number): Narrowed {
  const { field, code } = of;
  const list = field.postings.subarray(from, to);
  return { of, list, positions: null, first: from - field.start[code]! };
}

function piecesOf(of: ListRef, positions: Uint32Array): Narrowed {
  const { field, code } = of;
  const { postings } = field;
  const low = field.start[code]!;
  const list = results.uint32(positions.length);
  for (let i = 0; i < list.length; i++) list[i] = postings[low + positions[i]!]!;
  return { of, list, positions, first: 0 };
}
