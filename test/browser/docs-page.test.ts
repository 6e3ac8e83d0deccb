/**
 * The docs page in a real browser, right after the start of the service: everything is present and already
 * authorised, and nothing comes from other origins.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';
import { type Test, test } from 'tap';
import { startService } from '../../src/service.js';

/** The environment variable LECTERN_CHROMIUM names another one. */
const CHROMIUM = process.env.LECTERN_CHROMIUM ?? '/usr/bin/chromium';
const NO_BROWSER = `no Chromium at ${CHROMIUM} (LECTERN_CHROMIUM names another)`;
const WAIT_MS_MAX = 20_000;

const SWITCHES = [
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

interface OpenPage {
  readonly page: Page;
  /** All requests of the page, in order. */
  readonly requested: string[];
  /** Console errors, missing parts of the page, and uncaught exceptions. */
  readonly errors: string[];
}

if (!existsSync(CHROMIUM)) {
  test('the docs page works in a browser', { skip: NO_BROWSER }, () => {});
} else {
  test('the docs page works in a browser', async (t) => {
    const service = await startService({
      source: fileURLToPath(new URL('../../fixtures/demo.ndjson.gz', import.meta.url)),
      mode: 'development',
      port: 0,
    });
    t.teardown(() => service.close());
    await service.ready;
    const docs = `${service.baseUrl}/docs`;
    const { origin } = new URL(docs);
    const { paths } = (await (await fetch(`${docs}/openapi.json`)).json()) as { paths: object };
    const browser = await openBrowser(t);

    // With a trailing slash, relative links have another base.
    for (const address of [docs, `${docs}/`]) {
      await t.test(`${new URL(address).pathname}: requests are authorised and return events`, async (t) => {
        const { page, requested, errors } = await openPage(browser, address);
        t.equal(await page.title(), 'Lectern');
        t.equal(await page.locator('.opblock').count(), Object.keys(paths).length, 'every operation');
        for (const operation of address === docs ? ['listEvents', 'listPersonalEvents'] : ['listEvents']) {
          const answer = await execute(page, operation);
          t.equal(answer.status, '200', operation);
          t.match(answer.address, /\?limit=\d+$/, 'fields that were left empty are not sent');
          const events = JSON.parse(answer.body) as unknown[];
          t.ok(events.length > 0, 'events');
          t.match(events[0], { id: String, time: String, endTime: String });
        }
        t.ok(requested.length > 5);
        t.same(
          requested.filter((url) => new URL(url).origin !== origin),
          [],
          'no request left the origin',
        );
        t.same(await page.evaluate('window.policyViolations'), [], 'no violation of the policy');
        t.same(errors, [], 'no errors');
        await page.close();
      });
    }

    await t.test("a faulty parameter is explained in the service's words", async (t) => {
      const { page } = await openPage(browser, docs);
      const block = await unfold(page, 'listEvents');
      await block.locator('tr[data-param-name="cursor"] input').fill('nonsense');
      const { status, body } = await execute(page, 'listEvents');
      t.equal(status, '400');
      t.match(JSON.parse(body), { code: 'parameters-invalid', errors: [{ code: 'malformed-cursor' }] });
      await page.close();
    });

    await t.test(
      'the policy blocks content of other origins, and this test would notice a gap',
      async (t) => {
        const { page, errors } = await openPage(browser, docs);
        await page.evaluate("new Image().src = 'http://127.0.0.1:9/elsewhere.png'");
        await page.waitForFunction('window.policyViolations.length > 0');
        t.match(await page.evaluate('window.policyViolations'), [/^img-src http:\/\/127\.0\.0\.1:9\//]);
        t.match(errors, [/content security policy/i]);
        await page.close();
      },
    );
  });
}

async function openBrowser(t: Test): Promise<BrowserContext> {
  const profile = mkdtempSync(join(tmpdir(), 'lectern-browser-'));
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    args: SWITCHES,
    viewport: { width: 1200, height: 900 },
  });
  browser.setDefaultTimeout(WAIT_MS_MAX);
  await browser.addInitScript({ content: RECORD_VIOLATIONS });
  t.teardown(async () => {
    await browser.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 3 });
  });
  return browser;
}

/** Opens the page and waits until it has its test token. */
async function openPage(browser: BrowserContext, address: string): Promise<OpenPage> {
  const page = await browser.newPage();
  const requested: string[] = [];
  const errors: string[] = [];
  page.on('request', (request) => requested.push(request.url()));
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    const text = message.text();
    if (message.type() === 'error' || /content security policy|could not find/i.test(text)) errors.push(text);
  });
  await page.goto(address);
  await page.locator('#lectern-status', { hasText: 'Authorised' }).waitFor();
  return { page, requested, errors };
}

/** Opens an operation, which can then be tried without another click. */
async function unfold(page: Page, operation: string): Promise<Locator> {
  const block = page.locator(`[id$="-${operation}"]`);
  if ((await block.locator('.execute').count()) === 0) {
    await block.locator('.opblock-summary-control').click();
    await block.locator('.execute').waitFor();
  }
  return block;
}

/** Presses "Execute" and reads the answer shown on the page. */
async function execute(
  page: Page,
  operation: string,
): Promise<{ readonly status: string; readonly address: string; readonly body: string }> {
  const block = await unfold(page, operation);
  await block.locator('.execute').click();
  const answer = block.locator('.live-responses-table');
  const body = answer.locator('.response-col_description pre.microlight').first();
  await body.waitFor();
  return {
    status: await textOf(answer.locator('tbody td.response-col_status')),
    address: await textOf(block.locator('.request-url')),
    body: await textOf(body),
  };
}

async function textOf(locator: Locator): Promise<string> {
  return ((await locator.textContent()) ?? '').trim();
}
