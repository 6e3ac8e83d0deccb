/** Numbers as a person reads them, the same in every locale. */

export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** `1 event`, `2 events`. */
export function formatCountOf(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** In decimal units, as file listings have it: `512 bytes`, `4.5 kB`, `6.1 MB`, `1,203 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return formatCountOf(bytes, 'byte');
  const [scaled, unit] = bytes < 100e3 ? [bytes / 1e3, 'kB'] : [bytes / 1e6, 'MB'];
  const digits = scaled < 10 ? 1 : 0;
  return `${scaled.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`;
}

/** Whole milliseconds, or two digits where there is not even one. */
export function formatMs(ms: number): string {
  return `${ms < 10 ? ms.toFixed(2) : formatCount(Math.round(ms))} ms`;
}
