/** The pages at {base}/view in a real browser, on the demo: every view, by pointer and by keyboard alone. */
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { BrowserContext, Page } from 'playwright-core';
import { type Test, test } from 'tap';
import type { components } from '../../src/client/client.js';
import { until } from '../waiting/until.js';
import { viewsOf } from './axe.js';
import { BUILT_PAGES, counted, NO_BROWSER, newPage, type OpenPage, openBrowser } from './chromium.js';
import { openDemo } from './demo.js';

type Event = components['schemas']['Event'];
/** A Wednesday of the demo's term. */
const NOW_MS = Date.UTC(2026, 9, 7, 9, 40);
const GROUP = 'ÉCO-3A';
const BUILDINGS = ['Curie', 'Darwin', 'Lovelace', 'Noether', 'Turing'];
const WEEK = 'startTime=2026-10-05T00:00:00Z&endTime=2026-10-12T00:00:00Z';

if (NO_BROWSER !== null) {
  test('the pages work in a browser', { skip: NO_BROWSER }, () => {});
} else {
  test('the pages work in a browser', async (t) => {
    const service = await openDemo(t, { feedSecret: 'browser '.repeat(8) });
    const view = `${service.baseUrl}/view`;
    const { origin } = new URL(view);
    const browser = await openBrowser(t, { locale: 'en-GB', timezoneId: 'UTC' });
    const { access_token: token } = (await (await fetch(`${service.baseUrl}/login`)).json()) as {
      access_token: string;
    };
    const ask = async <T>(path: string): Promise<T> => {
      const answer = await fetch(`${service.baseUrl}${path}`, {
        headers: { Authorization: `Bearer ${token}` },
      });
      return (await answer.json()) as T;
    };

    await t.test('/ leads to the timetable of the test token, and nothing else is asked', async (t) => {
      const opened = await open(browser, `${origin}/`);
      const { page, requested } = opened;
      t.equal(new URL(page.url()).pathname, '/api/v1/view');
      t.equal(await page.locator('h1').innerText(), 'My timetable');
      t.ok((await page.locator('.lesson').count()) > 0);
      t.same(
        requested.filter((url) => new URL(url).origin !== origin),
        [],
        'no request left the origin',
      );
      await assertQuiet(t, opened);
    });

    await t.test('script, style and texts of the first view have at most 45 KB', async (t) => {
      const folder = new URL(BUILT_PAGES);
      const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8');
      const { script, style } = JSON.parse(read('built.json')) as { script: string; style: string };
      const names = new Set([script]);
      for (const name of names) {
        for (const [, part = ''] of read(name).matchAll(/(?:from|import)"\.\/(part-\w+\.js)"/g))
          names.add(part);
      }
      const texts = readdirSync(folder).filter(
        (name) => name.endsWith('.js') && read(name).includes('Skip to the timetable'),
      );
      const bytes = [...names, style, ...texts].map((name) => gzipSync(read(name), { level: 9 }).length);
      const sum = bytes.reduce((all, each) => all + each, 0);
      t.ok(names.size > 2 && texts.length === 1 && sum <= 45_000, `${sum} bytes`);
    });

    await t.test('a week shows every lesson of the API, once, at its time', async (t) => {
      const { page } = await open(browser, `${view}?of=group:${GROUP}`);
      const events = await ask<Event[]>(`/schedule?studyGroup=${encodeURIComponent(GROUP)}&${WEEK}`);
      const wanted = events.map(
        ({ time, endTime, title }) => `${time.slice(11, 16)} – ${endTime.slice(11, 16)} ${title}`,
      );
      const shown = (await page.evaluate(`[...document.querySelectorAll('.lesson')].map((lesson) =>
        lesson.querySelector('.lesson-time').textContent.slice(0, 13) + ' ' +
        lesson.querySelector('.lesson-title').textContent)`)) as string[];
      t.same(shown.map(plain).sort(), wanted.map(plain).sort());
      t.same(await overlaps(page), [], 'nothing overlaps');
      t.match(
        await page.locator('.day-name').first().getAttribute('href'),
        /view=day&of=group.*&date=2026-10-05/,
        'the link of a day, also in another tab, keeps whose timetable it is',
      );
      await page.close();
    });

    await t.test('a clash is marked, and opens into what clashes with what', async (t) => {
      const { page } = await open(browser, `${view}?of=group:${GROUP}`);
      await counted(page.locator('.lesson[data-clash]'), 2);
      await page.locator('.lesson[data-clash]').first().click();
      const panel = page.locator('.panel');
      t.match(await panel.innerText(), /1 clash[\s\S]*ÉCO-3A has 2 lessons at once/);
      await counted(panel.locator('.side'), 2);
      t.match(page.url(), /open=/, 'the open lesson is in the address');
      await page.keyboard.press('Escape');
      await counted(panel, 0);
      await page.close();
    });

    await t.test('what is open stays until another timetable is shown', async (t) => {
      const { page } = await open(browser, `${view}?of=group:${GROUP}`);
      const take = page.locator('.toolbar-end .button');
      await take.click();
      await page.locator('.take .primary').click();
      await page.locator('.qr').waitFor();
      await take.click();
      await counted(page.locator('.qr'), 0);
      await take.click();
      await counted(page.locator('.qr'), 1);
      await page.locator('.kind').first().click();
      await page.locator('.left-out').waitFor();
      await counted(page.locator('.qr'), 0);
      t.equal(await page.locator('.take').count(), 1, 'the address was one of all types');
      await page.keyboard.press('/');
      await page.keyboard.type('INF-2B');
      await page.locator('.found li', { hasText: 'INF-2B' }).waitFor();
      await page.keyboard.press('Enter');
      await page.locator('h1', { hasText: 'INF-2B' }).waitFor();
      await counted(page.locator('.take'), 0);
      await page.close();
    });

    await t.test('everything is found by keyboard alone, and "back" leads back', async (t) => {
      const { page } = await open(browser, `${view}?of=group:${GROUP}`);
      await page.keyboard.press('/');
      await page.keyboard.type('garcon');
      await page.locator('.found li').first().waitFor();
      t.equal(plain(await page.locator('.found li .found-name').first().innerText()), 'François Garçon');
      await page.keyboard.press('Enter');
      await page.locator('h1', { hasText: 'François Garçon' }).waitFor();
      t.match(page.url(), /of=lecturer:/);
      await page.keyboard.press('/');
      await page.keyboard.type('INF-2B');
      await page.locator('.found li', { hasText: 'INF-2B' }).waitFor();
      await page.keyboard.press('Shift+Enter');
      await page.locator('.grid-of').nth(1).waitFor();
      await page.goBack();
      await page.locator('.grid-of').nth(1).waitFor({ state: 'detached' });
      t.equal(await page.locator('h1').innerText(), 'François Garçon');
      await page.goBack();
      await page.locator('h1', { hasText: GROUP }).waitFor();
      await page.keyboard.press('/');
      await counted(page.locator('.found li'), 2);
      t.same(
        (await page.locator('.found li .found-name').allInnerTexts()).map(plain),
        ['INF-2B', 'François Garçon'],
        'recent ones are kept',
      );
      await page.close();
    });

    await t.test('arrows lead from lesson to lesson, and keys from week to week', async (t) => {
      const { page } = await open(browser, `${view}?of=group:${GROUP}`);
      await page.locator('.lesson[tabindex="0"]').focus();
      // One stop of the tab key.
      await counted(page.locator('.lesson[tabindex="0"]'), 1);
      const focused = (): Promise<string> =>
        page.evaluate(
          'document.activeElement.closest(".day")?.getAttribute("aria-label") ?? ""',
        ) as Promise<string>;
      t.match(await focused(), /Monday/);
      await page.keyboard.press('ArrowRight');
      t.match(await focused(), /Tuesday/);
      await page.keyboard.press('Enter');
      await page.locator('.panel').waitFor();
      await page.keyboard.press('Escape');
      t.match(await focused(), /Tuesday/, 'the focus returns');
      await page.keyboard.press('n');
      await page.locator('h2', { hasText: '12 – 18 October' }).waitFor();
      await page.keyboard.press('p');
      await page.keyboard.press('m');
      await page.locator('.month-day').first().waitFor();
      await page.keyboard.press('t');
      await page.keyboard.press('w');
      await page.locator('h2', { hasText: '5 – 11 October' }).waitFor();
      await page.close();
    });

    await t.test('the next lesson is told after the last of what is shown, with its day', async (t) => {
      for (const [search, now] of [
        ['', Date.UTC(2026, 9, 10, 9, 40)],
        ['&view=day', Date.UTC(2026, 9, 7, 21)],
      ] as const) {
        const startTime = new Date(now).toISOString();
        const group = encodeURIComponent(GROUP);
        const [next] = await ask<Event[]>(`/schedule?studyGroup=${group}&startTime=${startTime}&limit=1`);
        const { page } = await open(browser, `${view}?of=group:${GROUP}${search}`, { now });
        const told = page.locator('.now-next > div', { hasText: 'Next' }).locator('.now-lesson').first();
        const day = new Intl.DateTimeFormat('en-GB', { weekday: 'short' }).format(new Date(next?.time ?? ''));
        const text = plain(await told.innerText());
        t.match(text, next?.title ?? 'a title');
        t.match(text, `${day} ${next?.time.slice(11, 16)}`);
        await told.click();
        const date = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long' });
        await page
          .locator('.panel', { hasText: date.format(new Date(next?.time ?? '')) })
          .locator('h2', { hasText: next?.title ?? 'a title' })
          .waitFor();
        await page.close();
      }
      const { page, requested } = await open(browser, `${view}?of=group:${GROUP}`);
      await page.locator('.now-next').waitFor();
      t.notOk(
        requested.some((url) => /limit=50(&|$)/.test(url)),
        'nothing is asked for if a later lesson is shown',
      );
      await page.close();
    });

    await t.test('a kind is left out with one click, in the address too', async (t) => {
      const { page } = await open(browser, `${view}?of=group:${GROUP}`);
      await page.locator('.lesson').first().waitFor();
      const before = await page.locator('.lesson').count();
      await page.locator('.kind', { hasText: 'LEC' }).click();
      await page.locator('.left-out').waitFor();
      await settled(page);
      const after = await page.locator('.lesson').count();
      t.ok(after > 0 && after < before);
      t.match(page.url(), /not=type:LEC/);
      await page.reload();
      await settled(page);
      await counted(page.locator('.lesson'), after);
      await page.locator('.left-out .chip-remove').click();
      await counted(page.locator('.lesson'), before);
      await page.close();
    });

    await t.test('times are those of the chosen zone, over a change of the clock', async (t) => {
      const event = (await ask<Event[]>('/schedule?startTime=2026-10-23T06:00:00Z&limit=1'))[0];
      const group = encodeURIComponent(event?.studyGroup ?? '');
      for (const [zone, date] of [
        ['Europe/Berlin', '2026-10-22'],
        ['Europe/Berlin', '2026-10-29'],
        ['America/New_York', '2026-10-29'],
        ['Asia/Tokyo', '2026-10-29'],
      ] as const) {
        const { page } = await open(browser, `${view}?of=group:${group}&zone=${zone}&date=${date}`);
        const events = await ask<Event[]>(
          `/schedule?studyGroup=${group}&date=${mondayOf(date)}&days=7&timeZone=${zone}`,
        );
        const clock = new Intl.DateTimeFormat('en-GB', {
          timeZone: zone,
          hour: '2-digit',
          minute: '2-digit',
        });
        const wanted = [
          ...new Set(
            events.map(
              ({ time, endTime }) => `${clock.format(new Date(time))} – ${clock.format(new Date(endTime))}`,
            ),
          ),
        ].sort();
        const shown = await page.locator('.lesson-time').allTextContents();
        t.same([...new Set(shown.map((text) => plain(text).slice(0, 13)))].sort(), wanted, `${zone} ${date}`);
        await page.close();
      }
    });

    await t.test(
      'rooms with nothing scheduled are those of the API, also in a building and for many weeks',
      async (t) => {
        const { page } = await open(
          browser,
          `${view}?view=free&hour=14:00&minutes=120&building=Curie&seats=30&weeks=4`,
        );
        const query =
          'by=room&startTime=2026-10-07T14:00:00Z&endTime=2026-10-07T16:00:00Z&building=Curie&capacityMin=30&weeks=4';
        const wanted = await ask<{ name: string; capacity: number }[]>(`/schedule/free?${query}`);
        t.ok(wanted.length > 0);
        t.same(
          await page.locator('.free-room strong').allInnerTexts(),
          wanted
            .sort((a, b) => a.capacity - b.capacity)
            .slice(0, 12)
            .map(({ name }) => name),
          'the smallest that are large enough come first',
        );
        t.match(await page.locator('.free-room').first().innerText(), `${wanted[0]?.capacity} seats, Curie`);
        const bars = await page.locator('.bar-name').allInnerTexts();
        t.ok(bars.length > 0 && bars.every((name) => name.startsWith('C ')));
        const buildings = page.locator('.filters label', { hasText: 'Building' }).locator('select');
        t.same(await buildings.locator('option').allInnerTexts(), ['All buildings', ...BUILDINGS]);
        await buildings.selectOption('Darwin');
        await page.locator('.bar-name', { hasText: /^D / }).first().waitFor();
        t.match(page.url(), 'building=Darwin');
        await page.close();
      },
    );

    await t.test('free rooms are first painted with the rooms in sight as they stay', async (t) => {
      for (const search of ['', '&date=2026-09-28&seats=30', '&date=2026-10-04']) {
        const { page } = await newPage(browser);
        await page.clock.setFixedTime(NOW_MS);
        await page.addInitScript({ content: FIRST_BARS });
        await page.goto(`${view}?view=free${search}`);
        await page.locator('.bars > .button').waitFor();
        const [first = [], now = []] = (await page.evaluate('[firstBars, barNames()]')) as string[][];
        t.ok(first.length >= 9, `${search} ${first.length} rows`);
        t.same(first, now.slice(0, first.length));
        await page.close();
      }
    });

    await t.test('a day of all rooms is drawn as one scrolls, and whole on paper', async (t) => {
      const { page } = await open(browser, `${view}?view=free&date=2026-10-07`);
      const window = 'startTime=2026-10-07T00:00:00Z&endTime=2026-10-08T00:00:00Z&limit=1000';
      const lessons = new Set(
        (await ask<Event[]>(`/schedule?${window}`))
          .filter(({ roomId }) => roomId !== null)
          .map(({ roomId, time, endTime, courseId, title, type }) =>
            [roomId, time, endTime, courseId, title, type].join(),
          ),
      );
      const query = 'by=room&startTime=1900-01-01T00:00:00Z&endTime=1900-01-02T00:00:00Z';
      const rooms = (await ask<unknown[]>(`/schedule/free?${query}`)).length;
      const bars = page.locator('.bar');
      const before = await bars.count();
      t.ok(before > 0 && before < rooms, `${before} of ${rooms} rooms`);
      await bars.last().scrollIntoViewIfNeeded();
      await until(async () => (await bars.count()) > before);
      await page.emulateMedia({ media: 'print' });
      await counted(bars, rooms);
      await counted(page.locator('.bar-lesson'), lessons.size);
      await page.close();
    });

    await t.test(
      'in Hebrew a week begins at the right, and each text at the right end of its line',
      async (t) => {
        const { page } = await open(browser, `${view}?of=group:${GROUP}&lang=he`, { width: 700 });
        const { days, hours, texts } = (await page.evaluate(SIDES)) as Sides;
        t.same(
          days,
          [...days].sort((a, b) => b - a),
          'the first day is the one at the right',
        );
        t.ok(days.length >= 5 && hours > (days[0] ?? 0), 'the hours stand before it');
        const sideOf = (text: string): string => (/^[\u0590-\u08ff]/.test(text) ? 'right' : 'left');
        t.ok(
          texts.some(({ text, isCut }) => isCut && sideOf(text) === 'left'),
          'one from left to right is cut',
        );
        t.ok(
          texts.some(({ text }) => sideOf(text) === 'right'),
          'and there are some from right to left',
        );
        for (const { text, isCut, before, after, beginsAt } of texts) {
          t.equal(beginsAt, sideOf(text), `"${text}" begins at its own side`);
          t.ok(before >= -1, `the first letter of "${text}" is in sight`);
          if (!isCut) t.ok(Math.abs(after) <= 1, `"${text}" stands at the right, ${after} px from it`);
        }
        await page.close();
      },
    );

    await t.test('in Hebrew no text from left to right loses its beginning', async (t) => {
      for (const [search, selector] of [
        [`?view=month&of=group:${GROUP}`, '.month-lesson'],
        [`?of=group:${GROUP}`, '.now-lesson'],
        ['?view=free', '.bar-name'],
      ] as const) {
        const { page } = await open(browser, `${view}${search}&date=2026-10-07&lang=he`, { width: 700 });
        await page.locator(selector).first().waitFor();
        const hidden =
          await page.evaluate(`[...document.querySelectorAll('${selector}')].flatMap((button) => {
          // So that names and titles are too long.
          button.style.cssText = 'width: 5rem; flex: none';
          const node = button.querySelector('bdi, strong').firstChild;
          const range = document.createRange();
          range.setStart(node, 0);
          range.setEnd(node, 1);
          const [letter, box] = [range, button].map((each) => each.getBoundingClientRect());
          return letter.left < box.left || letter.right > box.right ? node.data : [];
        })`);
        t.same(hidden, [], search);
        await page.close();
      }
    });

    await t.test(
      'in Hebrew the time at which something begins stands left of that at which it ends',
      async (t) => {
        for (const [search, selector] of [
          [`?of=group:${GROUP}`, '.lesson-time'],
          [`?view=list&of=group:${GROUP}`, '.line-time'],
          ['?view=clashes', '.side > span'],
        ] as const) {
          const { page } = await open(browser, `${view}${search}&date=2026-10-07&lang=he`);
          await page.locator(selector).first().waitFor();
          const ranges =
            (await page.evaluate(`[...document.querySelectorAll('${selector}')].flatMap((each) => {
          const [node] = each.childNodes;
          const found = /(\\d\\d):\\d\\d\\D+(\\d\\d):\\d\\d/.exec(node.data ?? '');
          if (found === null) return [];
          const leftOf = (at) => {
            const range = document.createRange();
            range.setStart(node, at);
            range.setEnd(node, at + 1);
            return range.getBoundingClientRect().left;
          };
          return [[node.data, leftOf(found.index) < leftOf(found.index + found[0].length - 1)]];
        })`)) as [string, boolean][];
          t.ok(ranges.length > 0, search);
          t.same(
            ranges.filter(([, isFirst]) => !isFirst),
            [],
            search,
          );
          await page.close();
        }
      },
    );

    await t.test('bars stand at their times, from left to right and from right to left', async (t) => {
      for (const [language, start] of [
        ['en', 'left'],
        ['he', 'right'],
      ] as const) {
        const { page } = await open(browser, `${view}?view=free&date=2026-10-07&lang=${language}`);
        await page.locator('.bar-lesson').first().waitFor();
        const bars = (await page.evaluate(`[...document.querySelectorAll('.bar-lesson')].map((bar) => {
          const [own, day] = [bar, bar.parentElement].map((each) => each.getBoundingClientRect());
          const hours = (pixels) => 7 + (pixels / day.width) * 14;
          const from = Math.abs(own.${start} - day.${start});
          return [bar.title, hours(from), hours(from + own.width), getComputedStyle(bar).direction];
        })`)) as [string, number, number, string][];
        t.ok(bars.length > 0);
        for (const [title, from, to] of bars) {
          const [begin = 0, end = 0] = [...title.matchAll(/(\d\d):(\d\d)/g)].map(
            ([, hour, minute]) => Number(hour) + Number(minute) / 60,
          );
          t.ok(Math.abs(from - begin) < 0.03 && Math.abs(to - end) < 0.03, `${title}: ${from} to ${to}`);
        }
        await page.close();
      }
    });

    await t.test('the line of the present runs behind the lessons', async (t) => {
      const { page } = await open(browser, `${view}?of=group:${GROUP}&view=day&date=2026-10-05`, {
        now: Date.UTC(2026, 9, 5, 6),
      });
      const lesson = page.locator('.lesson').first();
      const begin = plain(await lesson.locator('.lesson-time').innerText()).slice(0, 5);
      await page.clock.setFixedTime(Date.parse(`2026-10-05T${begin}:00Z`) + 15 * 60_000);
      await page.reload();
      await page.locator('.now-line').waitFor();
      t.same(
        await page.evaluate(`(() => {
          const line = document.querySelector('.now-line');
          line.style.pointerEvents = 'auto';
          const { top } = line.getBoundingClientRect();
          return [...document.querySelectorAll('.lesson')].map((each) => each.getBoundingClientRect())
            .filter((box) => box.top < top && top < box.bottom)
            .map((box) => document.elementFromPoint(box.left + box.width / 2, top + 1) === line);
        })()`),
        [false],
      );
      await page.close();
    });

    await t.test('all clashes are counted, filtered by kind and week, and saved as a table', async (t) => {
      const { page } = await open(browser, `${view}?view=clashes`);
      const all = await ask<{ by: string }[]>('/schedule/conflicts');
      await page.locator('h1', { hasText: `${all.length} clashes` }).waitFor();
      await page.locator('.filters button', { hasText: 'Rooms' }).click();
      const rooms = all.filter(({ by }) => by === 'room').length;
      await page.locator('h1', { hasText: `${rooms} clashes` }).waitFor();
      await counted(page.locator('.clash-list > li'), rooms);
      const saving = page.waitForEvent('download');
      await page.locator('.toolbar-end .button').click();
      t.equal((await saving).suggestedFilename(), 'clashes.csv');
      await page.locator('.chart button').first().click();
      t.match(page.url(), /from=2026-09-14/);
      await page.locator('.chart button').first().click();
      await page.locator('.filters button', { hasText: 'All' }).click();
      await page.locator('h1', { hasText: `${all.length} clashes` }).waitFor();
      t.match(await page.locator('.clash-when').first().innerText(), 'Oct', 'those that are over come last');
      await page.close();
    });

    await t.test('how full rooms are agrees with a count by hand', async (t) => {
      const { page } = await open(browser, `${view}?view=usage&weeks=1`);
      const events = await ask<Event[]>(`/schedule?${WEEK}`);
      const used = new Set(
        events
          .filter(({ time, endTime }) => time < '2026-10-05T10:00' && endTime > '2026-10-05T09:00')
          .map(({ roomId }) => roomId),
      );
      used.delete(null);
      const rooms = (
        await ask<unknown[]>(
          '/schedule/free?by=room&startTime=1900-01-01T00:00:00Z&endTime=1900-01-02T00:00:00Z',
        )
      ).length;
      const cell = page.locator('.heat tbody tr', { hasText: '9:00' }).first().locator('td').first();
      t.equal(await cell.innerText(), `${Math.round((used.size / rooms) * 100)}%`);
      await page.close();
    });

    await t.test('a token in the fragment is used, kept in the tab, and leaves the address', async (t) => {
      const { page } = await open(browser, `${view}?of=group:${GROUP}#token=${token}`);
      t.notMatch(page.url(), '#');
      t.equal(await page.evaluate('sessionStorage.getItem("lectern.token")'), token);
      t.equal(
        await page.evaluate('Object.keys(localStorage).some((name) => localStorage[name].length > 500)'),
        false,
      );
      t.ok((await page.locator('.lesson').count()) > 0);
      await page.close();
    });

    await t.test('what a view shows is read when its link is pointed at, and only once', async (t) => {
      const { page, requested } = await open(browser, `${view}?of=group:${GROUP}`);
      const asked = (): number => requested.filter((url) => /free\?by=room&startTime=2026/.test(url)).length;
      await page.locator('.views a', { hasText: 'Free rooms' }).hover();
      await until(() => asked() === 1);
      await page.locator('.views a', { hasText: 'Free rooms' }).click();
      await page.locator('.bar-lesson').first().waitFor();
      t.equal(asked(), 1);
      await page.close();
    });

    await t.test('a lesson that looks like that of the week before opens as its own', async (t) => {
      const { page, requested } = await open(browser, `${view}?of=group:${GROUP}`);
      // Clashes are read in advance after the lessons.
      await until(() => requested.some((url) => /conflicts.*startTime=2026-10-12/.test(url)));
      await page.evaluate('window.lessons = new Set(document.querySelectorAll(".lesson"))');
      await page.keyboard.press('n');
      // The first of Monday.
      const lesson = page.locator('.day[aria-label*="12 October"] .lesson').first();
      await lesson.waitFor();
      t.equal(
        await page.evaluate('lessons.has(document.querySelector(".lesson"))'),
        true,
        'its element is used again',
      );
      await lesson.click();
      await page.locator('.panel', { hasText: '12 October' }).waitFor();
      await page.close();
    });

    await t.test('there are no controls on paper', async (t) => {
      for (const search of viewsOf(GROUP)) {
        const { page } = await open(browser, `${view}${search}`);
        await page.emulateMedia({ media: 'print' });
        // A month becomes a week on paper some time after the page is told.
        const controls = await until(
          () => page.evaluate(CONTROLS) as Promise<string[]>,
          (found) => found.length === 0,
        );
        t.same(controls, [], search);
        await page.close();
      }
    });

    await t.test(
      'on paper a lesson of 45 minutes tells its time and room, in 12 hours and in 13',
      async (t) => {
        for (const [zone, hours] of [
          ['UTC', 12],
          ['Europe/Berlin', 13],
        ] as const) {
          const { page } = await open(browser, `${view}?of=group:BIO-2A&date=2026-11-09&zone=${zone}`);
          await page.emulateMedia({ media: 'print' });
          await counted(page.locator('.lesson[data-size="small"]'), 2);
          await counted(page.locator('.hours > span'), hours);
          t.same(
            await page.evaluate(`[...document.querySelectorAll('.lesson')]
            .filter((lesson) => {
              const box = lesson.getBoundingClientRect();
              const room = lesson.querySelector('.lesson-time > bdi, .lesson-about');
              const lines = [lesson.querySelector('.lesson-title'), lesson.querySelector('.lesson-time'), room];
              return lines.flatMap((each) => each?.getBoundingClientRect() ?? []).some(({ left, right, top, bottom }) =>
                left < box.left || right > box.right || top < box.top || bottom > box.bottom);
            })
            .map((lesson) => lesson.textContent)`),
            [],
            zone,
          );
          await page.close();
        }
      },
    );

    await t.test('paper tells in one line what is chosen above a view', async (t) => {
      const room = 'building=Turing&seats=30';
      for (const [search, wanted] of [
        [
          `?view=usage&weeks=4&${room}`,
          '5 October – 1 November 2026 · 4 weeks running · Building: Turing · Seats, at least: 30',
        ],
        [
          `?view=free&hour=10:00&minutes=90&weeks=2&${room}`,
          '10:00 – 11:30 · 1.5 h · 2 weeks running · Building: Turing · Seats, at least: 30',
        ],
        [`?view=changes&since=today&of=group:${GROUP}`, `Since this morning · ${GROUP}`],
        ['?view=clashes&by=room&from=2026-10-05', 'Rooms · 5 – 11 October 2026'],
      ] as const) {
        const { page } = await open(browser, `${view}${search}`);
        const chosen = page.locator('.chosen');
        t.equal(await chosen.isVisible(), false, 'on a screen the fields tell it');
        await page.emulateMedia({ media: 'print' });
        t.equal(plain(await chosen.innerText()), wanted);
        await page.close();
      }
    });

    await t.test('door sheets of a whole building: each room is one sheet, with its name', async (t) => {
      const { page } = await open(browser, `${view}?view=free&building=Curie`);
      const button = page.locator('.bars-title .button');
      await page.locator('.bar-lesson').first().waitFor();
      const query = 'by=room&startTime=1900-01-01T00:00:00Z&endTime=1900-01-02T00:00:00Z&building=Curie';
      const rooms = await ask<{ name: string }[]>(`/schedule/free?${query}`);
      t.ok(rooms.length > 40, `${rooms.length} rooms`);
      await button.click();
      const names = page.locator('.grid-of h3');
      await counted(names, rooms.length);
      t.same((await names.allInnerTexts()).sort(), rooms.map(({ name }) => name).sort());
      await page.emulateMedia({ media: 'print' });
      const pdf = (await page.pdf({ preferCSSPageSize: true })).toString('latin1');
      t.equal(pdf.match(/\/Type\s*\/Page\b/g)?.length, rooms.length);
      await page.close();
      const { page: all } = await open(browser, `${view}?view=free`);
      await all.locator('.bar-lesson').first().waitFor();
      t.equal(await all.locator('.bars-title .button').innerText(), 'Door sheets: at most 100 rooms');
      t.ok(await all.locator('.bars-title .button').isDisabled());
      await all.close();
    });
  });
}

