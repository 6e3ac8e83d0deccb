/**
 * The cost of a request: server processor time per request, as a ratio to the floor; `--help` lists the
 * options.
 *
 * The floor is bare node:http with a constant body of the same length and the same header fields. It gets the
 * same requests in the same rounds.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { provenanceOf } from '../scripts/provenance.mjs';
import { measureColdLoads } from './parts/cold-load.mjs';
import { measureFirstSight } from './parts/first-sight.mjs';
import { measureLatencies } from './parts/latencies.mjs';
import { measureSizes } from './parts/sizes.mjs';
import { measureWorkloads } from './parts/workloads.mjs';
import { PEERS } from './peers/peers.mjs';
import { MEASURED, textOf } from './results-file.mjs';
import { missingRows, SECOND_ROW, tellEnd } from './rows.mjs';
import { Session } from './session.mjs';
import { SETS } from './sets.mjs';
import { settingsOf } from './settings.mjs';
import { FURTHER_WORKLOADS, WORKLOADS } from './workloads.mjs';

const wantedPeers = ({ peers }) => PEERS.filter(({ name }) => peers.some((part) => name.includes(part)));

/** @returns {string[]} sentences that say why a full run, which is published, cannot begin */
function hindrances({ isWhole, ...settings }) {
  if (!isWhole) return [];
  return wantedPeers(settings)
    .filter((peer) => peer.program === undefined && peer.runsHere() && !peer.installed())
    .map((peer) => peer.absence());
}

/** @returns the peers that take part; the others are listed with the reason */
function presentPeers(session) {
  const wanted = wantedPeers(session.settings);
  for (const peer of wanted) if (!peer.installed()) session.leaveOut(peer, peer.absence());
  return wanted.filter((peer) => peer.installed());
}

async function measureAll(session, peers) {
  const { sets, events } = session.settings;
  const secondRow = WORKLOADS.filter(({ name }) => name === SECOND_ROW);
  if (sets.includes('medium')) {
    const fitting = peers.filter(({ eventsMax }) => eventsMax === null || events.medium <= eventsMax);
    // Further workloads are not in a full run, because its rows are published.
    const workloads = session.settings.only === '' ? WORKLOADS : [...WORKLOADS, ...FURTHER_WORKLOADS];
    await measureWorkloads(session, 'medium', workloads, fitting);
    await measureFirstSight(session);
    await measureLatencies(session);
  }
  for (const set of sets.filter((name) => !['small', 'medium', 'large'].includes(name))) {
    await measureWorkloads(session, set, secondRow, []);
  }
  if (sets.includes('large') && sets.includes('small')) await measureSizes(session);
  else if (sets.includes('small')) await measureWorkloads(session, 'small', secondRow, []);
  else if (sets.includes('large')) await measureWorkloads(session, 'large', secondRow, []);
  if (sets.includes('large')) await measureColdLoads(session);
}

/** A description of the measurement. */
function introduction(
  { node, machine },
  { launches, rounds, roundSeconds, connections, warmUp, warmUpOfSizes, events },
) {
  const ruleOf = ({ slicesMin, slicesMax, requestsMin }) =>
    `${slicesMin} to ${slicesMax}, and ${requestsMin.toLocaleString('en')} requests where that many can be`;
  const sets = Object.entries(events).map(([name, count]) => `${name} ${count.toLocaleString('en')}`);
  return `${node}, ${machine.cpu}, ${machine.cores} cores
${connections} connections; ${rounds} rounds of ${roundSeconds} s for each server, all servers in turn; all of it ${launches} times, with processes of their own,
but for peers, of which one process is measured.
Every server is warmed up by one rule, in slices of ${warmUp.sliceSeconds} s until two in a row differ by less than ${warmUp.differenceMax * 100} % per request:
${ruleOf(warmUp)}; where sizes of sets are compared, ${ruleOf(warmUpOfSizes)}.
Figures are medians, then the middle half and the whole of all rounds. Events: ${sets.join(', ')}.`;
}

/** Reports the fault without a stack trace, and ends with a code. */
function refuse(sentences, code) {
  process.stderr.write(`${sentences.join('\n')}\n`);
  process.exitCode = code;
}

async function main() {
  let settings;
  try {
    settings = settingsOf(process.argv.slice(2));
  } catch (error) {
    refuse([error.message], 2);
    return;
  }
  if (settings === null) return;
  const absences = hindrances(settings);
  if (absences.length > 0) {
    refuse([...absences, 'A run of everything needs all peers; --no-peers goes without.'], 2);
    return;
  }
  const began = performance.now();
  const about = provenanceOf(MEASURED, 'loadBefore');
  const session = new Session(settings);
  session.say(introduction(about, settings));
  try {
    await measureAll(session, presentPeers(session));
  } finally {
    await session.end();
  }
  const { rows, measurements } = session;
  const durationSeconds = Math.round((performance.now() - began) / 1000);
  session.say(tellEnd(session.rows, session.settings.quick, durationSeconds));

  const { json, isWhole, only, sets, before, ...kept } = settings;
  const major = /^v(\d+)/.exec(process.version)?.[1];
  const file =
    json ?? (isWhole ? fileURLToPath(new URL(`./results/node${major}.json`, import.meta.url)) : null);
  if (file !== null) {
    writeFileSync(file, textOf({ ...about, durationSeconds, settings: kept, rows, measurements }));
    session.say(`written to ${file}`);
  }
  if (only !== '' || sets.length < SETS.length) return;
  const hasAllPeers = wantedPeers(settings).length === PEERS.length && session.peersLeftOut.size === 0;
  const missing = missingRows(rows, { peers: hasAllPeers });
  if (missing.length > 0) {
    const names = missing.map(({ group, name, set }) => `${group} ${name} (${set})`);
    refuse([`rows are missing: ${names.join(', ')}`], 1);
  }
}

await main();
