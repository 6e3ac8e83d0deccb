/**
 * The cost of representations, feeds, compression, directories, free time and loads of formats, each with its limit. A
 * whole run takes less than eight minutes.
 *
 *     npm run bench:formats -- [--only <part>] [--rounds <n>] [--seconds <s>] [--quick]
 *
 * Parts: representations, feeds, all, compression, calendar, not, lessons, directories, loads. Only a whole run writes the results.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CACHE_MB_DEFAULT } from '../../dist/base/limits.js';
import { provenanceOf } from '../../scripts/provenance.mjs';
import { answerOf, conditional, fieldOf } from '../answers.mjs';
import { measureFormatLoads } from '../parts/format-loads.mjs';
import { measureLessons } from '../parts/lessons.mjs';
import { MEASURED, textOf } from '../results-file.mjs';
import { rowOf, tellEnd } from '../rows.mjs';
import { SECRET, Session } from '../session.mjs';
import { readEvents } from '../sets.mjs';
import { settingsOf } from '../settings.mjs';
import { median } from '../statistics.mjs';
import { randomFrom, tokenOf, workloadsOf } from '../workloads.mjs';

const RESULTS = fileURLToPath(new URL('../results/formats.json', import.meta.url));
const SLICES = fileURLToPath(new URL('../processes/calendar-slices.mjs', import.meta.url));
const CALENDAR_PROCESSES = 3;
const REQUESTS = 100_000;
const HOUR_MS = 3_600_000;
const WEEK_MS = 168 * HOUR_MS;
const COMPRESSION_TRIES = 200;
const DIRECTORIES = ['rooms', 'courses', 'groups', 'lecturers'];
const FREE_BY = ['room', 'lecturer', 'group'];

/**
 * The limits: representations as a multiple of JSON; lists of all events, and 304, as a multiple of bare
 * node:http.
 */
const RATIOS = { representation: 1.5, all: 1.5, feed304: 1.2, feed: 1.6, compressed: 1.1, not: 1.05 };
const STALL_MS_MAX = 25;
const SERVER_MS_MAX = 5;

const isQuick = process.argv.includes('--quick');
const fixed = ['--launches', '1', '--no-peers'];
// Many short rounds: the median ignores rounds that other work on the machine disturbed.
const usual = isQuick ? [] : ['--rounds', '7', '--seconds', '0.3'];
const given = settingsOf([...fixed, ...usual, ...process.argv.slice(2)]);
// The row caches fill during the first 60,000 requests.
const warmUp = { ...given.warmUp, sliceSeconds: 0.5, slicesMax: 16 };
const settings = isQuick ? given : { ...given, requests: REQUESTS, warmUp };
/** The warm-up for answers that take milliseconds. */
const shortWarmUp = { ...warmUp, slicesMin: 2, slicesMax: 4, requestsMin: 1000 };
const slowSettings = isQuick ? given : { ...settings, warmUp: shortWarmUp };
const isWhole = !isQuick && settings.only === '';
const session = new Session(settings);

/** Lists of slow requests have fewer connections. */
function settingsFor([{ connections }]) {
  return connections < settings.connections ? slowSettings : settings;
}

/** Contestants of one server, one for each list of requests. */
async function contestantsOf(server, lists) {
  for (const { name, requests } of lists) await session.give(name, requests);
  return lists.map(({ name, connections = settings.connections, expect304 = false }) => {
    return { name, as: name, server, connections, expect304 };
  });
}

function addRatio(name, set, target, own, others) {
  const ratios = own.map(({ cpuMicros }, n) => cpuMicros / others[n].cpuMicros);
  const micros = median(own.map(({ cpuMicros }) => cpuMicros));
  const againstMicros = median(others.map(({ cpuMicros }) => cpuMicros));
  session.add(
    rowOf({ group: 'format', name, set, unit: 'ratio', target }, ratios, { micros, againstMicros }),
  );
}

/** Compares each list of requests with the first list, on the same server. */
async function compare(server, name, target, lists, set = 'medium') {
  const contestants = await contestantsOf(server, lists);
  const rounds = await session.measure({ name, set }, contestants, settingsFor(contestants));
  const [first, ...others] = lists.map((list) => list.name);
  for (const other of others) {
    addRatio(`${other} against ${first}`, set, target, rounds.get(other), rounds.get(first));
  }
}

