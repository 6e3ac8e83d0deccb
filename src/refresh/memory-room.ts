import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { LOAD_MEMORY_SHARE } from '../limits.js';

/** Where the system tells of memory; a test has folders of its own. */
export interface SystemPlaces {
  readonly proc: string;
  readonly cgroup: string;
}

const PLACES: SystemPlaces = { proc: '/proc', cgroup: '/sys/fs/cgroup' };
/** Version 1 says "no limit" by a number that no machine has. */
const NO_LIMIT_BYTES_MIN = 2 ** 60;

/** How the two versions of control groups name what they know. */
interface Version {
  readonly folder: string;
  readonly limit: string;
  readonly used: string;
  /** Among what is used: files that the system keeps as long as it likes. */
  readonly givesBack: RegExp;
}

const VERSION_1: Version = {
  folder: 'memory',
  limit: 'memory.limit_in_bytes',
  used: 'memory.usage_in_bytes',
  givesBack: /^total_inactive_file (\d+)$/m,
};
const VERSION_2: Version = {
  folder: '',
  limit: 'memory.max',
  used: 'memory.current',
  givesBack: /^inactive_file (\d+)$/m,
};

/** Bytes that a load which begins now may take, where nothing is set: LOAD_MEMORY_SHARE of what is left. */
export function memoryForLoad(places: SystemPlaces = PLACES): number {
  return Math.floor(LOAD_MEMORY_SHARE * memoryLeft(places));
}

/** The least of what the machine has left, and each control group that this process is in. */
export function memoryLeft(places: SystemPlaces = PLACES): number {
  return Math.min(leftOfMachine(places), ...groupsOf(places).map(leftOfGroup));
}

/** Linux says what could be had without swapping; elsewhere all but what this process has is taken for free. */
function leftOfMachine({ proc }: SystemPlaces): number {
  const available = /^MemAvailable:\s+(\d+) kB$/m.exec(read(join(proc, 'meminfo')) ?? '')?.[1];
  return available === undefined ? totalmem() - process.memoryUsage.rss() : Number(available) * 1024;
}

/** The folders of the groups that have a say: the process's own and all around it. */
function groupsOf({ proc, cgroup }: SystemPlaces): { folder: string; version: Version }[] {
  const lines = (read(join(proc, 'self/cgroup')) ?? '').split('\n');
  return lines.flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) return [];
    const version =
      controllers === '' ? VERSION_2 : controllers.split(',').includes('memory') ? VERSION_1 : null;
    if (version === null) return [];
    const names = path.split('/').filter((name) => name !== '' && name !== '..');
    // Within a container the path may be that of the host: what is at the top is the container's own then.
    return names.concat('').map((_, n) => ({
      folder: join(cgroup, version.folder, ...names.slice(0, names.length - n)),
      version,
    }));
  });
}

function leftOfGroup({ folder, version }: { folder: string; version: Version }): number {
  const limit = Number(read(join(folder, version.limit)) ?? Number.NaN);
  // "max", or no such file.
  if (Number.isNaN(limit) || limit >= NO_LIMIT_BYTES_MIN) return Number.POSITIVE_INFINITY;
  const used = Number(read(join(folder, version.used)) ?? 0);
  const givesBack = Number(version.givesBack.exec(read(join(folder, 'memory.stat')) ?? '')?.[1] ?? 0);
  return Math.max(0, limit - used + givesBack);
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
