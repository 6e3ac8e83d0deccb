/** The one store: what the address says, what the person set, the time, and the state of the connection. */
import { computed, effect, type Signal, signal } from '@preact/signals';
import { type Address, readAddress, TIMETABLE_VIEWS, type ViewName, writeAddress } from './address.js';
import type { Row } from './lessons.js';
import {
  addDays,
  addMonths,
  dayStart,
  daysBetween,
  isZone,
  monthStart,
  wallTime,
  weekdayOf,
  weekStart,
} from './time.js';
import { type LanguageCode, languageFor, loadLanguage, RIGHT_TO_LEFT, type Words } from './words.js';

export const address = signal<Address>(readAddress(location.search));
/** The element whose action opened the panel: the focus returns to it. */
let opener: HTMLElement | null = null;

addEventListener('popstate', () => {
  address.value = readAddress(location.search);
});

export interface Navigation {
  /** Whether "back" leads past this step. */
  readonly replace?: boolean;
}

export function go(change: Partial<Address>, { replace = false }: Navigation = {}): void {
  const next = { ...address.value, ...change };
  const search = writeAddress(next);
  if (search === writeAddress(address.value)) return;
  // Without a search, the path alone, so that the earlier search goes.
  const place = search === '' ? location.pathname : search;
  if (replace) history.replaceState(null, '', place);
  else history.pushState(null, '', place);
  address.value = next;
}

/** Sets what a view is set to; an empty text sets nothing. "Back" leads past it. */
export function setMore(change: Address['more']): void {
  const set = Object.entries({ ...address.value.more, ...change }).filter(([, value]) => value !== '');
  go({ more: Object.fromEntries(set) }, { replace: true });
}

export interface Link {
  readonly href: string;
  readonly onClick: (event: MouseEvent) => void;
}

/** A view that is not there after this time is shown as it is. */
const PREPARE_MS = 200;
let lastClick: MouseEvent | null = null;

/**
 * The attributes of a link. A plain click goes on within the page.
 * @param prepare is waited for, so that the next view is drawn once, with all that it shows
 */
export function link(change: Partial<Address>, prepare?: () => Promise<void>): Link {
  return {
    href: writeAddress({ ...address.value, ...change }) || '?',
    onClick: (event) => {
      if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      lastClick = event;
      if (prepare === undefined) {
        go(change);
        return;
      }
      const at = address.peek();
      const proceed = (): void => {
        if (lastClick !== event || address.peek() !== at) return;
        lastClick = null;
        go(change);
      };
      prepare().then(proceed, proceed);
      setTimeout(proceed, PREPARE_MS);
    },
  };
}

export function open(id: string | null): void {
  if (id !== null && document.activeElement instanceof HTMLElement) opener = document.activeElement;
  go({ open: id }, { replace: true });
  if (id === null && opener?.isConnected) opener.focus();
}

/** What the person set on this device. Private windows may refuse to keep it. */
export function readKept<T>(name: string, usual: T): T {
  try {
    const text = localStorage.getItem(`lectern.${name}`);
    return text === null ? usual : (JSON.parse(text) as T);
  } catch {
    return usual;
  }
}

export function keep(name: string, value: unknown): void {
  try {
    localStorage.setItem(`lectern.${name}`, JSON.stringify(value));
  } catch {}
}

const place = computed(() => {
  const { view, of } = address.value;
  return `${TIMETABLE_VIEWS.includes(view) ? 'week' : view} ${JSON.stringify(of)}`;
});
/**
 * What the person did in a view that its address does not say: what is open, how many are shown. Anew in each place, and
 * for the next person.
 */
const parts = computed(() => {
  void [place.value, tokenWanted.value];
  return new Map<string, Signal<unknown>>();
});

/** @returns the part of this name, and what sets it */
export function part<T>(name: string, usual: T): readonly [T, (value: T) => void] {
  const known = parts.value;
  const found = (known.get(name) ?? signal(usual)) as Signal<T>;
  known.set(name, found);
  const set = (value: T): void => {
    found.value = value;
  };
  return [found.value, set];
}

export type Theme = 'auto' | 'light' | 'dark';
export const theme = signal<Theme>(readKept<Theme>('theme', 'auto'));
effect(() => {
  document.documentElement.dataset.theme = theme.value;
});

export const deviceZone: string = new Intl.DateTimeFormat().resolvedOptions().timeZone;
export const zone = computed(() => {
  const { zone: wanted } = address.value;
  return wanted !== null && isZone(wanted) ? wanted : deviceZone;
});

/** Moves on with each minute. */
export const now = signal(Date.now());
function tick(): void {
  now.value = Date.now();
  setTimeout(tick, 60_000 - (Date.now() % 60_000) + 50);
}
tick();
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) now.value = Date.now();
});

export const today = computed(() => wallTime(now.value, zone.value).date);
/** The date that is shown. */
export const shownDate = computed(() => address.value.date ?? today.value);

export const language = signal<LanguageCode>('en');
export const words = signal<Words | null>(null);

