/** The page of a feed in a real browser: weeks, keyboard, hostile texts, small screens, no further request. */
import { randomBytes } from 'node:crypto';
import type { BrowserContext, Page } from 'playwright-core';
import { test } from 'tap';
import { PresentAccess } from '../../src/auth/access.js';
import type { NormalisedEvent } from '../../src/model/event.js';
import { bearer, EVENTS, serve, setUp, viewsOf } from '../http/harness.js';
import { NO_BROWSER, newPage, type OpenPage, openBrowser } from './chromium.js';

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
    const { send } = await serve(t, setUp({ views: viewsOf(LESSONS), access, feeds: {} }).handler);
    const pageOf = async (query: string): Promise<string> => {
      const issued = await send(`/api/v1/schedule/feed?${query}`, { headers: bearer({ studyGroup: 'A' }) });
      return (issued.json() as { page: string }).page;
    };
    const address = await pageOf('studyGroup=A');
    const browser = await openBrowser(t, { locale: 'de-DE', timezoneId: 'Europe/Berlin' });

    await t.test('this week is shown, in the time zone of the device', async (t) => {
      const opened = await open(browser, address, MONDAY_MS + DAY_MS);
      const { page } = opened;
      t.equal(await textOf(page, '#week'), '19 – 25 October 2026');
      t.match(await textOf(page, '#zone'), 'Europe/Berlin');
      const days = ['Monday 19 Oct', 'Tuesday 20 Oct Today', 'Wednesday 21 Oct', 'Thursday 22 Oct'];
      days.push('Friday 23 Oct', 'Saturday 24 Oct', 'Sunday 25 Oct');
      t.same(await textsOf(page, 'h3'), days);
      t.same(await textsOf(page, '.day:nth-child(1) .times'), [
        '08:00 to 09:00',
        '09:00 to 11:00',
        '10:00 to 12:00',
      ]);
      t.same(await textsOf(page, '.day:nth-child(1) .title'), ['First', 'Second', 'Third']);
      t.same(await textsOf(page, '.day:nth-child(1) .overlapping .title'), ['Second', 'Third']);
      t.match(await textOf(page, '.day:nth-child(1) li:nth-child(2)'), /Main HallAda, ZoëALab Overlaps/);
      t.same(await textsOf(page, '.day:nth-child(3) p'), ['No events']);
      t.same(await textsOf(page, '.day:nth-child(6) .times'), ['22:00 to Sun 04:00']);
      t.same(await textsOf(page, '.day:nth-child(7) .times'), ['Sat 22:00 to 04:00']);
      t.equal(await page.locator('#all').getAttribute('open'), null, 'the table is folded');
      await assertQuiet(t, opened);
    });

    await t.test('weeks are reached by keyboard, and the week is announced', async (t) => {
      const { page } = await open(browser, address, MONDAY_MS);
      t.equal(await page.locator('#week').getAttribute('aria-live'), 'polite');
      for (let n = 0; n < 5; n++) await page.keyboard.press('Tab');
      t.equal(await focused(page), 'today', 'three links, then the buttons');
      t.equal(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'solid');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      t.equal(await textOf(page, '#week'), '26 October – 1 November 2026');
      t.equal(await focused(page), 'next', 'the focus stays');
      t.equal(await page.locator('.day').count(), 0);
      t.match(await textOf(page, '#none'), /^No events in this week\. Go to the next events$/);
      await page.keyboard.press('Tab');
      await page.keyboard.press('Space');
      t.equal(await textOf(page, '#week'), '9 – 15 November 2026');
      t.same(await textsOf(page, '.title'), ['Later']);
      t.equal(await focused(page), 'today');
      await page.keyboard.press('Enter');
      t.equal(await textOf(page, '#week'), '19 – 25 October 2026');
      await page.locator('#previous').press('Enter');
      t.equal(await textOf(page, '#week'), '12 – 18 October 2026');
      await page.close();
    });

    await t.test(
      'without events in this week, the next week with events is shown, or else the last',
      async (t) => {
        for (const [nowMs, week] of [
          [MONDAY_MS - 5 * WEEK_MS, '19 – 25 October 2026'],
          [MONDAY_MS + WEEK_MS, '9 – 15 November 2026'],
          [MONDAY_MS + 50 * WEEK_MS, '9 – 15 November 2026'],
        ] as const) {
          const { page } = await open(browser, address, nowMs);
          t.equal(await textOf(page, '#week'), week);
          await page.close();
        }
      },
    );

    await t.test('hostile texts are shown and do not run', async (t) => {
      const opened = await open(browser, address, MONDAY_MS);
      const { page } = opened;
      t.same(await textsOf(page, '.day:nth-child(2) .title'), HOSTILE);
      t.equal(await page.evaluate('window.attacked'), undefined);
      t.equal(await page.locator('main :is(img, svg, iframe, script)').count(), 0);
      const named = await open(
        browser,
        await pageOf(`type=Lab&studyGroup=A&type=${encodeURIComponent(HOSTILE[1] ?? '')}`),
        MONDAY_MS,
      );
      t.equal(await textOf(named.page, 'h1'), `Timetable: A, ${HOSTILE[1]}, Lab`);
      t.equal(await named.page.evaluate('window.attacked'), undefined);
      await assertQuiet(t, named);
      await assertQuiet(t, opened);
    });

    await t.test('links open the calendar and the table of the feed', async (t) => {
      const { page } = await open(browser, address, MONDAY_MS);
      const links = await page.evaluate("[...document.querySelectorAll('#links a')].map(({ href }) => href)");
      const ics = address.replace('.html', '.ics');
      t.same(links, [ics.replace('http:', 'webcal:'), ics, address.replace('.html', '.csv')]);
      await page.close();
    });

    await t.test('a screen of 360 px needs no sideways scrolling, in light, dark and print', async (t) => {
      const { page } = await open(browser, address, MONDAY_MS);
      await page.setViewportSize({ width: 360, height: 740 });
      const width = (): Promise<unknown> => page.evaluate('document.documentElement.scrollWidth');
      t.equal(await width(), 360);
      await page.locator('summary').click();
      t.equal(await width(), 360, 'the table scrolls in a box of its own');
      const colour = (): Promise<unknown> => page.evaluate('getComputedStyle(document.body).backgroundColor');
      const light = await colour();
      await page.emulateMedia({ colorScheme: 'dark' });
      t.not(await colour(), light);
      await page.emulateMedia({ colorScheme: 'dark', media: 'print' });
      t.equal(await colour(), 'rgb(255, 255, 255)');
      t.notOk(await page.locator('.buttons').isVisible());
      await page.close();
    });

    await t.test('once loaded it works offline, and it stores nothing', async (t) => {
      const opened = await open(browser, address, MONDAY_MS);
      const { page } = opened;
      await browser.setOffline(true);
      await page.locator('#next').click();
      await page.locator('#nearest').click();
      t.same(await textsOf(page, '.title'), ['Later']);
      await browser.setOffline(false);
      t.equal(await page.evaluate('localStorage.length + sessionStorage.length'), 0);
      t.same(await browser.cookies(), []);
      await assertQuiet(t, opened);
    });

    await t.test('a feed without events says so', async (t) => {
      const { page } = await open(browser, await pageOf('studyGroup=none'), MONDAY_MS);
      t.notOk(await page.locator('#weeks').isVisible());
      t.match(
        await page.evaluate("getComputedStyle(document.querySelector('tbody'), '::before').content"),
        /no events/,
      );
      await page.close();
    });

    await t.test('without a script the page is a table', async (t) => {
      const scriptless = await openBrowser(t, { javaScriptEnabled: false });
      const { page } = await newPage(scriptless);
      await page.goto(address);
      t.equal(await page.locator('tbody tr:visible').count(), LESSONS.length);
      t.same(await textsOf(page, 'th'), ['Start', 'End', 'Title', 'Room', 'Lecturer', 'Group', 'Type']);
      t.match(await textOf(page, 'caption'), 'UTC');
      t.notOk(await page.locator('#weeks').isVisible());
      t.equal(await page.locator('#links a').count(), 2);
    });
  });
}

/** @param nowMs the time of the device */
async function open(browser: BrowserContext, address: string, nowMs: number): Promise<OpenPage> {
  const opened = await newPage(browser);
  await opened.page.clock.setFixedTime(nowMs);
  await opened.page.goto(address);
  return opened;
}

/** Asserts that nothing was requested but the page, and that nothing went wrong; closes the page. */
async function assertQuiet(
  t: { same(found: unknown, wanted: unknown, message: string): unknown },
  { page, requested, errors }: OpenPage,
): Promise<void> {
  t.same(requested, [page.url()], 'one request');
  t.same(await page.evaluate('window.policyViolations'), [], 'no violation of the policy');
  t.same(errors, [], 'no errors');
  await page.close();
}

function focused(page: Page): Promise<unknown> {
  return page.evaluate('document.activeElement.id');
}

/** Versions of Chromium differ in the kinds of their spaces. */
function plain(text: string): string {
  return text.trim().replace(/\s+/g, ' ');
}

async function textOf(page: Page, selector: string): Promise<string> {
  return plain((await page.locator(selector).textContent()) ?? '');
}

async function textsOf(page: Page, selector: string): Promise<string[]> {
  return (await page.locator(selector).allTextContents()).map(plain);
}
