declare module 'interval-tree-1d' {
  /** Closed intervals; further elements are carried along. */
  interface IntervalTree<T extends readonly number[]> {
    /** Visits the intervals that contain `point`. A truthy return value stops. */
    queryPoint(point: number, visit: (interval: T) => unknown): unknown;
  }

  export default function createIntervalTree<T extends readonly number[]>(intervals: T[]): IntervalTree<T>;
}
