/** The page of a feed in a real browser: weeks, keyboard, hostile texts, small screens, no connection. */
import { randomBytes } from 'node:crypto';
import type { BrowserContext, Page } from 'playwright-core';
import { test } from 'tap';
import { PresentAccess } from '../../src/auth/access.js';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { bearer, EVENTS, serve, setUp, viewsOf } from '../http/harness.js';
import { axeFindings } from './axe.js';
import { BUILT_PAGES, counted, NO_BROWSER, newPage, type OpenPage, openBrowser } from './chromium.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/** A Monday, 08:00 in Berlin. The clocks change on the Sunday of this week. */
const MONDAY_MS = Date.UTC(2026, 9, 19, 6);
const HOSTILE = [
  '<script>window.attacked = 1</script>',
  '</script><img src=x onerror="window.attacked = 2">',
  '</td></tr></table></style><svg onload="window.attacked = 3">',
  '\u202e"><iframe src="javascript:top.attacked = 4">',
];
const LONG_WORD = 'Donaudampfschifffahrtsgesellschaft'.repeat(4);

function lesson(n: number, fromMs: number, toMs: number, more: Partial<NormalisedEvent>): NormalisedEvent {
  return {
    ...(EVENTS[0] as NormalisedEvent),
    id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    time: MONDAY_MS + fromMs,
    endTime: MONDAY_MS + toMs,
    roomName: 'Main Hall',
    studyGroup: 'A',
    ...more,
  };
}

const LESSONS: readonly NormalisedEvent[] = [
  lesson(1, 0, HOUR_MS, { title: 'First' }),
  lesson(2, HOUR_MS, 3 * HOUR_MS, { title: 'Second', lecturer: 'Ada' }),
  // The same lesson for another lecturer.
  lesson(3, HOUR_MS, 3 * HOUR_MS, { title: 'Second', lecturer: 'Zoë' }),
  lesson(4, 2 * HOUR_MS, 4 * HOUR_MS, { title: 'Third' }),
  ...HOSTILE.map((title, n) =>
    lesson(10 + n, DAY_MS + n * HOUR_MS, DAY_MS + (n + 1) * HOUR_MS, {
      title,
      roomName: title,
      lecturer: title,
    }),
  ),
  lesson(20, 3 * DAY_MS, 3 * DAY_MS, { title: LONG_WORD, type: null }),
  // From Saturday 22:00 to Sunday 04:00, which is seven hours later.
  lesson(30, 5 * DAY_MS + 14 * HOUR_MS, 5 * DAY_MS + 21 * HOUR_MS, { title: 'Night' }),
  lesson(31, 3 * WEEK_MS, 3 * WEEK_MS + HOUR_MS, { title: 'Later' }),
];

