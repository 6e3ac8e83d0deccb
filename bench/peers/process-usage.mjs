import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/**
 * Processor time and memory of a process and its descendants, from /proc (proc_pid_stat(5)). The time of
 * ended processes is counted in their parents. Shared memory is counted once.
 *
 * @param {number} root process id
 * @returns {{ userMicros: number, systemMicros: number, rssBytes: number }}
 */
export function usageOfTree(root) {
  const processes = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      // The name of the program is in parentheses, and may hold spaces and parentheses itself.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      processes.set(Number(name), { parent: Number(fields[1]), fields });
    } catch {
      // It has ended meanwhile.
    }
  }
  let userTicks = 0;
  let systemTicks = 0;
  let rssBytes = 0;
  for (const [pid, { fields }] of processes) {
    if (!isBelow(processes, pid, root)) continue;
    const [utime, stime, cutime, cstime] = fields.slice(11, 15).map(Number);
    userTicks += utime + cutime;
    systemTicks += stime + cstime;
    rssBytes += ownBytes(pid);
  }
  const micros = (ticks) => (ticks * 1e6) / TICKS_PER_SECOND;
  return { userMicros: micros(userTicks), systemMicros: micros(systemTicks), rssBytes };
}

function isBelow(processes, pid, root) {
  for (let at = pid; at !== undefined; at = processes.get(at)?.parent) {
    if (at === root) return true;
  }
  return false;
}

/** Proportional share: pages that several processes share are divided among them. */
function ownBytes(pid) {
  try {
    const [, kibibytes] = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'));
    return Number(kibibytes) * 1024;
  } catch {
    return 0;
  }
}
