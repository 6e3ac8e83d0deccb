/** The rooms file and list, in a program and in its serving threads. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { until } from '../waiting/until.js';
import { openTimetable, record, temporaryFolder } from './built.js';

const HALL = 'aaaaaaaa-0000-4000-8000-000000000001';
const LAB = 'bbbbbbbb-0000-4000-8000-000000000002';
const EMPTY = 'cccccccc-0000-4000-8000-000000000003';

/** The hall is occupied from 8 to 10. */
const RECORDS = [
  record(1, { roomId: HALL }),
  record(2, { roomId: LAB, time: '2024-09-02T10:00:00Z', endTime: '2024-09-02T11:00:00Z' }),
];
const MORNING = { by: 'room', startTime: '2024-09-02T09:00:00Z', endTime: '2024-09-02T10:00:00Z' } as const;

test('free() uses the rooms that a program gives', async (t) => {
  const rooms = [
    { id: EMPTY, name: 'Atelier', building: 'B', capacity: 12 },
    { id: LAB, name: 'Lab', building: 'A', capacity: 30 },
  ];
  const timetable = openTimetable({ source: RECORDS, rooms });
  await timetable.ready;
  const lab = {
    id: LAB,
    name: 'Lab',
    freeFrom: null,
    freeUntil: '2024-09-02T10:00:00.000Z',
    building: 'A',
    capacity: 30,
  };
  const atelier = {
    id: EMPTY,
    name: 'Atelier',
    freeFrom: null,
    freeUntil: null,
    building: 'B',
    capacity: 12,
  };
  t.same(timetable.free(MORNING), { free: [atelier, lab], total: 2, nextCursor: null });
  t.same(timetable.free({ ...MORNING, building: 'A' }).free, [lab]);
  t.same(timetable.free({ ...MORNING, building: ['A', 'B'], capacityMin: 30 }).free, [lab]);
  t.same(timetable.free({ ...MORNING, among: [HALL, EMPTY], weeks: 2 }).free, [atelier]);
  const first = timetable.free({ ...MORNING, limit: 1 });
  t.same([first.free, first.total], [[atelier], 2]);
  t.same(timetable.free({ ...MORNING, limit: 1, cursor: first.nextCursor ?? '' }).free, [lab]);
  t.same(timetable.free({ by: 'room', date: '2024-09-03', days: 2 }).total, 3);
  t.match(timetable.explain(MORNING, 'free').plan, /^FREE room: 3 known, 2 of them with events\n/);
  t.throws(() => timetable.free({ ...MORNING, by: 'rooms' as 'room' }), { code: 'parameters-invalid' });
  t.throws(
    () =>
      timetable.free({
        ...MORNING,
        weeks: '2' as unknown as number,
        capacityMin: new Date() as unknown as number,
      }),
    {
      message: /^capacityMin must be a whole number, not a Date$/,
    },
  );
  await timetable.close();
  t.throws(() => openTimetable({ source: RECORDS, rooms: [{ id: 'A101' }] as never }), {
    code: 'option-invalid',
    message: /^rooms cannot be used: record 1: the id "A101" is not a UUID/,
  });
});

test('a file of rooms is read before the first answer, and again when it changes, on all threads', async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, 'rooms.json');
  const roomOf = (name: string): object => ({ id: EMPTY, name });
  writeFileSync(path, JSON.stringify([roomOf('Atelier')]));
  const timetable = openTimetable({ source: RECORDS, rooms: path });
  const errors: Error[] = [];
  timetable.on('error', (error) => errors.push(error));
  const server = await timetable.serve({ port: 0, workers: 2, dev: true });
  t.teardown(() => timetable.close());
  await timetable.ready;
  const headers = { Authorization: `Bearer ${await server.testToken()}` };
  const query = new URLSearchParams({ ...MORNING, among: EMPTY });
  const served = async (): Promise<readonly [string, string]> => {
    // Each request has its own connection, so it may reach any thread.
    const init = { headers: { ...headers, Connection: 'close' } };
    const reply = await fetch(`${server.address.origin}/api/v1/schedule/free?${query}`, init);
    return [((await reply.json()) as { name: string }[])[0]?.name ?? '', reply.headers.get('etag') ?? ''];
  };
  const [name, tag] = await served();
  t.equal(name, 'Atelier');
  writeFileSync(path, JSON.stringify([roomOf('Studio')]));
  await until(() => timetable.free(MORNING).free.some((room) => room.name === 'Studio'));
  await until(async () => {
    const names = await Promise.all(Array.from({ length: 8 }, served));
    return names.every(([each, otherTag]) => each === 'Studio' && otherTag !== tag);
  });
  t.same(errors, []);

  writeFileSync(path, '[{"id": "x"}]');
  await until(() => errors.length > 0);
  t.match(errors[0], {
    code: 'rooms-unusable',
    message: /rooms\.json cannot be used: line 1: the id "x" is not/,
  });
  t.equal((await served())[0], 'Studio', 'the rooms from before stay');
  writeFileSync(path, JSON.stringify([roomOf('Loft')]));
  await until(() => timetable.free(MORNING).free.some((room) => room.name === 'Loft'));
});

test('refresh() reads the file of rooms, even if it is not watched', async (t) => {
  const path = join(await temporaryFolder(t), 'rooms.json');
  writeFileSync(path, JSON.stringify([{ id: EMPTY, name: 'Atelier' }]));
  const timetable = openTimetable({ source: RECORDS, rooms: path, watch: false });
  t.teardown(() => timetable.close());
  await timetable.ready;
  writeFileSync(path, JSON.stringify([{ id: EMPTY, name: 'Studio' }]));
  t.equal(timetable.free(MORNING).free[0]?.name, 'Atelier');
  await timetable.refresh();
  t.equal(timetable.free(MORNING).free[0]?.name, 'Studio');
});

test('`ready` rejects with the fault of an unusable rooms file', async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, 'none.json');
  const timetable = openTimetable({ source: RECORDS, rooms: path });
  await t.rejects(timetable.ready, {
    code: 'rooms-unusable',
    message: /none\.json cannot be used: .*there is no such file/,
  });
  await timetable.close();
  const closed = openTimetable({ source: RECORDS, rooms: path });
  await closed.close();
  await t.rejects(closed.ready);
});
