/**
 * Where lessons stand in the column of a day. Lessons at one time stand side by side while each has room to be
 * read; those for which there is no room become one block that tells their number. Boxes never overlap.
 */
import type { Span } from './lessons.js';

export interface Box {
  /** One, or those of a block. */
  readonly spans: readonly Span[];
  /** In minutes of the day. */
  readonly from: number;
  readonly to: number;
  /** The first of the columns that the box fills, of `columns` equal ones. */
  readonly column: number;
  readonly width: number;
  readonly columns: number;
}

const DAY_MINUTES = 1440;

interface Placed {
  readonly span: Span;
  readonly from: number;
  readonly to: number;
  column: number;
}

/**
 * @param columnsMax how many lessons can be read side by side
 * @param minutesMin the height, in minutes, that one line of text needs: shorter lessons get it
 */
export function layOut(spans: readonly Span[], columnsMax: number, minutesMin: number): Box[] {
  const placed = spans
    .map((span): Placed => {
      const from = Math.min(span.from, DAY_MINUTES - minutesMin);
      return { span, from, to: Math.max(span.to, from + minutesMin), column: 0 };
    })
    .sort((a, b) => a.from - b.from || b.to - a.to);
  const boxes: Box[] = [];
  for (const cluster of clustersOf(placed)) {
    const columns = assignColumns(cluster);
    if (columns <= columnsMax) boxes.push(...cluster.map((each) => boxOf(each, cluster, columns)));
    else boxes.push(...withBlocks(cluster, Math.max(1, columnsMax)));
  }
  return boxes;
}

/** Runs of lessons that are connected by overlaps. */
function clustersOf<T extends { readonly from: number; readonly to: number }>(sorted: readonly T[]): T[][] {
  const clusters: T[][] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const each of sorted) {
    if (each.from >= end) clusters.push([]);
    clusters.at(-1)?.push(each);
    end = Math.max(end, each.to);
  }
  return clusters;
}

/** The first free column for each; as many columns as there are lessons at one instant. */
function assignColumns(cluster: readonly Placed[]): number {
  const ends: number[] = [];
  for (const each of cluster) {
    const free = ends.findIndex((end) => end <= each.from);
    each.column = free === -1 ? ends.length : free;
    ends[each.column] = each.to;
  }
  return ends.length;
}

/** A lesson also fills the columns beside it that stay free during it. */
function boxOf({ span, from, to, column }: Placed, cluster: readonly Placed[], columns: number): Box {
  const beside = cluster.filter((other) => other.column > column && other.from < to && other.to > from);
  const next = Math.min(columns, ...beside.map((other) => other.column));
  return { spans: [span], from, to, column, width: next - column, columns };
}

/** The last column has the blocks. */
function withBlocks(cluster: readonly Placed[], columns: number): Box[] {
  const kept = cluster.filter(({ column }) => column < columns - 1);
  const others = cluster.filter(({ column }) => column >= columns - 1);
  const blocks = clustersOf(others).map((together): Placed & { spans: Span[] } => ({
    span: (together[0] as Placed).span,
    spans: together.map(({ span }) => span),
    from: Math.min(...together.map(({ from }) => from)),
    to: together.reduce((end, { to }) => Math.max(end, to), 0),
    column: columns - 1,
  }));
  const all: Placed[] = [...kept, ...blocks];
  return [
    ...kept.map((each) => boxOf(each, all, columns)),
    ...blocks.map(({ spans, from, to, column }) => ({ spans, from, to, column, width: 1, columns })),
  ];
}
