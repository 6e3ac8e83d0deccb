/** The timetable of a feed: its page holds all rows as a table. */
import type { Named, Row } from './lessons.js';
import { type Feed, feedNow, isOffline, readAt } from './store.js';

/** The event stream needs a token. Asking with the entity tag costs the service next to nothing. */
const FEED_MS = 60_000;

export function readFeed(page: Document): Feed {
  const place = page.getElementById('feed');
  const named = (text: string): Named | null => (text === '' ? null : { id: text, name: text });
  const rows = [...page.querySelectorAll<HTMLTableRowElement>('#feed tbody tr')].map((row, n): Row => {
    const [start = '', end = ''] = [...row.querySelectorAll('time')].map(({ dateTime }) => dateTime);
    const [title = '', room = '', lecturer = '', group = '', kind = ''] = [...row.cells]
      .slice(2)
      .map((cell) => (cell.textContent ?? '').trim());
    return {
      id: `${start} ${n}`,
      start: Date.parse(start),
      end: Date.parse(end),
      title,
      kind,
      room: named(room),
      course: null,
      lecturer: named(lecturer),
      group: named(group),
    };
  });
  const file = new URL(place?.dataset.file ?? '', location.href).href;
  const name = (page.querySelector('h1')?.textContent ?? '').replace(/^Timetable(: )?/, '');
  const feed = { name, rows, calendar: `${file}.ics`, table: `${file}.csv` };
  feedNow.value = feed;
  return feed;
}

/** Reads the feed again while the page is open. @returns ends this */
export function keepFeed(): () => void {
  let tag: string | null = null;
  const read = async (): Promise<void> => {
    try {
      // The browser asks with the entity tag that it keeps.
      const answer = await fetch(location.pathname, { headers: { Accept: 'text/html' }, cache: 'no-cache' });
      const { headers, ok } = answer;
      isOffline.value = headers.has('Lectern-Kept') || !ok;
      if (!ok) return;
      const date = Date.parse(headers.get('Date') ?? '');
      readAt.value = Number.isNaN(date) ? Date.now() : date;
      if (tag !== null && headers.get('ETag') === tag) return;
      tag = headers.get('ETag');
      readFeed(new DOMParser().parseFromString(await answer.text(), 'text/html'));
    } catch {
      isOffline.value = true;
    }
  };
  const soon = (): void => {
    if (!document.hidden) void read();
  };
  soon();
  const timer = setInterval(soon, FEED_MS);
  addEventListener('online', soon);
  document.addEventListener('visibilitychange', soon);
  isOffline.value = !navigator.onLine;
  return () => {
    clearInterval(timer);
    removeEventListener('online', soon);
    document.removeEventListener('visibilitychange', soon);
  };
}
