/** Calendars of universities, against their NDJSON versions and the expansion of another library. */
import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import ICAL from 'ical.js';
import { test } from 'tap';
import { Temporal } from 'temporal-polyfill';
import { derivedIdentifier } from '../../../src/base/model/derived-identifier.js';
import { fileSource } from '../../../src/source/file.js';
import { collect } from '../collect.js';
import { readCalendar } from './calendars.js';

const FOLDER = new URL('../../../../shared/data/', import.meta.url);
const skip = existsSync(FOLDER) ? false : `the real timetables are not at ${FOLDER.pathname}`;

const text = (name: string): string => readFileSync(new URL(`ics/${name}.ics`, FOLDER), 'utf8');

/**
 * Starts and summaries of all occurrences, from ical.js. Each event is expanded alone, so that ical.js sees
 * no other event.
 */
function byIcal(calendar: string, zone: string): string[] {
  const found: string[] = [];
  for (const component of new ICAL.Component(ICAL.parse(calendar)).getAllSubcomponents('vevent')) {
    const event = new ICAL.Event(component, { exceptions: [], strictExceptions: true });
    const add = (time: ICAL.Time): void => {
      const plain = Temporal.PlainDateTime.from(time.toString().replace('Z', ''));
      const at = plain.toZonedDateTime(time.toString().endsWith('Z') ? 'UTC' : zone);
      found.push(`${new Date(at.epochMilliseconds).toISOString()} ${event.summary}`);
    };
    if (!event.isRecurring()) {
      add(event.startDate);
      continue;
    }
    const occurrences = event.iterator();
    for (let time = occurrences.next(); time; time = occurrences.next()) add(time);
  }
  return found.sort();
}

for (const [name, zone, events] of [
  ['fr-enseeiht-ade-2019', 'Europe/Paris', 515],
  ['sg-sutd-2023-term1-rrule-exdate', 'Asia/Singapore', 110],
  ['th-kmutt-rrule-exdate-tzid', 'Asia/Bangkok', 476],
] as const) {
  test(`${name} has the same occurrences as in ical.js`, { skip }, (t) => {
    const read = readCalendar(text(name), { from: '2019-01-01', to: '2025-01-01', timeZone: zone });
    t.strictSame(read.rejections, []);
    t.equal(read.events.length, events);
    t.strictSame(
      read.events.map(({ DTSTART, SUMMARY }) => `${DTSTART} ${SUMMARY}`).sort(),
      byIcal(text(name), zone),
    );
    t.equal(new Set(read.events.map(({ id }) => id)).size, events);
    t.end();
  });
}

const twinOf = (name: string): Record<string, string | null>[] =>
  gunzipSync(readFileSync(new URL(`${name}.ndjson.gz`, FOLDER)))
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, string | null>);

test('the calendar of ENSEEIHT has the lecturers, groups and types of its NDJSON version', { skip }, (t) => {
  const { events } = readCalendar(text('fr-enseeiht-ade-2019'));
  const plain = (shown: string | null | undefined): string => (shown ?? '').replace(/\s+/g, ' ').trim();
  const keyOf = (start: string | null | undefined, end: string | null | undefined, title: string): string =>
    `${Date.parse(start ?? '')} ${Date.parse(end ?? '')} ${plain(title)}`;
  /** Lines of DESCRIPTION, which holds groups and the lecturer. */
  const ours = new Map<string, Set<string>>();
  for (const { DTSTART, DTEND, SUMMARY = '', DESCRIPTION = '' } of events) {
    const key = keyOf(DTSTART, DTEND, SUMMARY);
    const lines = DESCRIPTION.split('\n').map(plain);
    const told = ours.get(key) ?? new Set();
    for (const line of lines) if (line !== '' && !line.startsWith('(Exporté')) told.add(line);
    ours.set(key, told);
  }
  const theirs = new Map<string, Set<string>>();
  const seen = { lecturer: 0, studyGroup: 0, type: 0 };
  for (const { time, endTime, title, lecturer, studyGroup, type } of twinOf('enseeiht-2019')) {
    const key = keyOf(time, endTime, title ?? '');
    const told = theirs.get(key) ?? new Set();
    for (const [field, value] of Object.entries({ lecturer, studyGroup })) {
      if (value === null || value === undefined) continue;
      told.add(plain(value));
      seen[field as 'lecturer' | 'studyGroup']++;
    }
    theirs.set(key, told);
    if (type === null || type === undefined) continue;
    t.ok(key.includes(type), `${type}: ${key}`);
    seen.type++;
  }
  t.strictSame([...ours.keys()].sort(), [...theirs.keys()].sort());
  // The NDJSON version has every line with a digit, which is a group, and one of the others.
  for (const [key, told] of ours) {
    const other = theirs.get(key) ?? new Set();
    t.strictSame(
      [...other].filter((line) => !told.has(line)),
      [],
      key,
    );
    t.strictSame(
      [...told].filter((line) => /\d/.test(line) && !other.has(line)),
      [],
      key,
    );
    t.equal([...other].length > 0, told.size > 0, key);
  }
  t.ok(seen.lecturer > 700 && seen.studyGroup > 800 && seen.type > 500, JSON.stringify(seen));
  t.end();
});

test('the calendar of ENSEEIHT equals its NDJSON version', { skip }, async (t) => {
  const twin = twinOf('enseeiht-2019');
  const names = JSON.parse(readFileSync(new URL('enseeiht-2019.names.json', FOLDER), 'utf8')) as {
    room: Record<string, string>;
  };
  const path = new URL('ics/fr-enseeiht-ade-2019.ics', FOLDER).pathname;
  const { records, rejections } = await collect(fileSource(path), { onRecord: undefined });
  t.strictSame(rejections, []);
  const events = records.map(({ value }) => value as Record<string, string | null>);
  // The NDJSON version has a row for each group, the first of several rooms, and single spaces in titles.
  const lessonOf = ({ time, endTime, title }: Record<string, string | null>, room: string): string =>
    `${Date.parse(time ?? '')} ${Date.parse(endTime ?? '')} ${room} ${title?.replace(/\s+/g, ' ').trim()}`;
  const firstRoom = (rooms: string | null | undefined): string => rooms?.split(',')[0]?.trim() ?? '';
  const ours = new Set(events.map((event) => lessonOf(event, firstRoom(event.roomName))));
  const theirs = new Set(twin.map((row) => lessonOf(row, names.room[row.roomId ?? ''] ?? '')));
  t.strictSame([...ours].sort(), [...theirs].sort());
  for (const { roomId, roomName } of events) {
    t.equal(roomId, roomName === null ? null : derivedIdentifier('roomId', roomName ?? ''));
  }
});