/** Compares a list of requests with bare node:http that sends the same bytes. */
async function compareWithFloor(server, target, list) {
  const { answer } = await session.floorOf(server.port, list.requests);
  const floor = await session.startFloor(answer);
  const [own] = await contestantsOf(server, [list]);
  const bare = { ...own, name: 'floor', server: floor };
  const about = { name: list.name, set: 'medium' };
  const rounds = await session.measure(about, [bare, own], settingsFor([own]));
  await session.stop(floor);
  addRatio(
    `${list.name} against bare node:http`,
    'medium',
    target,
    rounds.get(list.name),
    rounds.get('floor'),
  );
}

/** The request with compression, once its answer is kept compressed. */
async function compressed(port, request) {
  const asked = { ...request, headers: { ...request.headers, 'accept-encoding': 'br' } };
  for (let n = 0; n < COMPRESSION_TRIES; n++) {
    const answer = await answerOf(port, asked);
    if (fieldOf(answer, 'content-encoding') === 'br') return { asked, bytes: answer.bodyBytes };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${request.path} was never compressed`);
}

async function measureCompression(server, name, request, connections) {
  const { bodyBytes } = await answerOf(server.port, request);
  const { asked, bytes } = await compressed(server.port, request);
  session.say(`  ${name}: ${bytes} bytes compressed, ${bodyBytes} plain`);
  await compare(server, name, RATIOS.compressed, [
    { name: `${name}, plain`, requests: [request], connections },
    { name: `${name}, compressed`, requests: [asked], connections },
  ]);
}

/** @typedef {(name: string) => { name: string, requests: object[] }} ListOf the requests of a workload */

const asRepresentation =
  (name, end = '') =>
  async (server, listOf) => {
    const [first, second] = ['filter + window', `${name}, filter + window`].map(listOf);
    await compare(server, name + end, RATIOS.representation, [first, { ...second, name: second.name + end }]);
  };

async function measureFeeds(server, listOf) {
  await compare(server, 'feeds', RATIOS.feed, [listOf('personal'), listOf('feeds of different users')]);
  const lists = ['feeds of different users', 'pages of different users'].map(listOf);
  await compare(server, 'pages', RATIOS.representation, lists);
  const feed = listOf('feed, 304');
  const requests = await conditional(server.port, feed.requests);
  await compareWithFloor(server, RATIOS.feed304, { ...feed, requests });
}

async function measureAll(server, listOf) {
  for (const name of ['NDJSON, all', 'CSV, all']) await compareWithFloor(server, RATIOS.all, listOf(name));
}

async function measureCompressed(server, listOf) {
  const [hot] = listOf('hot URL').requests;
  await measureCompression(server, 'hot URL', hot, settings.connections);
  const [all] = listOf('all').requests;
  await measureCompression(server, 'all', all, 4);
}

/**
 * Enough for the rows of 100,000 events by four keys in two formats. Smaller caches would keep only part of the
 * formats that come later.
 */
const CACHE_MB = 512;
const DEFAULT_CACHE = ', default caches';
/** Each has its own server, with caches of CACHE_MB unless its name ends with DEFAULT_CACHE. */
const ON_MEDIUM = {
  'representations: NDJSON': asRepresentation('NDJSON'),
  'representations: CSV': asRepresentation('CSV'),
  'representations: iCalendar': asRepresentation('iCalendar'),
  ...Object.fromEntries(
    ['NDJSON', 'CSV', 'iCalendar'].map((name) => [
      `representations: ${name}${DEFAULT_CACHE}`,
      asRepresentation(name, DEFAULT_CACHE),
    ]),
  ),
  feeds: measureFeeds,
  all: measureAll,
  compression: measureCompressed,
};

async function measureMedium(source, names) {
  const events = readEvents(source);
  const all = workloadsOf(events, { secret: SECRET, count: settings.requests, seed: settings.seed });
  const listOf = (name) => {
    const { requests, connections, expect304 } = all.find((each) => each.name === name);
    return { name, requests, connections, expect304 };
  };
  for (const name of names) {
    const options = name.endsWith(DEFAULT_CACHE) ? {} : { cacheMb: CACHE_MB };
    const server = await session.startLectern(source, options);
    await ON_MEDIUM[name](server, listOf);
    await session.stop(server);
  }
}

/** A filter that leaves out a course, beside the same filter without it: the answers are equal. */
async function measureNot(set) {
  const source = await session.sets.file(set);
  const options = { secret: SECRET, count: settings.requests, seed: settings.seed };
  const workloads = workloadsOf(readEvents(source), options);
  const names = ['filter + window', 'filter + window, not a course'];
  const lists = names.map((name) => workloads.find((each) => each.name === name));
  const ending = set === 'medium' ? '' : `, ${settings.events[set].toLocaleString('en')} events`;
  const named = lists.map(({ name, requests }) => ({ name: name + ending, requests }));
  const server = await session.startLectern(source);
  await compare(server, 'not', RATIOS.not, named, set);
  await session.stop(server);
}

function measureCalendar(source) {
  const longest = [];
  for (let n = 0; n < CALENDAR_PROCESSES; n++) {
    const { sliceMs } = JSON.parse(execFileSync(process.execPath, [SLICES, source], { encoding: 'utf8' }));
    longest.push(Math.max(...sliceMs));
  }
  const about = { group: 'format', name: 'iCalendar, all: longest slice of a new process', set: 'medium' };
  session.add(rowOf({ ...about, unit: 'ms', target: STALL_MS_MAX }, longest));
}

/** Processor time, HTTP included, of requests for weeks, hours and parts of names. Hardly any request is repeated. */
async function measureDirectories(source, { startMs, endMs }) {
  const server = await session.startLectern(source);
  const random = randomFrom(settings.seed);
  const below = (end) => Math.floor(random() * end);
  const headers = { authorization: `Bearer ${tokenOf(SECRET, { sub: 'bench' })}` };
  const window = (lengthMs) => {
    const from = startMs + below(Math.max(1, endMs - startMs - lengthMs));
    return `startTime=${new Date(from).toISOString()}&endTime=${new Date(from + lengthMs).toISOString()}`;
  };
  const free = (by, lengthMs) => `/free?by=${by}&${window(lengthMs)}`;
  const paths = [
    ...DIRECTORIES.map((name) => [`${name} of a week`, () => `/${name}?${window(WEEK_MS)}`]),
    ...DIRECTORIES.map((name) => [`${name} by q`, () => `/${name}?q=${below(900)}&limit=${20 + below(80)}`]),
    ...FREE_BY.map((by) => [`free by ${by}, a week`, () => free(by, WEEK_MS)]),
    ...FREE_BY.map((by) => [`free by ${by}, an hour`, () => free(by, HOUR_MS)]),
  ];
  const lists = paths.map(([name, path]) => ({
    name,
    requests: Array.from({ length: 2000 }, () => ({ path: `/api/v1/schedule${path()}`, headers })),
    connections: 4,
  }));
  const about = { name: 'directories and free time', set: 'large' };
  const rounds = await session.measure(about, await contestantsOf(server, lists), slowSettings);
  for (const { name } of lists) {
    const ms = rounds.get(name).map(({ cpuMicros }) => cpuMicros / 1000);
    session.add(rowOf({ group: 'format', name, set: 'large', unit: 'ms', target: SERVER_MS_MAX }, ms));
  }
  await session.stop(server);
}

const about = provenanceOf(MEASURED, 'loadBefore');
try {
  const medium = await session.sets.file('medium');
  const times = readEvents(medium).map(({ time }) => Date.parse(time));
  const names = Object.keys(ON_MEDIUM).filter((name) => session.wants(name));
  if (names.length > 0) await measureMedium(medium, names);
  if (session.wants('calendar')) measureCalendar(medium);
  const span = { startMs: times[0], endMs: times.at(-1) };
  for (const set of ['medium', 'large']) if (session.wants('not')) await measureNot(set);
  if (session.wants('lessons')) await measureLessons(session, medium);
  if (session.wants('loads')) await measureFormatLoads(session);
  if (session.wants('directories')) await measureDirectories(await session.sets.file('large'), span);
} finally {
  await session.end();
}
session.say(tellEnd(session.rows, isQuick, Math.round(performance.now() / 1000)));
if (isWhole) {
  const { rounds, roundSeconds, connections, events } = settings;
  const kept = {
    rounds,
    roundSeconds,
    connections,
    events,
    cacheMb: CACHE_MB,
    cacheMbDefault: CACHE_MB_DEFAULT,
  };
  writeFileSync(RESULTS, textOf({ ...about, settings: kept, rows: session.rows, measurements: [] }));
  session.say(`written to ${RESULTS}`);
}
