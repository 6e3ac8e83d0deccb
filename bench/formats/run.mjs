/**
 * What representations, feeds, compression, directories and free time cost, each with its limit.
 *
 *     npm run bench:formats -- [--rounds <n>] [--seconds <s>] [--quick]

 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { provenanceOf } from '../../scripts/provenance.mjs';
import { answerOf, conditional, fieldOf } from '../answers.mjs';
import { MEASURED, textOf } from '../results-file.mjs';
import { isMet, rowOf } from '../rows.mjs';
import { SECRET, Session } from '../session.mjs';
import { readEvents } from '../sets.mjs';
import { settingsOf } from '../settings.mjs';
import { median } from '../statistics.mjs';
import { randomFrom, tokenOf, workloadsOf } from '../workloads.mjs';

const RESULTS = fileURLToPath(new URL('../results/formats.json', import.meta.url));
const SLICES = fileURLToPath(new URL('../processes/calendar-slices.mjs', import.meta.url));
const CALENDAR_PROCESSES = 3;
const REQUESTS = 100_000;
const WEEK_MS = 7 * 86_400_000;
const COMPRESSION_TRIES = 200;
const DIRECTORIES = ['rooms', 'courses', 'groups', 'lecturers'];

/** Representations cost at most so many times JSON; lists of everything, and 304, so many times bare node:http. */
const RATIOS = { representation: 1.5, all: 1.5, feed304: 1.2, feed: 1.6, compressed: 1.1 };
const STALL_MS_MAX = 25;
const SERVER_MS_MAX = 5;

const isQuick = process.argv.includes('--quick');
const given = settingsOf(['--launches', '1', '--no-peers', '--seconds', '0.4', ...process.argv.slice(2)]);
// All take turns on one server, so a short warm-up is enough.
const warmUp = { ...given.warmUp, sliceSeconds: 0.5, slicesMin: 2, slicesMax: 4, requestsMin: 10_000 };
const settings = isQuick ? given : { ...given, requests: REQUESTS, warmUp };
const session = new Session(settings);

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

/** Each list against the first, on the same server. */
async function compare(server, name, target, lists) {
  const rounds = await session.measure({ name, set: 'medium' }, await contestantsOf(server, lists));
  const [first, ...others] = lists.map((list) => list.name);
  for (const other of others) {
    addRatio(`${other} against ${first}`, 'medium', target, rounds.get(other), rounds.get(first));
  }
}

/** A list against bare node:http with the same bytes. */
async function compareWithFloor(server, target, list) {
  const { answer } = await session.floorOf(server.port, list.requests);
  const floor = await session.startFloor(answer);
  const [own] = await contestantsOf(server, [list]);
  const bare = { ...own, name: 'floor', server: floor };
  const rounds = await session.measure({ name: list.name, set: 'medium' }, [bare, own]);
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

async function measureMedium(source) {
  const events = readEvents(source);
  const all = workloadsOf(events, { secret: SECRET, count: settings.requests, seed: settings.seed });
  const listOf = (name) => {
    const { requests, connections, expect304 } = all.find((each) => each.name === name);
    return { name, requests, connections, expect304 };
  };
  const server = await session.startLectern(source);
  const names = [
    'filter + window',
    ...['NDJSON', 'CSV', 'iCalendar'].map((name) => `${name}, filter + window`),
  ];
  await compare(server, 'representations', RATIOS.representation, names.map(listOf));
  await compare(server, 'feeds', RATIOS.feed, [listOf('personal'), listOf('feeds of different users')]);
  for (const name of ['NDJSON, all', 'CSV, all']) await compareWithFloor(server, RATIOS.all, listOf(name));
  const feed = listOf('feed, 304');
  const requests = await conditional(server.port, feed.requests);
  await compareWithFloor(server, RATIOS.feed304, { ...feed, requests });
  const [hot] = listOf('hot URL').requests;
  await measureCompression(server, 'hot URL', hot, settings.connections);
  await measureCompression(server, 'all', listOf('all').requests[0], 4);
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

/** Requests for weeks, none twice, and their processor time including HTTP. */
async function measureDirectories(source, { startMs, endMs }) {
  const server = await session.startLectern(source);
  const random = randomFrom(settings.seed);
  const headers = { authorization: `Bearer ${tokenOf(SECRET, { sub: 'bench' })}` };
  const week = () => {
    const from = startMs + Math.floor(random() * Math.max(1, endMs - startMs - WEEK_MS));
    return `startTime=${new Date(from).toISOString()}&endTime=${new Date(from + WEEK_MS).toISOString()}`;
  };
  const paths = [
    ...DIRECTORIES.map((name) => [`${name} of a week`, () => `/${name}?${week()}`]),
    ...DIRECTORIES.map((name) => [`${name} by q`, () => `/${name}?q=${Math.floor(random() * 900)}&limit=20`]),
    ...['room', 'lecturer', 'group'].map((by) => [`free by ${by}, a week`, () => `/free?by=${by}&${week()}`]),
  ];
  const lists = paths.map(([name, path]) => ({
    name,
    requests: Array.from({ length: 2000 }, () => ({ path: `/api/v1/schedule${path()}`, headers })),
    connections: 4,
  }));
  const about = { name: 'directories and free time', set: 'large' };
  const rounds = await session.measure(about, await contestantsOf(server, lists));
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
  await measureMedium(medium);
  measureCalendar(medium);
  const span = { startMs: times[0], endMs: times.at(-1) };
  await measureDirectories(await session.sets.file('large'), span);
} finally {
  await session.end();
}
const missed = session.rows.filter((row) => isMet(row) === false).map(({ name }) => name);
session.say(
  `${session.rows.length} rows; beyond their limit: ${missed.length === 0 ? 'none' : missed.join('; ')}`,
);
if (!isQuick) {
  const { rounds, roundSeconds, connections, events } = settings;
  const kept = { rounds, roundSeconds, connections, events };
  writeFileSync(RESULTS, textOf({ ...about, settings: kept, rows: session.rows, measurements: [] }));
  session.say(`written to ${RESULTS}`);
}
