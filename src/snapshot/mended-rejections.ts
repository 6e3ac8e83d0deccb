import { REJECTION_SAMPLES, REJECTIONS_KEPT_MAX } from '../limits.js';
import type { Rejection, RejectionCode } from '../model/event.js';
import type { SnapshotSummary } from './summary.js';

type Rejections = Pick<SnapshotSummary, 'rejected' | 'rejectedByCode' | 'rejections'>;

/**
 * The rejections after a patch. Rejections of touched ids no longer count, if they were kept with their id.
 *
 * @param touched ids of the changes, spelled as in rejections
 * @param added rejections of the changes themselves
 */
export function mendRejections(
  before: Rejections,
  touched: ReadonlySet<string>,
  added: readonly Rejection[],
): Rejections {
  const isMended = ({ id }: Rejection): boolean => id !== undefined && touched.has(id);
  const mended = before.rejections.filter(isMended);
  if (mended.length === 0 && added.length === 0) return before;
  const counts = new Map(Object.entries(before.rejectedByCode) as [RejectionCode, number][]);
  for (const { code } of mended) counts.set(code, (counts.get(code) ?? 0) - 1);
  const rejections = before.rejections.filter((each) => !isMended(each));
  for (const rejection of added) {
    const count = (counts.get(rejection.code) ?? 0) + 1;
    counts.set(rejection.code, count);
    if (rejections.length < REJECTIONS_KEPT_MAX || count <= REJECTION_SAMPLES) rejections.push(rejection);
  }
  return {
    rejected: before.rejected - mended.length + added.length,
    rejectedByCode: Object.fromEntries([...counts].filter(([, count]) => count > 0)),
    rejections,
  };
}
