import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = fileURLToPath(new URL('.', import.meta.url));

/** A server that Lectern is compared with. */
class Peer {
  /** @param {{ name: string, folder: string, answers?: 'events' | 'constant', eventsMax?: number | null, connections?: number, built?: string[], platform?: string, program?: { command: string, remedy: string } }} peer */
  constructor({
    name,
    folder,
    answers = 'events',
    eventsMax = null,
    connections,
    built = [],
    platform,
    program,
  }) {
    /** Name in tables. */
    this.name = name;
    /** Below bench/peers. */
    this.folder = folder;
    /** Options as for `startServer` of measure.mjs. */
    this.file = `./peers/${folder}/server.mjs`;
    /** 'events': started with source and secret; 'constant': with an answer as for servers/floor.mjs. */
    this.answers = answers;
    /** With more events a measurement takes too long; null: no limit. */
    this.eventsMax = eventsMax;
    /** Number of connections; undefined: the usual number. Each connection gets at least one request in a round. */
    this.connections = connections;
    /** The only operating system that can run it; undefined: any. */
    this.platform = platform;
    this.built = built;
    /** The program of the system that it needs; a whole run goes on without. */
    this.program = program;
  }

  /** @returns whether this operating system can run it */
  runsHere() {
    return this.platform === undefined || this.platform === process.platform;
  }

  /** @returns whether it can start here: all packages of its package.json are installed in their versions */
  installed() {
    if (!this.runsHere()) return false;
    if (this.program !== undefined) return spawnSync(this.program.command, ['-v']).error === undefined;
    const folder = join(HERE, this.folder);
    const manifest = join(folder, 'package.json');
    // A peer without its own packages uses the project's.
    if (!existsSync(manifest)) return true;
    const { dependencies } = JSON.parse(readFileSync(manifest, 'utf8'));
    const areThere = Object.entries(dependencies).every(([name, version]) => {
      const installed = join(folder, 'node_modules', name, 'package.json');
      return existsSync(installed) && JSON.parse(readFileSync(installed, 'utf8')).version === version;
    });
    return areThere && this.built.every((file) => existsSync(join(folder, 'node_modules', file)));
  }

  /**
   * @returns {string | undefined} a sentence that says why it cannot start here, and the remedy; undefined if
   * it can
   */
  absence() {
    if (this.installed()) return undefined;
    if (!this.runsHere()) return `${this.name} can be measured on ${this.platform} only.`;
    if (this.program !== undefined)
      return `${this.program.command} is not installed: "${this.program.remedy}" installs it.`;
    return `${this.name} is not installed: "npm ci --prefix bench/peers/${this.folder}" installs it.`;
  }
}

export const PEERS = [
  new Peer({ name: 'Fastify, constant body', folder: 'fastify-constant', answers: 'constant' }),
  new Peer({
    name: 'nginx, file',
    folder: 'nginx-file',
    answers: 'constant',
    // The time of its processes is read from /proc.
    platform: 'linux',
    program: { command: 'nginx', remedy: 'apt-get install nginx-light' },
  }),
  new Peer({
    name: 'Fastify + better-sqlite3',
    folder: 'fastify-sqlite',
    built: ['better-sqlite3/build/Release/better_sqlite3.node'],
  }),
  new Peer({ name: 'Fastify + PostgreSQL', folder: 'fastify-postgres', platform: 'linux' }),
  new Peer({ name: 'array filter', folder: 'array-filter' }),
  new Peer({ name: 'json-server', folder: 'json-server', eventsMax: 100_000, connections: 4 }),
];
