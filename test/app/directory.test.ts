/** Directories as a program reads them. */
import { test } from 'tap';
import { type DirectoryEntry, type DirectoryPage, LecternError, openTimetable } from '../../src/index.js';

const record = (n: number, more: object = {}): object => ({
  id: `event ${n}`,
  time: `2024-09-0${n}T08:00:00Z`,
  endTime: `2024-09-0${n}T10:00:00Z`,
  ...more,
});

const RECORDS = [
  record(1, { roomId: 'h1', roomName: 'Éluard', type: 'LEC', lecturer: 'Doe' }),
  record(2, { roomId: 'h1', roomName: 'Éluard', type: 'LAB', lecturer: 'Doe', lecturerId: 'd' }),
  record(3, { roomId: 'h2', type: 'LEC', groupId: 'g', studyGroup: 'G-1' }),
  record(4, { roomId: 'h3', roomName: 'Curie', studyGroup: 'G-2' }),
];

test('a directory has names and numbers of events, and accepts the filters of find', async (t) => {
  const timetable = openTimetable({ source: RECORDS, identifiers: 'any' });
  await timetable.ready;
  const expected: DirectoryPage = {
    entries: [
      { id: 'h3', name: 'Curie', events: 1 },
      { id: 'h1', name: 'Éluard', events: 2 },
      { id: 'h2', name: null, events: 1 },
    ],
    total: 3,
    nextCursor: null,
  };
  t.strictSame(timetable.directory('rooms'), expected);
  t.strictSame(
    timetable.directory('rooms', { type: ['LEC'], startTime: new Date('2024-09-02T00:00:00Z') }).entries,
    [{ id: 'h2', name: null, events: 1 }],
  );
  t.strictSame(timetable.directory('rooms', { q: 'ELU' }).entries, [{ id: 'h1', name: 'Éluard', events: 2 }]);
  t.strictSame(timetable.directory('groups').entries, [
    { id: 'g', name: 'G-1', events: 1 },
    { id: null, name: 'G-2', events: 1 },
  ]);
  t.strictSame(timetable.directory('lecturers').entries, [
    { id: 'd', name: 'Doe', events: 1 },
    { id: null, name: 'Doe', events: 1 },
  ]);
  t.strictSame(timetable.directory('courses').entries, []);
  const pages: DirectoryEntry[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page: DirectoryPage = timetable.directory('rooms', { limit: 1, cursor });
    pages.push(...page.entries);
    t.equal(page.total, 3);
    cursor = page.nextCursor;
  }
  t.strictSame(pages, expected.entries);
  t.match(timetable.explain({ q: 'x' }, 'rooms'), {
    plan: 'LEAD all events: 4 candidates\nCOUNT 3 rooms by the lengths of posting lists',
    total: 0,
  });
  await timetable.close();
});

test('mistakes in a query are reported', async (t) => {
  const timetable = openTimetable({ source: RECORDS, identifiers: 'any' });
  await timetable.ready;
  const codeOf = (read: () => unknown): unknown => {
    try {
      return read();
    } catch (error) {
      return error instanceof LecternError && `${error.code}: ${error.message}`;
    }
  };
  t.equal(
    codeOf(() => timetable.directory('room' as 'rooms')),
    'option-invalid: a directory is one of rooms, courses, groups, lecturers',
  );
  t.match(
    codeOf(() => timetable.explain({}, 'types' as 'rooms')),
    /^option-invalid/,
  );
  t.match(
    codeOf(() => timetable.directory('rooms', { q: 7 as unknown as string })),
    /^parameters-invalid: q must be a text/,
  );
  t.match(
    codeOf(() => timetable.directory('rooms', { q: '' })),
    /^parameters-invalid: q has no value/,
  );
  t.match(
    codeOf(() => timetable.directory('rooms', { qq: 'x' } as object)),
    /^parameters-invalid: there is no parameter "qq" here/,
  );
  await timetable.close();
});

test('a changed name gives a publication without changed events', async (t) => {
  const renamed = RECORDS.map((each) => ('roomName' in each ? { ...each, roomName: 'Curie II' } : each));
  let records = RECORDS;
  const timetable = openTimetable({
    source: { name: 'records', load: () => ({ records, version: null }) },
    identifiers: 'any',
  });
  const before = await timetable.ready;
  records = renamed;
  const outcome = await timetable.refresh();
  t.match(outcome, { result: 'published' });
  t.not(timetable.summary?.id, before.id);
  t.strictSame(timetable.changes(before.id), {
    from: before.id,
    to: timetable.summary?.id,
    added: [],
    changed: [],
    removed: [],
  });
  t.strictSame(timetable.directory('rooms', { q: 'ii' }).total, 2);
  await timetable.close();
});
