import { InstantTexts } from '../../model/instant-texts.js';
import { DAY_MS, daysFromCivil, daysInMonth, INSTANT_MS_MAX, INSTANT_MS_MIN } from '../../model/time.js';
import { isSame, viewOf } from '../../structures/byte-strings.js';
import { CalendarZone } from './calendar-zones.js';
import { parameterOf } from './content-line.js';
import type { CalendarScope } from './event-timing.js';

/** Length of an instant in answers. */
export const INSTANT_BYTES = 24;

/** `20260914T080000` */
const LOCAL_BYTES = 15;
const UTC_BYTES = 16;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;

/** Reads the times of ordinary events: no dates, no ambiguous local times, and only known zones. */
export class FlatTimes {
  readonly #texts = new InstantTexts();
  #parameters: { readonly view: DataView; readonly zone: CalendarZone | null } | null = null;

  /** Call this when the zones of the scope may have changed. */
  forget(): void {
    this.#parameters = null;
  }

  /**
   * @param from the place after the property's name
   * @param colon before the value, which ends at `to`
   * @returns epoch milliseconds; NaN if the event must be read line by line
   */
  read(chunk: Buffer, view: DataView, from: number, colon: number, to: number, scope: CalendarScope): number {
    const localMs = readLocalMs(chunk, colon + 1, to);
    // `localMs` is NaN for malformed digits.
    if (to - colon - 1 === UTC_BYTES) return chunk[to - 1] === LETTER_Z ? localMs : Number.NaN;
    const zone = colon === from ? scope.floatingZone : this.#zoneOf(chunk, view, from + 1, colon, scope);
    if (zone === null || Number.isNaN(localMs)) return Number.NaN;
    const { instantMs, kind } = zone.instantOf(localMs);
    if (kind !== 'exact' || instantMs < INSTANT_MS_MIN || instantMs > INSTANT_MS_MAX) return Number.NaN;
    return instantMs;
  }

  write(instantMs: number, target: Uint8Array, offset: number): void {
    const text = this.#texts.of(instantMs);
    for (let n = 0; n < INSTANT_BYTES; n++) target[offset + n] = text.charCodeAt(n);
  }

  #zoneOf(
    chunk: Buffer,
    view: DataView,
    from: number,
    to: number,
    scope: CalendarScope,
  ): CalendarZone | null {
    const known = this.#parameters;
    const length = to - from;
    if (known !== null && known.view.byteLength === length && isSame(known.view, 0, view, from, length)) {
      return known.zone;
    }
    const bytes = Uint8Array.from(chunk.subarray(from, to));
    const tzid = parameterOf(Buffer.from(bytes).toString('utf8'), 'TZID');
    const named = tzid === null ? scope.floatingZone : scope.zoneOf(tzid);
    const zone = named instanceof CalendarZone ? named : null;
    this.#parameters = { view: viewOf(bytes), zone };
    return zone;
  }
}

/** `20260914T080000`, perhaps with a letter behind it, as milliseconds; NaN for other texts and impossible times. */
function readLocalMs(bytes: Uint8Array, from: number, to: number): number {
  const length = to - from;
  if ((length !== LOCAL_BYTES && length !== UTC_BYTES) || bytes[from + 8] !== LETTER_T) return Number.NaN;
  const year = 100 * twoDigits(bytes, from) + twoDigits(bytes, from + 2);
  const month = twoDigits(bytes, from + 4);
  const day = twoDigits(bytes, from + 6);
  const hour = twoDigits(bytes, from + 9);
  const minute = twoDigits(bytes, from + 11);
  const second = twoDigits(bytes, from + 13);
  // Negated, because NaN must fail, too.
  if (!(year >= 0 && month >= 1 && month <= 12 && hour <= 23 && minute <= 59 && second <= 59))
    return Number.NaN;
  if (!(day >= 1 && day <= daysInMonth(year, month))) return Number.NaN;
  return daysFromCivil(year, month, day) * DAY_MS + ((hour * 60 + minute) * 60 + second) * 1000;
}

function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = (bytes[at] as number) - 0x30;
  const ones = (bytes[at + 1] as number) - 0x30;
  return tens >>> 0 < 10 && ones >>> 0 < 10 ? tens * 10 + ones : Number.NaN;
}
