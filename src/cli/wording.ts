import { REJECTION_SAMPLES } from '../base/limits.js';
import { formatPosition, type Rejection } from '../base/model/event.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import type { LoadProgress } from '../source/source.js';
import { printable } from './printable.js';

export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

export function formatCountOf(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Decimal units: `512 bytes`, `4.5 kB`, `6.1 MB`, `1,203 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return formatCountOf(bytes, 'byte');
  const [scaled, unit] = bytes < 100e3 ? [bytes / 1e3, 'kB'] : [bytes / 1e6, 'MB'];
  const digits = scaled < 10 ? 1 : 0;
  return `${scaled.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`;
}

export function formatMs(ms: number): string {
  return `${ms < 10 ? ms.toFixed(2) : formatCount(Math.round(ms))} ms`;
}

/**
 * `line 17: endTime is missing …`, with every fault. The field comes before the detail, unless the detail
 * begins with the field.
 */
function formatRejection({ position, field, detail, more = [] }: Rejection): string {
  const isNamed = field === null || detail.startsWith(field);
  const others = more.map((fault) => `; ${fault.detail}`).join('');
  return `${formatPosition(position)}${isNamed ? '' : `, ${field}`}: ${detail}${others}`;
}

/** Rejections of one reason. */
export interface RejectionGroup {
  readonly code: string;
  readonly count: number;
  readonly samples: readonly Rejection[];
}

/** Sorted by reason, the most common first. */
export function groupRejections({ rejectedByCode, rejections }: SnapshotSummary): RejectionGroup[] {
  return Object.entries(rejectedByCode)
    .sort(([, a], [, b]) => b - a)
    .map(([code, count]) => ({
      code,
      count,
      samples: rejections.filter((rejection) => rejection.code === code).slice(0, REJECTION_SAMPLES),
    }));
}

/** A line for each reason, followed by some of its records. */
export function describeRejections(summary: SnapshotSummary): string[] {
  if (summary.rejected === 0) return [];
  return [
    `${formatCountOf(summary.rejected, 'record')} left out:`,
    ...groupRejections(summary).flatMap(({ code, count, samples }) => {
      const more = count - samples.length;
      return [
        `  ${formatCount(count)} ${code}`,
        ...samples.map((sample) => `    ${formatRejection(sample)}`),
        ...(more > 0 && samples.length > 0 ? [`    and ${formatCount(more)} more`] : []),
      ];
    }),
  ];
}

const INTERVAL_MS = 100;
/** Loads shorter than this show no progress. */
const DELAY_MS = 300;
/** Carriage return and "erase line" (ECMA-48). */
const ERASE = '\r\u001b[2K';

/** A progress line on a terminal. `clear` removes it. */
export function createProgressLine(name: string): {
  update(progress: LoadProgress): void;
  show(text: () => string): void;
  clear(): void;
} {
  const stream = process.stderr;
  if (!stream.isTTY) return { update() {}, show() {}, clear() {} };
  let nextMs = performance.now() + DELAY_MS;
  let isShown = false;
  const show = (text: () => string): void => {
    const nowMs = performance.now();
    if (nowMs < nextMs) return;
    nextMs = nowMs + INTERVAL_MS;
    isShown = true;
    stream.write(`${ERASE}${printable(text()).slice(0, stream.columns - 1)}`);
  };
  return {
    show,
    update(progress) {
      show(() => formatProgress(name, progress));
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
