/** Which tests each command runs. Paths are below test/; a folder or the beginning of a name stands for all of its files. */

/** Tests that `npm test` leaves to `npm run test:slow`, with what makes them slow. */
export const SLOW = {
  'hard/': 'large numbers, many clients, long runs',
  'deploy/': 'nginx, systemd, promtool, LibreOffice and calendar programs',
  'package/': 'packs and installs the package',
  'examples/': 'starts each example',
  'embedding/bundled.': 'bundles the library',
  'project/dev.': 'restarts npm run dev',
  'project/readme.': 'runs every command of the pages',
  'project/watch.': 'restarts npm run test:watch',
};

/** Tests that are in `npm test` with small numbers, and in `npm run test:slow` with larger ones. */
export const SLOW_SIZES = ['attack/hostile-sources.'];

/** Tests that `npm run test:hard` runs at full size. */
const HARD = [
  'hard/',
  'snapshot/',
  'refresh/',
  'query/real-data.',
  'query/conflict-layouts.',
  'admin/hosts.',
  'attack/',
  'cli/refresh.',
  'cli/shutdown.',
  'deploy/',
  'http/',
  'source/',
  'thread/',
  'timetable/',
];

/** Files that run in a process of their own, with the reason. All others run together with those of their folder. */
export const ALONE = {};

/** Programs that take long are started first, so that none of them runs alone at the end. */
export const FIRST = [];

const startsOf = (starts) => (path) => starts.some((start) => path.startsWith(start));
const isSlow = startsOf(Object.keys(SLOW));
const isSized = startsOf(SLOW_SIZES);

/** By command: which files it runs, how many programs at a time, and the seconds that a program may take. */
export const SELECTIONS = {
  fast: { has: (path) => !isSlow(path), seconds: 600 },
  slow: { has: (path) => isSlow(path) || isSized(path), seconds: 900, env: { LECTERN_SLOW: '1' } },
  hard: { has: startsOf(HARD), seconds: 3600, jobs: 1, env: { LECTERN_HARD: '1' } },
};
