import type { LoadProgress } from '../source/source.js';
import { formatBytes, formatCount } from './wording.js';

const INTERVAL_MS = 100;
/** A load that is over sooner needs no line. */
const DELAY_MS = 300;
/** Carriage return and "erase line" (ECMA-48): the line is written over itself. */
const ERASE = '\r\u001b[2K';

/** A line that a terminal shows while a source is read. */
export interface ProgressLine {
  update(progress: LoadProgress): void;
  /** Takes the line away, so that what follows stands in its place. */
  clear(): void;
}

/** Does nothing where the stream is no terminal. */
export function createProgressLine(stream: NodeJS.WriteStream, name: string): ProgressLine {
  if (!stream.isTTY) return { update() {}, clear() {} };
  let nextMs = performance.now() + DELAY_MS;
  let isShown = false;
  return {
    update(progress) {
      const nowMs = performance.now();
      if (nowMs < nextMs) return;
      nextMs = nowMs + INTERVAL_MS;
      isShown = true;
      stream.write(`${ERASE}${formatProgress(name, progress).slice(0, stream.columns - 1)}`);
    },
    clear() {
      if (isShown) stream.write(ERASE);
      isShown = false;
    },
  };
}

/** `Loading events.ndjson: 45 %, 120 MB of 267 MB, 1,203,000 records` */
function formatProgress(name: string, { bytesRead, bytesTotal, records }: LoadProgress): string {
  const read =
    bytesTotal === null || bytesTotal === 0
      ? formatBytes(bytesRead)
      : `${Math.floor((100 * bytesRead) / bytesTotal)} %, ${formatBytes(bytesRead)} of ${formatBytes(bytesTotal)}`;
  return `Loading ${name}: ${read}, ${formatCount(records)} records`;
}
