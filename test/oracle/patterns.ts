/** The slow twin of weekly patterns: it visits each day of the term and asks Intl for the local time. */

export interface TwinTerm {
  readonly firstDay: string;
  readonly weeks: number;
  readonly except: readonly string[];
}

export interface TwinPattern {
  /** 0 is Monday. */
  readonly weekday: number;
  /** Minutes from midnight. */
  readonly start: number;
  readonly minutes: number;
  /** Null for all weeks. */
  readonly weeks: readonly number[] | 'odd' | 'even' | null;
  readonly cycle: number;
}

export interface TwinEvent {
  readonly date: string;
  readonly startMs: number;
  readonly endMs: number;
}

export function datesOfPattern(term: TwinTerm, pattern: TwinPattern, timeZone: string): TwinEvent[] {
  const events: TwinEvent[] = [];
  for (let n = 0; n < 7 * term.weeks; n++) {
    const date = dayAfter(term.firstDay, n);
    const weekday = (new Date(`${date}T12:00:00Z`).getUTCDay() + 6) % 7;
    const week = Math.floor(n / 7) + 1;
    if (weekday !== pattern.weekday || term.except.includes(date) || !isIn(pattern, week)) continue;
    const end = pattern.start + pattern.minutes;
    events.push({
      date,
      startMs: instantOf(date, pattern.start, timeZone),
      endMs: instantOf(dayAfter(date, Math.floor(end / 1440)), end % 1440, timeZone),
    });
  }
  return events;
}

function isIn({ weeks, cycle }: TwinPattern, week: number): boolean {
  if (weeks === null) return true;
  if (weeks === 'odd') return week % 2 === 1;
  if (weeks === 'even') return week % 2 === 0;
  let number = week;
  while (cycle > 0 && number > cycle) number -= cycle;
  return weeks.includes(number);
}

function dayAfter(date: string, days: number): string {
  const day = new Date(`${date}T00:00:00Z`);
  day.setUTCDate(day.getUTCDate() + days);
  return day.toISOString().slice(0, 10);
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** The first instant at which clocks show this time; in a gap the time after it, counted from the clock before it. */
function instantOf(date: string, minutes: number, timeZone: string): number {
  const wall = Date.parse(`${date}T00:00:00Z`) + minutes * 60_000;
  let best: number | null = null;
  const offsets = new Set([-36, 36].map((hours) => offsetAt(wall + hours * 3_600_000, timeZone)));
  for (const offset of offsets) {
    const instant = wall - offset;
    if (offsetAt(instant, timeZone) === offset && (best === null || instant < best)) best = instant;
  }
  return best ?? wall - offsetAt(wall - 36 * 3_600_000, timeZone);
}

function offsetAt(instant: number, timeZone: string): number {
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
    formats.set(timeZone, format);
  }
  return Date.parse(`${format.format(instant).replace(' ', 'T')}Z`) - instant;
}
