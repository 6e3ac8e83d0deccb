/** Real calendar programs subscribe to a feed: vdirsyncer fetches the feed, khal shows it. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { MemorySource, openTimetable } from '../../src/index.js';
import { hs256, SECRET } from '../auth/tokens.js';

const MISSING = ['vdirsyncer', 'khal'].filter((name) => spawnSync(name, ['--version']).error !== undefined);
const skip = MISSING.length > 0 && `${MISSING.join(' and ')} not installed (apt-get install khal vdirsyncer)`;

function lesson(n: number, title: string): Record<string, string> {
  return {
    id: `00000000-0000-4000-8000-00000000000${n}`,
    time: `2026-10-0${n}T08:00:00+02:00`,
    endTime: `2026-10-0${n}T09:30:00+02:00`,
    title,
    studyGroup: 'CS-1',
  };
}

test('a calendar program sees the events of a feed, and later a change', {
  timeout: 300_000,
  skip,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-calendar-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const source = new MemorySource([lesson(5, 'Lineare Algebra; Übung, 1'), lesson(6, 'Databases')]);
  const timetable = openTimetable({ source });
  t.teardown(() => timetable.close());
  await timetable.ready;
  const feed = { secret: 'a secret of the feeds, 32 bytes or more' };
  const server = await timetable.serve({ port: 0, auth: { hs256Secret: SECRET }, feed, workers: 2 });
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const headers = { Authorization: `Bearer ${hs256({ sub: 'alice', exp, studyGroup: 'CS-1' })}` };
  const issued = await fetch(`${server.address.origin}/api/v1/schedule/feed?for=personal`, { headers });
  const { url } = (await issued.json()) as { url: string };

  const config = join(folder, 'vdirsyncer.conf');
  for (const name of ['status', 'calendar']) mkdirSync(join(folder, name));
  writeFileSync(
    config,
    `[general]
status_path = "${folder}/status"
[pair timetable]
a = "feed"
b = "here"
collections = null
conflict_resolution = "a wins"
[storage feed]
type = "http"
url = "${url}"
[storage here]
type = "filesystem"
path = "${folder}/calendar"
fileext = ".ics"
`,
  );
  writeFileSync(
    join(folder, 'khal.conf'),
    `[calendars]
[[timetable]]
path = ${folder}/calendar
[sqlite]
path = ${folder}/khal.db
[locale]
timeformat = %H:%M
dateformat = %Y-%m-%d
longdateformat = %Y-%m-%d
datetimeformat = %Y-%m-%d %H:%M
longdatetimeformat = %Y-%m-%d %H:%M
local_timezone = Europe/Berlin
default_timezone = Europe/Berlin
`,
  );
  const env = { ...process.env, LC_ALL: 'C.UTF-8', HOME: folder, XDG_DATA_HOME: folder };
  // Runs while this process does not wait for it: other threads accept the service's connections.
  const run = (command: string, ...argv: string[]): string => {
    const { status, stdout, stderr } = spawnSync(command, argv, { env, encoding: 'utf8' });
    t.equal(status, 0, `${command} ${argv[0]}: ${stderr}`);
    return stdout;
  };
  const shown = (): string[] => {
    run('vdirsyncer', '-c', config, 'sync');
    const format = '{start-date} {start-time} {end-time} {title}';
    const text = run('khal', '-c', join(folder, 'khal.conf'), 'list', '--format', format, '2026-10-05', '7d');
    return text.split('\n').filter((line) => / \d\d:\d\d /.test(line));
  };
  run('vdirsyncer', '-c', config, 'discover');
  t.same(shown(), ['2026-10-05 08:00 09:30 Lineare Algebra; Übung, 1', '2026-10-06 08:00 09:30 Databases']);
  const moved = { ...lesson(6, 'Databases, in another room'), time: '2026-10-06T07:00:00+02:00' };
  source.apply({ upsert: [moved] });
  await timetable.refresh();
  t.same(shown(), [
    '2026-10-05 08:00 09:30 Lineare Algebra; Übung, 1',
    '2026-10-06 07:00 09:30 Databases, in another room',
  ]);
});
