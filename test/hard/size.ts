/** Sizes of long tests: large in `npm run test:hard`, small otherwise. */
export const HARD: boolean = process.env.LECTERN_HARD === '1';

export function size(usual: number, hard: number): number {
  return HARD ? hard : usual;
}
