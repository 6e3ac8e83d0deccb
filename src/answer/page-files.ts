import { existsSync, readFileSync } from 'node:fs';

const BUILT = new URL('../../dist/http/pages/built.json', import.meta.url);

/**
 * The names of the style and the script of the pages. The build replaces this module with the names. From
 * source they are those of the last build.
 */
export const PAGE_FILES: { readonly style: string; readonly script: string } = existsSync(BUILT)
  ? JSON.parse(readFileSync(BUILT, 'utf8'))
  : { style: 'main.css', script: 'main.js' };
