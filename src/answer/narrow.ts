import { positionsWithinRuns } from '../base/structures/ordinal-set.js';
import { lowerBound } from '../base/structures/search.js';
import { results } from '../base/structures/slabs.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import type { ListRef, Picks } from './selection.js';
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

/** A posting list before narrowing. All numbers are indexes of the postings of its field. */
interface Span {
  readonly ref: ListRef;
  readonly listStart: number;
  /** Events from here to `inside` began before the window, and may still be running. */
  readonly earlier: number;
  /** Events from here to `end` begin inside the window. */
  readonly inside: number;
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
  for (const span of spans) if (hasManyEarlier(span)) lookUps += span.inside - span.earlier;
  const found = lookUps === 0 ? null : window.upTo(SLOTS_PER_LOOK_UP * lookUps);
  return { spans, runs: found?.runs ?? null };
}

function hasManyEarlier({ earlier, inside }: Span): boolean {
  return inside - earlier > LOOK_BACK_MAX;
}

/** Estimates the cost of narrowing and uniting the lists, measured in checks of candidates. */
export function costOfNarrowing({ spans, runs }: Narrowing): number {
  let cost = 0;
  for (const span of spans) {
    const { earlier, inside, end } = span;
    cost += end - inside;
    if (hasManyEarlier(span) && runs !== null)
      cost += STEP_COST * Math.min(runs.length / 2, inside - earlier);
  }
  return cost;
}

/** Counts lists in which runs are looked up; for other lists, postings are looked up in the runs. */
export function countListsByRuns({ spans, runs }: Narrowing): number {
  if (runs === null) return 0;
  return spans.filter((span) => hasManyEarlier(span) && runs.length / 2 < span.inside - span.earlier).length;
}

export function narrowLists(snapshot: Snapshot, window: WindowOrdinals, { spans, runs }: Narrowing): Picks[] {
  const parts: Picks[] = [];
  for (const span of spans) {
    const part =
      runs !== null && hasManyEarlier(span)
        ? narrowByRuns(span, runs, window.all.eventsRunning)
        : narrowByEnds(snapshot, window, span);
    if (part.count > 0) parts.push(part);
  }
  return parts;
}

function spanOf(snapshot: Snapshot, { window, starting }: WindowOrdinals, ref: ListRef): Span {
  const { field, code } = ref;
  const { postings } = field;
  const listStart = field.start[code]!;
  const listEnd = field.start[code + 1]!;
  if (window === null) return { ref, listStart, earlier: listStart, inside: listStart, end: listEnd };
  const inside = lowerBound(postings, starting.first, listStart, listEnd);
  const end = lowerBound(postings, starting.end, inside, listEnd);
  if (inside === listStart || window.startMs === Number.NEGATIVE_INFINITY) {
    return { ref, listStart, earlier: inside, inside, end };
  }
  const earliest = snapshot.ordinalFrom(window.startMs - field.longestMs[code]!);
  return { ref, listStart, earlier: lowerBound(postings, earliest, listStart, inside), inside, end };
}

/** Looks up the ends of the earlier events, in reverse. */
function narrowByEnds(snapshot: Snapshot, { window }: WindowOrdinals, span: Span): Picks {
  const { ref, listStart, earlier, inside, end } = span;
  const { postings } = ref.field;
  const startMs = window === null ? Number.NEGATIVE_INFINITY : window.startMs;
  /** Null if the result is one piece of the list up to `end`. */
  let positions: Uint32Array | null = null;
  let from = inside;
  let written = 0;
  for (let at = inside - 1; at >= earlier; at--) {
    if (snapshot.endMsOf(postings[at]!) <= startMs) continue;
    if (positions === null && at === from - 1) from = at;
    else {
      if (positions === null) {
        positions = results.uint32(at + 1 - earlier + end - from);
        written = positions.length;
        for (let piece = end - 1; piece >= from; piece--) positions[--written] = piece - listStart;
      }
      positions[--written] = at - listStart;
    }
  }
  return positions === null ? inOnePiece(ref, from, end) : atPositions(ref, positions.subarray(written));
}

function narrowByRuns(
  { ref, listStart, earlier, inside, end }: Span,
  runs: Uint32Array,
  eventsRunning: number,
): Picks {
  const { postings } = ref.field;
  const running = results.uint32(Math.min(inside - earlier, eventsRunning));
  const count = positionsWithinRuns(postings, earlier, inside, runs, listStart, running);
  // If no earlier event is running, or only the last ones are, the result is one piece of the list.
  if (count === 0 || running[0] === inside - listStart - count) return inOnePiece(ref, inside - count, end);
  const positions = results.uint32(count + end - inside);
  positions.set(running.subarray(0, count));
  for (let at = inside, written = count; at < end; at++) positions[written++] = at - listStart;
  return atPositions(ref, positions);
}

/** @param from to `to`: places among the postings of the field */
function inOnePiece(ref: ListRef, from: number, to: number): Picks {
  return { ref, positions: null, first: from - ref.field.start[ref.code]!, count: to - from };
}

function atPositions(ref: ListRef, positions: Uint32Array): Picks {
  return { ref, positions, first: 0, count: positions.length };
}
