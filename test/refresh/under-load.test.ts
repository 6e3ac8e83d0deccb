import autocannon from 'autocannon';
import { test } from 'tap';
import { hs256, SECRET } from '../auth/tokens.js';
import { size } from '../hard/size.js';
import { MemorySource, startService } from './built.js';
import { type Answer, startLoad } from './clients.js';

/** Each replacement has its own thread, and takes most of a second beside the clients. */
const REPLACEMENTS = size(12, 100);
const EVENTS = size(200, 5000);
const CLIENTS = 3;

/** Generation g: every title has its number, and every generation has another number of events. */
function generation(g: number): object[] {
  return Array.from({ length: EVENTS + (g % 7) }, (_, n) => ({
    id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    time: new Date(Date.UTC(2024, 8, 2, 8) + Math.floor(n / 4) * 3_600_000).toISOString(),
    endTime: new Date(Date.UTC(2024, 8, 2, 10) + Math.floor(n / 4) * 3_600_000).toISOString(),
    title: `generation ${g}`,
    studyGroup: n % 2 === 0 ? 'A' : 'B',
    roomId: `2c3c9bfd-5da4-5a45-8bdb-00000000000${n % 4}`,
  }));
}

test(`${REPLACEMENTS} replacements under load: nothing fails, and every answer is of one snapshot`, async (t) => {
  const source = new MemorySource(generation(0));
  const service = await startService({ source, port: 0, hs256Secret: SECRET });
  t.teardown(() => service.close());
  const { timetable, baseUrl } = service;
  /** Published events, by the id of the snapshot. */
  const published = new Map<string, { readonly generation: number; readonly events: number }>();
  const note = (g: number): void => {
    const { id, events } = timetable.summary ?? { id: '', events: 0 };
    published.set(id, { generation: g, events });
  };
  await service.ready;
  note(0);

  // Checked at the end, because the snapshot of an answer may not be recorded yet when the answer arrives.
  const seen = new Map<string, Set<string>>();
  const look = ({ status, headers, text }: Answer, url: string): string | null => {
    if (status !== 200) return `${url}: ${status} ${text}`;
    const titles = new Set(text.match(/generation \d+/g));
    if (titles.size !== 1) return `${url}: events of ${titles.size} generations`;
    const snapshot = /^W\/"([\w-]{22})/.exec(String(headers.etag))?.[1];
    if (snapshot === undefined) return `${url}: the tag ${headers.etag} names no snapshot`;
    const content = `${[...titles][0]}${url.endsWith('/all') ? `, ${headers['x-total-count']} events` : ''}`;
    seen.set(snapshot, (seen.get(snapshot) ?? new Set()).add(content));
    return null;
  };
  const urls = [
    `${baseUrl}/schedule?studyGroup=A`,
    `${baseUrl}/schedule/all`,
    `${baseUrl}/schedule?limit=5&startTime=2024-09-02T09:00:00Z`,
    `${baseUrl}/schedule/conflicts?limit=3`,
  ];
  const token = hs256({ sub: 'alice', exp: Math.floor(Date.now() / 1000) + 3600 });
  const load = startLoad(urls, { authorization: `Bearer ${token}` }, CLIENTS, look);
  const cannon = autocannon({
    url: urls[0] ?? '',
    connections: 2,
    duration: 3600,
    overallRate: 200,
    headers: { authorization: `Bearer ${token}` },
  });

  for (let g = 1; g <= REPLACEMENTS; g++) {
    const next = new Promise<void>((resolve) => {
      const listener = (): void => {
        timetable.off('published', listener);
        resolve();
      };
      timetable.on('published', listener);
    });
    source.replace(generation(g));
    await next;
    note(g);
  }
  cannon.stop();
  const fired = await cannon;
  const { answers, problems } = await load.stop();

  t.strictSame(problems, []);
  t.equal(published.size, REPLACEMENTS + 1);
  t.ok(answers > REPLACEMENTS, `${answers} answers looked at`);
  t.ok(seen.size > REPLACEMENTS / 4, `${seen.size} snapshots were seen`);
  for (const [snapshot, contents] of seen) {
    const { generation: g, events } = published.get(snapshot) ?? { generation: Number.NaN, events: 0 };
    const allowed = [`generation ${g}`, `generation ${g}, ${events} events`];
    t.ok(
      [...contents].every((content) => allowed.includes(content)),
      `snapshot ${snapshot}: ${[...contents].join('; ')}`,
    );
  }
  t.ok(fired.requests.total > REPLACEMENTS, `autocannon: ${fired.requests.total} requests`);
  t.strictSame([fired.errors, fired.timeouts, fired.non2xx, fired.resets], [0, 0, 0, 0]);
  t.equal(timetable.status, 'ok');
});
