/** What is in sight at which width, and what the pages say about addresses that lead nowhere. */
import type { Page } from 'playwright-core';
import { test } from 'tap';
import { until } from '../waiting/until.js';
import { axeFindings } from './axe.js';
import { counted, NO_BROWSER, newPage, openBrowser } from './chromium.js';
import { openDemo } from './demo.js';

/** A Wednesday of the demo's term. */
const NOW_MS = Date.UTC(2026, 10, 11, 9, 40);
const [GROUP, OTHER] = ['BIO-2A', 'BIO-1D'];

interface Box {
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
}

async function boxes(page: Page, selector: string): Promise<readonly Box[]> {
  const all = `[...document.querySelectorAll(${JSON.stringify(selector)})]`;
  return page.evaluate(`${all}.map((each) => each.getBoundingClientRect().toJSON())`);
}

async function box(page: Page, selector: string): Promise<Box> {
  return (await boxes(page, selector))[0] ?? { top: Number.NaN, bottom: 0, left: 0, right: 0 };
}

/** The fields whose chosen text needs more room than they have; their arrow takes 24 px. */
const CUT_CHOICES = `[...document.querySelectorAll('.filters select')].flatMap((select) => {
  const { font, paddingLeft } = getComputedStyle(select);
  const context = document.createElement('canvas').getContext('2d');
  context.font = font;
  const { text } = select.selectedOptions[0];
  const wanted = context.measureText(text).width + parseFloat(paddingLeft) + 24;
  return wanted <= select.clientWidth ? [] : [text + ': ' + wanted + ' of ' + select.clientWidth];
})`;

