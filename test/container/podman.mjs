/** podman with its own store, which is removed after the run. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
/** A limit below that of this process: podman's default is higher, and not every root user may raise it. */
const LIMITS = ['nofile=4096:4096', 'nproc=4096:4096'];

/** The path of a program; null if there is none of this name. */
export function programOf(name) {
  try {
    return execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
  } catch {
    return null;
  }
}

export class Podman {
  /** Temporary files of the run. */
  folder = mkdtempSync(join(tmpdir(), 'lectern-container-'));
  #env;

  constructor() {
    const [graph, state] = ['graph', 'state'].map((name) => join(this.folder, name));
    for (const path of [graph, state]) mkdirSync(path);
    const storage = join(this.folder, 'storage.conf');
    writeFileSync(storage, `[storage]\ndriver = "vfs"\ngraphroot = "${graph}"\nrunroot = "${state}"\n`);
    const containers = join(this.folder, 'containers.conf');
    // Works without systemd, and with control groups of version 1, which runc can use and crun cannot.
    const runtime = programOf('runc') === null ? '' : 'runtime = "runc"\n';
    writeFileSync(
      containers,
      `[containers]\ndefault_ulimits = ${JSON.stringify(LIMITS)}\n[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n${runtime}`,
    );
    this.#env = {
      ...process.env,
      CONTAINERS_CONF: containers,
      CONTAINERS_STORAGE_CONF: storage,
      BUILDAH_ISOLATION: 'chroot',
    };
  }

  /** @throws Error with podman's message */
  async do(...args) {
    return (await this.outcome(...args)).stdout.trim();
  }

  /** Runs podman, and returns both of its outputs. An error contains both. */
  async outcome(...args) {
    const { stdout, stderr } = await run('podman', args, { env: this.#env, maxBuffer: OUTPUT_BYTES_MAX });
    return { stdout, stderr };
  }

  /** Ends every started container. */
  async end() {
    for (const args of [
      ['pod', 'rm', '--all', '--force'],
      ['rm', '--all', '--force', '--time', '0'],
      ['rmi', '--all', '--force'],
    ]) {
      await this.do(...args).catch(() => {});
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
