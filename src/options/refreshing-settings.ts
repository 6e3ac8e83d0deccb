import { amount, count, either, given, inGroup, isObject, PATH, type Setting } from './setting.js';

const SECONDS_PER_YEAR = 31_536_000;

/** How the timetable stays fresh, and what may replace it. */
export const REFRESHING_SETTINGS: readonly Setting[] = inGroup('Refreshing', [
  {
    name: 'refreshSeconds',
    places: ['openTimetable'],
    kind: amount('seconds', 0, SECONDS_PER_YEAR),
    default: 0,
    help: 'time between two loads, varied by up to 10 %; 0 for none. SIGHUP loads at once',
  },
  {
    name: 'watch',
    places: ['openTimetable'],
    kind: either('how', 'on', 'off'),
    default: true,
    help: 'load a file again when it changes',
  },
  {
    name: 'gate',
    places: ['openTimetable'],
    flag: null,
    kind: given('an object or false', (value) => value === false || isObject(value)),
    help: 'what a new timetable must be like to replace the one that is served; false lets everything through',
  },
  {
    name: 'shrinkPercentMax',
    places: ['gate'],
    kind: amount('percent', 0, 100),
    default: 30,
    help: 'refuse a timetable that is smaller than the served one by more than this; SIGUSR2 loads without the checks of size and rejections',
  },
  {
    name: 'rejectPercentMax',
    places: ['gate'],
    kind: amount('percent', 0, 100),
    default: 10,
    help: 'refuse a timetable of which more than this share was rejected; the first one is published with a warning',
  },
  {
    name: 'growthPercentMax',
    places: ['gate'],
    kind: amount('percent', 0, 1_000_000_000),
    default: 1000,
    help: 'give up a load whose records exceed the served ones by more than this; the first load and loads of up to 1,000 records are exempt',
  },
  {
    name: 'allowEmpty',
    places: ['gate'],
    flag: '--empty-set',
    kind: either('how', 'publish', 'refuse'),
    default: false,
    help: 'refuse a timetable without events, or publish it',
  },
  {
    name: 'staleSecondsMax',
    places: ['openTimetable'],
    kind: amount('seconds', 0, SECONDS_PER_YEAR),
    help: 'answer 503 once the last good load is older than this; without it, never',
  },
  {
    name: 'snapshotFile',
    places: ['openTimetable'],
    kind: PATH,
    help: 'write each timetable to this file, and serve it at once at the next start with the same source',
  },
  {
    name: 'snapshotFilesKept',
    places: ['openTimetable'],
    kind: count('number', 0, 100),
    default: 0,
    help: 'earlier snapshot files to keep beside it, as <file>.1 and so on',
  },
  {
    name: 'pin',
    places: ['openTimetable'],
    kind: PATH,
    help: 'serve exactly this snapshot file and ask no source',
  },
]);
