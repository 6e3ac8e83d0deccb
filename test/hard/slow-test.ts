import { test } from 'tap';
import { SLOW } from './size.js';

type Test = typeof test;
const none = (() => undefined) as unknown as Test;

/** A test that `npm test` leaves out, because its neighbours show nearly the same in less time. */
export const slowTest: Test = SLOW ? test : none;

/** A test whose size is always the same. Where a file has tests with larger sizes, `npm run test:slow` runs only those. */
export const fastTest: Test = SLOW ? none : test;
