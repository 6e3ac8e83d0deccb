import { countOf, describeWindow } from './explain.js';
import type { FreeQuery } from './free.js';
import type { FreeKeys, Marks } from './free-keys.js';

/** Explains how free time is found, one step a line. */
export function explainFree(keys: FreeKeys, query: FreeQuery, found: number, marks: Marks): string {
  const { by, windows, among, buildings, capacityMin } = query;
  const more = windows.length === 1 ? '' : `, and ${windows.length - 1} in later weeks`;
  const searched = marks.lists === 0 ? '' : ` and ${countOf(marks.lists, 'posting list')}`;
  const lines = [
    `FREE ${by}: ${keys.order.length} known, ${keys.usedCount} of them with events`,
    `WINDOW ${describeWindow(windows[0])}${more}: ${countOf(marks.slots, 'slot')}${searched} searched; ${countOf(marks.count, by)} with events in it`,
  ];
  if (among !== null) {
    const { ids, texts } = among;
    lines.push(`CHECK among: ${countOf(ids.length, 'identifier')}, ${countOf(texts.length, 'text')}`);
  }
  if (buildings !== null) lines.push(`CHECK building of ${countOf(buildings.length, 'value')}`);
  if (capacityMin !== null) lines.push(`CHECK capacity of at least ${capacityMin}`);
  lines.push(`GAP for the entries on the page (${found} free on all pages)`);
  return lines.join('\n');
}
