declare module 'interval-tree-1d' {
  /** Closed intervals; further elements are carried along. */
  interface IntervalTree<T extends readonly number[]> {
    /** Visits every interval that contains `point`. A truthy return value stops the traversal. */
    queryPoint(point: number, visit: (interval: T) => unknown): unknown;
  }

  export default function createIntervalTree<T extends readonly number[]>(intervals: T[]): IntervalTree<T>;
}
