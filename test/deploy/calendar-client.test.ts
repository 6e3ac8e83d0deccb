/** Real calendar programs subscribe to a feed: vdirsyncer fetches the feed, khal shows it. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { openTimetable } from '../../src/index.js';
import { hs256, SECRET } from '../auth/tokens.js';

const MISSING = ['vdirsyncer', 'khal'].filter((name) => spawnSync(name, ['--version']).error !== undefined);
const skip = MISSING.length > 0 && `${MISSING.join(' and ')} not installed (apt-get install khal vdirsyncer)`;

const ZONE = ';TZID=Europe/Berlin';

/** A series of three weeks, and a single lesson. */
function calendar(room: string, ...moved: string[]): string {
  const lines = [
    ...['BEGIN:VCALENDAR', 'VERSION:2.0', 'X-WR-CALNAME:CS-1'],
    ...['BEGIN:VEVENT', 'UID:algebra', 'SUMMARY:Lineare Algebra\\; Übung\\, 1', `LOCATION:${room}`],
    ...[
      `DTSTART${ZONE}:20261005T080000`,
      `DTEND${ZONE}:20261005T093000`,
      'RRULE:FREQ=WEEKLY;COUNT=3',
      'END:VEVENT',
    ],
    ...['BEGIN:VEVENT', 'UID:databases', 'SUMMARY:Databases', 'LOCATION:Lab 1'],
    ...[`DTSTART${ZONE}:20261006T080000`, `DTEND${ZONE}:20261006T093000`, 'END:VEVENT'],
    ...[...moved, 'END:VCALENDAR', ''],
  ];
  return lines.join('\r\n');
}

/** The bytes of each VEVENT by its UID. */
function eventsOf(text: string): Map<string, string> {
  const events = text.match(/BEGIN:VEVENT.*?END:VEVENT/gs) ?? [];
  return new Map(events.map((event) => [/^UID:(.*)\r$/m.exec(event)?.[1] ?? '', event]));
}

test('a calendar program sees the events of a feed, a changed room, the change back, and a moved lesson', {
  timeout: 300_000,
  skip,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-calendar-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const source = join(folder, 'lessons.ics');
  writeFileSync(source, calendar('Hall 1'));
  const timetable = openTimetable({
    source,
    calendarFrom: '2026-09-01',
    calendarTo: '2027-01-01',
    watch: false,
  });
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
  // Runs without blocking this process, because other threads accept the service's connections.
  const run = (command: string, ...argv: string[]): string => {
    const { status, stdout, stderr } = spawnSync(command, argv, { env, encoding: 'utf8' });
    t.equal(status, 0, `${command} ${argv[0]}: ${stderr}`);
    return stdout;
  };
  const shown = (): string[] => {
    run('vdirsyncer', '-c', config, 'sync');
    const format = '{start-date} {start-time} {end-time} {title} @ {location}';
    const text = run(
      'khal',
      '-c',
      join(folder, 'khal.conf'),
      'list',
      '--format',
      format,
      '2026-10-05',
      '21d',
    );
    return text.split('\n').filter((line) => / \d\d:\d\d /.test(line));
  };
  const feedEvents = async (): Promise<Map<string, string>> => eventsOf(await (await fetch(url)).text());
  /** Serves another file, and gives the UIDs of the changed events. */
  const change = async (text: string): Promise<string[]> => {
    const before = await feedEvents();
    writeFileSync(source, text);
    await timetable.refresh();
    const after = await feedEvents();
    t.strictSame([...after.keys()].sort(), [...before.keys()].sort(), 'every event keeps its UID');
    return [...after.keys()].filter((uid) => after.get(uid) !== before.get(uid));
  };
  const algebra = (day: number, room: string): string =>
    `2026-10-${String(day).padStart(2, '0')} 08:00 09:30 Lineare Algebra; Übung, 1 @ ${room}`;
  const databases = '2026-10-06 08:00 09:30 Databases @ Lab 1';
  const inRoom = (room: string): string[] => [
    algebra(5, room),
    databases,
    algebra(12, room),
    algebra(19, room),
  ];
  run('vdirsyncer', '-c', config, 'discover');
  t.strictSame(shown(), inRoom('Hall 1'));
  t.equal((await change(calendar('Hall 2'))).length, 3, 'the fourth keeps its bytes');
  t.strictSame(shown(), inRoom('Hall 2'));
  t.equal((await change(calendar('Hall 1'))).length, 3);
  t.strictSame(shown(), inRoom('Hall 1'), 'and back');
  const moved = [
    ...['BEGIN:VEVENT', 'UID:algebra', `RECURRENCE-ID${ZONE}:20261012T080000`, 'SUMMARY:Algebra (moved)'],
    ...['LOCATION:Hall 1', `DTSTART${ZONE}:20261014T100000`, `DTEND${ZONE}:20261014T113000`, 'END:VEVENT'],
  ];
  t.equal((await change(calendar('Hall 1', ...moved))).length, 1);
  const place = '2026-10-14 10:00 11:30 Algebra (moved) @ Hall 1';
  t.strictSame(shown(), [algebra(5, 'Hall 1'), databases, place, algebra(19, 'Hall 1')]);
});
