/** A browser for tests, and pages that record what goes wrong. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';
import type { Test } from 'tap';
import { until } from '../waiting/until.js';

/** The environment variable LECTERN_CHROMIUM names another one. */
export const CHROMIUM: string = process.env.LECTERN_CHROMIUM ?? '/usr/bin/chromium';
/** Why there is no browser; null if there is one. */
export const NO_BROWSER: string | null = existsSync(CHROMIUM)
  ? null
  : `no Chromium at ${CHROMIUM} (LECTERN_CHROMIUM names another)`;
/** The folder of the built pages. */
export const BUILT_PAGES: string = new URL('../../dist/http/pages/', import.meta.url).href;
const WAIT_MS_MAX = 20_000;

export const SWITCHES: readonly string[] = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Runs before the page's own content, because violations of the policy are events of the document. */
const RECORD_VIOLATIONS = `
  window.policyViolations = [];
  document.addEventListener('securitypolicyviolation', (event) => {
    window.policyViolations.push(event.violatedDirective + ' ' + event.blockedURI);
  });`;

export interface OpenPage {
  readonly page: Page;
  /** All requests of the page, in order. */
  readonly requested: string[];
  /** Console errors, missing parts of the page, and uncaught exceptions. */
  readonly errors: string[];
}

/** @param more the locale, the time zone and other features of the device */
export async function openBrowser(
  t: Test,
  more: Parameters<typeof chromium.launchPersistentContext>[1] = {},
): Promise<BrowserContext> {
  const profile = mkdtempSync(join(tmpdir(), 'lectern-browser-'));
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    args: [...SWITCHES],
    viewport: { width: 1200, height: 900 },
    ...more,
  });
  browser.setDefaultTimeout(WAIT_MS_MAX);
  await browser.addInitScript({ content: RECORD_VIOLATIONS });
  t.teardown(async () => {
    await browser.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 3 });
  });
  return browser;
}

export async function newPage(browser: BrowserContext): Promise<OpenPage> {
  const page = await browser.newPage();
  const requested: string[] = [];
  const errors: string[] = [];
  page.on('request', (request) => requested.push(request.url()));
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    const text = message.text();
    if (message.type() === 'error' || /content security policy|could not find/i.test(text)) errors.push(text);
  });
  return { page, requested, errors };
}

/** Waits until the page has so many of the elements: a page draws what it was told some time after the answer. */
export async function counted(elements: Locator, count: number): Promise<void> {
  await until(
    () => elements.count(),
    (seen) => seen === count,
  );
}
