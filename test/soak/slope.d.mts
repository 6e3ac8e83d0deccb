export function slopeOf(points: readonly { readonly x: number; readonly y: number }[]): number;
