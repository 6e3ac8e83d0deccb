import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { CELL } from './cells.js';
import type { Meter } from './meter.js';

/** Time between two samples of values that are not counted one by one. A sample takes 0.05 ms. */
const METRICS_SAMPLE_MS = 1000;
/** Time between two ticks that measure the event loop's delay: 50 ticks a second cost 50 × 2 µs. */
const EVENT_LOOP_DELAY_RESOLUTION_MS = 20;

/** Samples between two resets of the delays. So delays cover the last 10 to 20 seconds. */
const DELAY_LOOKS = 10;
const NS_PER_MS = 1e6;

/** Samples once a second until the returned function is called. */
export function startSampling(meter: Meter): () => void {
  let loop = performance.eventLoopUtilization();
  const first = monitorEventLoopDelay({ resolution: EVENT_LOOP_DELAY_RESOLUTION_MS });
  const second = monitorEventLoopDelay({ resolution: EVENT_LOOP_DELAY_RESOLUTION_MS });
  // The older monitor is read, because it always covers at least 10 seconds.
  let [older, younger] = [first, second];
  older.enable();
  let looks = 0;

  meter.onSample(() => {
    const now = performance.eventLoopUtilization();
    meter.add(CELL.loopActiveMs, now.active - loop.active);
    meter.add(CELL.loopIdleMs, now.idle - loop.idle);
    loop = now;
    // The monitor measures the time between two ticks of a timer.
    const delayMs = (ns: number): number => Math.max(0, ns / NS_PER_MS - EVENT_LOOP_DELAY_RESOLUTION_MS);
    if (older.count > 0) {
      meter.set(CELL.loopDelayMinMs, delayMs(older.min));
      meter.set(CELL.loopDelayMeanMs, delayMs(older.mean));
      meter.set(CELL.loopDelayStddevMs, older.stddev / NS_PER_MS);
      meter.set(CELL.loopDelayP50Ms, delayMs(older.percentile(50)));
      meter.set(CELL.loopDelayP90Ms, delayMs(older.percentile(90)));
      meter.set(CELL.loopDelayP99Ms, delayMs(older.percentile(99)));
      meter.set(CELL.loopDelayMaxMs, delayMs(older.max));
    }
    const askedMs = performance.now();
    setImmediate(() => meter.set(CELL.loopLagMs, performance.now() - askedMs));
    const heap = getHeapStatistics();
    meter.set(CELL.heapUsedBytes, heap.used_heap_size);
    meter.set(CELL.heapTotalBytes, heap.total_heap_size);
    meter.set(CELL.heapExternalBytes, heap.external_memory);
  });

  const timer = setInterval(() => {
    meter.sample();
    looks++;
    if (looks % DELAY_LOOKS !== 0) return;
    if (looks > DELAY_LOOKS) {
      older.disable();
      older.reset();
      [older, younger] = [younger, older];
    }
    younger.enable();
  }, METRICS_SAMPLE_MS).unref();
  return () => {
    clearInterval(timer);
    first.disable();
    second.disable();
  };
}
