/** The memory that is left for a load. Inside, because it reads made-up files of the system. */
import { join } from 'node:path';
import { test } from 'tap';
import { Loader } from '../../src/refresh/loader.js';
import { memoryForLoad, memoryLeft } from '../../src/refresh/memory-room.js';
import { down, keep } from './kept.js';

const MIB = 2 ** 20;
const meminfo = `MemTotal:       2048000 kB\nMemAvailable:   1024000 kB\n`;
/** 20 MiB of cached files, half of them recently used. */
const stat = [
  'cache 1',
  ...['', 'total_'].flatMap((of) => [`${of}inactive_file 10485760`, `${of}active_file 10485760`]),
  '',
].join('\n');

test('free memory is the least of the machine and of every group around the process', async (t) => {
  const groups = {
    v2: {
      'memory.max': 'max\n',
      a: {
        'memory.max': `${400 * MIB}\n`,
        'memory.current': `${100 * MIB}\n`,
        'memory.stat': stat,
        b: { 'memory.max': `${600 * MIB}\n`, 'memory.current': `${90 * MIB}\n`, 'memory.stat': stat },
      },
    },
    v1: {
      memory: {
        'memory.limit_in_bytes': '9223372036854771712\n',
        c: {
          'memory.limit_in_bytes': `${512 * MIB}`,
          'memory.usage_in_bytes': `${200 * MIB}`,
          'memory.stat': stat,
        },
      },
    },
    container: {
      memory: { 'memory.limit_in_bytes': `${256 * MIB}`, 'memory.usage_in_bytes': `${56 * MIB}` },
    },
    none: {},
  };
  const cases: [name: string, groups: keyof typeof groups, self: string, left: number][] = [
    ['a parent of version 2', 'v2', '0::/a/b\n', 320],
    ['no limit', 'v2', '0::/\n', 1000],
    ['version 1', 'v1', '5:cpu:/x\n4:memory:/c\n', 332],
    ['version 1 beside others', 'v1', '4:cpu,memory:/c\n0::/\n', 332],
    ["a container that has the host's path", 'container', '4:memory:/docker/1234\n', 200],
    ['no groups', 'none', '', 1000],
  ];
  for (const [name, cgroup, self, left] of cases) {
    const folder = t.testdir({ proc: { meminfo, self: { cgroup: self } }, cgroup: groups[cgroup] });
    const places = { proc: join(folder, 'proc'), cgroup: join(folder, 'cgroup') };
    t.equal(memoryLeft(places) / MIB, left, name);
    t.equal(memoryForLoad(places), Math.floor(0.75 * left * MIB), name);
  }
  const full = t.testdir({ proc: { meminfo: 'MemAvailable: 1024 kB\n' }, cgroup: {} });
  const places = { proc: join(full, 'proc'), cgroup: join(full, 'cgroup') };
  t.equal(memoryForLoad(places), 0.75 * MIB, 'no more than there is');
  const loader = new Loader({ kind: 'file', path: '/none' }, { identifiers: 'uuid' });
  const { keeper } = keep(down, {
    loader,
    bounds: { memoryBytesMax: memoryForLoad(places) },
  });
  await t.rejects(keeper.start(), {
    code: 'snapshot-refused',
    message:
      'the new snapshot of /none was refused: a load takes at least 24 MiB of memory, but machine and container have only 0 MiB left',
  });
  await keeper.close();
  t.ok(memoryLeft({ proc: '/none', cgroup: '/none' }) > 0, 'elsewhere it is what the machine has');
});
