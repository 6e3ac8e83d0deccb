export type MemoryName = 'heapUsed' | 'heapWithoutCode' | 'arrayBuffers' | 'external' | 'rss';
export type Look = { readonly hours: number } & Readonly<Record<MemoryName, number>>;
export interface MemoryFigure {
  readonly mbPerHour: number;
  readonly standardError: number;
  readonly mbPerHourMax: number;
  readonly canTell: boolean;
  readonly minutesToTell: number;
}
export const LOOKS_MIN: number;
export const LIMITS: Readonly<
  Record<MemoryName, { readonly mbPerHourMax: number; readonly warmUpMb: number }>
>;
export function judgeMemory(
  looks: readonly Look[],
  minutes: number,
): {
  readonly faults: readonly string[];
  readonly undecided: readonly string[];
  readonly figures: Readonly<Record<MemoryName, MemoryFigure>>;
};
