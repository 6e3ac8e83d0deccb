import { conditional } from '../answers.mjs';
import { checkPeers } from '../peers/check.mjs';
import { PEER_TARGETS, PEER_WORKLOADS, rowOf, tellWithout, workloadRow } from '../rows.mjs';
import { SECRET } from '../session.mjs';
import { readEvents, WITHOUT_REAL } from '../sets.mjs';
import { median } from '../statistics.mjs';
import { workloadsOf } from '../workloads.mjs';

/** The name of the other checkout in the measurement. */
const BEFORE = 'before';
/** Requests of each workload for which the answers of peers and Lectern must be equal. */
const CHECKED = 20;

/**
 * Workloads on one set, compared with the floor and with the peers that take part.
 *
 * @param {import('../session.mjs').Session} session
 * @param {string} set
 * @param {{ name: string }[]} wanted workloads
 * @param {import('../peers/peers.mjs').PEERS} peers
 */
export async function measureWorkloads(session, set, wanted, peers) {
  const names = wanted.map(({ name }) => name).filter((name) => session.wants(name));
  if (names.length === 0) return;
  const source = await session.sets.file(set);
  if (source === null) {
    for (const name of names) session.say(tellWithout(name, set, WITHOUT_REAL));
    return;
  }
  const { requests: count, seed } = session.settings;
  const events = readEvents(source);
  const about = { set, setEvents: events.length };
  const workloads = workloadsOf(events, { secret: SECRET, count, seed });
  const found = workloads.filter(({ name }) => names.includes(name)).map((workload) => new Found(workload));
  const isCompared = names.some((name) => PEER_WORKLOADS.includes(name));
  await session.launch(async (launch) => {
    const lectern = await session.startLectern(source);
    // Their costs differ much from Lectern's, so one process of each is enough.
    const isWithPeers = isCompared && launch === 1;
    const before = await session.startBefore(source);
    const others = isWithPeers ? await startPeers(session, lectern, peers, source, workloads) : [];
    // Forward and backward order, as in rounds: earlier requests affect compiled code and caches.
    for (const each of launch % 2 === 0 ? found.toReversed() : found) {
      const compared = PEER_WORKLOADS.includes(each.workload.name) ? others : [];
      await measureWorkload(session, about, each, { lectern, before }, compared);
    }
    if (before !== null) await session.stop(before);
    await session.stop(lectern, ...others.flatMap(({ server }) => (server === null ? [] : [server])));
  });
  for (const each of found) addRows(session, about, each);
}

/** The results of one workload in all launches. */
class Found {
  floor = [];
  lectern = [];
  /** The peers of the first launch: { name, rounds, lectern: the rounds of Lectern beside them }. */
  peers = [];
  /** Rounds of the other checkout, if there is one. */
  before = [];
  detail = {};

  constructor(workload) {
    this.workload = workload;
  }
}

/** Starts the peers that answer with events, and checks that their answers equal Lectern's. */
async function startPeers(session, lectern, peers, source, workloads) {
  const others = [];
  for (const peer of peers) {
    if (peer.answers !== 'events') {
      others.push({ peer, server: null });
      continue;
    }
    const server = await session.startPeer(peer, source, SECRET);
    if (server !== null) others.push({ peer, server });
  }
  const answering = others.flatMap(({ peer: { name }, server }) =>
    server === null ? [] : [{ name, port: server.port }],
  );
  if (answering.length === 0) return others;
  const sample = workloads
    .filter(({ name }) => PEER_WORKLOADS.includes(name))
    .flatMap(({ requests }) => requests.slice(0, CHECKED));
  const { requests, events } = await checkPeers(lectern.port, answering, sample);
  session.say(
    `${answering.map(({ name }) => name).join(', ')}: ${requests} answers of ${events} events are the same as Lectern's`,
  );
  return others;
}

async function measureWorkload(session, { set, setEvents }, found, { lectern, before }, others) {
  const { name, expect304 } = found.workload;
  const as = name;
  let { requests } = found.workload;
  if (expect304) requests = await conditional(lectern.port, requests);
  const { answer, meanEvents } = await session.floorOf(lectern.port, requests);
  await session.give(as, requests);
  const floor = await session.startFloor(answer);
  const connections = found.workload.connections ?? session.settings.connections;
  const common = { as, connections, expect304 };
  const contestants = [
    { ...common, name: 'floor', server: floor },
    { ...common, name: 'Lectern', server: lectern },
  ];
  const started = [floor];
  if (before !== null) {
    // Entity tags may differ between versions.
    const beforeAs = `${as}, before`;
    const own = found.workload.requests;
    await session.give(beforeAs, expect304 ? await conditional(before.port, own) : own);
    contestants.push({ ...common, as: beforeAs, name: BEFORE, server: before });
  }
  for (const { peer, server } of others) {
    const peerServer = server ?? (await session.startPeer(peer, JSON.stringify(answer)));
    if (peerServer === null) continue;
    if (server === null) started.push(peerServer);
    contestants.push({
      ...common,
      name: peer.name,
      server: peerServer,
      connections: peer.connections ?? connections,
    });
  }
  const rounds = await session.measure({ name, set }, contestants);
  await session.stop(...started);
  const ownRounds = rounds.get('Lectern');
  found.floor.push(...rounds.get('floor'));
  found.lectern.push(...ownRounds);
  found.before.push(...(rounds.get(BEFORE) ?? []));
  for (const { peer } of others.filter(({ peer }) => rounds.has(peer.name))) {
    found.peers.push({ name: peer.name, rounds: rounds.get(peer.name), lectern: ownRounds });
  }
  found.detail = { setEvents, meanEvents, bodyBytes: answer.bodyBytes };
}

function addRows(session, { set }, { workload, floor, lectern, before, peers, detail }) {
  const { name, target } = workload;
  session.add(workloadRow({ group: 'workload', name, set, target }, floor, lectern, detail));
  if (before.length > 0) session.add(beforeRow(workload, set, lectern, before));
  for (const peer of peers) session.add(peerRow(peer, workload, set));
}

/** The ratio of Lectern's processor time to that of the other checkout. */
function beforeRow({ name }, set, lectern, before) {
  const times = lectern.map((each, n) => each.cpuMicros / before[n].cpuMicros);
  return rowOf({ group: 'against before', name, set, unit: 'times', target: null }, times, {
    micros: median(before.map(({ cpuMicros }) => cpuMicros)),
  });
}

/** The ratio of a peer's processor time to Lectern's, for the same answers. */
function peerRow({ name, rounds, lectern }, workload, set) {
  const target = workload.name === PEER_WORKLOADS[0] ? (PEER_TARGETS.get(name) ?? null) : null;
  const times = rounds.map((each, n) => each.cpuMicros / lectern[n].cpuMicros);
  const about = { group: `peer, ${workload.name}`, name, set, unit: 'times', target, isLeast: true };
  return rowOf(about, times, {
    micros: median(rounds.map(({ cpuMicros }) => cpuMicros)),
    perSecond: median(rounds.map(({ perSecond }) => perSecond)),
  });
}