interface Device {
  readonly width?: number;
  /** In milliseconds since 1970. */
  readonly now?: number;
}

async function open(
  browser: BrowserContext,
  address: string,
  { width = 1280, now = NOW_MS }: Device = {},
): Promise<OpenPage> {
  const opened = await newPage(browser);
  const { page } = opened;
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.clock.setFixedTime(now);
  await page.goto(address);
  await settled(page);
  return opened;
}

async function settled(page: Page): Promise<void> {
  await page.locator('[aria-busy="false"]').first().waitFor();
}

async function assertQuiet(t: Test, { page, errors }: OpenPage): Promise<void> {
  t.same(await page.evaluate('window.policyViolations'), [], 'no violation of the policy');
  t.same(errors, [], 'no errors');
  await page.close();
}

/** Pairs of boxes in one day that share more than a pixel. */
function overlaps(page: Page): Promise<unknown> {
  return page.evaluate(`[...document.querySelectorAll('.day')].flatMap((day) => {
    const boxes = [...day.querySelectorAll('.box')].map((box) => box.getBoundingClientRect());
    return boxes.flatMap((a, n) => boxes.slice(n + 1).filter((b) =>
      Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1));
  })`);
}

/** Notes the rooms with the first frame that has a place for them. */
const FIRST_BARS = `
  window.barNames = () => [...document.querySelectorAll('.bar-name bdi')].map((name) => name.textContent);
  const look = () => {
    if (document.querySelector('.bars') === null) requestAnimationFrame(look);
    else window.firstBars = barNames();
  };
  look();`;

