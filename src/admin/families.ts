import { type Metric, Registry } from 'prom-client';

/** Labels and a value. The suffix is of the parts of a histogram. */
export type Sample = readonly [labels: Readonly<Record<string, string>>, value: number, suffix?: string];
/** A number is the only sample and has no labels; null: it is unknown. */
type Samples = readonly Sample[] | number | null;
/** Looks samples up at each scrape. */
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

/** The families as prom-client writes them. The registry asks no more of a metric than a name and `get`. */
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
