import { readFileSync } from 'node:fs';

/** scripts/finish-build.mjs replaces this by the text, as a bundled program has no package.json of ours beside it. */
export const VERSION: string = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;
