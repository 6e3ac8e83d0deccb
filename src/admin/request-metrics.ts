import type { Metric } from 'prom-client';
import {
  BYTES_AT,
  DURATION_CLASSES,
  DURATION_ENDS_MS,
  DURATION_SUMS_AT,
  DURATIONS_AT,
  FAILURES_AT,
  REQUESTS_AT,
  ROUTE_LABELS,
  STATUS_PLACES,
  STATUSES,
  TOKEN_FAILURES,
} from '../metrics/cells.js';
import type { ThreadMeter } from '../serving/serving.js';

/** What the meters of all threads come to, as labels and values. */

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

function sum(meters: readonly ThreadMeter[], cell: number): number {
  return meters.reduce((total, { meter }) => total + meter.get(cell), 0);
}

/** Only those that came at least once. */
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

/**
 * A histogram whose classes are counted elsewhere: prom-client's own can only be told of single durations. Routes that nobody
 * asked for are left out.
 */
export function durationHistogram(name: string, help: string, meters: readonly ThreadMeter[]): Metric {
  const values = (): object[] =>
    ROUTE_LABELS.flatMap((route, n) => {
      const counts = Array.from({ length: DURATION_CLASSES }, (_, i) =>
        sum(meters, DURATIONS_AT + n * DURATION_CLASSES + i),
      );
      let count = 0;
      const buckets = counts.map((each, i) => {
        count += each;
        const end = DURATION_ENDS_MS[i];
        const le = end === undefined ? '+Inf' : String(end / 1000);
        return { metricName: `${name}_bucket`, labels: { route, le }, value: count };
      });
      if (count === 0) return [];
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels: { route }, value: sum(meters, DURATION_SUMS_AT + n) / 1000 },
        { metricName: `${name}_count`, labels: { route }, value: count },
      ];
    });
  const metric = {
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    get: async () => ({ name, help, type: 'histogram', aggregator: 'sum', values: values() }),
  };
  // The registry asks nothing of a metric but these.
  return metric as unknown as Metric;
}
