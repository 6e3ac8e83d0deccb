/**
 * Checks that the peers answer as Lectern does; otherwise their costs cannot be compared.
 *
 *     node bench/peers/check.mjs [--events 10000] [--requests 60] [--only <part of a name>]
 */
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { answerOf } from '../answers.mjs';
import { generateEvents, writeNdjson } from '../generate.mjs';
import { startServer } from '../measure.mjs';
import { PEER_WORKLOADS } from '../rows.mjs';
import { tokenOf, workloadsOf } from '../workloads.mjs';
import { PEERS } from './peers.mjs';
import { eventsOf, FILTERS } from './schedule.mjs';

const LONG_MS = 180 * 24 * 3_600_000;
const SECRET = 'a secret for the check, of 32 bytes or more';

async function eventsAt(name, port, each) {
  const { status, body } = await answerOf(port, each);
  if (status !== 200)
    throw new Error(`${name} answers ${each.path} with ${status}: ${body.subarray(0, 300)}`);
  return JSON.parse(body);
}

/** @returns the first difference, in words; undefined for equal answers. The order of an event's fields counts too. */
function difference(expected, actual) {
  if (!Array.isArray(actual)) return `no array but ${JSON.stringify(actual).slice(0, 300)}`;
  for (const [i, event] of expected.entries()) {
    if (isDeepStrictEqual(event, actual[i]) && String(Object.keys(event)) === String(Object.keys(actual[i])))
      continue;
    return (
      `event ${i} of ${expected.length} (${actual.length}) differs\n` +
      `  Lectern: ${JSON.stringify(event)}\n  peer:    ${JSON.stringify(actual[i])}`
    );
  }
  if (actual.length > expected.length) {
    return `${actual.length} events instead of ${expected.length}, the first too many ${JSON.stringify(actual[expected.length])}`;
  }
}

/** The token with another signature. */
function forged(authorization) {
  const at = authorization.lastIndexOf('.') + 1;
  return authorization.slice(0, at) + (authorization[at] === 'A' ? 'B' : 'A') + authorization.slice(at + 1);
}

/**
 * Sends the same requests to Lectern and to each peer, and compares the answers: as parsed JSON, in their
 * order. Also checks that requests with a forged token or none are refused.
 *
 * @param {number} lecternPort
 * @param {{ name: string, port: number }[]} peers running peers with the same events
 * @param {{ path: string, headers: { authorization: string } }[]} requests of GET /api/v1/schedule
 * @returns {Promise<{ requests: number, events: number }>} what was compared with each peer
 * @throws Error that shows the first difference
 */
export async function checkPeers(lecternPort, peers, requests) {
  let events = 0;
  for (const each of requests) {
    const expected = await eventsAt('Lectern', lecternPort, each);
    events += expected.length;
    for (const { name, port } of peers) {
      const found = difference(expected, await eventsAt(name, port, each));
      if (found !== undefined)
        throw new Error(`${name} does not answer ${each.path} as Lectern does: ${found}`);
    }
  }
  if (events === 0) throw new Error('no request selects any event: nothing was compared');
  const [{ path, headers }] = requests;
  for (const { name, port } of [{ name: 'Lectern', port: lecternPort }, ...peers]) {
    for (const refused of [{}, { ...headers, authorization: forged(headers.authorization) }]) {
      const { status } = await answerOf(port, { path, headers: refused });
      if (status === 401) continue;
      throw new Error(
        `${name} answers ${refused.authorization === undefined ? 'no token' : 'a forged token'} with ${status} instead of 401`,
      );
    }
  }
  return { requests: requests.length, events };
}

/** Some requests of each workload of the peers. */
function sampleOf(events, secret, count) {
  const workloads = workloadsOf(events, { secret, count, seed: 2 });
  return PEER_WORKLOADS.flatMap((wanted) => workloads.find(({ name }) => name === wanted).requests);
}

/**
 * Windows for which rules of overlap differ, with each filter: those that only touch events, begin or end
 * inside them, or are open.
 *
 * @param {object[]} events of the set
 * @param {string} secret
 * @param {number} count number of events whose start and end are tried
 */
