import { readFileSync } from 'node:fs';

/**
 * The version of the package. The build puts the text itself in place of this (scripts/finish-build.mjs): a program that
 * was bundled has no package.json of ours beside it.
 */
export const VERSION: string = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;
