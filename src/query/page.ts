/** Which positions of a result are on a page. */
export interface PageRange {
  readonly from: number;
  readonly to: number;
  /** Whether anything follows. */
  readonly more: boolean;
}

/**
 * @param total entries of the whole result
 * @param from the position at which the page begins
 * @param limit entries per page; Infinity for all
 */
export function pageRange(total: number, from: number, limit: number): PageRange {
  const start = Math.min(from, total);
  const to = Math.min(total, start + limit);
  return { from: start, to, more: to < total };
}
