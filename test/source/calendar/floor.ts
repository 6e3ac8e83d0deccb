/** What work costs beside a floor that is measured in turns with it. */

const RUNS = 5;

export function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/**
 * The least times of several runs, in turns: the first have cold code, and other processes only add. Measures on while
 * the work takes more than `ratioMax` times its floor.
 */
export function leastMs(
  work: () => void,
  floor: () => void,
  ratioMax: number,
): { readonly spentMs: number; readonly floorMs: number } {
  let [spentMs, floorMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const isNoisy = (): boolean => spentMs > ratioMax * floorMs;
  for (let run = 0; run < RUNS || (isNoisy() && run < 8 * RUNS); run++) {
    spentMs = Math.min(spentMs, cpuMs(work));
    floorMs = Math.min(floorMs, cpuMs(floor));
  }
  return { spentMs, floorMs };
}
