/** Numbers as a person reads them, the same in every locale. */

export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** `1 event`, `2 events`. */
export function formatCountOf(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** In decimal megabytes, as file listings have it: `6.1 MB`, `1,203 MB`. */
export function formatMegabytes(bytes: number): string {
  const digits = bytes < 10e6 ? 1 : 0;
  return `${(bytes / 1e6).toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })} MB`;
}

/** Whole milliseconds, or two digits where there is not even one. */
export function formatMs(ms: number): string {
  return `${ms < 10 ? ms.toFixed(2) : formatCount(Math.round(ms))} ms`;
}