if (NO_BROWSER !== null) {
  test('the pages fit their window', { skip: NO_BROWSER }, () => {});
} else {
  test('the pages fit their window', async (t) => {
    const service = await openDemo(t, { feedSecret: 'layouts '.repeat(8) });
    const browser = await openBrowser(t, { locale: 'en-GB', timezoneId: 'UTC' });
    const open = async (search: string, width: number, height = 740): Promise<Page> => {
      const { page } = await newPage(browser);
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ reducedMotion: 'reduce' });
      await page.clock.setFixedTime(NOW_MS);
      await page.goto(`${service.baseUrl}/view${search}`);
      return page;
    };

    await t.test('on a phone the date, the views and the age of the data stay in sight', async (t) => {
      const page = await open(`?of=group:${GROUP}`, 360);
      await page.locator('.lesson').first().waitFor();
      const [{ top }] = (await boxes(page, '.grid')) as [Box];
      t.ok(top < 320, `the grid begins at ${top} px`);
      t.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
      await page.mouse.wheel(0, 600);
      await until(
        () => page.evaluate('scrollY'),
        (y) => Number(y) > 100,
      );
      const [head, dates, views] = [
        await box(page, '.top'),
        await box(page, '.dates'),
        await box(page, '.views'),
      ];
      t.equal(head.top, 0);
      t.ok(dates.top >= head.bottom - 1 && dates.bottom < 130, 'the dates are below the head');
      t.equal(views.bottom, 740, 'the views are at the lower edge');
      t.ok(
        (await boxes(page, '.views a')).every(({ left, right }) => left >= 0 && right <= 360),
        'all views are in sight',
      );
      t.match(await page.locator('.status').innerText(), /Live\s*Data from .*\s*(now|ago)/);
      await page.locator('.dates [aria-label="Next"]').click();
      await page.locator('.dates-shown', { hasText: '16 – 22 Nov' }).waitFor();
      await page.locator('select.switch').selectOption('list');
      await page.locator('.list-day').first().waitFor();
      t.match(page.url(), 'view=list');
      await page.locator('.find input').click();
      t.ok(
        (await boxes(page, '.find')).every(({ left, right }) => right - left > 320),
        'the field widens',
      );
      await page.close();
    });

    await t.test('a lesson late in the day is in sight, with few empty hours above it', async (t) => {
      for (const [search, width] of [
        ['', 360],
        ['&view=day', 1280],
      ] as const) {
        const page = await open(`?of=group:${GROUP}&date=2026-11-12${search}`, width);
        await page.locator('.lesson').first().waitFor();
        t.match(await page.locator('.lesson-time').first().textContent(), /^17:/);
        const hours = (): Promise<string | null> => page.locator('.hours span').first().textContent();
        t.equal(await hours(), '13:00');
        const { top } = await box(page, '.lesson');
        t.ok(top < 620, `the lesson begins at ${top} px of 740`);
        await page.getByRole('button', { name: 'Today' }).click();
        await page.locator('.now-line').waitFor();
        t.equal(await hours(), '8:00', 'today shows the time that it is');
        await page.close();
      }
    });

    await t.test(
      'on a phone no choice is cut, filters stand below their title, and no keys are told',
      async (t) => {
        const phone = await openBrowser(t, {
          locale: 'en-GB',
          viewport: { width: 390, height: 844 },
          isMobile: true,
          hasTouch: true,
        });
        const { page } = await newPage(phone);
        await page.clock.setFixedTime(NOW_MS);
        for (const view of ['usage', 'free', 'changes', 'clashes']) {
          await page.goto(`${service.baseUrl}/view?view=${view}`);
          await page.locator('.filters').waitFor();
          await page.locator('[aria-busy="false"]').first().waitFor();
          const gap = (await box(page, '.filters')).top - (await box(page, '.toolbar')).bottom;
          t.ok(gap >= 6, `${view}: ${gap} px`);
          t.same(await page.evaluate(CUT_CHOICES), [], view);
        }
        await page.locator('.find input').tap();
        await page.locator('.find input').fill(GROUP);
        await page.locator('.found li').first().waitFor();
        t.notOk(await page.locator('.found-hint').isVisible(), 'Shift and Enter');
        await page.close();
      },
    );

    await t.test('on a tablet no date of a chart loses its beginning', async (t) => {
      const page = await open('?view=clashes', 768);
      await page.locator('.chart').waitFor();
      const [{ left, right }] = (await boxes(page, '.chart ul')) as [Box];
      const weeks = await boxes(page, '.chart li');
      t.ok((weeks.at(-1)?.right ?? 0) > right, 'there are more weeks than have room');
      t.same(
        weeks.filter((week) => week.left < left - 1 && week.right > left + 1),
        [],
      );
      await page.close();
    });

    await t.test('two weeks stand beside each other at 1,200 px, and their days stay in sight', async (t) => {
      const page = await open(`?of=group:${GROUP}&of=group:${OTHER}`, 1200);
      await page.locator('.grid-of .lesson').first().waitFor();
      const tops = async (): Promise<number[]> => (await boxes(page, '.grid-of')).map(({ top }) => top);
      let [one, two] = await tops();
      t.equal(one, two);
      const widths = (await boxes(page, '.grid-of .day')).map(({ left, right }) => right - left);
      t.ok(Math.min(...widths) >= 94, `days of ${Math.min(...widths)} px`);
      await page.locator('.lesson').first().click();
      await page.locator('.panel').waitFor();
      [one, two] = await tops();
      t.equal(one, two, 'an open lesson moves none of them');
      await page.keyboard.press('Escape');
      await page.mouse.wheel(0, 400);
      await until(
        () => page.evaluate('scrollY'),
        (y) => Number(y) > 100,
      );
      const head = await box(page, '.top');
      for (const { top, bottom } of await boxes(page, '.grid-of > h3, .grid-head')) {
        t.ok(top >= head.bottom - 2 && bottom < 200, `${top} to ${bottom}`);
      }
      await page.setViewportSize({ width: 1000, height: 740 });
      await until(async () => new Set(await tops()).size === 2);
      await page.goto(`${service.baseUrl}/view?of=group:${GROUP}`);
      await page.locator('.lesson').first().waitFor();
      await page.mouse.wheel(0, 400);
      await until(
        () => page.evaluate('scrollY'),
        (y) => Number(y) > 100,
      );
      const gap = (await box(page, '.grid-head')).top - (await box(page, '.top')).bottom;
      t.ok(Math.abs(gap) <= 2, `${gap} px between the head and the days`);
      await page.close();
    });

    await t.test('the rooms in use come first, then those without lessons', async (t) => {
      const page = await open('?view=free&date=2026-11-16&hour=14:00&minutes=120', 1280, 900);
      await page.locator('.bar-lesson').first().waitFor();
      await page.emulateMedia({ media: 'print' });
      await page.locator('.bars-unused').waitFor();
      const used = (await page.evaluate(
        `[...document.querySelectorAll('.bar')].map((bar) => bar.querySelector('.bar-lesson') !== null)`,
      )) as boolean[];
      const unused = used.filter((each) => !each).length;
      t.ok(unused > 0 && used.lastIndexOf(true) < used.indexOf(false), 'no room in use is below');
      t.match(
        await page.locator('.bars-unused').textContent(),
        `${unused} rooms have nothing scheduled all day`,
      );
      await page.close();
    });

    await t.test('the heat map has a legend, and the week of the language', async (t) => {
      const page = await open('?view=usage', 1280);
      await page.locator('.heat').waitFor();
      const days = (): Promise<string[]> => page.locator('.heat thead th').allInnerTexts();
      t.same((await days()).slice(1, 6), ['Mon', 'Tue', 'Wed', 'Thu', 'Fri']);
      const [, most = ''] = /at most (\d+)%/.exec(await page.locator('.usage').innerText()) ?? [];
      t.match(
        await page.locator('.heat-legend').innerText(),
        new RegExp(`^Rooms with a lesson: 0%\\s*${most}%$`),
      );
      await counted(page.locator('.heat-step'), 5);
      await page.goto(`${service.baseUrl}/view?view=usage&lang=he`);
      await page.locator('.heat').waitFor();
      t.match((await days())[1], 'א׳', 'Sunday comes first');
      await page.close();
    });

    await t.test('an address that names what is not there says so, and what to do', async (t) => {
      for (const [of, kind, name] of [
        ['room:nonsense', 'Room', 'nonsense'],
        ['course:00000000-0000-4000-8000-000000000000', 'Course', '00000000'],
        ['lecturer:00000000-0000-4000-8000-000000000000', 'Lecturer', '00000000'],
        ['group:BIO-99', 'Group', 'BIO-99'],
      ] as const) {
        const page = await open(`?of=${of}`, 768);
        const problem = page.locator('.problem');
        await problem.waitFor();
        t.match(await problem.innerText(), new RegExp(`“${name}…?” \\(${kind}\\) is not in this timetable`));
        await counted(page.locator('.grid'), 0);
        if (kind === 'Room') t.same(await axeFindings(page), []);
        await problem.getByRole('button', { name: 'Find' }).click();
        t.equal(await page.evaluate(`document.activeElement.getAttribute('role')`), 'combobox');
        await page.keyboard.press('Escape');
        await problem.getByRole('link', { name: 'My timetable' }).click();
        await page.locator('h1', { hasText: 'My timetable' }).waitFor();
        await page.locator('.grid').waitFor();
        await counted(problem, 0);
        await page.close();
      }
    });

    await t.test('the state of the service leads to the documentation of the API', async (t) => {
      const page = await open('?view=state', 1280);
      await page.locator('.facts').waitFor();
      t.match(
        await page.locator('.state').innerText(),
        /All is well[\s\S]*10,000[\s\S]*No record was left out/,
      );
      const link = page.getByRole('link', { name: 'API documentation' });
      const to = new URL((await link.getAttribute('href')) ?? '', page.url()).href;
      t.equal(to, `${service.baseUrl}/docs`);
      t.equal((await fetch(to)).status, 200);
      await page.close();
    });
  });
}
