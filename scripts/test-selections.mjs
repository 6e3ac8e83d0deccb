/** Which tests each command runs. Paths are below test/; a folder or the beginning of a name stands for all of its files. */

/** Tests that `npm test` leaves to `npm run test:slow`, with what makes them slow. */
export const SLOW = {
  'attack/clock-jumps.': 'the clock is set under load, with pauses',
  'attack/hash-flooding.': 'compares processor times of loads',
  'attack/hostile-sources.': 'sources that would cost more than linear time',
  'attack/real-issuer.': 'rounds of rotated keys, with cooldowns',
  'browser/': 'Chromium',
  'cli/export.': 'starts a command for each format and each way to fail',
  'cli/first-process.': 'starts services as process 1 of a namespace',
  'cli/inspect-database.': 'runs what inspect proposes against a real server',
  'cli/loaded-packages.': 'starts services that count their packages',
  'cli/log-output.': 'fills the pipes of services with logs',
  'cli/lost-folders.': 'several services that lose their folders',
  'cli/output.': 'starts a command for each way that an output fails',
  'cli/postgres.': 'every command with a real server',
  'cli/production-faults.': 'starts services with every fault of the settings',
  'cli/publish.': 'publishers and replicas in processes of their own',
  'cli/shutdown.': 'ends services under load',
  'cli/start.': 'services that fail to start or wait',
  'deploy/': 'nginx, systemd, promtool, LibreOffice and calendar programs',
  'embedding/bundled.': 'bundles the library',
  'embedding/lifetime.': 'a program for each way to end',
  'encode/row-lists.': 'lists beyond the bounds of a slice',
  'examples/': 'starts each example',
  'hard/': 'large numbers, many clients, long runs',
  'package/': 'packs and installs the package',
  'project/dev.': 'restarts npm run dev',
  'project/many-machines.': 'runs the commands of the page',
  'project/postgresql-page.': 'runs the commands of the page against a real server',
  'project/readme.': 'runs every command of the pages',
  'project/watch.': 'restarts npm run test:watch',
  'query/conflict-layouts.': 'compares processor times of the hardest timetables',
  'refresh/faults.': 'every fault of an upstream, under load',
  'replication/balanced.': 'twelve servers behind one address',
  'replication/chaos.': 'a fleet of processes and its failures',
  'replication/damage.': 'a fleet, with pauses',
  'replication/faults-told.': 'a slow link',
  'replication/from-disk.': 'a fleet that starts again',
  'replication/histories.': 'replicas that come late, skip and restart',
  'replication/nats-': 'stores that are emptied and restarted',
  'replication/publisher.': 'leaders that hang, and their successors',
  'replication/rotation.': 'a fleet whose keys are rotated',
  'replication/standby.': 'publishers that take over',
  'source/postgres/binary-rows.': 'every type in every field',
  'source/postgres/pooler.': 'a pooler in front of a server',
  'source/postgres/tls.': 'a server with every way to log in',
  'store/nats-many.': 'a real server with 45,000 objects',
  'store/nats-closed.': 'stores whose server stops, hangs and comes back',
  'timetable/chain-issuer.': 'tokens of a real issuer that run out',
  'timetable/chain.': 'tokens that run out again and again',
};

/** Tests that are in `npm test` with small numbers and data sets, and in `npm run test:slow` with larger ones. */
export const SLOW_SIZES = [
  'attack/feed-addresses.',
  'attack/outage.',
  'attack/token-cache.',
  'attack/token-properties.',
  'attack/tokens.',
  'cli/inspect-columns.',
  'encode/other-parsers.',
  'encode/page-rows.',
  'http/fuzz.',
  'http/node/inner/',
  'http/request/query-fuzz.',
  'query/directory-pages.',
  'query/free.',
  'query/mapped-real-data.',
  'query/real-data.',
  'refresh/under-load.',
  'snapshot/display-names.',
  'snapshot/patch.',
  'snapshot/patched-build.',
  'source/calendar/',
  'source/fuzz.',
  'thread/patched-load.',
  'timetable/reload-credentials.',
  'timetable/reload.',
];

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

/** Programs that take long are started first, so that none of them runs alone at the end. */
export const FIRST = [
  'cli/',
  'query/',
  'refresh/',
  'source/postgres/',
  'snapshot/',
  'serving/',
  'attack/',
  'embedding/',
  'thread/',
];

const startsOf = (starts) => (path) => starts.some((start) => path.startsWith(start));
const isSlow = startsOf(Object.keys(SLOW));
const isSized = startsOf(SLOW_SIZES);

/** By command: its files, whether those of a folder run together, and the seconds that a program may take. */
export const SELECTIONS = {
  fast: { has: (path) => !isSlow(path), isTogether: true, seconds: 600 },
  slow: { has: (path) => isSlow(path) || isSized(path), seconds: 900, env: { LECTERN_SLOW: '1' } },
  hard: { has: startsOf(HARD), seconds: 3600, jobs: 1, env: { LECTERN_HARD: '1' } },
};
