/** The timetable of a feed: its page holds all rows as a table. */
import { signal } from '@preact/signals';
import type { Named, Row } from './lessons.js';

export interface Feed {
  readonly name: string;
  readonly rows: readonly Row[];
  /** Addresses of the same feed in other formats. */
  readonly calendar: string;
  readonly table: string;
}

/** What was read last; null on pages that are no feed. */
export const feedNow = signal<Feed | null>(null);
/** Whether the last attempt to read the feed again failed, or gave what was kept. */
export const isOffline = signal(false);
/** As long as the service lets browsers keep a feed. */
const FEED_MS = 300_000;

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
  const read = async (): Promise<void> => {
    try {
      const answer = await fetch(location.pathname, { headers: { Accept: 'text/html' } });
      isOffline.value = answer.headers.has('Lectern-Kept') || !answer.ok;
      if (answer.ok) readFeed(new DOMParser().parseFromString(await answer.text(), 'text/html'));
    } catch {
      isOffline.value = true;
    }
  };
  const timer = setInterval(() => void read(), FEED_MS);
  const soon = (): void => {
    if (!document.hidden) void read();
  };
  addEventListener('online', soon);
  document.addEventListener('visibilitychange', soon);
  isOffline.value = !navigator.onLine;
  return () => {
    clearInterval(timer);
    removeEventListener('online', soon);
    document.removeEventListener('visibilitychange', soon);
  };
}
