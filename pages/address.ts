/** What the address says: every view can be shared, and the browser's "back" works. */
import { isDate } from './time.js';

export const VIEWS = [
  'week',
  'day',
  'month',
  'list',
  'free',
  'clashes',
  'usage',
  'changes',
  'state',
] as const;
export type ViewName = (typeof VIEWS)[number];
/** Views of one or several timetables. */
export const TIMETABLE_VIEWS: readonly ViewName[] = ['day', 'week', 'month', 'list'];

export const KINDS = ['room', 'lecturer', 'group', 'course'] as const;
export type TargetKind = (typeof KINDS)[number] | 'me';

/** Whose timetable. The id of a group is its studyGroup; a lecturer without an id has `name:` before the name. */
export interface Target {
  readonly kind: TargetKind;
  readonly id: string;
}

/** Lessons that are left out. */
export interface LeftOut {
  readonly field: 'course' | 'type' | 'group';
  readonly value: string;
}

/** Settings of single views. */
const MORE = [
  'building',
  'seats',
  'by',
  'kind',
  'from',
  'since',
  'weeks',
  'hour',
  'minutes',
  'lang',
] as const;
export type More = (typeof MORE)[number];

export interface Address {
  readonly view: ViewName;
  readonly of: readonly Target[];
  /** Null for today. */
  readonly date: string | null;
  /** Null for the zone of the device. */
  readonly zone: string | null;
  readonly not: readonly LeftOut[];
  /** The id of the open lesson. */
  readonly open: string | null;
  readonly more: { readonly [Name in More]?: string };
}

/** As many doors as are printed at once: more than a building has, and an address of less than 5 KB. */
export const TARGETS_MAX = 100;
const TEXT_LENGTH_MAX = 400;

/** What cannot be understood is left out. @param search with or without the question mark */
export function readAddress(search: string): Address {
  const parameters = new URLSearchParams(search);
  const view = parameters.get('view');
  const date = parameters.get('date');
  const zone = parameters.get('zone');
  const more: { [Name in More]?: string } = {};
  for (const name of MORE) {
    const value = parameters.get(name);
    if (value !== null && value !== '' && value.length <= TEXT_LENGTH_MAX) more[name] = value;
  }
  return {
    view: VIEWS.find((each) => each === view) ?? 'week',
    of: unique(parameters.getAll('of').flatMap((text) => readTarget(text) ?? [])).slice(0, TARGETS_MAX),
    date: date !== null && isDate(date) ? date : null,
    zone: zone === '' ? null : zone,
    not: unique(parameters.getAll('not').flatMap((text) => readLeftOut(text) ?? [])),
    open: parameters.get('open'),
    more,
  };
}

/** Empty, or begins with a question mark. */
export function writeAddress({ view, of, date, zone, not, open, more }: Address): string {
  const parameters = new URLSearchParams();
  if (view !== 'week') parameters.set('view', view);
  for (const { kind, id } of of) parameters.append('of', kind === 'me' ? 'me' : `${kind}:${id}`);
  if (date !== null) parameters.set('date', date);
  if (zone !== null) parameters.set('zone', zone);
  for (const { field, value } of not) parameters.append('not', `${field}:${value}`);
  if (open !== null) parameters.set('open', open);
  for (const [name, value] of Object.entries(more)) if (value) parameters.set(name, value);
  const text = parameters.toString().replaceAll('%3A', ':').replaceAll('%2F', '/');
  return text === '' ? '' : `?${text}`;
}

function readTarget(text: string): Target | null {
  if (text === 'me') return { kind: 'me', id: '' };
  const [kind, id] = splitAtColon(text);
  const known = KINDS.find((each) => each === kind);
  return known === undefined || id === '' || id.length > TEXT_LENGTH_MAX ? null : { kind: known, id };
}

function readLeftOut(text: string): LeftOut | null {
  const [field, value] = splitAtColon(text);
  if (field !== 'course' && field !== 'type' && field !== 'group') return null;
  return value === '' || value.length > TEXT_LENGTH_MAX ? null : { field, value };
}

function splitAtColon(text: string): [string, string] {
  const colon = text.indexOf(':');
  return colon === -1 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)];
}

function unique<T extends object>(list: readonly T[]): T[] {
  const seen = new Map(list.map((each) => [JSON.stringify(each), each]));
  return [...seen.values()];
}

export function sameTarget(a: Target, b: Target): boolean {
  return a.kind === b.kind && a.id === b.id;
}
