/** The pages while the timetable changes, and on a hostile timetable: nothing runs, nothing overlaps, all can be reached. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { test } from 'tap';
import { startService } from '../../src/app/service.js';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { EVENTS, serve, setUp } from '../http/harness.js';
import { PublishedViews } from '../http/live-views.js';
import { axeFindings } from './axe.js';
import { BUILT_PAGES, counted, NO_BROWSER, newPage, type OpenPage, openBrowser } from './chromium.js';

const HOUR_MS = 3_600_000;
/** A Monday. */
const MONDAY_MS = Date.UTC(2026, 9, 5);
const MARKUP = '<img src=x onerror="window.attacked=1"><script>window.attacked=2</script>';

function lesson(
  n: number,
  fromMs: number,
  toMs: number,
  more: Partial<NormalisedEvent> = {},
): NormalisedEvent {
  return {
    ...(EVENTS[0] as NormalisedEvent),
    id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    time: MONDAY_MS + fromMs,
    endTime: MONDAY_MS + toMs,
    title: `Lesson ${n}`,
    studyGroup: 'A',
    courseId: null,
    ...more,
  };
}

const HOSTILE: readonly NormalisedEvent[] = [
  // A word and a text of 2,000 characters, markup in every field, right-to-left and combining text.
  lesson(1, 8 * HOUR_MS, 9 * HOUR_MS, { title: 'x'.repeat(2000) }),
  lesson(2, 9 * HOUR_MS, 9.25 * HOUR_MS, { title: 'word '.repeat(400).trim() }),
  lesson(3, 32 * HOUR_MS, 34 * HOUR_MS, { title: MARKUP, lecturer: MARKUP, type: MARKUP, roomName: MARKUP }),
  lesson(4, 34 * HOUR_MS, 36 * HOUR_MS, { title: '\u202eمرحبا\u2066', lecturer: `e${'\u0301'.repeat(200)}` }),
  // 300 lessons at one hour.
  ...Array.from({ length: 300 }, (_, n) => lesson(100 + n, 58 * HOUR_MS, 59 * HOUR_MS)),
  // Of three weeks, of no length, over midnight.
  lesson(500, 0, 21 * 24 * HOUR_MS, { title: 'Three weeks' }),
  lesson(501, 80 * HOUR_MS, 80 * HOUR_MS, { title: 'A moment' }),
  lesson(502, 94 * HOUR_MS, 98 * HOUR_MS, { title: 'Night' }),
];