function bordersOf(events, secret, count) {
  const headers = { authorization: `Bearer ${tokenOf(secret, { sub: 'check' })}` };
  // Odd, so that it meets events with and without a length.
  const step = Math.max(1, Math.floor(events.length / count)) | 1;
  const requests = [];
  for (let i = 0; i < events.length; i += step) {
    const event = events[i];
    const at = (ms) => new Date(ms).toISOString();
    const { startMs, endMs } = event;
    const windows = [
      { startTime: at(endMs), endTime: at(endMs + 3_600_000) },
      { startTime: at(endMs - 1), endTime: at(endMs) },
      { startTime: at(startMs - 3_600_000), endTime: at(startMs) },
      { startTime: at(startMs), endTime: at(startMs + 1) },
      { startTime: at(startMs + 1), endTime: at(startMs + 2) },
      { startTime: at(startMs).replace('.000Z', '+00:00') },
      { endTime: at(startMs + 1) },
      {},
    ];
    for (const [w, window] of windows.entries()) {
      const name = FILTERS[(requests.length + w) % (FILTERS.length - 1)];
      if (event[name] === null) continue;
      // Identifiers are compared without regard to case.
      const value = name.endsWith('Id') && w % 2 === 1 ? event[name].toUpperCase() : event[name];
      requests.push({
        path: `/api/v1/schedule?${new URLSearchParams({ [name]: value, ...window })}`,
        headers,
      });
    }
    const [moment] = windows.slice(3);
    requests.push({ path: `/api/v1/schedule?${new URLSearchParams(moment)}`, headers });
  }
  return requests;
}

/**
 * A set in which every second event has a length of zero; generate.mjs makes no such events.
 *
 * @param {boolean} withLong whether one event lasts half a year: some peers then search differently
 */
async function writeEvents(file, count, withLong) {
  const events = [...generateEvents({ events: count, seed: 2 })];
  for (let i = 0; i < events.length; i += 2) events[i] = { ...events[i], endTime: events[i].time };
  if (withLong) {
    const [event] = events;
    events[0] = { ...event, endTime: new Date(Date.parse(event.time) + LONG_MS).toISOString() };
  }
  await writeNdjson(events, createWriteStream(file));
}

async function main() {
  const { values: given } = parseArgs({
    options: {
      events: { type: 'string', default: '10000' },
      requests: { type: 'string', default: '60' },
      only: { type: 'string', default: '' },
    },
  });
  const wanted = PEERS.filter(({ name, answers }) => answers === 'events' && name.includes(given.only));
  const peers = wanted.filter((peer) => peer.installed());
  for (const peer of wanted) if (!peer.installed()) console.error(peer.absence());
  if (peers.length === 0) {
    console.error('There is no peer to check.');
    process.exitCode = 1;
    return;
  }

  for (const withLong of [false, true]) {
    console.log(withLong ? 'With an event of half a year:' : 'Events of usual lengths:');
    await checkOn({ count: Number(given.events), withLong }, peers, Number(given.requests));
  }
}

async function checkOn(set, peers, count) {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-bench-check-'));
  const servers = [];
  const start = async (...args) => {
    const server = await startServer(...args);
    servers.push(server);
    return server;
  };
  try {
    const source = join(folder, 'events.ndjson');
    await writeEvents(source, set.count, set.withLong);
    const events = [...eventsOf(source)];
    const requests = [...sampleOf(events, SECRET, count), ...bordersOf(events, SECRET, count)];
    const { port } = await start('./servers/lectern.mjs', source, SECRET);
    for (const peer of peers) {
      const server = await start(peer.file, source, SECRET);
      const compared = await checkPeers(port, [{ name: peer.name, port: server.port }], requests);
      console.log(`  ${peer.name}: ${compared.requests} answers of ${compared.events} events are the same`);
    }
  } finally {
    await Promise.all(servers.map(({ program }) => program.end()));
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
