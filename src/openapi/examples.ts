/** Example answers of the document. */
import type { ConflictEntry, DirectoryEntry, FreeEntry, TimetableEvent } from '../model/event.js';
import type { DirectoryName } from '../model/fields.js';

export const EXAMPLE_EVENT: TimetableEvent = {
  id: '7f2c0a52-8f4b-4d53-9f0e-0d8f6f0b6c11',
  time: '2024-09-02T08:00:00.000Z',
  endTime: '2024-09-02T09:30:00.000Z',
  title: 'Linear Algebra',
  roomId: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
  courseId: '51b5e7a5-0b9f-4b7c-8a5f-9f1f7a5b6d20',
  studyGroup: 'CS-1',
  lecturer: 'Ada Lovelace',
  type: 'Lecture',
  groupId: null,
};

const EXAMPLE_CALENDAR = [
  'BEGIN:VCALENDAR',
  'VERSION:2.0',
  'PRODID:-//Lectern//Lectern//EN',
  'BEGIN:VEVENT',
  `UID:${EXAMPLE_EVENT.id}`,
  'DTSTAMP:20240902T080000Z',
  'DTSTART:20240902T080000Z',
  'DTEND:20240902T093000Z',
  `SUMMARY:${EXAMPLE_EVENT.title}`,
  `LOCATION:${EXAMPLE_EVENT.roomId}`,
  `DESCRIPTION:${EXAMPLE_EVENT.lecturer}\\n${EXAMPLE_EVENT.studyGroup}`,
  `CATEGORIES:${EXAMPLE_EVENT.type}`,
  'END:VEVENT',
  'END:VCALENDAR',
  '',
].join('\r\n');

/** Examples by the name of a format. The example of the page is cut short. */
export const EXAMPLE_TEXTS: Readonly<Record<string, string>> = {
  ndjson: `${JSON.stringify(EXAMPLE_EVENT)}\n`,
  csv: [Object.keys(EXAMPLE_EVENT), Object.values(EXAMPLE_EVENT)].map((row) => `${row.join()}\r\n`).join(''),
  ics: EXAMPLE_CALENDAR,
  html: '<!doctype html>\n<html lang="en">\n…\n</html>\n',
};

export const EXAMPLE_CONFLICT: ConflictEntry = {
  by: 'room',
  key: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
  startTime: '2024-09-02T08:00:00.000Z',
  endTime: '2024-09-02T10:00:00.000Z',
  peak: 2,
  events: [
    EXAMPLE_EVENT,
    {
      ...EXAMPLE_EVENT,
      id: 'b0a3f7de-3c55-4c5e-9d0a-6d2f6a1b9c02',
      time: '2024-09-02T09:00:00.000Z',
      endTime: '2024-09-02T10:00:00.000Z',
      title: 'Databases',
      courseId: 'c7d9a7a0-1a8e-4d0e-8a55-3f0c7c1f2e33',
    },
  ],
};

export const EXAMPLE_FREE: FreeEntry = {
  id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
  name: 'A 101',
  freeFrom: '2024-09-02T09:30:00.000Z',
  freeUntil: null,
};

export const EXAMPLE_CHANGES: Readonly<Record<string, unknown>> = {
  from: '5p2iTKJ9cLw0n7b1R3x8Zg',
  to: 'vWHhK2c8UBMg-U42p0PlWQ',
  added: [],
  changed: [EXAMPLE_EVENT],
  removed: ['b0a3f7de-3c55-4c5e-9d0a-6d2f6a1b9c02'],
};

export const EXAMPLE_ENTRIES: Readonly<Record<DirectoryName, DirectoryEntry>> = {
  rooms: { id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417', name: 'Main Hall', events: 412 },
  courses: { id: '51b5e7a5-0b9f-4b7c-8a5f-9f1f7a5b6d20', name: 'Linear Algebra', events: 96 },
  groups: { id: null, name: 'CS-1', events: 238 },
  lecturers: { id: 'b0a3f7de-3c55-4c5e-9d0a-6d2f6a1b9c02', name: 'Ada Lovelace', events: 51 },
};

/** The first lines of an event stream. */
export const EXAMPLE_STREAM: string = [
  'retry: 2041',
  `id: 1795454909436.${EXAMPLE_CHANGES.to}`,
  `data: ${JSON.stringify(EXAMPLE_CHANGES)}`,
  '',
  '',
].join('\n');
