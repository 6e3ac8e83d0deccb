import { InstantTexts } from '../../model/instant-texts.js';
import { INSTANT_MS_MAX, INSTANT_MS_MIN } from '../../model/time.js';
import { isSame, viewOf } from '../../structures/byte-strings.js';
import { parseTime } from './calendar-time.js';
import type { CalendarZone } from './calendar-zones.js';
import { parameterOf } from './content-line.js';
import type { CalendarScope } from './event-timing.js';

/** Length of an instant in answers. */
export const INSTANT_BYTES = 24;

/** Reads the times of ordinary events: no dates, no ambiguous local times, and only known zones. */
export class FlatTimes {
  readonly #texts = new InstantTexts();
  #parameters: { readonly view: DataView; readonly zone: CalendarZone | null } | null = null;

  /** The zones of the scope may have changed. */
  forget(): void {
    this.#parameters = null;
  }

  /**
   * @param from the place after the property's name
   * @param colon before the value, which ends at `to`
   * @returns epoch milliseconds; NaN: the event must be read line by line
   */
  read(chunk: Buffer, view: DataView, from: number, colon: number, to: number, scope: CalendarScope): number {
    const written = parseTime(chunk.toString('latin1', colon + 1, to));
    if (typeof written === 'string' || written.isDate) return Number.NaN;
    const { localMs, isUtc } = written;
    if (isUtc) return localMs;
    const zone = colon === from ? scope.floatingZone : this.#zoneOf(chunk, view, from + 1, colon, scope);
    if (zone === null) return Number.NaN;
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
    const zone = tzid === null ? scope.floatingZone : (scope.zoneOf(tzid) ?? null);
    this.#parameters = { view: viewOf(bytes), zone };
    return zone;
  }
}
