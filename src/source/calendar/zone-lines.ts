import { RECORD_BYTES_MAX } from '../../limits.js';
import { readContentLine } from './content-line.js';
import type { FoundLine } from './line-scanner.js';
import type { Observance } from './zone-rules.js';

type WrittenObservance = {
  -readonly [Name in keyof Observance]: Observance[Name] extends string ? string : string[];
};

/** Takes the lines of one VTIMEZONE. */
export class ZoneLines {
  tzid = '';
  readonly observances: Observance[] = [];
  #current: WrittenObservance | null = null;
  #bytes = 0;

  begin(name: string): void {
    const isObservance = name === 'STANDARD' || name === 'DAYLIGHT';
    this.#current = isObservance ? { start: '', offsetFrom: '', offsetTo: '', rules: [], dates: [] } : null;
    if (this.#current !== null) this.observances.push(this.#current);
  }

  end(_name: string): void {
    this.#current = null;
  }

  take({ bytes, start, end, isPlain }: FoundLine): void {
    this.#bytes += end - start;
    if (this.#bytes > RECORD_BYTES_MAX) return;
    const line = readContentLine(bytes, start, end, isPlain);
    if (typeof line === 'string') return;
    const { name, value } = line;
    const observance = this.#current;
    if (observance === null) {
      if (name === 'TZID') this.tzid = value.trim();
    } else if (name === 'DTSTART') observance.start = value.trim();
    else if (name === 'TZOFFSETFROM') observance.offsetFrom = value;
    else if (name === 'TZOFFSETTO') observance.offsetTo = value;
    else if (name === 'RRULE') observance.rules.push(value);
    else if (name === 'RDATE') for (const date of value.split(',')) observance.dates.push(date.trim());
  }
}