if (NO_BROWSER !== null) {
  test('the page of a feed works in a browser', { skip: NO_BROWSER }, () => {});
} else {
  test('the page of a feed works in a browser', async (t) => {
    const access = new PresentAccess({ feedSecrets: [randomBytes(32)] });
    // As in production: feeds, and no pages else.
    const pages = { isShown: false, isHome: false, folder: BUILT_PAGES };
    const { send } = await serve(t, setUp({ views: viewsOf(LESSONS), access, feeds: {}, pages }).handler);
    const pageOf = async (query: string): Promise<string> => {
      const issued = await send(`/api/v1/schedule/feed?${query}`, { headers: bearer({ studyGroup: 'A' }) });
      return (issued.json() as { page: string }).page;
    };
    const address = await pageOf('studyGroup=A');
    const browser = await openBrowser(t, { locale: 'en-GB', timezoneId: 'Europe/Berlin' });

    await t.test(
      'this week is shown, in the time zone of the device, and nothing else is asked',
      async (t) => {
        const opened = await open(browser, address, MONDAY_MS + DAY_MS);
        const { page } = opened;
        t.equal(await textOf(page, 'h1'), 'A');
        t.match(await textOf(page, '.dates-shown'), '19 – 25 October 2026');
        await counted(page.locator('.day'), 7);
        const monday = page.locator('.day').first();
        t.same(
          (await monday.locator('.lesson-time').allTextContents()).map((text) => plain(text).slice(0, 13)),
          ['08:00 – 09:00', '09:00 – 11:00', '10:00 – 12:00'],
        );
        t.same(await monday.locator('.lesson-title').allTextContents(), ['First', 'Second', 'Third']);
        await counted(monday.locator('.lesson[data-clash]'), 2);
        t.match(await textOf(page, '.day:nth-child(1) li:nth-of-type(2)'), /Main Hall\s*Ada, Zoë/);
        t.match(await textOf(page, '.day:nth-child(6) .lesson-time'), '22:00 – 04:00');
        t.match(await textOf(page, '.day:nth-child(7) .lesson-time'), '22:00 – 04:00');
        await page.locator('.lesson[data-clash]').first().click();
        t.match(await textOf(page, '.panel'), /Second.*Main Hall.*Ada.*Zoë.*1 clash/);
        await assertQuiet(t, opened);
      },
    );

    await t.test('a week without events says so, and leads to the next and the last', async (t) => {
      const { page } = await open(browser, address, MONDAY_MS + 8 * DAY_MS);
      t.match(await textOf(page, '.empty'), 'Nothing is scheduled');
      await page.locator('.empty .primary').press('Enter');
      t.match(await textOf(page, '.dates-shown'), '9 – 15 November 2026');
      t.same(await textsOf(page, '.lesson-title'), ['Later']);
      await page.keyboard.press('p');
      await page.locator('.empty .button').first().press('Enter');
      t.match(await textOf(page, '.dates-shown'), '19 – 25 October 2026');
      await page.close();
    });

    await t.test('hostile texts are shown and do not run', async (t) => {
      const opened = await open(browser, address, MONDAY_MS);
      const { page } = opened;
      t.same(await textsOf(page, '.day:nth-child(2) .lesson-title'), HOSTILE.map(plain));
      t.equal(await page.evaluate('window.attacked'), undefined);
      t.equal(await page.locator('main :is(img, iframe, script)').count(), 0);
      const named = await open(
        browser,
        await pageOf(`type=Lab&studyGroup=A&type=${encodeURIComponent(HOSTILE[1] ?? '')}`),
        MONDAY_MS,
      );
      t.equal(await textOf(named.page, 'h1'), `A, ${HOSTILE[1]}, Lab`);
      t.equal(await named.page.evaluate('window.attacked'), undefined);
      await assertQuiet(t, named);
      await assertQuiet(t, opened);
    });

    await t.test('it is taken along by calendar address, QR code, calendar and table', async (t) => {
      const { page } = await open(browser, address, MONDAY_MS);
      await page.locator('.toolbar-end .button').click();
      await page.locator('.qr').waitFor();
      const links = await page.evaluate("[...document.querySelectorAll('.take a')].map(({ href }) => href)");
      const ics = address.replace('.html', '.ics');
      t.same(links, [ics.replace('http:', 'webcal:'), ics, address.replace('.html', '.csv')]);
      await page.close();
    });

    await t.test('a screen of 360 px needs no sideways scrolling, in light, dark and print', async (t) => {
      const { page } = await open(browser, address, MONDAY_MS);
      await page.setViewportSize({ width: 360, height: 740 });
      await page.locator('.strip').waitFor();
      t.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
      t.same(await axeFindings(page), []);
      const colour = (): Promise<unknown> => page.evaluate('getComputedStyle(document.body).backgroundColor');
      const light = await colour();
      await page.emulateMedia({ colorScheme: 'dark' });
      t.not(await colour(), light);
      t.same(await axeFindings(page), []);
      await page.close();
    });

    await t.test('once opened it works without a connection, also after a reload', async (t) => {
      const { page } = await open(browser, address, MONDAY_MS);
      await page.evaluate('navigator.serviceWorker.ready');
      await page.waitForFunction('navigator.serviceWorker.controller !== null');
      await page.reload();
      await page.locator('.lesson').first().waitFor();
      await browser.setOffline(true);
      await page.reload();
      await page.locator('.lesson').first().waitFor();
      await page.locator('.status', { hasText: 'Data from' }).waitFor();
      t.match(await textOf(page, '.status'), /^No connection.* Data from /);
      await page.keyboard.press('n');
      t.match(await textOf(page, '.dates-shown'), '26 October – 1 November 2026');
      await browser.setOffline(false);
      t.same(await browser.cookies(), []);
      await page.close();
    });

    await t.test('a feed without events says so', async (t) => {
      const { page } = await open(browser, await pageOf('studyGroup=none'), MONDAY_MS);
      t.match(await textOf(page, '.empty'), 'Nothing is scheduled');
      await page.close();
    });

    await t.test('without a script the page is a table', async (t) => {
      const scriptless = await openBrowser(t, { javaScriptEnabled: false });
      const { page } = await newPage(scriptless);
      await page.goto(address);
      t.equal(await page.locator('tbody tr:visible').count(), LESSONS.length);
      t.same(await textsOf(page, 'th'), ['Start', 'End', 'Title', 'Room', 'Lecturer', 'Group', 'Type']);
      t.match(await textOf(page, 'caption'), 'UTC');
      t.equal(await page.locator('p a').count(), 2);
    });
  });
}

/** @param nowMs the time of the device */
async function open(browser: BrowserContext, address: string, nowMs: number): Promise<OpenPage> {
  const opened = await newPage(browser);
  await opened.page.clock.setFixedTime(nowMs);
  await opened.page.goto(address);
  await opened.page.locator('.body').waitFor();
  return opened;
}

/** Asserts that nothing but files of the service was requested, and that nothing went wrong; closes the page. */
async function assertQuiet(
  t: { same(found: unknown, wanted: unknown, message: string): unknown },
  { page, requested, errors }: OpenPage,
): Promise<void> {
  const others = requested.filter((url) => !url.includes('/api/v1/view/') && !/^(blob|data):/.test(url));
  t.same([...new Set(others)], [page.url().replace(/\?.*$/, '')], 'the page and its files');
  t.same(await page.evaluate('window.policyViolations'), [], 'no violation of the policy');
  t.same(errors, [], 'no errors');
  await page.close();
}

/** Versions of Chromium differ in the kinds of their spaces. */
function plain(text: string): string {
  return text.trim().replace(/\s+/g, ' ');
}

async function textOf(page: Page, selector: string): Promise<string> {
  return plain((await page.locator(selector).first().textContent()) ?? '');
}

async function textsOf(page: Page, selector: string): Promise<string[]> {
  return (await page.locator(selector).allTextContents()).map(plain);
}
