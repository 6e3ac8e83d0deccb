/** Reads instants by the rules of a source. */
import { VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX } from '../base/limits.js';
import { NEEDS_DATE_ORDER, parseLocalTime } from '../base/model/local-time.js';
import type { ReadRules } from '../base/model/read-rules.js';
import { INSTANT_MS_MAX, INSTANT_MS_MIN, parseInstant } from '../base/model/time.js';
import { type AmbiguousTimes, type LocalInstant, Zone } from '../base/model/zone.js';
import { TextMemo } from '../base/structures/text-memo.js';

/** Epoch milliseconds, or a clause on the fault. */
export type ReadInstant = (text: string) => number | string;

const NEEDS_TIME_ZONE =
  'it has no offset: end it with "Z" or "+hh:mm", or set timeZone (on the command line --time-zone Europe/Berlin)';

/**
 * Reads RFC 3339, and other forms allowed by the rules. @param ambiguous counts local times that clocks skip
 * or show twice
 */
export function createInstantReader(
  { dateOrder, timeZone }: Pick<ReadRules, 'dateOrder' | 'timeZone'>,
  ambiguous: AmbiguousTimes,
): ReadInstant {
  const zone = timeZone === undefined ? null : new Zone(timeZone);
  const readLocal = (text: string): LocalInstant | string => {
    const local = parseLocalTime(text, dateOrder);
    if (typeof local === 'string') return local;
    const { localMs, offsetMs } = local;
    if (offsetMs === null && zone === null) return NEEDS_TIME_ZONE;
    const read: LocalInstant =
      offsetMs === null
        ? (zone as Zone).instantOf(localMs)
        : { instantMs: localMs - offsetMs, kind: 'exact' };
    const isShown = read.instantMs >= INSTANT_MS_MIN && read.instantMs <= INSTANT_MS_MAX;
    return isShown ? read : 'in UTC it lies outside the years 0000 to 9999';
  };
  if (zone === null && dateOrder === undefined) {
    return (text) => {
      const instantMs = parseInstant(text);
      if (typeof instantMs === 'number') return instantMs;
      const local = parseLocalTime(text, undefined);
      if (local === NEEDS_DATE_ORDER) return local;
      return typeof local !== 'string' && local.offsetMs === null ? NEEDS_TIME_ZONE : instantMs;
    };
  }
  const memo = new TextMemo<LocalInstant>(VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX);
  return (text) => {
    let local: LocalInstant | string | undefined = memo.get(text);
    if (local === undefined) {
      const instantMs = parseInstant(text);
      if (typeof instantMs === 'number') return instantMs;
      local = readLocal(text);
      if (typeof local === 'string') return local;
      memo.set(text, local);
    }
    if (local.kind === 'gap') ambiguous.gaps++;
    else if (local.kind === 'overlap') ambiguous.overlaps++;
    return local.instantMs;
  };
}
