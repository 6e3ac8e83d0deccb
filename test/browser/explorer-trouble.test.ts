/** The pages when a token ends, the service goes away, two tabs are open; by keyboard alone; in five zones. */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { BrowserContext, Page } from 'playwright-core';
import { type Test, test } from 'tap';
import { PresentAccess } from '../../src/auth/access.js';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { HttpServer } from '../../src/http/server/server.js';
import { bearer, EVENTS, serve, setUp } from '../http/harness.js';
import { PublishedViews } from '../http/live-views.js';
import { until } from '../waiting/until.js';
import { BUILT_PAGES, counted, NO_BROWSER, newPage, type OpenPage, openBrowser } from './chromium.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A Monday, 08:00. */
const MONDAY_MS = Date.UTC(2026, 9, 5, 8);
const ZONES = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'America/Santiago', 'Asia/Tokyo'];
/** Mondays of the weeks in which clocks change in these zones, twice a year. */
const WEEKS = [
  '2026-03-02',
  '2026-03-23',
  '2026-03-30',
  '2026-08-31',
  '2026-09-28',
  '2026-10-19',
  '2026-10-26',
];

function lesson(n: number, time: number, more: Partial<NormalisedEvent> = {}): NormalisedEvent {
  return {
    ...(EVENTS[0] as NormalisedEvent),
    ...{ id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`, time, endTime: time + HOUR_MS },
    ...{ title: `Lesson ${n}`, studyGroup: 'A', courseId: null, roomName: 'Main Hall' },
    ...more,
  };
}

const LESSONS: readonly NormalisedEvent[] = [
  lesson(1, MONDAY_MS),
  lesson(2, MONDAY_MS + HOUR_MS / 2, { lecturer: 'Ada', type: 'Seminar' }),
  lesson(3, MONDAY_MS + 7 * DAY_MS, { title: 'Next week' }),
];

/** An hour every five hours, over each of the weeks. */
const AROUND_CHANGES = WEEKS.flatMap((monday, week) =>
  Array.from({ length: 40 }, (_, n) =>
    lesson(1000 + week * 100 + n, Date.parse(monday) - DAY_MS + n * 5 * HOUR_MS, {
      endTime: Date.parse(monday) - DAY_MS + n * 5 * HOUR_MS + HOUR_MS,
      studyGroup: 'Z',
      roomId: null,
      lecturer: null,
    }),
  ),
);

if (NO_BROWSER !== null) {
  test('the pages stand trouble', { skip: NO_BROWSER }, () => {});
} else {
  test('the pages stand trouble', async (t) => {
    const views = new PublishedViews([...LESSONS, ...AROUND_CHANGES]);
    const access = new PresentAccess({ feedSecrets: [randomBytes(32)] });
    const pages = { isShown: true, isHome: true, folder: BUILT_PAGES };
    const { handler } = setUp({ views, pages, feeds: {}, access });
    const { port, server } = await serve(t, handler);
    /** Begins to listen at this port when the first has ended. */
    const again = new HttpServer(handler, { overloadMs: 0 });
    t.teardown(() => again.close({ deadlineMs: 0 }));
    const view = `http://127.0.0.1:${port}/api/v1/view`;
    const browser = await openBrowser(t, { locale: 'en-GB', timezoneId: 'UTC' });
    const tokenOf = (claims: object = {}): string =>
      (bearer({ studyGroup: 'A', ...claims }).Authorization ?? '').replace('Bearer ', '');

    await t.test(
      'a script that cannot be read: one reload, then a message, and the rest works',
      async (t) => {
        const { page, requested } = await newPage(browser);
        // The service worker would have the scripts.
        await page.addInitScript('delete Navigator.prototype.serviceWorker');
        const panel = `**/${scriptWith('panel-when')}`;
        const loads = () => requested.filter((url) => url.startsWith(`${view}?`)).length;
        const message = page.getByRole('alert');
        await page.route(panel, (route) => route.abort());
        await page.goto(`${view}?of=group:A&date=2026-10-05&open=${LESSONS[0]?.id}#token=${tokenOf()}`);
        await message.waitFor();
        t.match(await message.innerText(), /could not be loaded[\s\S]*Try again/);
        t.equal(loads(), 2, 'the page was reloaded once');
        t.equal(await page.locator('.box').count(), 1, 'the lessons are there');
        await page.keyboard.press('n');
        await page.locator('.lesson', { hasText: 'Next week' }).click();
        await message.waitFor();
        t.equal(loads(), 2, 'and is not reloaded again');
        await page.unroute(panel);
        await message.getByRole('button', { name: 'Try again' }).click();
        await page.locator('.panel-when').waitFor();
        await page.close();
      },
    );

    await t.test('a click while the service does not answer leaves the page where it is', async (t) => {
      const { page, requested } = await newPage(browser);
      await page.addInitScript('delete Navigator.prototype.serviceWorker');
      const clashes = `**/${scriptWith('clash-list')}`;
      await page.route(clashes, (route) => route.abort());
      await page.goto(`${view}?of=group:A&date=2026-10-05#token=${tokenOf()}`);
      await page.locator('.lesson').first().waitFor();
      await page.route('**/*', (route) => route.abort());
      const before = requested.filter((url) => url.startsWith(`${view}?`)).length;
      await page.getByRole('link', { name: 'Clashes' }).click();
      const message = page.getByRole('alert');
      await message.getByRole('button', { name: 'Try again' }).click();
      await message.waitFor();
      await page.getByRole('link', { name: 'Timetable', exact: true }).last().click();
      await page.locator('.lesson').first().waitFor();
      await page.goBack();
      await message.waitFor();
      await page.unrouteAll();
      await message.getByRole('button', { name: 'Try again' }).click();
      await page.locator('.clash-list').waitFor();
      t.equal(requested.filter((url) => url.startsWith(`${view}?`)).length, before, 'no reload');
      await page.close();
    });

    await t.test('what is being read in advance is not read again when it is asked for', async (t) => {
      const { page } = await newPage(browser);
      const asked: string[] = [];
      let release = (): void => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const isNextWeek = ({ pathname, searchParams }: URL): boolean =>
        pathname.endsWith('/schedule') && (searchParams.get('startTime') ?? '').startsWith('2026-10-12');
      // The one before all lessons lists all rooms, with their names, for every view.
      const isRooms = ({ pathname, searchParams }: URL): boolean =>
        pathname.endsWith('/schedule/free') && !(searchParams.get('startTime') ?? '').startsWith('1900');
      await page.route(
        (url) => isNextWeek(url) || isRooms(url),
        async (route) => {
          asked.push(route.request().url());
          await held;
          await route.continue().catch(() => {});
        },
      );
      await page.goto(`${view}?of=group:A&date=2026-10-05#token=${tokenOf()}`);
      await until(
        async () => asked.length,
        (n) => n === 1,
      );
      await page.keyboard.press('n');
      const free = page.getByRole('link', { name: 'Free rooms' });
      await free.hover();
      await until(
        async () => asked.length,
        (n) => n >= 2,
      );
      release();
      await page.locator('.lesson', { hasText: 'Next week' }).waitFor();
      await free.click();
      await page.locator('.bar-lesson').first().waitFor();
      t.same(asked, [...new Set(asked)]);
      await page.close();
    });

    await t.test('a script that comes between a click and the next frame is shown', async (t) => {
      const { page, runUntil, hold } = await openStopped(t);
      const panel = scriptWith('panel-when');
      const script = await hold(({ pathname }) => pathname.endsWith(panel));
      await page.goto(`${view}?of=group:A&date=2026-10-05#token=${tokenOf()}`);
      await runUntil(async () => script.isAsked() && (await page.locator('.lesson').count()) > 0);
      await page.locator('.lesson').first().click();
      await page.locator('.loading').waitFor();
      script.release();
      await page.evaluate(`import(new URL('view/${panel}', location.href))`);
      await page.clock.runFor(50);
      await page.locator('.panel-when').waitFor();
      t.equal(await page.locator('.loading').count(), 0);
      await page.close();
    });

    await t.test('an answer that comes between a click and the next frame is shown', async (t) => {
      const { page, runUntil, hold } = await openStopped(t);
      const answer = await hold(
        ({ pathname, searchParams }) =>
          pathname.endsWith('/schedule') && (searchParams.get('startTime') ?? '').startsWith('2026-10-12'),
      );
      await page.goto(`${view}?of=group:A&date=2026-10-05#token=${tokenOf()}`);
      await runUntil(answer.isAsked);
      await page.keyboard.press('n');
      await page.locator('.body[aria-busy="true"][data-shown="2026-10-12 UTC"]').waitFor();
      // Its clashes are read after it.
      const next = page.waitForRequest(/conflicts.*startTime=2026-10-12/);
      answer.release();
      await next;
      await page.clock.runFor(50);
      await page.locator('.body[aria-busy="false"]').waitFor();
      t.equal(await page.locator('.lesson', { hasText: 'Next week' }).count(), 1);
      await page.close();
    });

    await t.test('without a token a sentence asks for one, and the page goes on where it was', async (t) => {
      const { page } = await open(browser, `${view}?of=group:A&date=2026-10-12`, '.token-form');
      t.match(await page.locator('.token-form').innerText(), /A token is needed/);
      await page.locator('.token-form textarea').fill(`Bearer ${tokenOf()}`);
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.locator('.lesson', { hasText: 'Next week' }).waitFor();
      await page.close();
    });

    await t.test(
      'an expired token is told by a sentence; nothing is lost, and a new one goes on',
      async (t) => {
        const expired = tokenOf({ exp: Math.floor(Date.now() / 1000) - 60 });
        const form = '.token-form .problem';
        const { page } = await open(browser, `${view}?of=group:A&date=2026-10-05#token=${expired}`, form);
        t.match(await page.locator(form).innerText(), 'has expired');
        await page.locator('.token-form textarea').fill(tokenOf());
        await page.locator('.token-form button').click();
        await page.locator('.lesson', { hasText: 'Lesson 2' }).click();
        // From now on the service answers as to an expired token.
        const refused = await fetch(`http://127.0.0.1:${port}/api/v1/schedule`, {
          headers: { Authorization: `Bearer ${expired}` },
        });
        const contentType = refused.headers.get('Content-Type') ?? '';
        const answer = { status: refused.status, body: await refused.text(), contentType };
        await page.route('**/schedule**', (route) => route.fulfill(answer));
        await page.keyboard.press('m');
        await page.locator(form).waitFor();
        t.equal(await page.locator('.month-lesson').count(), 2, 'what was read is still there');
        await page.unroute('**/schedule**');
        await page.locator('.token-form textarea').fill(tokenOf());
        await page.locator('.token-form button').click();
        await page.locator('.month-lesson', { hasText: 'Next week' }).waitFor();
        await counted(page.locator('.token-form'), 0);
        t.match(page.url(), 'view=month&of=group:A&date=2026-10-05');
        await page.close();
      },
    );

    await t.test('two tabs: each has its own place, and both show a change', async (t) => {
      const tabs = await Promise.all(
        ['2026-10-05', '2026-10-12'].map(
          async (date) =>
            (await open(browser, `${view}?of=group:A&date=${date}#token=${tokenOf()}`, '.lesson')).page,
        ),
      );
      await Promise.all(tabs.map((page) => page.locator('.status[data-state="live"]').waitFor()));
      views.publishEvents([
        ...LESSONS,
        ...AROUND_CHANGES,
        ...[1, 8].map((day) => lesson(50 + day, MONDAY_MS + day * DAY_MS, { title: 'In both' })),
      ]);
      for (const page of tabs) await page.locator('.lesson[data-fresh]', { hasText: 'In both' }).waitFor();
      t.match(tabs[0]?.url() ?? '', 'date=2026-10-05');
      t.match(tabs[1]?.url() ?? '', 'date=2026-10-12');
      await Promise.all(tabs.map((page) => page.close()));
    });

    await t.test(
      'a service that goes away and comes back: the state is in sight, and it goes on by itself',
      async (t) => {
        const { page, errors } = await open(
          browser,
          `${view}?of=group:A&date=2026-10-05#token=${tokenOf()}`,
          '.lesson',
        );
        await page.locator('.status[data-state="live"]').waitFor();
        await server.close({ deadlineMs: 0 });
        await page.locator('.status[data-state="lost"]').waitFor();
        t.ok((await page.locator('.lesson').count()) >= 2, 'the lessons are still there');
        await page.keyboard.press('d');
        await page.locator('.problem').waitFor();
        views.publishEvents([...LESSONS, lesson(90, MONDAY_MS + 2 * HOUR_MS, { title: 'While away' })]);
        await again.listen({ host: '127.0.0.1', port });
        await page.locator('.lesson', { hasText: 'While away' }).waitFor();
        await page.locator('.status[data-state="live"]').waitFor();
        await counted(page.locator('.problem'), 0);
        t.same(
          errors.filter((text) => !/ERR_CONNECTION|Failed to load/.test(text)),
          [],
        );
        await page.close();
      },
    );

    await t.test('a group with a name of its own is found by its code and by its name', async (t) => {
      const named = { studyGroup: 'INF-2', groupId: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417' };
      const group = { ...named, groupName: 'Informatics', title: 'Theirs' };
      views.publishEvents([...LESSONS, lesson(95, MONDAY_MS + DAY_MS, group)]);
      const { page } = await open(browser, `${view}?date=2026-10-05#token=${tokenOf()}`, '.lesson');
      for (const text of ['INF-2', 'informat']) {
        await page.keyboard.press('/');
        await page.keyboard.type(text);
        // Enter may come before the answer.
        await page.keyboard.press('Enter');
        await page.locator('.lesson', { hasText: 'Theirs' }).waitFor();
        t.equal(await page.locator('h1').innerText(), 'Informatics');
        t.match(page.url(), 'of=group:INF-2');
        await page.goBack();
      }
      await page.close();
    });

    await t.test('every path by keyboard alone', async (t) => {
      const { page } = await open(browser, `${view}?date=2026-10-05#token=${tokenOf()}`, '.lesson');
      await page.keyboard.press('Tab');
      t.match(
        await page.evaluate('document.activeElement.className'),
        'skip',
        'the first stop skips the frame',
      );
      await tabTo(page, '.views a[href*="view=free"]');
      await page.keyboard.press('Enter');
      await tabTo(page, '.filters input[type="time"]');
      await page.keyboard.type('1200');
      await tabTo(page, '.free-room');
      await page.keyboard.press('Enter');
      await page.locator('h1', { hasText: 'Main Hall' }).waitFor();
      await tabTo(page, '.kind');
      await page.keyboard.press('Space');
      await page.locator('.left-out').waitFor();
      await tabTo(page, '.left-out .chip-remove');
      await page.keyboard.press('Enter');
      await tabTo(page, '.lesson');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.locator('.panel-when').waitFor();
      await tabTo(page, '.panel .link');
      await page.keyboard.press('Escape');
      await tabTo(page, '.toolbar-end .button');
      await page.keyboard.press('Enter');
      await tabTo(page, '.take .primary');
      await page.keyboard.press('Enter');
      await page.locator('.qr').waitFor();
      await tabTo(page, '.views a[href*="view=clashes"]');
      await page.keyboard.press('Enter');
      await tabTo(page, '.clash-list a');
      await tabTo(page, '.views a[href*="view=changes"]');
      await page.keyboard.press('Enter');
      await tabTo(page, '[data-choice="opened"]');
      await page.keyboard.press('Space');
      await page.waitForURL(/since=opened/);
      await tabTo(page, '.settings summary');
      await page.keyboard.press('Enter');
      await tabTo(page, '.settings select');
      await page.keyboard.press('Escape');
      t.equal(await page.evaluate('document.activeElement.tagName'), 'SUMMARY', 'the focus returns');
      await page.close();
    });

    await t.test(
      'a week of lessons in five zones, over the changes of the clock, as a slow twin has them',
      async (t) => {
        views.publishEvents(AROUND_CHANGES);
        const { page } = await open(browser, `${view}?of=group:Z#token=${tokenOf()}`, '.body');
        await page.setViewportSize({ width: 1600, height: 900 });
        for (const zone of ZONES) {
          for (const monday of WEEKS) {
            await page.evaluate(`{
            history.pushState(null, '', ${JSON.stringify(`?of=group:Z&date=${monday}&zone=${zone}`)});
            dispatchEvent(new PopStateEvent('popstate'));
          }`);
            await page.locator(`.body[aria-busy="false"][data-shown="${monday} ${zone}"]`).waitFor();
            t.same((await shownIn(page)).sort(), slowWeek(monday, zone).sort(), `${monday} in ${zone}`);
          }
        }
        await page.close();
      },
    );
  });
}

/** The name of the script, loaded when it is first shown, that has this text. */
function scriptWith(text: string): string {
  const folder = new URL(BUILT_PAGES);
  const found = readdirSync(folder).find(
    (name) => /^part-.*\.js$/.test(name) && readFileSync(new URL(name, folder), 'utf8').includes(text),
  );
  return found ?? `none has ${text}`;
}

async function open(browser: BrowserContext, address: string, selector: string): Promise<OpenPage> {
  const opened = await newPage(browser);
  const { page } = opened;
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.goto(address);
  await page.locator(selector).first().waitFor();
  return opened;
}

/** A page whose frames and timers wait for `runUntil` and the clock's runFor; the network does not. */
async function openStopped(t: Test) {
  // A clock stops all pages of a browser. A service worker would have the scripts.
  const browser = await openBrowser(t, { locale: 'en-GB', timezoneId: 'UTC', serviceWorkers: 'block' });
  const { page } = await newPage(browser);
  await page.clock.install({ time: MONDAY_MS - HOUR_MS });
  await page.clock.pauseAt(MONDAY_MS);
  return {
    page,
    runUntil: (isThere: () => boolean | Promise<boolean>): Promise<unknown> =>
      until(async () => {
        await page.clock.runFor(50);
        return isThere();
      }),
    hold: async (which: (url: URL) => boolean) => {
      let isAsked = false;
      let release = (): void => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      await page.route(which, async (route) => {
        isAsked = true;
        await held;
        await route.continue();
      });
      return { isAsked: () => isAsked, release };
    },
  };
}

/** Presses Tab until the element has the focus. */
async function tabTo(page: Page, selector: string): Promise<void> {
  await page.locator(selector).first().waitFor();
  for (let n = 0; n < 150; n++) {
    if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach ${selector}`);
}

/** `Monday 5 October 09:00 – 10:00` */
function shownIn(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll('.day')].flatMap((day) =>
    [...day.querySelectorAll('.lesson')].map((lesson) =>
      day.getAttribute('aria-label').replace(/^Z /, '') + ' ' +
      lesson.querySelector('.lesson-time').textContent.trim().slice(0, 13)))`) as Promise<string[]>;
}

/** Each lesson on each local day that it touches, by Intl alone. */
function slowWeek(monday: string, zone: string): string[] {
  const day = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' });
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' });
  const name = new Intl.DateTimeFormat('en-GB', {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    timeZone: 'UTC',
  });
  const found: string[] = [];
  for (let n = 0; n < 7; n++) {
    const date = new Date(Date.parse(monday) + n * DAY_MS).toISOString().slice(0, 10);
    for (const { time, endTime } of AROUND_CHANGES) {
      if (day.format(time) !== date && day.format(endTime - 1) !== date) continue;
      found.push(`${name.format(Date.parse(date))} ${clock.format(time)} – ${clock.format(endTime)}`);
    }
  }
  return found;
}
