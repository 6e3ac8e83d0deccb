/** The pages on real timetables: the lists of the busiest room, lecturer and group equal the API's answers, lesson by lesson. */
import type { Page } from 'playwright-core';
import { test } from 'tap';
import { startService } from '../../src/app/service.js';
import type { components } from '../../src/client/client.js';
import { findDataSets, NO_DATA } from '../answer/real-sets.js';
import { NO_BROWSER, newPage, openBrowser } from './chromium.js';

type Event = components['schemas']['Event'];
type Entry = components['schemas']['DirectoryEntry'];
const DAY_MS = 86_400_000;
const DAYS = 14;
const MISSING = NO_BROWSER ?? (findDataSets().length === 0 ? NO_DATA : null);

if (MISSING !== null) test('the pages show real timetables', { skip: MISSING }, () => {});
for (const { name, path } of MISSING === null ? findDataSets() : []) {
  test(`the pages show ${name} as the API gives it`, async (t) => {
    const service = await startService({ source: path, dev: true, port: 0 });
    t.teardown(() => service.close());
    await service.ready;
    const { access_token: token } = (await (await fetch(`${service.baseUrl}/login`)).json()) as {
      access_token: string;
    };
    const ask = async <T>(query: string): Promise<T> => {
      const headers = { Authorization: `Bearer ${token}` };
      return (await (await fetch(`${service.baseUrl}/schedule${query}`, { headers })).json()) as T;
    };
    const browser = await openBrowser(t, { locale: 'en-GB', timezoneId: 'UTC' });
    const { page, errors } = await newPage(browser);
    let compared = 0;
    for (const [directory, kind, parameter] of [
      ['rooms', 'room', 'roomId'],
      ['lecturers', 'lecturer', 'lecturerId'],
      ['groups', 'group', 'studyGroup'],
    ] as const) {
      const entries = await ask<Entry[]>(`/${directory}`);
      const [busiest] = entries
        .filter(({ id, name }) => (kind === 'group' ? name : id) !== null)
        .sort((a, b) => b.events - a.events);
      if (busiest === undefined) continue;
      const value = kind === 'group' ? (busiest.studyGroup ?? busiest.name ?? '') : (busiest.id ?? '');
      const filter = `${parameter}=${encodeURIComponent(value)}`;
      const monday = busiestMonday(await ask<Event[]>(`?${filter}`));
      const events = await ask<Event[]>(`?${filter}&date=${monday}&days=${DAYS}&timeZone=UTC`);
      const address = `${service.baseUrl}/view?of=${kind}:${encodeURIComponent(value)}&date=${monday}`;
      await page.goto(`${address}&view=list`);
      await page.locator(`.body[aria-busy="false"][data-shown="${monday} UTC"]`).waitFor();
      t.same((await linesOf(page)).sort(), lessonsOf(events, monday).sort(), `${name}: ${kind} ${value}`);
      compared += events.length;
      await page.goto(address);
      await page.locator('.box').first().waitFor();
      t.same(await overlaps(page), [], 'nothing overlaps in the week');
    }
    t.ok(compared > 30, `${compared} rows compared`);
    t.same(errors, []);
  });
}

function mondayOf(instant: number): string {
  const day = new Date(instant);
  return new Date(day.setUTCHours(0, 0, 0, 0) - ((day.getUTCDay() + 6) % 7) * DAY_MS)
    .toISOString()
    .slice(0, 10);
}

function busiestMonday(events: readonly Event[]): string {
  const counts = new Map<string, number>();
  for (const { time } of events) {
    const monday = mondayOf(Date.parse(time));
    counts.set(monday, (counts.get(monday) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? '';
}

/** Each lesson on each day that it touches, with all its rooms, lecturers and groups: rows equal in time and content are one. */
function lessonsOf(events: readonly Event[], monday: string): string[] {
  const lessons = new Map<string, Event>();
  for (const event of events) {
    const what = event.courseId ?? event.title ?? '';
    const key =
      what === '' ? event.id : [event.time, event.endTime, what, event.title, event.type].join('\n');
    if (!lessons.has(key)) lessons.set(key, event);
  }
  return [...lessons.values()].flatMap(({ time, endTime, type }) => {
    const [start, end] = [Date.parse(time), Date.parse(endTime)];
    const line = `${time.slice(11, 16)} – ${endTime.slice(11, 16)} ${type ?? ''}`;
    return Array.from({ length: DAYS }, (_, n) => Date.parse(monday) + n * DAY_MS)
      .filter((day) => start < day + DAY_MS && (end > day || (start === end && start >= day)))
      .map((day) =>
        `${new Date(day).getUTCDate()} ${start === end ? `${time.slice(11, 16)} ${type ?? ''}` : line}`.trim(),
      );
  });
}

/** `7 08:00 – 09:30 LEC` */
function linesOf(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll('.list-day')].flatMap((day) =>
    [...day.querySelectorAll('.line')].map((line) => [
      /\\d+/.exec(day.querySelector('h3').textContent)[0],
      line.querySelector('.line-time').textContent,
      line.querySelector('.line-kind')?.textContent ?? '',
    ].join(' ').trim().replace(/\\s+/g, ' ')))`) as Promise<string[]>;
}

/** Pairs of boxes in one day that share more than a pixel. */
function overlaps(page: Page): Promise<unknown> {
  return page.evaluate(`[...document.querySelectorAll('.day')].flatMap((day) => {
    const boxes = [...day.querySelectorAll('.box')].map((box) => box.getBoundingClientRect());
    return boxes.flatMap((a, n) => boxes.slice(n + 1).filter((b) =>
      Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1));
  })`);
}
