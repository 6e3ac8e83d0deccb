// These names do not begin with LECTERN_, so that commands started by tests do not warn of unknown variables.
/** Sizes of long tests: small in `npm test`, medium in `npm run test:slow`, large in `npm run test:hard`. */
export const HARD: boolean = process.env.TESTS_HARD === '1';
export const SLOW: boolean = HARD || process.env.TESTS_SLOW === '1';

/**
 * Without a medium size, `npm run test:slow` does not run the test again. A file that `npm test` leaves out has two sizes:
 * `small` in `npm run test:slow`, and `large`.
 */
export function size(small: number, large: number, medium: number = small): number {
  if (HARD) return large;
  return SLOW ? medium : small;
}

/** How often a property is tried: a quarter of its runs in `npm test`, all of them in the other commands. */
export function runs(all: number): number {
  return SLOW ? all : Math.ceil(all / 4);
}