interface Sides {
  /** The left edges, in the order of the week. */
  readonly days: readonly number[];
  readonly hours: number;
  /** Titles, and who and where. */
  readonly texts: readonly {
    readonly text: string;
    /** Whether a line is longer than its box is wide. */
    readonly isCut: boolean;
    /** From the edge of the box that the first letter is nearest to, inwards. In pixels. */
    readonly before: number;
    /** From the last pixel of the text to the right edge of its box. */
    readonly after: number;
    readonly beginsAt: 'left' | 'right';
  }[];
}

const SIDES = `(() => {
  const left = (selector) => [...document.querySelectorAll(selector)].map((each) => each.getBoundingClientRect().left);
  const rectsOf = (node, from, to) => {
    const range = document.createRange();
    range.setStart(node, from);
    range.setEnd(node, to);
    return [...range.getClientRects()];
  };
  const texts = [...document.querySelectorAll('.lesson-title, .lesson-about')].flatMap((box) => {
    const [node] = box.childNodes;
    const text = node.data;
    const { left, right, width } = box.getBoundingClientRect();
    // One letter has no direction to see; and the second column is out of sight.
    if (text.length < 2 || left < box.parentElement.getBoundingClientRect().left) return [];
    const lines = rectsOf(node, 0, text.length);
    const [[first], [second]] = [rectsOf(node, 0, 1), rectsOf(node, 1, 2)];
    const beginsAt = first.left < second.left ? 'left' : 'right';
    return {
      ...{ text, beginsAt, isCut: lines.some((line) => line.width > width + 1) },
      before: beginsAt === 'left' ? first.left - left : right - first.right,
      after: right - Math.max(...lines.map((line) => line.right)),
    };
  });
  return { days: left('.day'), hours: left('.hours')[0], texts };
})()`;

/** What can be pressed or typed into, but for lessons, rooms and columns of a chart: these are what is shown. */
const CONTROLS = `[...document.querySelectorAll('button, input, select, textarea, summary')]
  .filter((each) => each.checkVisibility())
  .filter((each) => !each.matches('.lesson, .block, .long, .line, .free-room, .bar-name, .chart button'))
  .map((each) => each.outerHTML)`;

/** Versions of Chromium differ in the kinds of their spaces. */
function plain(text: string): string {
  return text.trim().replace(/\s+/g, ' ');
}

function mondayOf(date: string): string {
  const day = new Date(`${date}T00:00:00Z`);
  day.setUTCDate(day.getUTCDate() - ((day.getUTCDay() + 6) % 7));
  return day.toISOString().slice(0, 10);
}
