import { test } from 'tap';
import { SLOW } from './size.js';

/** A test that `npm test` leaves out, because its neighbours show nearly the same in less time. */
export const slowTest: typeof test = SLOW ? test : ((() => undefined) as unknown as typeof test);
