import { get } from './threads.js';

/** Metrics as `name{labels}` → value. Throws at a line outside the text format. */
export function parseMetrics(text: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || /^# (?:HELP|TYPE) (?:lectern|nodejs|process)_[a-z0-9_]+ ./.test(line)) continue;
    const parts = /^((?:lectern|nodejs|process)_[a-z0-9_]+(?:\{[^}]*\})?) (-?[\d.e+-]+|Nan|NaN|\+Inf)$/.exec(
      line,
    );
    if (parts === null) throw new Error(`not a line of metrics: ${line}`);
    const [, name = '', value = ''] = parts;
    if (values.has(name)) throw new Error(`twice: ${name}`);
    values.set(name, Number(value));
  }
  return values;
}

export async function scrape(origin: string): Promise<ReadonlyMap<string, number>> {
  const { status, headers, body } = await get(`${origin}/metrics`);
  if (status !== 200) throw new Error(`/metrics: ${status}`);
  if (headers['content-type'] !== 'text/plain; version=0.0.4; charset=utf-8') {
    throw new Error(`/metrics is ${headers['content-type']}`);
  }
  return parseMetrics(body.toString());
}

/** The sum over all samples with this name and these labels. */
export function total(metrics: ReadonlyMap<string, number>, name: string, ...labels: string[]): number {
  let sum = 0;
  for (const [key, value] of metrics) {
    if ((key === name || key.startsWith(`${name}{`)) && labels.every((label) => key.includes(label)))
      sum += value;
  }
  return sum;
}
