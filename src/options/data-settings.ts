import { CACHE_MB_DEFAULT, EVENTS_MAX, LOAD_MEMORY_MB_MIN } from '../limits.js';
import {
  amount,
  count,
  given,
  inGroup,
  isFunction,
  isObject,
  type Kind,
  oneOf,
  PATH,
  type Setting,
} from './setting.js';

const MIB_PER_TIB = 1_048_576;

/** Adds `Name: value` to the fields given before. Where addresses are read, it is checked whether a field can be sent. */
const HEADER: Kind = {
  unit: 'name:value',
  range: '"Name: value"',
  parse: (argument, previous) => {
    const colon = argument.indexOf(':');
    const name = argument.slice(0, Math.max(0, colon)).trim();
    const value = argument.slice(colon + 1).trim();
    // Without a colon the value would pass for the name. No message repeats either.
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || value === '') return argument;
    return { ...(previous as Record<string, string> | undefined), [name]: value };
  },
  fault: (value) => (isObject(value) ? null : 'it must be "Name: value"'),
};

/** What is loaded, and how it is read. */
export const DATA_SETTINGS: readonly Setting[] = inGroup('Data', [
  {
    name: 'source',
    places: ['openTimetable'],
    flag: null,
    kind: given('a path, an address, a source or records', () => true),
    help: 'where events come from: a path, an http(s) address, or a source of your own; on the command line, the arguments',
  },
  {
    name: 'identifiers',
    places: ['openTimetable'],
    kind: oneOf('kind', ['uuid', 'any']),
    default: 'uuid',
    help: 'what identifiers of the data look like: UUIDs, or any text of 1 to 64 characters and whole numbers',
  },
  {
    name: 'unknownParameters',
    places: ['openTimetable'],
    kind: oneOf('how', ['reject', 'ignore']),
    default: 'reject',
    help: 'answer an unknown query parameter with 400, or ignore it',
  },
  {
    name: 'cacheMb',
    places: ['openTimetable'],
    kind: amount('megabytes', 0, MIB_PER_TIB),
    default: CACHE_MB_DEFAULT,
    help: 'MiB of memory for caches, besides the timetable itself; 0 for none',
  },
  {
    name: 'memoryMbMax',
    places: ['openTimetable'],
    kind: amount('megabytes', LOAD_MEMORY_MB_MIN, MIB_PER_TIB),
    help: 'MiB of memory that one load may take; without it, three quarters of what machine and container have left',
  },
  {
    name: 'eventsMax',
    places: ['openTimetable'],
    kind: count('number', 1, EVENTS_MAX),
    help: 'refuse a timetable with more events; without it, any number',
  },
  {
    name: 'sourceHeaders',
    places: [],
    flag: '--header',
    isSecret: true,
    kind: HEADER,
    help: "header field for addresses, such as 'Authorization: Bearer env:UPSTREAM_TOKEN', which takes the value from the environment; repeatable",
  },
  {
    name: 'lecturerIdsFile',
    places: [],
    flag: '--lecturer-ids',
    kind: PATH,
    help: 'JSON object from names to identifiers, for sources that give only the names of lecturers',
  },
  {
    name: 'buildOn',
    places: ['openTimetable'],
    flag: null,
    kind: oneOf('where', ['thread', 'here']),
    default: 'thread',
    help: 'build snapshots on a thread of their own, or on the calling thread, for small sets',
  },
  {
    name: 'onProgress',
    places: ['openTimetable'],
    flag: null,
    kind: given('a function', isFunction),
    help: 'called now and then during the first load',
  },
]);
