export type MemoryName = 'heapUsed' | 'arrayBuffers' | 'external' | 'rss';
export type Look = { readonly hours: number } & Readonly<Record<MemoryName, number>>;
export interface MemoryFigure {
  readonly mibPerHour: number;
  readonly standardError: number;
  readonly mibPerHourMax: number;
  readonly canTell: boolean;
  readonly minutesToTell: number;
}
export const LOOKS_MIN: number;
export const LIMITS: Readonly<
  Record<MemoryName, { readonly mibPerHourMax: number; readonly warmUpMib: number }>
>;
export function judgeMemory(
  looks: readonly Look[],
  minutes: number,
): {
  readonly faults: readonly string[];
  readonly undecided: readonly string[];
  readonly figures: Readonly<Record<MemoryName, MemoryFigure>>;
};
