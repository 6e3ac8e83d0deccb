import { NO_CODE } from './dictionary.js';
import type { PostingListsImage } from './posting-lists.js';
import { shared } from './slabs.js';
import type { Splice } from './splice.js';

/**
 * The lists after ordinals and codes were removed or added.
 *
 * @param come by new code: its new ordinals, ascending; at least one for a new code
 * @param total the length of all new lists together
 */
export function splicePostingLists(
  before: PostingListsImage,
  ordinals: Splice,
  codes: Splice,
  come: ReadonlyMap<number, readonly number[]>,
  total: number,
): PostingListsImage {
  const places = ordinals.newPlaces;
  const oldCodes = new Uint32Array(codes.after).fill(NO_CODE);
  for (let old = 0; old < codes.before; old++) {
    const code = codes.newPlaces[old]!;
    if (code !== NO_CODE) oldCodes[code] = old;
  }
  const next = shared.uint32(total);
  const start = shared.uint32(codes.after + 1);
  let at = 0;
  for (let code = 0; code < codes.after; code++) {
    const old = oldCodes[code]!;
    const from = old === NO_CODE ? 0 : before.start[old]!;
    const end = old === NO_CODE ? 0 : before.start[old + 1]!;
    at = mapList(before.ordinals, from, end, places, next, at);
    const fresh = come.get(code);
    if (fresh !== undefined) {
      next.set(fresh, at);
      at += fresh.length;
      next.subarray(start[code]!, at).sort();
    }
    start[code + 1] = at;
  }
  return { start, ordinals: next };
}

/** Returns where it ended. */
function mapList(
  old: Uint32Array,
  from: number,
  end: number,
  places: Uint32Array,
  next: Uint32Array,
  start: number,
): number {
  let at = start;
  for (let n = from; n < end; n++) {
    const place = places[old[n]!]!;
    if (place !== NO_CODE) next[at++] = place;
  }
  return at;
}
