import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { type GeneratedEvent, generateEvents, generateRooms, writeNdjson } from '../../bench/generate.mjs';
import { fastTest, slowTest } from '../hard/slow-test.js';

const EVENTS = 20_000;
const sample = [...generateEvents({ events: EVENTS, seed: 7 })];

fastTest('the same seed gives the same events; another seed gives other events', (t) => {
  t.strictSame([...generateEvents({ events: EVENTS, seed: 7 })], sample);
  const other = new Set([...generateEvents({ events: 1000, seed: 8 })].map((event) => event.id));
  t.notOk(sample.some((event) => other.has(event.id)));
  t.end();
});

fastTest('exactly the requested number of events is generated', (t) => {
  for (const events of [0, 1, 2, 17, 999, 5000, 121_000]) {
    let made = 0;
    for (const _ of generateEvents({ events, seed: 3 })) made++;
    t.equal(made, events);
  }
  t.end();
});

fastTest("events are in the service's order, over several terms and with one slot per event", (t) => {
  for (const [events, distinctSlots] of [
    [121_000, false],
    [10_000, true],
  ] as const) {
    let before: GeneratedEvent | null = null;
    let faults = 0;
    for (const event of generateEvents({ events, seed: 5, distinctSlots })) {
      if (before !== null && sortKey(before) >= sortKey(event)) faults++;
      before = event;
    }
    t.equal(faults, 0, distinctSlots ? 'distinct slots' : 'shared slots');
  }
  t.end();
});

fastTest('identifiers are lower-case UUIDs of version 4, and ids of events are unique', (t) => {
  const version4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  let faults = 0;
  for (const event of sample) {
    for (const id of [event.id, event.roomId, event.courseId, event.groupId, event.lecturerId]) {
      if (id !== null && !version4.test(id)) faults++;
    }
  }
  t.equal(faults, 0);
  t.equal(new Set(sample.map((event) => event.id)).size, EVENTS);
  t.end();
});

fastTest('there are far fewer slots than events; with distinctSlots there is one for each', (t) => {
  const slots = distinct(sample, (event) => event.time + event.endTime);
  t.ok(slots < EVENTS / 10, `${slots} slots`);
  const spread = [...generateEvents({ events: EVENTS, seed: 7, distinctSlots: true })];
  t.equal(
    distinct(spread, (event) => event.time + event.endTime),
    EVENTS,
  );
  t.end();
});

fastTest("the timetable resembles a university's in rooms, groups, types, nulls and scripts", (t) => {
  t.ok(
    between(
      distinct(sample, (event) => event.roomId),
      200,
      400,
    ),
    'a few hundred rooms',
  );
  const coursesOfGroup = new Map<string, Set<string>>();
  for (const { groupId, courseId } of sample) {
    if (groupId === null || courseId === null) continue;
    coursesOfGroup.set(groupId, (coursesOfGroup.get(groupId) ?? new Set()).add(courseId));
  }
  t.ok(
    [...coursesOfGroup.values()].every((courses) => courses.size >= 4),
    'several courses in every group',
  );
  const types = [...new Set(sample.map((event) => event.type))];
  t.strictSame(types.filter((type) => type !== null).sort(), ['EXAM', 'LAB', 'LEC', 'SEM', 'TUT']);
  for (const field of ['title', 'roomId', 'courseId', 'studyGroup', 'lecturer', 'type', 'groupId'] as const) {
    const nulls = sample.filter((event) => event[field] === null).length;
    t.ok(between(nulls, 1, EVENTS / 10), `${nulls} events without ${field}`);
  }
  t.equal(sample.filter((event) => (event.lecturer === null) !== (event.lecturerId === null)).length, 0);
  const titles = sample.map((event) => event.title).join(' ');
  for (const script of [
    /ř/,
    /é/,
    /\p{Script=Greek}/u,
    /\p{Script=Han}/u,
    /\p{Emoji_Presentation}/u,
    /\p{Script=Arabic}/u,
  ]) {
    t.match(titles, script);
  }
  t.equal(titles.normalize('NFC'), titles, 'normalised already, so that it is served as it is');
  t.end();
});

fastTest('most lessons of a week recur in the next', (t) => {
  const weekMs = 7 * 86_400_000;
  const key = (event: GeneratedEvent, shiftMs: number) =>
    `${Date.parse(event.time) + shiftMs} ${event.roomId} ${event.courseId} ${event.groupId}`;
  const fromMs = Date.parse(sample[0]?.time ?? '') + 3 * weekMs;
  const week = sample.filter((event) => between(Date.parse(event.time), fromMs, fromMs + weekMs - 1));
  const later = new Set(sample.map((event) => key(event, 0)));
  const repeated = week.filter((event) => later.has(key(event, weekMs)) || later.has(key(event, 2 * weekMs)));
  t.ok(week.length > 500);
  t.ok(repeated.length > 0.85 * week.length, `${repeated.length} of ${week.length} come again`);
  t.end();
});

