declare module 'interval-tree-1d' {
  /** A closed interval; further elements are carried along untouched. */
  type Interval = readonly number[];

  interface IntervalTree<T extends Interval> {
    /** Visits every interval that contains `point`. A truthy return value stops the traversal. */
    queryPoint(point: number, visit: (interval: T) => unknown): unknown;
    /** Visits every interval that touches [low, high]. A truthy return value stops the traversal. */
    queryInterval(low: number, high: number, visit: (interval: T) => unknown): unknown;
  }

  export default function createIntervalTree<T extends Interval>(intervals: T[]): IntervalTree<T>;
}
