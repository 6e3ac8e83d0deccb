/**
 * The docs page in a real browser, right after the start of the service: everything is present and already
 * authorised, and nothing comes from other origins.
 */
import { fileURLToPath } from 'node:url';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { test } from 'tap';
import { startService } from '../../src/app/service.js';
import { NO_BROWSER, newPage, type OpenPage, openBrowser } from './chromium.js';

if (NO_BROWSER !== null) {
  test('the docs page works in a browser', { skip: NO_BROWSER }, () => {});
} else {
  test('the docs page works in a browser', async (t) => {
    const service = await startService({
      source: fileURLToPath(new URL('../../fixtures/demo.ndjson.gz', import.meta.url)),
      dev: true,
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

/** Opens the page and waits until it has its test token. */
async function openPage(browser: BrowserContext, address: string): Promise<OpenPage> {
  const opened = await newPage(browser);
  await opened.page.goto(address);
  await opened.page.locator('#lectern-status', { hasText: 'Authorised' }).waitFor();
  return opened;
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
