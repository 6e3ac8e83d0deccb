export interface DemoRow {
  readonly id: string;
  readonly time: string;
  readonly endTime: string;
  readonly studyGroup: string;
}

export function rowsAround(rows: readonly DemoRow[], nowMs: number): readonly DemoRow[];
export function changedRows(rows: readonly DemoRow[], nowMs: number): readonly DemoRow[];
