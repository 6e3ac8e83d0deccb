import { conditional } from '../answers.mjs';
import { checkPeers } from '../peers/check.mjs';
import { PEER_TARGETS, PEER_WORKLOADS, rowOf, workloadRow } from '../rows.mjs';
import { SECRET } from '../session.mjs';
import { readEvents } from '../sets.mjs';
import { median } from '../statistics.mjs';
import { workloadsOf } from '../workloads.mjs';

/** Requests of each workload of which peers and Lectern have to give the same answers. */
const CHECKED = 20;

/**
 * Workloads on one set, each against the floor, and against peers where these take part.
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
    session.say(`${set}: not there, left out`);
    return;
  }
  const { requests: count, seed } = session.settings;
  const events = readEvents(source);
  const about = { set, setEvents: events.length };
  const workloads = workloadsOf(events, { secret: SECRET, count, seed });
  const lectern = await session.startLectern(source);
  const isCompared = names.some((name) => PEER_WORKLOADS.includes(name));
  const others = isCompared ? await startPeers(session, lectern, peers, source, workloads) : [];
  for (const workload of workloads.filter(({ name }) => names.includes(name))) {
    await measureWorkload(
      session,
      about,
      workload,
      lectern,
      PEER_WORKLOADS.includes(workload.name) ? others : [],
    );
  }
  await session.stop(lectern, ...others.flatMap(({ server }) => (server === null ? [] : [server])));
}

/** Starts those that answer with events, and makes sure that they do as Lectern does. */
async function startPeers(session, lectern, peers, source, workloads) {
  const others = [];
  for (const peer of peers) {
    const server = peer.answers === 'events' ? await session.start(peer.file, source, SECRET) : null;
    others.push({ peer, server });
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

async function measureWorkload(session, { set, setEvents }, workload, lectern, others) {
  const { name, target, expect304 } = workload;
  const as = name;
  let { requests } = workload;
  if (expect304) requests = await conditional(lectern.port, requests);
  const { answer, meanEvents } = await session.floorOf(lectern.port, requests);
  await session.give(as, requests);
  const floor = await session.startFloor(answer);
  const connections = workload.connections ?? session.settings.connections;
  const common = { as, connections, expect304 };
  const contestants = [
    { ...common, name: 'floor', server: floor },
    { ...common, name: 'Lectern', server: lectern },
  ];
  const own = [floor];
  for (const { peer, server } of others) {
    let started = server;
    if (started === null) {
      started = await session.start(peer.file, JSON.stringify(answer), SECRET);
      own.push(started);
    }
    contestants.push({
      ...common,
      name: peer.name,
      server: started,
      connections: peer.connections ?? connections,
    });
  }
  const rounds = await session.measure({ name, set }, contestants);
  await session.stop(...own);
  const floorRounds = rounds.get('floor');
  const lecternRounds = rounds.get('Lectern');
  const detail = { setEvents, meanEvents, bodyBytes: answer.bodyBytes };
  session.add(workloadRow({ group: 'workload', name, set, target }, floorRounds, lecternRounds, detail));
  for (const { peer } of others)
    session.add(peerRow(peer.name, workload, set, lecternRounds, rounds.get(peer.name)));
}

/** How many times Lectern's processor time a peer takes for the same answers. */
function peerRow(name, workload, set, lecternRounds, peerRounds) {
  const target = workload.name === PEER_WORKLOADS[0] ? (PEER_TARGETS.get(name) ?? null) : null;
  const times = peerRounds.map((each, n) => each.cpuMicros / lecternRounds[n].cpuMicros);
  const about = { group: `peer, ${workload.name}`, name, set, unit: 'times', target, isLeast: true };
  return rowOf(about, times, {
    micros: median(peerRounds.map(({ cpuMicros }) => cpuMicros)),
    perSecond: median(peerRounds.map(({ perSecond }) => perSecond)),
  });
}
