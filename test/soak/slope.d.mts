export interface Fit {
  readonly slope: number;
  readonly error: number;
}
export function fitOf(points: readonly { readonly x: number; readonly y: number }[]): Fit;
