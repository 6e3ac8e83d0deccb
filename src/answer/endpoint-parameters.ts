import { type DirectoryName, PARAMETER_FIELDS } from '../base/model/fields.js';
import { FORMATS, type Format, LIST_FORMATS } from '../base/model/format.js';

export type ParameterKind =
  | 'filter'
  /** `courseId!=…`: the name ends with "!". */
  | 'exclusion'
  | 'instant'
  | 'date'
  | 'time-zone'
  | 'count'
  | 'texts'
  | 'dimension'
  | 'limit'
  | 'event-cursor'
  | 'conflict-cursor'
  | 'directory-cursor'
  | 'q'
  | 'format'
  | 'by'
  | 'merge'
  | 'since'
  | 'earlier'
  | 'for'
  | 'clashes';

/** The endpoints that return lists, and `events`, which returns one event. */
export type EndpointName =
  | 'schedule'
  | 'personal'
  | 'all'
  | 'types'
  | 'conflicts'
  | 'free'
  | 'changes'
  | 'events'
  | DirectoryName;

export interface Parameter {
  readonly name: string;
  readonly kind: ParameterKind;
  /** The index of the parameter in the table, which is the order of faults and filters. */
  readonly rank: number;
}

export type ParameterTable = ReadonlyMap<string, Parameter>;

function parameterTable(...rows: (readonly [name: string, kind: ParameterKind])[]): ParameterTable {
  return new Map(rows.map(([name, kind], rank) => [name, { name, kind, rank }]));
}

const WINDOW: readonly (readonly [string, ParameterKind])[] = [
  ['startTime', 'instant'],
  ['endTime', 'instant'],
  ['date', 'date'],
  ['days', 'count'],
  ['timeZone', 'time-zone'],
];

const FILTERS: readonly (readonly [string, ParameterKind])[] = [
  ...PARAMETER_FIELDS.map((field) => [field.name, 'filter'] as const),
  ...PARAMETER_FIELDS.map((field) => [`${field.name}!`, 'exclusion'] as const),
  ...WINDOW,
];

const DIRECTORY_PARAMETERS = parameterTable(
  ...FILTERS,
  ['q', 'q'],
  ['limit', 'limit'],
  ['cursor', 'directory-cursor'],
  ['format', 'format'],
);

const EVENT_LIST: readonly (readonly [string, ParameterKind])[] = [
  ['limit', 'limit'],
  ['cursor', 'event-cursor'],
  ['format', 'format'],
  ['clashes', 'clashes'],
];

export const ENDPOINT_PARAMETERS: Readonly<Record<EndpointName, ParameterTable>> = {
  schedule: parameterTable(...FILTERS, ...EVENT_LIST),
  personal: parameterTable(...FILTERS, ...EVENT_LIST),
  all: parameterTable(...EVENT_LIST),
  types: parameterTable(['format', 'format']),
  conflicts: parameterTable(
    ...FILTERS,
    ['by', 'by'],
    ['merge', 'merge'],
    ['limit', 'limit'],
    ['cursor', 'conflict-cursor'],
    ['format', 'format'],
  ),
  free: parameterTable(
    ['by', 'dimension'],
    ...WINDOW,
    ['weeks', 'count'],
    ['among', 'texts'],
    ['building', 'texts'],
    ['capacityMin', 'count'],
    ['limit', 'limit'],
    ['cursor', 'directory-cursor'],
    ['format', 'format'],
  ),
  changes: parameterTable(['since', 'since'], ['earlier', 'earlier'], ['format', 'format']),
  events: parameterTable(['format', 'format']),
  rooms: DIRECTORY_PARAMETERS,
  courses: DIRECTORY_PARAMETERS,
  groups: DIRECTORY_PARAMETERS,
  lecturers: DIRECTORY_PARAMETERS,
};

/** The parameters of GET /schedule/feed, which select the events of the feed. */
export const FEED_PARAMETERS: ParameterTable = parameterTable(
  ...FILTERS,
  ['for', 'for'],
  ['clashes', 'clashes'],
);

export const ENDPOINT_FORMATS: Readonly<Record<EndpointName, readonly Format[]>> = {
  schedule: FORMATS,
  personal: FORMATS,
  all: FORMATS,
  types: LIST_FORMATS,
  conflicts: LIST_FORMATS,
  free: LIST_FORMATS,
  changes: LIST_FORMATS,
  events: LIST_FORMATS,
  rooms: LIST_FORMATS,
  courses: LIST_FORMATS,
  groups: LIST_FORMATS,
  lecturers: LIST_FORMATS,
};
