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
/** Lessons of each timetable whose panel is compared. */
const OPENED = 2;
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
    const names = {
      roomId: namesOf(await ask<Entry[]>('/rooms')),
      courseId: namesOf(await ask<Entry[]>('/courses')),
    };
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
      const lessons = lessonsOf(events, names);
      const wanted = lessons.flatMap((lesson) => linesOfLesson(lesson, monday));
      t.same((await linesOf(page)).sort(), wanted.sort(), `${name}: ${kind} ${value}`);
      compared += events.length;
      // A lesson that is open tells its course, too, and each name by itself.
      for (const lesson of lessons.slice(0, OPENED)) {
        await page.goto(`${address}&view=list&open=${lesson.id}`);
        await page.locator('.panel-when').waitFor();
        t.same(await page.evaluate(FACTS), factsOf(lesson), `${name}: ${lesson.id}`);
      }
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

interface Lesson {
  readonly id: string;
  readonly start: number;
  readonly end: number;
  readonly title: string;
  readonly type: string;
  readonly course: string;
  readonly rooms: readonly string[];
  readonly lecturers: readonly string[];
  readonly groups: readonly string[];
}

interface Known {
  readonly roomId: ReadonlyMap<string, string>;
  readonly courseId: ReadonlyMap<string, string>;
}

function namesOf(entries: readonly Entry[]): ReadonlyMap<string, string> {
  return new Map(entries.flatMap(({ id, name }) => (id === null || name === null ? [] : [[id, name]])));
}

/** Rows equal in time and content are one lesson, with all their rooms, lecturers and groups. */
function lessonsOf(events: readonly Event[], known: Known): Lesson[] {
  const lessons = new Map<string, Event[]>();
  for (const event of events) {
    const what = event.courseId ?? event.title ?? '';
    const key =
      what === '' ? event.id : [event.time, event.endTime, what, event.title, event.type].join('\n');
    lessons.set(key, [...(lessons.get(key) ?? []), event]);
  }
  // Without a name, the beginning of a UUID.
  const nameOf = (field: keyof Known, id: string): string =>
    known[field].get(id) ?? id.replace(/^([0-9a-f]{8})-[0-9a-f-]{27}$/, '$1');
  return [...lessons.values()].map((rows) => {
    const [{ id, time, endTime, title, type, courseId }] = rows as [Event];
    const course = courseId === null ? '' : nameOf('courseId', courseId);
    const all = (text: (row: Event) => string | null): string[] => [
      ...new Set(rows.map(text).filter((each) => each !== null)),
    ];
    return {
      id,
      start: Date.parse(time),
      end: Date.parse(endTime),
      title: title || (courseId !== null && known.courseId.get(courseId)) || '',
      type: type ?? '',
      course,
      rooms: all(({ roomId }) => roomId && nameOf('roomId', roomId)),
      lecturers: all(({ lecturer }) => lecturer),
      groups: all(({ studyGroup }) => studyGroup),
    };
  });
}

function timesOf({ start, end }: Lesson): string {
  const [from, to] = [start, end].map((instant) => new Date(instant).toISOString().slice(11, 16));
  return start === end ? `${from}` : `${from} – ${to}`;
}

/** On each day that it touches: `7 08:00 – 09:30 | Algebra | A 1.01 / Zoë, Ada / INF-1 | LEC` */
function linesOfLesson(lesson: Lesson, monday: string): string[] {
  const { start, end, title, type, rooms, lecturers, groups } = lesson;
  const about = [rooms, lecturers, groups].filter((list) => list.length > 0).map((list) => list.join(', '));
  const kind = title === '' ? '' : type;
  const line = [timesOf(lesson), title || type || 'Lesson', about.join(' / '), kind].join(' | ');
  return Array.from({ length: DAYS }, (_, n) => Date.parse(monday) + n * DAY_MS)
    .filter((day) => start < day + DAY_MS && (end > day || (start === end && start >= day)))
    .map((day) => plain(`${new Date(day).getUTCDate()} ${line}`));
}

async function linesOf(page: Page): Promise<string[]> {
  const lines = await page.evaluate(`[...document.querySelectorAll('.list-day')].flatMap((day) =>
    [...day.querySelectorAll('.line')].map((line) => {
      const [time, title, kind] = ['.line-time', 'strong', '.line-kind'].map((each) => line.querySelector(each)?.textContent ?? '');
      const about = [...line.querySelectorAll('.line-about bdi')].map((each) => each.textContent).join(' / ');
      return /\\d+/.exec(day.querySelector('h3').textContent)[0] + ' ' + [time, title, about, kind].join(' | ');
    }))`);
  return (lines as string[]).map(plain);
}

function factsOf(lesson: Lesson): unknown {
  const { title, type, course, rooms, lecturers, groups } = lesson;
  return {
    title: title || type || 'Lesson',
    type,
    times: timesOf(lesson),
    room: rooms,
    lecturer: lecturers,
    group: groups,
    course: course === '' ? [] : [course],
  };
}

const FACTS = `(() => {
  const panel = document.querySelector('.panel');
  const text = (selector) => panel.querySelector(selector)?.textContent ?? '';
  const facts = { title: text('h2'), type: text('.kind-tag'), times: text('.panel-when strong') };
  for (const kind of ['room', 'lecturer', 'group', 'course']) {
    const place = panel.querySelector('dt [data-icon="' + kind + '"]')?.closest('div');
    facts[kind] = [...(place?.querySelectorAll('.fact bdi') ?? [])].map((each) => each.textContent);
  }
  return facts;
})()`;

/** Versions of Chromium differ in the kinds of their spaces. */
function plain(text: string): string {
  return text.trim().replace(/\s+/g, ' ');
}

/** Pairs of boxes in one day that share more than a pixel. */
function overlaps(page: Page): Promise<unknown> {
  return page.evaluate(`[...document.querySelectorAll('.day')].flatMap((day) => {
    const boxes = [...day.querySelectorAll('.box')].map((box) => box.getBoundingClientRect());
    return boxes.flatMap((a, n) => boxes.slice(n + 1).filter((b) =>
      Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1));
  })`);
}
