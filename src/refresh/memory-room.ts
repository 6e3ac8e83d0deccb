import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { LOAD_MEMORY_SHARE } from '../base/limits.js';

const PLACES = { proc: '/proc', cgroup: '/sys/fs/cgroup' };
/** Version 1 writes "no limit" as a number larger than any memory. */
const NO_LIMIT_BYTES_MIN = 2 ** 60;

/** Names in each version of control groups. `givesBack`: cached files, which the system can drop. */
const VERSION_1 = {
  folder: 'memory',
  limit: 'memory.limit_in_bytes',
  used: 'memory.usage_in_bytes',
  givesBack: /^total_(?:in)?active_file (\d+)$/gm,
};
const VERSION_2: typeof VERSION_1 = {
  folder: '',
  limit: 'memory.max',
  used: 'memory.current',
  givesBack: /^(?:in)?active_file (\d+)$/gm,
};

/** The default memory of a load that begins now: LOAD_MEMORY_SHARE of the memory left. */
export function memoryForLoad(places: typeof PLACES = PLACES): number {
  return Math.floor(LOAD_MEMORY_SHARE * memoryLeft(places));
}

/** The least memory left, in the machine and in each control group of this process. */
export function memoryLeft(places: typeof PLACES = PLACES): number {
  return Math.min(leftOfMachine(places), ...leftOfGroups(places));
}

/**
 * Linux reports the memory available without swapping. On other systems, all memory outside this process
 * counts as free.
 */
function leftOfMachine({ proc }: typeof PLACES): number {
  const available = /^MemAvailable:\s+(\d+) kB$/m.exec(read(join(proc, 'meminfo')))?.[1];
  return available === undefined ? totalmem() - process.memoryUsage.rss() : Number(available) * 1024;
}

function leftOfGroups({ proc, cgroup }: typeof PLACES): number[] {
  return read(join(proc, 'self/cgroup'))
    .split('\n')
    .flatMap((line) => {
      const [, controllers = 'none', path = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
      const version = controllers === '' ? VERSION_2 : VERSION_1;
      if (controllers !== '' && !controllers.split(',').includes('memory')) return [];
      const names = path.split('/').filter((name) => name !== '' && name !== '..');
      // In a container, the path may be that of the host. If so, the container's own group is at the top.
      return [...names, ''].map((_, n) =>
        leftOfGroup(join(cgroup, version.folder, ...names.slice(0, names.length - n)), version),
      );
    });
}

function leftOfGroup(folder: string, { limit, used, givesBack }: typeof VERSION_1): number {
  const limitBytes = Number(read(join(folder, limit)) || 'max');
  if (Number.isNaN(limitBytes) || limitBytes >= NO_LIMIT_BYTES_MIN) return Number.POSITIVE_INFINITY;
  const cachedFiles = read(join(folder, 'memory.stat')).matchAll(givesBack);
  const cachedBytes = [...cachedFiles].reduce((bytes, [, found]) => bytes + Number(found), 0);
  return Math.max(0, limitBytes - Number(read(join(folder, used))) + cachedBytes);
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
