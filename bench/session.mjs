import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { floorOf } from './answers.mjs';
import { Program, startServer } from './measure.mjs';
import { interleave } from './rounds.mjs';
import { figure, tell } from './rows.mjs';
import { Sets } from './sets.mjs';
import { median } from './statistics.mjs';

export const SECRET = 'a secret for the bench, of 32 bytes or more';

/** One run of the bench: its processes, its sets, and its results. */
export class Session {
  #folder = mkdtempSync(join(tmpdir(), 'lectern-bench-'));
  #load = Program.start('./load.mjs');
  #servers = new Set();
  #bodies = 0;
  #launch = 1;
  /** Names of the peers that cannot be measured here. */
  peersLeftOut = new Set();
  rows = [];
  measurements = [];

  constructor(settings) {
    // An interrupt leaves nothing behind either: started processes end with this one.
    process.once('exit', () => rmSync(this.#folder, { recursive: true, force: true }));
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
    this.settings = settings;
    this.sets = new Sets(this.#folder, settings.events);
  }

  /** Whether the user asked for this name. */
  wants(...names) {
    return names.some((name) => name.includes(this.settings.only));
  }

  async start(file, ...args) {
    const server = await startServer(file, ...args);
    this.#servers.add(server);
    return server;
  }

  /**
   * Starts a peer, or says why it cannot. A full run fails instead, because it is published with all peers.
   *
   * @returns {Promise<{ port: number, program: Program } | null>}
   */
  async startPeer(peer, ...args) {
    if (this.peersLeftOut.has(peer.name)) return null;
    try {
      return await this.start(peer.file, ...args);
    } catch (error) {
      if (this.settings.isWhole) throw error;
      this.leaveOut(peer, `${peer.name} does not start (${error.message}).`);
      return null;
    }
  }

  /** @param {string} reason a sentence */
  leaveOut(peer, reason) {
    this.peersLeftOut.add(peer.name);
    this.say(`${reason} It is left out.`);
  }

  /** @param {object} [options] that differ from the defaults */
  startLectern(source, options = {}) {
    return this.start('./servers/lectern.mjs', source, SECRET, JSON.stringify(options));
  }

  /** The usage of a server that has been idle for some time. */
  async usageAtRest(server) {
    await delay(this.settings.settleSeconds * 1000);
    return server.program.ask('usage', 'usage');
  }

  /** @returns the service of the other checkout; null if there is none */
  startBefore(source) {
    const { before } = this.settings;
    if (before === null) return null;
    return this.start(pathToFileURL(resolve(before, 'bench/servers/lectern.mjs')).href, source, SECRET);
  }

  /** Like {@link floorOf}; the answer names the file with its body. */
  async floorOf(port, requests) {
    const { answer, body, meanEvents } = await floorOf(port, requests);
    const bodyFile = join(this.#folder, `body-${this.#bodies++}`);
    writeFileSync(bodyFile, body);
    return { answer: { ...answer, bodyFile }, meanEvents };
  }

  startFloor(answer) {
    return this.start('./servers/floor.mjs', JSON.stringify(answer));
  }

  async stop(...servers) {
    for (const server of servers) {
      this.#servers.delete(server);
      await server.program.end();
    }
  }

  /** Gives requests to the load under a name. */
  async give(as, requests) {
    await this.#load.ask({ requests, as }, 'taken');
  }

  /**
   * Measures servers against each other, and appends the rounds to those of earlier launches.
   *
   * @param {{ name: string, set: string }} about the measurement and its set
   * @param {import('./rounds.mjs').Contestant[]} contestants
   * @param {object} [settings] the run's settings, unless others are given
   * @returns {Promise<Map<string, object[]>>} the rounds of each server by name
   */
  async measure(about, contestants, settings = this.settings) {
    let servers;
    try {
      servers = await interleave(this.#load, contestants, settings);
    } catch (error) {
      throw new Error(`${about.name}, ${about.set}: ${error.message}`, { cause: error });
    }
    await this.#load.ask({ forget: true }, 'taken');
    this.#keep(about, servers);
    this.#tellLaunch(about, servers);
    return new Map(servers.map(({ name, rounds }) => [name, rounds]));
  }

  /** Requests a second that a warm server answers when it never waits for one, from the second generator. */
  async capacityOf(contestant) {
    const [{ rounds }] = await interleave(
      this.#load,
      [{ ...contestant, rate: Number.POSITIVE_INFINITY }],
      this.settings,
    );
    return median(rounds.map(({ perSecond }) => perSecond));
  }

  /** Shows progress, because rows appear only after all launches. */
  #tellLaunch({ name, set }, servers) {
    const costs = servers.map(
      ({ name, rounds }) => `${name} ${figure(median(rounds.map(({ cpuMicros }) => cpuMicros)))} µs`,
    );
    this.say(`  launch ${this.#launch} of ${this.settings.launches}: ${name} (${set}): ${costs.join(', ')}`);
  }

  #keep({ name, set }, servers) {
    const known = this.measurements.find((each) => each.name === name && each.set === set);
    if (known === undefined) {
      const kept = servers.map((server) => ({
        ...server,
        warmUpSlices: [server.warmUpSlices],
        rounds: [...server.rounds],
      }));
      this.measurements.push({ name, set, servers: kept });
      return;
    }
    for (const { name, warmUpSlices, rounds } of servers) {
      const server = known.servers.find((each) => each.name === name);
      server.warmUpSlices.push(warmUpSlices);
      server.rounds.push(...rounds);
    }
  }

  /**
   * Repeats a run that manages its own processes, once for each launch.
   *
   * @param {(launch: number) => Promise<void>} run gets the number of the launch, from 1
   */
  async launch(run) {
    for (this.#launch = 1; this.#launch <= this.settings.launches; this.#launch++) await run(this.#launch);
  }

  add(row) {
    this.rows.push(row);
    this.say(tell(row, { isJudged: !this.settings.quick }));
  }

  say(line) {
    process.stdout.write(`${line}\n`);
  }

  async end() {
    await this.stop(...this.#servers);
    await this.#load.end();
  }
}