export async function useLanguage(code: LanguageCode): Promise<void> {
  const loaded = await loadLanguage(code);
  words.value = loaded;
  language.value = code;
  document.documentElement.lang = code;
  document.documentElement.dir = RIGHT_TO_LEFT.includes(code) ? 'rtl' : 'ltr';
}

export function wantedLanguage(): LanguageCode {
  const asked = address.value.more.lang ?? readKept<string | null>('language', null);
  return languageFor(asked === null ? navigator.languages : [asked, ...navigator.languages]);
}

/** The language of the page, with the region of the device if it is one of its own. */
export const locale = computed(() => {
  const [wanted] = navigator.languages.filter((tag) => tag.split('-')[0] === language.value);
  // English without a region gets days before months, as in most of the world.
  return wanted ?? (language.value === 'en' ? 'en-GB' : language.value);
});

/** Days are 1 for Monday to 7 for Sunday. */
interface Week {
  readonly firstDay: number;
  readonly weekend: readonly number[];
}
const week = computed((): Week => {
  const known = new Intl.Locale(locale.value) as Intl.Locale & { getWeekInfo?: () => Week; weekInfo?: Week };
  return known.getWeekInfo?.() ?? known.weekInfo ?? { firstDay: 1, weekend: [6, 7] };
});
export const firstDay = computed(() => week.value.firstDay);

export function isWeekend(date: string): boolean {
  return week.value.weekend.includes(weekdayOf(date));
}

export const token = signal<string | null>(null);
/** Why the person has to give a token; null while there is none to give. */
export const tokenWanted = signal<'missing' | 'refused' | null>(null);
/** Whether the service gives tokens itself. */
export const isDevelopment = signal(false);
/** Grows when the timetable changed. */
export const revision = signal(0);
export const live = signal<'connecting' | 'live' | 'lost'>('connecting');
/** When the timetable that is shown was published. In milliseconds. */
export const publishedAt = signal<number | null>(null);
/** The ids that the last publications added or changed. */
export const fresh = signal<ReadonlySet<string>>(new Set());
/** The version when the page was opened; null until it is known. */
export const versionAtFirst = signal<string | null>(null);
/** All kinds, sorted; a kind keeps its colour from view to view. */
export const kinds = signal<readonly string[]>([]);
/** By target; null for what the timetable does not have. */
export const knownNames = signal<ReadonlyMap<string, string | null>>(new Map());

/** The timetable of a feed. */
export interface Feed {
  readonly name: string;
  readonly rows: readonly Row[];
  /** Addresses of the same feed in other formats. */
  readonly calendar: string;
  readonly table: string;
}

/** What was read last; null on pages that are no feed. */
export const feedNow = signal<Feed | null>(null);
/** Whether the last attempt to read the feed again failed, or gave what was kept. */
export const isOffline = signal(false);
/** When the service gave this state. In milliseconds; null until it is known. */
export const readAt = signal<number | null>(null);

/** Told to screen readers, politely. */
export const announcement = signal('');
export const isNarrow = media('(max-width: 699px)');
export const isPrinting = media('print');

function media(query: string): Signal<boolean> {
  const list = matchMedia(query);
  const matches = signal(list.matches);
  list.addEventListener('change', () => {
    matches.value = list.matches;
  });
  return matches;
}

const LIST_DAYS = 14;

/** Whether no timetable is chosen, and the token has none of its own. */
export const isChoosing = signal(false);

/** The days that a view shows. */
export interface Range {
  readonly from: string;
  readonly days: number;
  /** The start of the next or previous range. */
  readonly step: (from: string, direction: 1 | -1) => string;
}

/** Whole weeks, also for a month. */
export function rangeOf(view: ViewName, date: string): Range {
  const byDays = (days: number) => (from: string, direction: 1 | -1) => addDays(from, direction * days);
  if (view === 'day') return { from: date, days: 1, step: byDays(1) };
  if (view === 'list')
    return { from: weekStart(date, firstDay.value), days: LIST_DAYS, step: byDays(LIST_DAYS) };
  if (view !== 'month') return { from: weekStart(date, firstDay.value), days: 7, step: byDays(7) };
  const from = weekStart(monthStart(date), firstDay.value);
  const days = Math.ceil(daysBetween(from, addMonths(date, 1)) / 7) * 7;
  return { from, days, step: (_, direction) => weekStart(addMonths(date, direction), firstDay.value) };
}

export function windowOf(
  from: string,
  days: number,
  zone: string,
): { readonly from: number; readonly to: number } {
  return { from: dayStart(from, zone), to: dayStart(addDays(from, days), zone) };
}

/** Moves to the next or previous day, week, month or list. */
export function move(direction: 1 | -1): void {
  const { view } = address.value;
  const date = shownDate.value;
  const days = view === 'day' || view === 'free' ? 1 : view === 'list' ? LIST_DAYS : 7;
  go({ date: view === 'month' ? addMonths(date, direction) : addDays(date, direction * days), open: null });
}
