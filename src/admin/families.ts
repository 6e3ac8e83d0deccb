import { Counter, Gauge, type Metric, Registry } from 'prom-client';

/** Labels and a value. */
export type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];
/** Looks values up when they are asked for. */
export type Samples = () => readonly Sample[] | Promise<readonly Sample[]>;

/** Metrics whose values are looked up at each scrape. prom-client writes their text. */
export class Families {
  readonly #registry = new Registry();

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  add(metric: Metric): void {
    this.#registry.registerMetric(metric);
  }

  counter(name: string, help: string, labelNames: string[], samples: Samples): void {
    const registers = [this.#registry];
    new Counter({
      name,
      help,
      labelNames,
      registers,
      collect() {
        return put(samples(), (list) => {
          this.reset();
          for (const [labels, value] of list) this.inc(labels, value);
        });
      },
    });
  }

  gauge(name: string, help: string, labelNames: string[], samples: Samples): void {
    const registers = [this.#registry];
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        return put(samples(), (list) => {
          this.reset();
          // A number that is not known is left out, where prom-client would say 0.
          if (labelNames.length === 0 && list.length === 0) this.set(Number.NaN);
          for (const [labels, value] of list) this.set(labels, value);
        });
      },
    });
  }
}

/** Old values go in the same turn as new ones come, so that scrapes at the same time do not add up. */
function put(samples: ReturnType<Samples>, take: (list: readonly Sample[]) => void): void | Promise<void> {
  if (samples instanceof Promise) return samples.then(take);
  take(samples);
}
