import { readFileSync } from 'node:fs';

const read = (name: string): string => readFileSync(new URL(`./page/${name}`, import.meta.url), 'utf8');

/**
 * Style and script of the page of a feed, as in the page. The build replaces this module by the texts of
 * both.
 */
export const PAGE_PARTS: { readonly style: string; readonly script: string } = {
  style: read('week.css'),
  script: read('week.js'),
};
