/** Tests that take long with large numbers: `npm run test:hard` runs them so, everybody else with small ones. */
export const HARD: boolean = process.env.LECTERN_HARD === '1';

export function size(usual: number, hard: number): number {
  return HARD ? hard : usual;
}
