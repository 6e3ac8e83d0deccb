import {
  BYTES_AT,
  CELL,
  DURATION_CLASSES,
  DURATION_ENDS_MS,
  DURATION_SUMS_AT,
  DURATIONS_AT,
  FAILURES_AT,
  REQUESTS_AT,
  ROUTE_LABELS,
  type SingleName,
  STATUS_PLACES,
  STATUSES,
  TOKEN_FAILURES,
} from '../metrics/cells.js';
import type { ThreadMeter } from '../serving/serving.js';
import type { Sample } from './families.js';

function sum(meters: readonly ThreadMeter[], cell: number): number {
  return meters.reduce((total, { meter }) => total + meter.get(cell), 0);
}

export function sumOf(meters: readonly ThreadMeter[], name: SingleName): number {
  return sum(meters, CELL[name]);
}

/** One sample per thread; milliseconds as seconds. */
export function perThread(
  threads: readonly ThreadMeter[],
  name: SingleName,
  labels: Readonly<Record<string, string>> = {},
): Sample[] {
  const scale = name.endsWith('Ms') ? 1e-3 : 1;
  return threads.map(({ thread, meter }) => [{ thread, ...labels }, meter.get(CELL[name]) * scale]);
}

/** Without routes and statuses that never came. */
export function requestsByRoute(meters: readonly ThreadMeter[]): Sample[] {
  const samples: Sample[] = [];
  for (const [route, label] of ROUTE_LABELS.entries()) {
    for (let place = 0; place < STATUS_PLACES; place++) {
      const count = sum(meters, REQUESTS_AT + route * STATUS_PLACES + place);
      if (count > 0) samples.push([{ route: label, status: String(STATUSES[place] ?? 'other') }, count]);
    }
  }
  return samples;
}

export function bytesByRoute(meters: readonly ThreadMeter[]): Sample[] {
  return ROUTE_LABELS.map((route, n) => [{ route }, sum(meters, BYTES_AT + n)]);
}

export function failuresByReason(meters: readonly ThreadMeter[]): Sample[] {
  return TOKEN_FAILURES.map((reason, n) => [{ reason }, sum(meters, FAILURES_AT + n)]);
}

/** A histogram for each route that was asked for. */
export function durationsByRoute(meters: readonly ThreadMeter[]): Sample[] {
  return ROUTE_LABELS.flatMap((route, n) => {
    let count = 0;
    const buckets = Array.from({ length: DURATION_CLASSES }, (_, i): Sample => {
      count += sum(meters, DURATIONS_AT + n * DURATION_CLASSES + i);
      const end = DURATION_ENDS_MS[i];
      return [{ route, le: end === undefined ? '+Inf' : String(end / 1000) }, count, '_bucket'];
    });
    if (count === 0) return [];
    const seconds = sum(meters, DURATION_SUMS_AT + n) / 1000;
    return [...buckets, [{ route }, seconds, '_sum'], [{ route }, count, '_count']] satisfies Sample[];
  });
}
