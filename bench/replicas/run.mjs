/**
 * The cost of a new timetable for a replica, and the time until all replicas serve it.
 *
 *     npm run bench:replicas [-- --quick --events 100000 --large 1000000 --runs 5 --only latency,cost,start]
 *
 * Publisher and replicas are processes of the built package. The store is a nats-server of its own, or a folder where none is
 * installed. Figures are medians, with the smallest and the largest in parentheses. Processor time is that of a whole process.
 */
import { spawn, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFileSync,
  createReadStream,
  createWriteStream,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { generateFile } from '../generate.mjs';
import { readOptions } from '../options.mjs';
import { rowPrinter } from '../targets.mjs';
import { Process } from './process.mjs';

const HELP = `npm run bench:replicas -- [options]

  --quick         shows that the bench works: small sets, two runs, meaningless figures
  --events <n>    events of the usual set, 100,000 by default
  --large <n>     events of the large set, 1,000,000 by default
  --runs <n>      new timetables for each measurement, 5 by default
  --only <names>  measurements, separated by commas: latency, cost, start; all by default
  --store <kind>  nats or folder; nats by default
`;
const settings = readOptions(HELP, {
  quick: { type: 'boolean', default: false },
  events: { type: 'string' },
  large: { type: 'string' },
  runs: { type: 'string' },
  only: { type: 'string', default: 'latency,cost,start' },
  store: { type: 'string', default: 'nats' },
});
const { quick } = settings;
const printRow = rowPrinter(quick);
const runs = Number(settings.runs ?? (quick ? 2 : 5));
const usual = settings.events ?? (quick ? '2000' : '100000');
const large = settings.large ?? (quick ? '5000' : '1000000');
const only = new Set(settings.only.split(','));
const REPLICAS = 4;
const MIB = 1024 * 1024;
/** One record in this many gets another title, which gives far more changes than a patch may hold. */
const WHOLE_EVERY = 20;
/** By then all work after a publication is done. */
const SETTLE_MS = quick ? 500 : 3000;
/** Reads go on while the publisher builds, so their processor time is measured before and deducted. */
const READS_MS = quick ? 500 : 3000;
/** Time for the work of a replica after it serves an image: it releases memory and reports. */
const AFTER_MS = 200;
const folder = mkdtempSync(join(tmpdir(), 'lectern-replicas-'));
const running = new Set();
let server = null;

async function generate(events) {
  const file = join(folder, `${events}.ndjson`);
  await generateFile(file, { events: Number(events), seed: 7 });
  return file;
}

/**
 * Writes `from` to `to`, with another title in the first of each `every` records; 0 changes only the first
 * record.
 */
async function change(from, to, every, title) {
  async function* lines() {
    let number = 0;
    for await (const line of createInterface({ input: createReadStream(from) })) {
      const isChanged = every === 0 ? number === 0 : number % every === 0;
      number++;
      yield `${isChanged ? JSON.stringify({ ...JSON.parse(line), title }) : line}\n`;
    }
  }
  await pipeline(Readable.from(lines()), createWriteStream(`${to}.new`));
  renameSync(`${to}.new`, to);
}

function writeKeys() {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const keys = { key: join(folder, 'publisher.key'), publicKey: join(folder, 'publisher.pub') };
  writeFileSync(keys.key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(keys.publicKey, publicKey.export({ type: 'spki', format: 'pem' }));
  return keys;
}

async function openStore() {
  const hasNats = spawnSync('nats-server', ['-v']).status === 0;
  if (!hasNats) process.stdout.write('nats-server is not installed: the store is a folder\n');
  if (!hasNats || settings.store === 'folder') {
    return (name) => `folder://${join(folder, name)}`;
  }
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  const argv = ['-js', '-sd', join(folder, 'nats'), '-a', '127.0.0.1', '-p', String(port)];
  server = spawn('nats-server', argv, { stdio: 'ignore' });
  await delay(1000);
  return (name) => `nats://127.0.0.1:${port}/${name}`;
}

async function stopStore() {
  if (server === null) return;
  server.kill('SIGKILL');
  await once(server, 'exit');
  server = null;
}

function start(script, ...argv) {
  const child = new Process(script, argv);
  running.add(child);
  void child.ended.then(() => running.delete(child));
  return child;
}

async function end(...children) {
  await Promise.all(children.map((child) => child.end()));
}

/** Publishes the present content of the file. Resolves to its announcement. */
async function publish(publisher) {
  const announced = publisher.event(({ event }) => event === 'announced', 'the announcement');
  await publisher.ask('refresh');
  return announced;
}

const servedBy = (replica, id) =>
  replica.event((event) => event.event === 'served' && event.id === id, `a replica serves ${id}`);

async function measureLatency(original, address, keys) {
  const file = join(folder, 'published.ndjson');
  copyFileSync(original, file);
  const publisher = start('publisher.mjs', file, address, keys.key);
  await publisher.event(({ event }) => event === 'announced', 'the first announcement');
  const replicas = Array.from({ length: REPLICAS }, () => start('replica.mjs', address, keys.publicKey));
  await Promise.all(replicas.map((replica) => replica.ask('ready')));
  const label = `${usual} events, announced to served by ${REPLICAS} replicas`;
  const all = [];
  for (const [name, every, target] of [
    ['whole image', WHOLE_EVERY, 1000],
    ['patch', 0, 300],
  ]) {
    const times = [];
    const costs = [];
    for (let run = 0; run < runs; run++) {
      await change(original, file, every, `${name} ${run}`);
      await delay(SETTLE_MS);
      await Promise.all(replicas.map((replica) => replica.ask('begin')));
      const { id, atMs } = await publish(publisher);
      const served = await Promise.all(replicas.map((replica) => servedBy(replica, id)));
      times.push(Math.max(...served.map((each) => each.atMs)) - atMs);
      const results = await Promise.all(replicas.map((replica) => replica.ask('end', AFTER_MS)));
      costs.push(...results.map(({ cpuMs }) => cpuMs));
      all.push(...results);
    }
    printRow(`${label}, ${name}`, times, 'ms', target);
    printRow(`${usual} events, processor time of one replica, ${name}`, costs, 'ms', null);
  }
  printStalls(`${usual} events`, all);
  await end(...replicas, publisher);
}

function printStalls(name, results) {
  printRow(
    `${name}: longest stall of a replica's serving thread`,
    results.map((r) => r.longestMs),
    'ms',
    25,
  );
  const own = results.map((r) => r.ownLongestMs);
  printRow(`${name}: the same without waits for a processor`, own, 'ms', 25);
  const failures = results.reduce((sum, r) => sum + r.failures, 0);
  printRow(`${name}: failed reads of ${results.reduce((sum, r) => sum + r.reads, 0)}`, [failures], '', 0);
}

/** Leaves the image that replicas serve now in a snapshot file. */
async function keepImage(address, keys, snapshotFile) {
  const replica = start('replica.mjs', address, keys.publicKey, snapshotFile);
  await replica.ask('ready');
  await delay(SETTLE_MS);
  await end(replica);
}

async function measureCost(original, address, keys, snapshotFiles) {
  const file = join(folder, 'large.ndjson');
  copyFileSync(original, file);
  const publisher = start('publisher.mjs', file, address, keys.key);
  await publisher.event(({ event }) => event === 'announced', 'the first announcement', 300_000);
  await keepImage(address, keys, snapshotFiles.first);
  const replica = start('replica.mjs', address, keys.publicKey);
  await replica.ask('ready');
  const results = [];
  const builds = [];
  let imageBytes = 0;
  for (let run = 0; run < runs; run++) {
    await change(original, file, WHOLE_EVERY, `whole image ${run}`);
    const build = start('publisher.mjs', file);
    builds.push((await build.event(({ event }) => event === 'built', 'the build', 300_000)).cpuMs);
    await build.ended;
    const readsShare = await replica.ask('reads', READS_MS);
    await replica.ask('begin');
    const { id, bytes } = await publish(publisher);
    imageBytes = bytes;
    await servedBy(replica, id);
    const result = await replica.ask('end', SETTLE_MS);
    results.push({ ...result, cpuMs: result.cpuMs - readsShare * result.tookMs });
  }
  const name = `${large} events`;
  const shares = results.map(({ cpuMs }, run) => cpuMs / builds[run]);
  printRow(`${name}: processor time of a replica for an image, to building it`, shares, 'x', 0.2);
  const beyond = results.map((r) => (r.peakBytes - r.steadyBytes - imageBytes) / MIB);
  printRow(`${name}: memory while fetching, beyond the image`, beyond, 'MiB', 64);
  printStalls(name, results);
  await end(replica);
  await keepImage(address, keys, snapshotFiles.last);
  await end(publisher);
}

async function measureStart(name, address, keys, snapshotFile) {
  const times = [];
  for (let run = 0; run < runs; run++) {
    const replica = start('replica.mjs', address, keys.publicKey, snapshotFile);
    const { atMs } = await replica.event(({ event }) => event === 'ready', 'the start from disk');
    times.push(atMs - replica.beganMs);
    await end(replica);
  }
  printRow(`${large} events: start of a replica from its disk, without a store${name}`, times, 'ms', 1000);
}

try {
  const load = loadavg()[0].toFixed(1);
  process.stdout.write(`Node ${process.version}, ${cpus().length} cores, load ${load}, ${runs} runs\n`);
  const addressOf = await openStore();
  const keys = writeKeys();
  if (only.has('latency')) await measureLatency(await generate(usual), addressOf('usual'), keys);
  if (only.has('cost') || only.has('start')) {
    const snapshotFiles = { first: join(folder, 'first.snapshot'), last: join(folder, 'last.snapshot') };
    await measureCost(await generate(large), addressOf('large'), keys, snapshotFiles);
    if (only.has('start')) {
      await stopStore();
      await measureStart('', addressOf('large'), keys, snapshotFiles.first);
      // Two timetables with a change in every twentieth event fill the history.
      await measureStart(', with the longest history', addressOf('large'), keys, snapshotFiles.last);
    }
  }
} finally {
  await end(...running);
  await stopStore();
  rmSync(folder, { recursive: true, force: true });
}
