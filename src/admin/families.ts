import { type Metric, Registry } from 'prom-client';
import * as cells from '../metrics/cells.js';
import type { ThreadMeter } from '../serving/serving.js';

/** The suffix is for parts of a histogram. */
export type Sample = readonly [labels: Readonly<Record<string, string>>, value: number, suffix?: string];
/** Samples of a metric. A number is one sample without labels; null means unknown. */
type Samples = readonly Sample[] | number | null;
export type Look = () => Samples | Promise<Samples>;

export interface Family {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly name: string;
  readonly help: string;
  readonly look: Look;
}

export function counter(name: string, help: string, look: Look): Family {
  return { type: 'counter', name, help, look };
}

export function gauge(name: string, help: string, look: Look): Family {
  return { type: 'gauge', name, help, look };
}

/** The registry of prom-client needs only a metric's name and `get`. */
export function registryOf(families: readonly Family[]): Registry {
  const registry = new Registry();
  for (const { type, name, help, look } of families) {
    const get = async (): Promise<object> => {
      const found = await look();
      const samples: readonly Sample[] =
        found === null || typeof found === 'number' ? [[{}, found ?? Number.NaN]] : found;
      const values = samples.map(([labels, value, suffix = '']) => ({
        metricName: name + suffix,
        labels,
        value,
      }));
      return { name, help, type, values };
    };
    registry.registerMetric({ name, get } as unknown as Metric);
  }
  return registry;
}

export function sum(meters: readonly ThreadMeter[], cell: number): number {
  return meters.reduce((total, { meter }) => total + meter.get(cell), 0);
}

/** One sample per thread. Values in milliseconds are converted to seconds. */
export function perThread(
  threads: readonly ThreadMeter[],
  name: cells.SingleName,
  labels: Readonly<Record<string, string>> = {},
): Sample[] {
  const scale = name.endsWith('Ms') ? 1e-3 : 1;
  return threads.map(({ thread, meter }) => [{ thread, ...labels }, meter.get(cells.CELL[name]) * scale]);
}

/** Omits routes and statuses that never occurred. */
export function requestsByRoute(meters: readonly ThreadMeter[]): Sample[] {
  const samples: Sample[] = [];
  for (const [route, label] of cells.ROUTE_LABELS.entries()) {
    for (let place = 0; place < cells.STATUS_PLACES; place++) {
      const count = sum(meters, cells.REQUESTS_AT + route * cells.STATUS_PLACES + place);
      if (count > 0)
        samples.push([{ route: label, status: String(cells.STATUSES[place] ?? 'other') }, count]);
    }
  }
  return samples;
}

export function durationsByRoute(meters: readonly ThreadMeter[]): Sample[] {
  return cells.ROUTE_LABELS.flatMap((route, n) => {
    let count = 0;
    const buckets = Array.from({ length: cells.DURATION_CLASSES }, (_, i): Sample => {
      count += sum(meters, cells.DURATIONS_AT + n * cells.DURATION_CLASSES + i);
      const end = cells.DURATION_ENDS_MS[i];
      return [{ route, le: end === undefined ? '+Inf' : String(end / 1000) }, count, '_bucket'];
    });
    if (count === 0) return [];
    const seconds = sum(meters, cells.DURATION_SUMS_AT + n) / 1000;
    return [...buckets, [{ route }, seconds, '_sum'], [{ route }, count, '_count']] satisfies Sample[];
  });
}
