/** Time zones by their names in calendars, or by the rules of a VTIMEZONE (RFC 5545 section 3.6.5) if the name is unknown. */
import { CALENDAR_STEPS_MAX, ZONE_CHANGES_MAX, ZONE_NAME_UNITS_MAX } from '../../base/limits.js';
import { DAY_MS } from '../../base/model/time.js';
import { Zone, ZoneClock } from '../../base/model/zone.js';
import { firstWhere } from '../../base/structures/search.js';
import { parseTime } from './content-line.js';
import { expandRule, parseRule, type Steps } from './expand-rule.js';

/** The instant of a local time, and whether clocks skipped it or showed it twice. */
export type ZoneInstant = ReturnType<ZoneClock['instantOf']>;

const DAYS_KEPT_MAX = 16_384;

/** A zone that remembers days without a clock change, so that most events cost one look-up. */
export class CalendarZone {
  readonly #zone: ZoneClock;
  /** For each local day, the offset of its zone; NaN if the offset changes on that day. */
  readonly #days = new Map<number, number>();

  constructor(zone: ZoneClock) {
    this.#zone = zone;
  }

  instantOf(localMs: number): ZoneInstant {
    const day = Math.floor(localMs / DAY_MS);
    let offsetMs = this.#days.get(day);
    if (offsetMs === undefined) {
      // Offsets are below a day, so the instants of a local day lie in the three UTC days around it.
      const before = this.#zone.offsetMsAt((day - 1) * DAY_MS);
      offsetMs = before === this.#zone.offsetMsAt((day + 2) * DAY_MS) ? before : Number.NaN;
      if (this.#days.size >= DAYS_KEPT_MAX) this.#days.clear();
      this.#days.set(day, offsetMs);
    }
    if (Number.isNaN(offsetMs)) return this.#zone.instantOf(localMs);
    return { instantMs: localMs - offsetMs, kind: 'exact' };
  }

  localOf(instantMs: number): number {
    return instantMs + this.#zone.offsetMsAt(instantMs);
  }
}

const UTC_NAMES = /^(?:utc|gmt|z|etc\/utc|etc\/gmt)$/i;

const known = new Map<string, CalendarZone | null>();
/** Zones that are remembered: enough for 600 zone names and as many wrong names. */
const NAMES_KEPT_MAX = 1200;

/** Finds a zone by its IANA or Windows name, but not by an abbreviation. The name may have a prefix such as `/mozilla.org/20050126_1/`. */
export function zoneOfName(name: string): CalendarZone | null {
  const trimmed = name.trim();
  if (trimmed.length > ZONE_NAME_UNITS_MAX) return null;
  const before = known.get(trimmed);
  if (before !== undefined) return before;
  const zone = findZone(trimmed);
  if (known.size >= NAMES_KEPT_MAX) known.clear();
  known.set(trimmed, zone);
  return zone;
}

function findZone(name: string): CalendarZone | null {
  if (UTC_NAMES.test(name)) return ianaZone('UTC');
  const windows = WINDOWS_ZONES.get(name.toLowerCase());
  if (windows !== undefined) return ianaZone(windows);
  const direct = ianaZone(name);
  if (direct !== null || !name.startsWith('/')) return direct;
  const parts = name.split('/').filter((part) => part !== '');
  // America/Argentina/Salta has three parts.
  for (let count = Math.min(3, parts.length); count > 0; count--) {
    const zone = ianaZone(parts.slice(-count).join('/'));
    if (zone !== null) return zone;
  }
  return null;
}

function ianaZone(name: string): CalendarZone | null {
  // Only newer versions of Node accept offsets such as +01:00 as names.
  if (!/^[A-Za-z]/.test(name)) return null;
  try {
    return new CalendarZone(new Zone(name));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** A zone defined by the rules of a VTIMEZONE. */
export class RuledZone extends ZoneClock {
  readonly #rules: ZoneRules;

  constructor(rules: ZoneRules) {
    super();
    this.#rules = rules;
  }

  override offsetMsAt(instantMs: number): number {
    const { instants, offsets, firstOffsetMs } = this.#rules;
    const after = firstWhere(0, instants.length, (n) => (instants[n] as number) > instantMs);
    return offsets[after - 1] ?? firstOffsetMs;
  }
}

/** Names of Windows time zones, as Outlook and Exchange write them, with an equivalent IANA zone (Unicode CLDR). */

const BY_ZONE: Readonly<Record<string, string>> = {
  'Africa/Bissau': 'Greenwich Standard Time',
  'Africa/Cairo': 'Egypt Standard Time',
  'Africa/Casablanca': 'Morocco Standard Time',
  'Africa/Johannesburg': 'South Africa Standard Time',
  'Africa/Juba': 'South Sudan Standard Time',
  'Africa/Khartoum': 'Sudan Standard Time',
  'Africa/Lagos': 'W. Central Africa Standard Time',
  'Africa/Nairobi': 'E. Africa Standard Time',
  'Africa/Sao_Tome': 'Sao Tome Standard Time',
  'Africa/Tripoli': 'Libya Standard Time',
  'Africa/Windhoek': 'Namibia Standard Time',
  'America/Adak': 'Aleutian Standard Time',
  'America/Anchorage': 'Alaskan Standard Time',
  'America/Araguaina': 'Tocantins Standard Time',
  'America/Asuncion': 'Paraguay Standard Time',
  'America/Bahia': 'Bahia Standard Time',
  'America/Bogota': 'SA Pacific Standard Time',
  'America/Buenos_Aires': 'Argentina Standard Time',
  'America/Cancun': 'Eastern Standard Time (Mexico)',
  'America/Caracas': 'Venezuela Standard Time',
  'America/Cayenne': 'SA Eastern Standard Time',
  'America/Chicago': 'Central Standard Time',
  'America/Chihuahua': 'Mountain Standard Time (Mexico)',
  'America/Cuiaba': 'Central Brazilian Standard Time',
  'America/Denver': 'Mountain Standard Time',
  'America/Godthab': 'Greenland Standard Time',
  'America/Grand_Turk': 'Turks And Caicos Standard Time',
  'America/Guatemala': 'Central America Standard Time',
  'America/Halifax': 'Atlantic Standard Time',
  'America/Havana': 'Cuba Standard Time',
  'America/Indianapolis': 'US Eastern Standard Time',
  'America/La_Paz': 'SA Western Standard Time',
  'America/Los_Angeles': 'Pacific Standard Time',
  'America/Mexico_City': 'Central Standard Time (Mexico)',
  'America/Miquelon': 'Saint Pierre Standard Time',
  'America/Montevideo': 'Montevideo Standard Time',
  'America/New_York': 'Eastern Standard Time',
  'America/Phoenix': 'US Mountain Standard Time',
  'America/Port-au-Prince': 'Haiti Standard Time',
  'America/Punta_Arenas': 'Magallanes Standard Time',
  'America/Regina': 'Canada Central Standard Time',
  'America/Santiago': 'Pacific SA Standard Time',
  'America/Sao_Paulo': 'E. South America Standard Time',
  'America/St_Johns': 'Newfoundland Standard Time',
  'America/Tijuana': 'Pacific Standard Time (Mexico)',
  'America/Whitehorse': 'Yukon Standard Time',
  'Asia/Bishkek': 'Central Asia Standard Time',
  'Asia/Amman': 'Jordan Standard Time',
  'Asia/Baghdad': 'Arabic Standard Time',
  'Asia/Baku': 'Azerbaijan Standard Time',
  'Asia/Bangkok': 'SE Asia Standard Time',
  'Asia/Barnaul': 'Altai Standard Time',
  'Asia/Beirut': 'Middle East Standard Time',
  'Asia/Calcutta': 'India Standard Time',
  'Asia/Chita': 'Transbaikal Standard Time',
  'Asia/Colombo': 'Sri Lanka Standard Time',
  'Asia/Damascus': 'Syria Standard Time',
  'Asia/Dhaka': 'Bangladesh Standard Time',
  'Asia/Dubai': 'Arabian Standard Time',
  'Asia/Hebron': 'West Bank Standard Time',
  'Asia/Hovd': 'W. Mongolia Standard Time',
  'Asia/Irkutsk': 'North Asia East Standard Time',
  'Asia/Jerusalem': 'Israel Standard Time',
  'Asia/Kabul': 'Afghanistan Standard Time',
  'Asia/Kamchatka': 'Kamchatka Standard Time',
  'Asia/Karachi': 'Pakistan Standard Time',
  'Asia/Katmandu': 'Nepal Standard Time',
  'Asia/Krasnoyarsk': 'North Asia Standard Time',
  'Asia/Magadan': 'Magadan Standard Time',
  'Asia/Novosibirsk': 'N. Central Asia Standard Time',
  'Asia/Omsk': 'Omsk Standard Time',
  'Asia/Pyongyang': 'North Korea Standard Time',
  'Asia/Qyzylorda': 'Qyzylorda Standard Time',
  'Asia/Rangoon': 'Myanmar Standard Time',
  'Asia/Riyadh': 'Arab Standard Time',
  'Asia/Sakhalin': 'Sakhalin Standard Time',
  'Asia/Seoul': 'Korea Standard Time',
  'Asia/Shanghai': 'China Standard Time',
  'Asia/Singapore': 'Singapore Standard Time',
  'Asia/Srednekolymsk': 'Russia Time Zone 10',
  'Asia/Taipei': 'Taipei Standard Time',
  'Asia/Tashkent': 'West Asia Standard Time',
  'Asia/Tbilisi': 'Georgian Standard Time',
  'Asia/Tehran': 'Iran Standard Time',
  'Asia/Tokyo': 'Tokyo Standard Time',
  'Asia/Tomsk': 'Tomsk Standard Time',
  'Asia/Ulaanbaatar': 'Ulaanbaatar Standard Time',
  'Asia/Vladivostok': 'Vladivostok Standard Time',
  'Asia/Yakutsk': 'Yakutsk Standard Time',
  'Asia/Yekaterinburg': 'Ekaterinburg Standard Time',
  'Asia/Yerevan': 'Caucasus Standard Time',
  'Atlantic/Azores': 'Azores Standard Time',
  'Atlantic/Cape_Verde': 'Cape Verde Standard Time',
  'Australia/Adelaide': 'Cen. Australia Standard Time',
  'Australia/Brisbane': 'E. Australia Standard Time',
  'Australia/Darwin': 'AUS Central Standard Time',
  'Australia/Eucla': 'Aus Central W. Standard Time',
  'Australia/Hobart': 'Tasmania Standard Time',
  'Australia/Lord_Howe': 'Lord Howe Standard Time',
  'Australia/Perth': 'W. Australia Standard Time',
  'Australia/Sydney': 'AUS Eastern Standard Time',
  'Etc/GMT+2': 'UTC-02',
  'Etc/GMT+8': 'UTC-08',
  'Etc/GMT+9': 'UTC-09',
  'Etc/GMT+11': 'UTC-11',
  'Etc/GMT+12': 'Dateline Standard Time',
  'Etc/GMT-12': 'UTC+12',
  'Etc/GMT-13': 'UTC+13',
  'Europe/Astrakhan': 'Astrakhan Standard Time',
  'Europe/Berlin': 'W. Europe Standard Time',
  'Europe/Bucharest': 'GTB Standard Time',
  'Europe/Budapest': 'Central Europe Standard Time',
  'Europe/Chisinau': 'E. Europe Standard Time',
  'Europe/Istanbul': 'Turkey Standard Time',
  'Europe/Kaliningrad': 'Kaliningrad Standard Time',
  'Europe/Kiev': 'FLE Standard Time',
  'Europe/London': 'GMT Standard Time',
  'Europe/Minsk': 'Belarus Standard Time',
  'Europe/Moscow': 'Russian Standard Time',
  'Europe/Paris': 'Romance Standard Time',
  'Europe/Samara': 'Russia Time Zone 3',
  'Europe/Saratov': 'Saratov Standard Time',
  'Europe/Volgograd': 'Volgograd Standard Time',
  'Europe/Warsaw': 'Central European Standard Time',
  'Indian/Mauritius': 'Mauritius Standard Time',
  'Pacific/Apia': 'Samoa Standard Time',
  'Pacific/Auckland': 'New Zealand Standard Time',
  'Pacific/Bougainville': 'Bougainville Standard Time',
  'Pacific/Chatham': 'Chatham Islands Standard Time',
  'Pacific/Easter': 'Easter Island Standard Time',
  'Pacific/Fiji': 'Fiji Standard Time',
  'Pacific/Guadalcanal': 'Central Pacific Standard Time',
  'Pacific/Honolulu': 'Hawaiian Standard Time',
  'Pacific/Kiritimati': 'Line Islands Standard Time',
  'Pacific/Marquesas': 'Marquesas Standard Time',
  'Pacific/Norfolk': 'Norfolk Standard Time',
  'Pacific/Port_Moresby': 'West Pacific Standard Time',
  'Pacific/Tongatapu': 'Tonga Standard Time',
};

/** IANA zones by the Windows name in lower case. */
export const WINDOWS_ZONES: ReadonlyMap<string, string> = new Map([
  ...Object.entries(BY_ZONE).map(([zone, name]) => [name.toLowerCase(), zone] as const),
  ['armenian standard time', 'Asia/Yerevan'],
]);

/** The unparsed lines of a STANDARD or DAYLIGHT component. */
export interface Observance {
  readonly start: string;
  readonly offsetFrom: string;
  readonly offsetTo: string;
  readonly rules: readonly string[];
  readonly dates: readonly string[];
}

export interface ZoneRules {
  /** The instants of the clock changes in ascending order. `offsets` has the offset after each change. */
  readonly instants: Float64Array;
  readonly offsets: Float64Array;
  /** The offset before the first change. */
  readonly firstOffsetMs: number;
}

/** Rules without an end are expanded up to this time: 2100-01-01. */
const LAST_MS = 4_102_444_800_000;
/** Two rules for each year since 1600 take 470,000 steps. */
const ZONE_STEPS_MAX = 500_000;
/** A kept clock change counts as this many steps, so that all zones of a source take at most 80 MB. */
const CHANGE_STEPS = 100;

/** @returns a clause on the fault, such as "it has no STANDARD or DAYLIGHT" */
export function readZoneRules(observances: readonly Observance[], sourceSteps: Steps): ZoneRules | string {
  const stepsMax = Math.min(ZONE_STEPS_MAX, sourceSteps.left);
  const steps = { left: stepsMax };
  const rules = changesOf(observances, steps);
  sourceSteps.left -= stepsMax - steps.left;
  if (steps.left > 0) return rules;
  return stepsMax === ZONE_STEPS_MAX
    ? `its rules take more than ${ZONE_STEPS_MAX} steps, the limit`
    : `all rules of the source have taken ${CALENDAR_STEPS_MAX} steps, the limit`;
}

function changesOf(observances: readonly Observance[], steps: Steps): ZoneRules | string {
  const changes: { instantMs: number; offsetMs: number; fromMs: number }[] = [];
  for (const observance of observances) {
    const fromMs = parseOffset(observance.offsetFrom);
    const offsetMs = parseOffset(observance.offsetTo);
    if (fromMs === null || offsetMs === null)
      return 'its TZOFFSETFROM and TZOFFSETTO are not offsets such as +0100';
    const onsets = onsetsOf(observance, fromMs, steps);
    if (typeof onsets === 'string') return onsets;
    if (changes.length + onsets.length > ZONE_CHANGES_MAX)
      return `it has more than ${ZONE_CHANGES_MAX} clock changes, the limit`;
    for (const localMs of onsets) changes.push({ instantMs: localMs - fromMs, offsetMs, fromMs });
  }
  changes.sort((a, b) => a.instantMs - b.instantMs);
  const first = changes[0];
  if (first === undefined) return 'it has no STANDARD or DAYLIGHT';
  return {
    instants: Float64Array.from(changes, ({ instantMs }) => instantMs),
    offsets: Float64Array.from(changes, ({ offsetMs }) => offsetMs),
    firstOffsetMs: first.fromMs,
  };
}

/** The local times at which an observance begins, by the clock before each change; or a clause on the fault. */
function onsetsOf({ start, rules, dates }: Observance, fromMs: number, steps: Steps): number[] | string {
  const begin = parseTime(start);
  if (typeof begin === 'string') return `its DTSTART: ${begin}`;
  if (begin.isUtc) return 'a DTSTART in it is not a local time';
  const onsets = new Set([begin.localMs]);
  for (const text of dates) {
    const date = parseTime(text.split('/')[0] ?? '');
    if (typeof date === 'string') return `its RDATE: ${date}`;
    onsets.add(date.isUtc ? date.localMs + fromMs : date.localMs);
  }
  for (const text of rules) {
    const rule = parseRule(text);
    if (typeof rule === 'string') return `its RRULE: ${rule}`;
    const until = rule.until === null ? null : parseTime(rule.until);
    if (typeof until === 'string') return `its UNTIL: ${until}`;
    const untilMs = until === null ? LAST_MS : until.localMs + (until.isUtc ? fromMs : 0);
    const window = { fromMs: begin.localMs, toMs: Math.min(untilMs, LAST_MS) };
    expandRule(rule, begin.localMs, window, steps, (localMs) => {
      if (localMs > window.toMs || onsets.size > ZONE_CHANGES_MAX) return false;
      onsets.add(localMs);
      return true;
    });
  }
  steps.left -= CHANGE_STEPS * onsets.size;
  return [...onsets];
}

/** `+0100`, `-053000` (RFC 5545 section 3.3.14). */
function parseOffset(text: string): number | null {
  const match = /^([+-])(\d\d):?([0-5]\d)([0-5]\d)?$/.exec(text.trim());
  if (match === null || Number(match[2]) > 23) return null;
  const seconds = (Number(match[2]) * 60 + Number(match[3])) * 60 + Number(match[4] ?? 0);
  return (match[1] === '-' ? -seconds : seconds) * 1000;
}
