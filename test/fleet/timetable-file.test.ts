/** A timetable file that is published: the replica and a primary give the same lessons, feeds and times. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Test, test } from 'tap';
import type { Timetable } from '../../src/index.js';
import { hs256, SECRET } from '../auth/tokens.js';
import { openFleet, openTimetable, until } from './fleet.js';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const FEED_SECRET = randomBytes(32);
const FILE = `timeZone: Europe/Berlin
identifiers: derived
terms: { autumn: { firstDay: 2026-09-28, weeks: 3 } }
sources:
  - from: lessons.csv
    fields: { title: Modul, roomId: Raum, studyGroup: { from: Klassen, split: ',' } }
    when: { day: Tag, start: Von, end: Bis, weeks: Wochen }
`;
const LESSONS = `Modul;Tag;Von;Bis;Wochen;Raum;Klassen
Algebra;Mo;08:00;09:30;1-3;A 1;"CS-1, CS-2"
Logik;Di-Mi;10:00;11:30;ungerade;B 2;CS-1
`;

/** Answers of a service: the status, the body and the header fields that caches and calendars use. */
interface Service {
  get(path: string, headers?: Record<string, string>): Promise<Record<string, unknown>>;
}

async function serve(timetable: Timetable): Promise<Service> {
  const { address } = await timetable.serve({
    ...{ port: 0, auth: { hs256Secret: SECRET }, feed: { secret: FEED_SECRET } },
  });
  const url = `${address.origin}/api/v1`;
  const token = hs256({ sub: 'ada', exp: Math.floor(Date.now() / 1000) + 3600 });
  return {
    async get(path, headers = {}) {
      const authorization = path.startsWith('/feeds') ? {} : { Authorization: `Bearer ${token}` };
      const answer = await fetch(`${url}${path}`, { headers: { ...authorization, ...headers } });
      const field = (name: string): string | null => answer.headers.get(name);
      return {
        status: answer.status,
        etag: field('etag'),
        lastModified: field('last-modified'),
        body: await answer.text(),
      };
    },
  };
}

async function openBoth(t: Test): Promise<{ primary: Service; replica: Service; modified: Date }> {
  const fleet = await openFleet(t, 'folder');
  const path = join(fleet.folder, 'timetable.yaml');
  const modified = new Date('2026-08-01T12:00:00Z');
  writeFileSync(path, FILE);
  writeFileSync(join(fleet.folder, 'lessons.csv'), LESSONS);
  for (const name of ['timetable.yaml', 'lessons.csv'])
    utimesSync(join(fleet.folder, name), modified, modified);
  const argv = ['publish', path, '--to', join(fleet.folder, 'share'), '--publisher-key', fleet.publisherKey];
  const published = spawnSync(process.execPath, [CLI, ...argv, '--once'], { encoding: 'utf8' });
  t.equal(published.status, 0, published.stdout + published.stderr);
  const primary = openTimetable({ timetable: path, watch: false });
  t.teardown(() => primary.close());
  await primary.ready;
  const replica = fleet.replica({ identifiers: 'derived', timeZone: 'Europe/Berlin' });
  await until(() => replica.summary !== null, 'the replica serves');
  t.equal(replica.summary?.id, primary.summary?.id, 'the same content');
  return { primary: await serve(primary), replica: await serve(replica), modified };
}

test('a replica of a published timetable file equals the primary, feeds included', async (t) => {
  const { primary, replica, modified } = await openBoth(t);
  for (const [path, count] of [
    ['/schedule', 10],
    ['/schedule?studyGroup=CS-2', 3],
    ['/schedule?studyGroup=CS-1&date=2026-09-28&days=7', 3],
    ['/schedule?studyGroup=CS-1&date=2026-10-05&days=7', 1],
    ['/schedule?studyGroup=CS-1&format=ics', 7],
    ['/schedule/groups', 2],
    ['/schedule/conflicts', 0],
  ] as const) {
    const [own, other] = [await primary.get(path), await replica.get(path)];
    t.strictSame(other, own, path);
    t.equal(own.status, 200, path);
    const shown = String(own.body);
    const items = path.endsWith('ics') ? shown.split('BEGIN:VEVENT').length - 1 : JSON.parse(shown).length;
    t.equal(items, count, path);
    t.equal(own.lastModified, modified.toUTCString(), path);
    const since = { 'If-Modified-Since': modified.toUTCString() };
    t.equal((await replica.get(path, since)).status, 304, path);
  }

  // A feed of a group has its lessons once.
  const issued = await primary.get('/schedule/feed?studyGroup=CS-1');
  const { url } = JSON.parse(String(issued.body)) as { readonly url: string };
  const path = url.slice(url.indexOf('/feeds/'));
  for (const end of ['.ics', '.json', '.csv']) {
    const address = path.replace(/\.\w+$/, end);
    const own = await primary.get(address);
    t.strictSame(await replica.get(address), own, end);
    t.match(own, { status: 200, body: /Algebra.*Logik/s }, end);
  }
  const calendar = String((await replica.get(path.replace(/\.\w+$/, '.ics'))).body);
  t.equal(calendar.split('BEGIN:VEVENT').length - 1, 7);
  t.match(calendar, /DTSTART:20260928T060000Z/);
  t.match(calendar, /LAST-MODIFIED:20260801T120000Z/);
  t.match(calendar, /LOCATION:B 2/);
  t.notMatch(calendar, /CS-2/, 'a feed of one group names no other');
});
