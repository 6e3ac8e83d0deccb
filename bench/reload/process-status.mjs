/** Figures of this process from /proc; null on systems other than Linux. */
import { readFileSync, writeFileSync } from 'node:fs';

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/**
 * Milliseconds of the main thread so far: running, and ready to run but waiting for a processor. The second
 * figure is the share of a stall that a busy machine adds.
 */
export function mainThreadTimes() {
  const text = read(`/proc/self/task/${process.pid}/schedstat`);
  if (text === null) return { ranMs: 0, waitedMs: 0 };
  const [ran, waited] = text.split(' ');
  return { ranMs: Number(ran) / 1e6, waitedMs: Number(waited) / 1e6 };
}

/** Resident memory in bytes: now, and the maximum since {@link forgetPeak}. */
export function residentBytes() {
  const text = read('/proc/self/status');
  const kibibytes = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text ?? '')?.[1] ?? Number.NaN);
  return { now: kibibytes('VmRSS') * 1024, peak: kibibytes('VmHWM') * 1024 };
}

export function forgetPeak() {
  // 5: resets the peak, see proc(5).
  writeFileSync('/proc/self/clear_refs', '5');
}
