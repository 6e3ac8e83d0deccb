/** The pages in Firefox, on the demo: each view without an error, lessons as the API has them, and by keyboard alone. */
import { test } from 'tap';
import type { components } from '../../src/client/client.js';
import { until } from '../waiting/until.js';
import { viewsOf } from './axe.js';
import { openDemo } from './demo.js';
import { Firefox, NO_FIREFOX } from './firefox.js';

type Event = components['schemas']['Event'];
const GROUP = 'ÉCO-3A';
const DATE = '2026-10-05';

test('the pages work in Firefox', { skip: NO_FIREFOX ?? false }, async (t) => {
  const service = await openDemo(t);
  const view = `${service.baseUrl}/view`;
  const { origin } = new URL(view);
  const firefox = await Firefox.open(t);

  await t.test('a week shows every lesson of the API', async (t) => {
    const { access_token: token } = (await (await fetch(`${service.baseUrl}/login`)).json()) as {
      access_token: string;
    };
    const query = `studyGroup=${encodeURIComponent(GROUP)}&date=${DATE}&days=7&timeZone=UTC`;
    const answer = await fetch(`${service.baseUrl}/schedule?${query}`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    await firefox.goto(`${view}?of=group:${encodeURIComponent(GROUP)}&date=${DATE}`);
    await firefox.waitFor('.body[aria-busy="false"] .lesson');
    const shown = await firefox.evaluate<string[]>(`[...document.querySelectorAll('.lesson')].map((lesson) =>
      lesson.querySelector('.lesson-time').textContent.slice(0, 13) + ' ' +
      lesson.querySelector('.lesson-title').textContent)`);
    const wanted = ((await answer.json()) as Event[]).map(
      ({ time, endTime, title }) => `${time.slice(11, 16)} – ${endTime.slice(11, 16)} ${title}`,
    );
    t.ok(wanted.length > 10);
    t.same(shown.sort(), wanted.sort());
  });

  await t.test('by keyboard alone: find, open, close, go on', async (t) => {
    await firefox.press('/', ...'garcon');
    await firefox.waitFor('.found li', 'François Garçon');
    await firefox.press('Enter');
    await firefox.waitFor('h1', 'François Garçon');
    await firefox.waitFor('.body[aria-busy="false"] .lesson');
    const isAtLesson = (): Promise<boolean> => firefox.evaluate('document.activeElement.matches(".lesson")');
    for (let n = 0; n < 60 && !(await isAtLesson()); n++) await firefox.press('Tab');
    await firefox.press('Enter');
    await firefox.waitFor('.panel h2');
    await firefox.press('Escape');
    t.ok(await isAtLesson(), 'the focus returns');
    await firefox.press('n');
    await firefox.waitFor('.body[data-shown="2026-10-12 UTC"]');
  });

  await t.test('every view is drawn, and nothing goes wrong', async (t) => {
    for (const search of viewsOf(encodeURIComponent(GROUP))) {
      await firefox.goto(`${view}${search}`);
      await firefox.waitFor('[aria-busy="false"]');
      t.equal(await firefox.evaluate('document.querySelectorAll(".problem").length'), 0, search);
      t.ok(await firefox.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${search}: width`);
    }
    // Firefox calls it an error if a page is left while the service worker reads one of its parts.
    const isLeft = (text: string): boolean => /A ServiceWorker intercepted the request/.test(text);
    t.same(
      (await firefox.errors(origin)).filter((text) => !isLeft(text)),
      [],
    );
    await firefox.evaluate('setTimeout(() => { throw new Error("seen") })');
    await until(async () => (await firefox.errors(origin)).some((text) => text.includes('seen')));
  });
});
