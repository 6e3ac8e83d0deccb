/** Calendars of universities, against their NDJSON versions and the expansion of another library. */
import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import ICAL from 'ical.js';
import { test } from 'tap';
import { Temporal } from 'temporal-polyfill';
import { derivedIdentifier } from '../../../src/model/derived-identifier.js';
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

test('the calendar of ENSEEIHT equals its NDJSON version', { skip }, async (t) => {
  const twin = gunzipSync(readFileSync(new URL('enseeiht-2019.ndjson.gz', FOLDER)))
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, string | null>);
  const names = JSON.parse(readFileSync(new URL('enseeiht-2019.names.json', FOLDER), 'utf8')) as {
    room: Record<string, string>;
  };
  const path = new URL('ics/fr-enseeiht-ade-2019.ics', FOLDER).pathname;
  const { records, rejections } = await collect(fileSource(path));
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
