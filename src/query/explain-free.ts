import { formatInstant } from '../model/time.js';
import type { FreeQuery } from './free.js';
import type { FreeKeys, Marks } from './free-keys.js';

/** How free time was found, one step a line. */
export function explainFree(keys: FreeKeys, query: FreeQuery, found: number, marks: Marks): string {
  const { by, windows, among, buildings, capacityMin } = query;
  const [first] = windows;
  const more = windows.length === 1 ? '' : `, and ${windows.length - 1} in later weeks`;
  const lines = [
    `FREE ${by}: ${keys.order.length} known, ${keys.usedCount} of them with events`,
    `WINDOW [${describe(first?.startMs)}, ${describe(first?.endMs)})${more}: ` +
      `${marks.slots} slots mark ${marks.count} as busy${marks.count === keys.usedCount ? ', which are all' : ''}`,
  ];
  if (among !== null) lines.push(`CHECK among: ${among.ids.length} identifiers, ${among.texts.length} texts`);
  if (buildings !== null) lines.push(`CHECK building of ${buildings.length} values`);
  if (capacityMin !== null) lines.push(`CHECK capacity of at least ${capacityMin}`);
  lines.push(`GAP of ${found} free, one search each, for those on the page`);
  return lines.join('\n');
}

function describe(instantMs = Number.NaN): string {
  return Number.isFinite(instantMs) ? formatInstant(instantMs) : '-';
}
