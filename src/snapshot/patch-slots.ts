import { INTERVALS_PER_TREE_MAX } from '../limits.js';
import { buildIntervalIndex } from '../structures/interval-index.js';
import { firstWhere, lowerBound } from '../structures/search.js';
import { scratch, shared } from '../structures/slabs.js';
import { Splice } from '../structures/splice.js';
import type { SlotsImage } from './image.js';
import type { Edit } from './patch-edit.js';

/** Removes slots without events and adds new ones. If no slot is removed or new, the earlier index stays. */
export function patchSlots(slots: SlotsImage, { splice, events }: Edit): SlotsImage {
  const count = slots.startMs.length;
  const sizes = scratch.uint32(count);
  for (let slot = 0; slot < count; slot++) sizes[slot] = slots.first[slot + 1]! - slots.first[slot]!;
  const gone: number[] = [];
  for (const ordinal of splice.gone) sizes[lowerBound(slots.first, ordinal + 1) - 1]!--;
  const come: { place: number; startMs: number; endMs: number; size: number }[] = [];
  for (const { time, endTime } of events) {
    const place = slotFrom(slots, time, endTime);
    const last = come.at(-1);
    if (place < count && slots.startMs[place] === time && slots.endMs[place] === endTime) sizes[place]!++;
    else if (last?.startMs === time && last.endMs === endTime) last.size++;
    else come.push({ place, startMs: time, endMs: endTime, size: 1 });
  }
  for (let slot = 0; slot < count; slot++) if (sizes[slot] === 0) gone.push(slot);
  const slotSplice = new Splice(
    count,
    gone,
    come.map(({ place }) => place),
  );
  const nextSizes = slotSplice.copy(sizes, scratch.uint32(slotSplice.after));
  for (const [n, { size }] of come.entries()) nextSizes[slotSplice.come[n]!] = size;
  const first = shared.uint32(slotSplice.after + 1);
  for (let slot = 0; slot < nextSizes.length; slot++) first[slot + 1] = first[slot]! + nextSizes[slot]!;
  if (slotSplice.isEmpty) return { ...slots, first: isEqual(first, slots.first) ? slots.first : first };
  const startMs = slotSplice.copy(slots.startMs, shared.float64(slotSplice.after));
  const endMs = slotSplice.copy(slots.endMs, shared.float64(slotSplice.after));
  for (const [n, slot] of slotSplice.come.entries()) {
    startMs[slot] = come[n]!.startMs;
    endMs[slot] = come[n]!.endMs;
  }
  return { startMs, endMs, first, index: buildIntervalIndex(startMs, endMs, INTERVALS_PER_TREE_MAX) };
}

/** The first slot at or after these times. */
function slotFrom({ startMs, endMs }: SlotsImage, start: number, end: number): number {
  const from = lowerBound(startMs, start);
  return firstWhere(from, startMs.length, (slot) => startMs[slot]! > start || endMs[slot]! >= end);
}

function isEqual(a: Uint32Array, b: Uint32Array): boolean {
  return a.length === b.length && a.every((value, n) => value === b[n]);
}

/** The slot of each event, by ordinal. */
export function slotsOfEvents({ first }: SlotsImage): Uint32Array {
  const slotOf = scratch.uint32(first[first.length - 1]!);
  for (let slot = 0; slot + 1 < first.length; slot++) {
    for (let ordinal = first[slot]!; ordinal < first[slot + 1]!; ordinal++) slotOf[ordinal] = slot;
  }
  return slotOf;
}
