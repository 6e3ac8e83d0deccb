import type { ByteStrings } from '../structures/byte-strings.js';
import { sortByIntervals } from '../structures/radix-sort.js';
import { scratch, shared } from '../structures/slabs.js';
import type { CodedField, Column, OrderedColumn } from './column.js';
import type { SlotsImage } from './image.js';

export interface OrderedEvents {
  /** For each ordinal the number of arrival. */
  readonly order: Uint32Array;
  readonly slotOf: Uint32Array;
  readonly slots: Pick<SlotsImage, 'startMs' | 'endMs' | 'first'>;
  readonly ids: ByteStrings;
  readonly columns: Readonly<Record<CodedField['name'], OrderedColumn>>;
}

/** Orders events by (time, endTime, id). All parameters are in order of arrival. */
export function orderEvents(
  timeMs: Float64Array,
  endTimeMs: Float64Array,
  ids: ByteStrings,
  columns: readonly Column[],
): OrderedEvents {
  const count = ids.size;
  const order = scratch.uint32(count);
  for (let arrival = 0; arrival < count; arrival++) order[arrival] = arrival;
  if (!isInTimeOrder(timeMs, endTimeMs)) sortByIntervals(order, timeMs, endTimeMs);
  const slotOf = scratch.uint32(count);
  const first: number[] = [];
  for (let ordinal = 0; ordinal < count; ordinal++) {
    const arrival = order[ordinal]!;
    const before = ordinal === 0 ? -1 : order[ordinal - 1]!;
    if (before === -1 || timeMs[arrival] !== timeMs[before] || endTimeMs[arrival] !== endTimeMs[before]) {
      first.push(ordinal);
    }
    slotOf[ordinal] = first.length - 1;
  }
  const startMs = shared.copyFloat64(Float64Array.from(first, (ordinal) => timeMs[order[ordinal]!]!));
  const endMs = shared.copyFloat64(Float64Array.from(first, (ordinal) => endTimeMs[order[ordinal]!]!));
  first.push(count);
  for (let slot = 0; slot + 1 < first.length; slot++) {
    sortById(order.subarray(first[slot]!, first[slot + 1]!), ids);
  }
  const isSorted = order.every((arrival, ordinal) => arrival === ordinal);
  const ordered = columns.map(({ name, dictionary, codes }) => [
    name,
    { dictionary, codes: isSorted ? codes.view() : pick(codes.view(), order, scratch.uint32(count)) },
  ]);
  return {
    order,
    slotOf,
    slots: { startMs, endMs, first: shared.copyUint32(first) },
    ids,
    columns: Object.fromEntries(ordered) as OrderedEvents['columns'],
  };
}

function isInTimeOrder(timeMs: Float64Array, endTimeMs: Float64Array): boolean {
  for (let i = 1; i < timeMs.length; i++) {
    const byTime = timeMs[i]! - timeMs[i - 1]! || endTimeMs[i]! - endTimeMs[i - 1]!;
    if (byTime < 0) return false;
  }
  return true;
}

/** By code points, which is the order of the bytes of UTF-8. */
function sortById(part: Uint32Array, ids: ByteStrings): void {
  for (let i = 1; i < part.length; i++) {
    if (ids.compare(part[i - 1]!, part[i]!) > 0) {
      part.sort((a, b) => ids.compare(a, b));
      return;
    }
  }
}

export function pick<Values extends Uint8Array | Uint32Array | Float64Array>(
  values: Uint32Array | Float64Array,
  places: Uint32Array,
  into: Values,
): Values {
  for (let i = 0; i < places.length; i++) into[i] = values[places[i]!]!;
  return into;
}
