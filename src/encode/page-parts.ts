import { readFileSync } from 'node:fs';

const read = (name: string): string => readFileSync(new URL(`./page/${name}`, import.meta.url), 'utf8');

/** The texts of the style and the script in a feed's page. The build replaces this module with the texts. */
export const PAGE_PARTS: { readonly style: string; readonly script: string } = {
  style: read('week.css'),
  script: read('week.js'),
};
