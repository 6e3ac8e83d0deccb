import { readFileSync } from 'node:fs';

/** scripts/finish-build.mjs inserts the text, because a bundled program has no package.json of Lectern. */
export const VERSION: string = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version;
