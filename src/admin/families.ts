import { type Metric, Registry } from 'prom-client';

/** Labels and a value. The suffix is of the parts of a histogram. */
export type Sample = readonly [labels: Readonly<Record<string, string>>, value: number, suffix?: string];

/** One metric. Its samples, or its only value, are looked up at each scrape; null where the value is unknown. */
export interface Family {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly name: string;
  readonly help: string;
  samples(): Samples | Promise<Samples>;
}
export type Samples = readonly Sample[] | number | null;

/** The families as prom-client writes them. */
export function registryOf(families: readonly Family[]): Registry {
  const registry = new Registry();
  for (const { type, name, help, samples } of families) {
    const get = async (): Promise<object> => {
      const found = await samples();
      const list: readonly Sample[] =
        typeof found === 'object' && found !== null ? found : [[{}, found ?? Number.NaN]];
      const values = list.map(([labels, value, suffix = '']) => ({
        metricName: name + suffix,
        labels,
        value,
      }));
      return { name, help, type, values };
    };
    // The registry asks no more of a metric. Its own classes count, and would have to be told the differences.
    registry.registerMetric({ name, get } as unknown as Metric);
  }
  return registry;
}
