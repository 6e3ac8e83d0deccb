import {
  CACHE_MB_DEFAULT,
  CACHE_MB_MAX,
  EVENTS_MAX,
  LOAD_MEMORY_MB_MAX,
  LOAD_MEMORY_MB_MIN,
} from '../limits.js';
import { amount, count, given, isObject, type Kind, oneOf, PATH, type Setting } from './setting.js';

/** Adds `Name: value` to the fields given before. Whether a field can be sent is checked where addresses are read. */
const HEADER: Kind = {
  unit: 'name:value',
  range: '"Name: value"',
  parse: (argument, previous) => {
    const colon = argument.indexOf(':');
    const name = argument.slice(0, Math.max(0, colon)).trim();
    const value = argument.slice(colon + 1).trim();
    // A value without its colon would pass for a part of the name; and no message repeats either.
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || value === '') return argument;
    return { ...(previous as Record<string, string> | undefined), [name]: value };
  },
  fault: (value) => (isObject(value) ? null : 'it must be "Name: value"'),
};

/** What is loaded, and how it is read. */
export const DATA_SETTINGS: readonly Setting[] = [
  {
    name: 'source',
    places: ['openTimetable'],
    flag: null,
    group: 'Data',
    kind: given('a path, an address, a source or records', () => true),
    help: 'where events come from: a path, an http(s) address, or a source of your own; on the command line, the arguments',
  },
  {
    name: 'identifiers',
    places: ['openTimetable'],
    flag: '--identifiers',
    group: 'Data',
    kind: oneOf('kind', ['uuid', 'any']),
    default: 'uuid',
    help: 'what identifiers of the data look like: UUIDs, or any text of 1 to 64 characters and whole numbers',
  },
  {
    name: 'unknownParameters',
    places: ['openTimetable'],
    flag: '--unknown-parameters',
    group: 'Data',
    kind: oneOf('how', ['reject', 'ignore']),
    default: 'reject',
    help: 'answer an unknown query parameter with 400, or ignore it',
  },
  {
    name: 'cacheMb',
    places: ['openTimetable'],
    flag: '--cache-mb',
    group: 'Data',
    kind: amount('megabytes', 0, CACHE_MB_MAX),
    default: CACHE_MB_DEFAULT,
    help: 'MiB of memory for caches, besides the timetable itself; 0 for none',
  },
  {
    name: 'memoryMbMax',
    places: ['openTimetable'],
    flag: '--memory-mb-max',
    group: 'Data',
    kind: amount('megabytes', LOAD_MEMORY_MB_MIN, LOAD_MEMORY_MB_MAX),
    help: 'MiB of memory that one load may take; without it, three quarters of what machine and container have left',
  },
  {
    name: 'eventsMax',
    places: ['openTimetable'],
    flag: '--events-max',
    group: 'Data',
    kind: count('number', 1, EVENTS_MAX),
    help: 'refuse a timetable with more events; without it, any number',
  },
  {
    name: 'sourceHeaders',
    places: [],
    flag: '--header',
    isSecret: true,
    group: 'Data',
    kind: HEADER,
    help: "header field for addresses, such as 'Authorization: Bearer env:UPSTREAM_TOKEN', which takes the value from the environment; repeatable",
  },
  {
    name: 'lecturerIdsFile',
    places: [],
    flag: '--lecturer-ids',
    group: 'Data',
    kind: PATH,
    help: 'JSON object from names to identifiers, for sources that give only the names of lecturers',
  },
  {
    name: 'buildOn',
    places: ['openTimetable'],
    flag: null,
    group: 'Data',
    kind: oneOf('where', ['thread', 'here']),
    default: 'thread',
    help: 'build snapshots on a thread of their own, or on the calling thread, for small sets',
  },
  {
    name: 'onProgress',
    places: ['openTimetable'],
    flag: null,
    group: 'Data',
    kind: given('a function', (value) => typeof value === 'function'),
    help: 'called now and then during the first load',
  },
];
