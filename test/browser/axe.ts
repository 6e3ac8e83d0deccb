/** Accessibility findings of axe on a page. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Axe leaves out whether targets are 24 px large or apart (WCAG 2.2); Lighthouse does not. */
const OPTIONS = "{ resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } }";

/** A search for each view, on the demo. */
export const viewsOf = (group: string): readonly string[] => [
  `?of=group:${group}&date=2026-10-05`,
  `?view=day&of=group:${group}&of=group:INF-2B`,
  `?view=month&of=group:${group}`,
  `?view=list&of=group:${group}`,
  '?view=free&seats=30',
  '?view=clashes',
  '?view=usage',
  '?view=changes&by=all',
  '?view=state',
];

/** All that a change between light and dark can break. */
export const COLOUR_RULES: readonly string[] = ['color-contrast', 'link-in-text-block'];

/**
 * One line for each finding.
 *
 * @param only the rules to check. Default: all
 */
export async function axeFindings(page: Page, only?: readonly string[]): Promise<string[]> {
  if (await page.evaluate('window.axe === undefined')) await page.evaluate(SOURCE);
  const options =
    only === undefined ? OPTIONS : JSON.stringify({ resultTypes: ['violations'], runOnly: only });
  return (await page.evaluate(`axe.run(document, ${options}).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html, any, all }) =>
      id + ': ' + html.slice(0, 160) + ' ' + [...any, ...all].map(({ message }) => message).join(' '))))`)) as string[];
}