fastTest('a shared lecture has several rows', (t) => {
  const rows = new Map<string, number>();
  for (const event of sample) {
    if (event.courseId === null) continue;
    const lesson = [event.time, event.endTime, event.courseId, event.roomId, event.type].join(' ');
    rows.set(lesson, (rows.get(lesson) ?? 0) + 1);
  }
  const shared = [...rows.values()].filter((count) => count > 1).length;
  t.ok(between(shared / rows.size, 0.1, 0.6), `${shared} of ${rows.size} lessons have several rows`);
  t.end();
});

fastTest('there are a few real conflicts by room, lecturer and group', (t) => {
  for (const [by, keyOf] of [
    ['room', (event: GeneratedEvent) => event.roomId],
    ['lecturer', (event: GeneratedEvent) => event.lecturerId],
    ['group', (event: GeneratedEvent) => event.groupId],
  ] as const) {
    const share = rowsInConflict(sample, keyOf) / EVENTS;
    t.ok(between(share, 0.001, 0.03), `${(100 * share).toFixed(2)} % by ${by}`);
  }
  t.end();
});

async function ndjsonOf(records: Iterable<object>): Promise<string> {
  const stream = new PassThrough();
  const written = text(stream);
  await writeNdjson(records, stream);
  return written;
}

fastTest('the NDJSON equals the output of JSON.stringify', async (t) => {
  const some = sample.slice(0, 2000);
  const expected = some.map((event) => `${JSON.stringify(event)}\n`).join('');
  t.equal(await ndjsonOf(some), expected);
  t.equal(await ndjsonOf([]), '');
});

fastTest("the demo fixture equals the generator's 10,000 events of seed 1", async (t) => {
  const fixture = gunzipSync(readFileSync(new URL('../../fixtures/demo.ndjson.gz', import.meta.url)));
  const options = { events: 10_000, seed: 1, names: true };
  t.ok(
    fixture.toString() === (await ndjsonOf(generateEvents(options))),
    'after a change: node bench/generate.mjs --events 10000 --seed 1 --names | gzip -9n > fixtures/demo.ndjson.gz',
  );
  t.equal(
    readFileSync(new URL('../../fixtures/demo-rooms.ndjson', import.meta.url), 'utf8'),
    await ndjsonOf(generateRooms(options)),
    'after a change: node bench/generate.mjs --events 10000 --seed 1 --rooms > fixtures/demo-rooms.ndjson',
  );
});

slowTest('memory does not grow with the number of events', async (t) => {
  const script = `
    const { generateEvents } = await import('./bench/generate.mjs');
    let made = 0;
    for (const _ of generateEvents({ events: 250_000, seed: 1 })) made++;
    console.log(made, process.resourceUsage().maxRSS);`;
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', script],
    { cwd: root },
  );
  const [made, maxRssKib] = stdout.trim().split(' ').map(Number);
  t.equal(made, 250_000);
  // The text alone is 100 MB, and Node needs twice that.
  t.ok(
    (maxRssKib ?? Number.POSITIVE_INFINITY) < 180 * 1024,
    `${Math.round((maxRssKib ?? 0) / 1024)} MiB at most`,
  );
});

function sortKey(event: GeneratedEvent): string {
  return `${event.time} ${event.endTime} ${event.id}`;
}

function distinct(events: readonly GeneratedEvent[], of: (event: GeneratedEvent) => string | null): number {
  return new Set(events.map(of)).size;
}

function between(value: number, least: number, most: number): boolean {
  return value >= least && value <= most;
}

/** Rows with another lesson of the same key at the same time. Quadratic per key and day, but obvious. */
function rowsInConflict(
  events: readonly GeneratedEvent[],
  keyOf: (event: GeneratedEvent) => string | null,
): number {
  const byKeyAndDay = new Map<string, GeneratedEvent[]>();
  for (const event of events) {
    const key = keyOf(event);
    if (key === null) continue;
    const at = `${key} ${event.time.slice(0, 10)}`;
    const list = byKeyAndDay.get(at);
    if (list === undefined) byKeyAndDay.set(at, [event]);
    else list.push(event);
  }
  const sameLesson = (a: GeneratedEvent, b: GeneratedEvent) =>
    a.courseId !== null &&
    a.time === b.time &&
    a.endTime === b.endTime &&
    a.courseId === b.courseId &&
    a.roomId === b.roomId &&
    a.type === b.type;
  let rows = 0;
  for (const list of byKeyAndDay.values()) {
    rows += list.filter((a) =>
      list.some((b) => a !== b && a.time < b.endTime && b.time < a.endTime && !sameLesson(a, b)),
    ).length;
  }
  return rows;
}