if (NO_BROWSER !== null) {
  test('the pages stand changes and hostile timetables', { skip: NO_BROWSER }, () => {});
} else {
  test('the pages stand changes and hostile timetables', async (t) => {
    const views = new PublishedViews(HOSTILE);
    const pages = { isShown: true, isHome: true, folder: BUILT_PAGES };
    const { port } = await serve(t, setUp({ views, dev: true, pages }).handler);
    const view = `http://127.0.0.1:${port}/api/v1/view`;
    const browser = await openBrowser(t, { locale: 'en-GB', timezoneId: 'UTC' });

    for (const width of [360, 768, 1920]) {
      await t.test(`a hostile timetable at ${width} px`, async (t) => {
        for (const name of ['week', 'day', 'list', 'month']) {
          const { page, errors } = await open(
            browser,
            `${view}?view=${name}&of=group:A&date=2026-10-07`,
            width,
          );
          t.same(await overlaps(page), [], `${name}: nothing overlaps`);
          t.equal(
            await page.evaluate('document.documentElement.scrollWidth <= innerWidth'),
            true,
            `${name}: no sideways scrolling`,
          );
          t.equal(await page.evaluate('window.attacked'), undefined, 'nothing runs');
          t.same(errors, []);
          if (name === 'week') {
            t.same(await axeFindings(page), []);
            t.ok((await page.locator('.long', { hasText: 'Three weeks' }).count()) > 0);
            await page.locator('.block').first().click();
            await page.locator('.panel .line').first().waitFor();
            t.ok((await page.locator('.panel .line').count()) > 280, 'the block opens into its lessons');
            await page.locator('.panel .line').last().click();
            await page.locator('.panel .panel-when').waitFor();
          }
          await page.close();
        }
        const { page } = await open(
          browser,
          `${view}?of=group:A&date=2026-10-05&open=${HOSTILE[0]?.id}`,
          width,
        );
        t.match(
          await page.locator('.panel h2').innerText(),
          'x'.repeat(2000),
          'a long title can be read whole',
        );
        await page.close();
      });
    }

    await t.test('40,000 groups, and a lesson of 5,000: each is found, and nothing freezes', async (t) => {
      const [room, course] = ['00000000-0000-4000-8100-000000000001', '00000000-0000-4000-8200-000000000001'];
      const together = { title: 'Together', roomId: room, courseId: course };
      views.publishEvents([
        ...Array.from({ length: 40_000 }, (_, n) => {
          const from = (8 + (n % 10) + 24 * (n % 5)) * HOUR_MS;
          const roomId = `00000000-0000-4000-8300-${String(n % 200).padStart(12, '0')}`;
          return lesson(10_000 + n, from, from + HOUR_MS, { studyGroup: `Group ${n}`, roomId });
        }),
        ...Array.from({ length: 5_000 }, (_, n) =>
          lesson(100_000 + n, 19 * HOUR_MS, 20 * HOUR_MS, { ...together, studyGroup: `Group ${n}` }),
        ),
      ]);
      const { page, errors } = await open(browser, `${view}?of=room:${room}&date=2026-10-05`);
      const session = await browser.newCDPSession(page);
      await session.send('Performance.enable', { timeDomain: 'threadTicks' });
      const seconds = async (): Promise<number> => {
        const { metrics } = await session.send('Performance.getMetrics');
        return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
      };
      const elements = (): Promise<number> =>
        page.evaluate('document.querySelectorAll("*").length') as Promise<number>;
      await page.locator('.lesson', { hasText: 'Together' }).click();
      const names = page.locator('.panel .fact', { hasText: 'Group' });
      await names.first().waitFor();
      t.equal(await names.count(), 100);
      t.ok((await elements()) < 3000, 'the panel shows the first of them');
      await page.locator('.panel .button', { hasText: 'Show 200 more' }).click();
      await counted(names, 300);
      await page.keyboard.press('Escape');
      for (const n of [0, 23_456, 39_999]) {
        await page.keyboard.press('/');
        await page.keyboard.type(`Group ${n}`);
        await page.locator('.found li .found-name').getByText(`Group ${n}`, { exact: true }).waitFor();
        await page.keyboard.press('Enter');
        await page.locator('h1').getByText(`Group ${n}`, { exact: true }).waitFor();
        await page.locator('.lesson', { hasText: `Lesson ${10_000 + n}` }).waitFor();
      }
      // Of the processor, since the page was loaded.
      const found = await seconds();
      t.ok(found < 8, `${found} s`);
      for (const search of ['?view=clashes', '?view=free&date=2026-10-05', '?view=usage&date=2026-10-05']) {
        await page.goto(`${view}${search}`);
        await page.locator('[aria-busy="false"]').first().waitFor();
        const [drawn, used] = [await elements(), await seconds()];
        t.ok(drawn < 25_000 && used < 8, `${search}: ${drawn} elements, ${used} s`);
        t.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, search);
      }
      await page.goto(`${view}?of=room:00000000-0000-4000-8300-000000000003&date=2026-10-05`);
      await page.locator('.block').first().waitFor();
      t.same(await overlaps(page), []);
      t.same(errors, []);
      await page.close();
    });

    await t.test('a page that nobody sees holds no connection, and catches up', async (t) => {
      views.publishEvents(HOSTILE.slice(0, 4));
      const { page } = await open(browser, `${view}?of=group:A&date=2026-10-06`);
      const isStream = (request: { url(): string }): boolean => request.url().endsWith('/schedule/changes');
      const see = (isSeen: boolean): Promise<unknown> =>
        page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${!isSeen}, configurable: true });
          document.dispatchEvent(new Event('visibilitychange'))`);
      await page.locator('.status[data-state="live"]').waitFor();
      const ended = page.waitForEvent('requestfailed', isStream);
      await see(false);
      await ended;
      views.publishEvents([
        ...HOSTILE.slice(0, 4),
        lesson(601, 60 * HOUR_MS, 61 * HOUR_MS, { title: 'Meanwhile' }),
      ]);
      const begun = page.waitForRequest(isStream);
      await see(true);
      t.match((await begun).headers()['last-event-id'], /./, 'it tells what it knows');
      await page.locator('.lesson[data-fresh]', { hasText: 'Meanwhile' }).waitFor();
      await page.close();
    });

    await t.test('a change appears by itself; the focus and the place stay', async (t) => {
      views.publishEvents(HOSTILE.slice(0, 4));
      const { page } = await open(browser, `${view}?of=group:A&date=2026-10-06`);
      const first = page.locator('.lesson').first();
      await first.focus();
      await page.mouse.wheel(0, 120);
      await page.waitForFunction('scrollY > 0');
      // How far the page is scrolled, and where the lesson stands in the window.
      const place = (): Promise<unknown> =>
        page.evaluate('[scrollY, Math.round(document.activeElement.getBoundingClientRect().top)]');
      const before = await place();
      views.publishEvents([
        ...HOSTILE.slice(0, 4),
        lesson(600, 60 * HOUR_MS, 61 * HOUR_MS, { title: 'New' }),
      ]);
      await page.locator('.lesson[data-fresh]', { hasText: 'New' }).waitFor();
      t.equal(await page.evaluate('document.activeElement.classList.contains("lesson")'), true, 'the focus');
      t.same(await place(), before, 'the place');
      t.equal(
        await page.locator('[role="status"][aria-live]').first().textContent(),
        '1 lesson changed just now',
      );
      await page.locator('.views a', { hasText: 'Changes' }).click();
      await page.locator('[data-choice="opened"]').click();
      const added = page.locator('.change[data-what="added"]', { hasText: 'New' });
      await added.waitFor();
      const usual = page.viewportSize() ?? { width: 1200, height: 900 };
      await page.setViewportSize({ ...usual, width: 768 });
      const what = await added.locator('.change-what').boundingBox();
      const fields = await added.locator('.change-fields').boundingBox();
      t.ok(
        what !== null && fields !== null && fields.y >= what.y + what.height,
        'short ones, too, in two lines',
      );
      await page.setViewportSize(usual);
      const [longest, long, ...others] = HOSTILE.slice(0, 4) as [
        NormalisedEvent,
        NormalisedEvent,
        ...NormalisedEvent[],
      ];
      views.publishEvents([{ ...longest, title: 'Newer', lecturer: 'Zoë' }, ...others]);
      const changed = page.locator('.change[data-what="changed"]');
      await changed.waitFor();
      t.same(await changed.locator('ins').allInnerTexts(), ['Newer', 'Zoë']);
      t.same(
        await changed.locator('del').allInnerTexts(),
        [longest.title, longest.lecturer],
        'old beside new',
      );
      const removed = page.locator('.change[data-what="removed"]');
      t.match(await removed.innerText(), long.title ?? '', 'a removed lesson as it was');
      t.equal(await page.locator('.change[data-what="added"]').count(), 0, 'what came and went is no change');
      t.same(await axeFindings(page), []);
      await page.close();
    });

    await t.test(
      'in development a load that left records out is told at first, with its reasons',
      async (t) => {
        const folder = mkdtempSync(join(tmpdir(), 'lectern-view-'));
        t.teardown(() => rmSync(folder, { recursive: true, force: true }));
        const source = join(folder, 'rows.ndjson');
        const row = {
          id: EVENTS[0]?.id,
          time: '2026-10-05T08:00:00Z',
          endTime: '2026-10-05T09:00:00Z',
          lectureer: 'x',
        };
        writeFileSync(source, `${JSON.stringify(row)}\n${JSON.stringify({ ...row, id: 'none' })}\n`);
        const service = await startService({ source, dev: true, port: 0, rejectPercentMax: 100 });
        t.teardown(() => service.close());
        await service.ready;
        const { page } = await open(browser, `${service.baseUrl}/view?view=clashes`);
        await page.locator('.problem', { hasText: '1 record was left out' }).locator('a').click();
        await page.locator('.rejections li', { hasText: 'malformed-identifier' }).first().waitFor();
        t.match(await page.locator('.state').innerText(), /record 2[\s\S]*lectureer \(lecturer\?\)/);
        await page.close();
      },
    );

    await t.test('on paper a week is one sheet, in black and white', async (t) => {
      const { page } = await open(browser, `${view}?of=group:A&date=2026-10-06`, 360);
      const pdf = await page.pdf({ preferCSSPageSize: true });
      t.equal(pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)?.length, 1);
      await page.emulateMedia({ media: 'print' });
      await page.locator('.day').nth(4).waitFor();
      t.equal(await page.locator('.strip').isVisible(), false);
      await page.close();
    });
  });
}

async function open(browser: BrowserContext, address: string, width = 1000): Promise<OpenPage> {
  const opened = await newPage(browser);
  const { page } = opened;
  await page.setViewportSize({ width, height: 700 });
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.clock.setFixedTime(MONDAY_MS + 57 * HOUR_MS);
  await page.goto(address);
  await page.locator('[aria-busy="false"]').first().waitFor();
  return opened;
}

/** Pairs of boxes in one day that share more than a pixel. */
function overlaps(page: Page): Promise<unknown> {
  return page.evaluate(`[...document.querySelectorAll('.day')].flatMap((day) => {
    const boxes = [...day.querySelectorAll('.box')].map((box) => box.getBoundingClientRect());
    return boxes.flatMap((a, n) => boxes.slice(n + 1).filter((b) =>
      Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1));
  })`);
}
