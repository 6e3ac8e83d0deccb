/** Real timetables in other forms give the same timetables. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'tap';
import { Temporal } from 'temporal-polyfill';
import { derivedIdentifier } from '../../src/base/model/derived-identifier.js';
import { FIELDS } from '../../src/base/model/fields.js';
import type { ReadRules } from '../../src/base/model/read-rules.js';
import { loadImage } from '../../src/refresh/thread/load-image.js';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';
import { fileSource } from '../../src/source/file.js';
import { findDataSets, NO_DATA, recordsOf } from './real-sets.js';

const folder = mkdtempSync(join(tmpdir(), 'lectern-mapped-'));
process.once('exit', () => rmSync(folder, { recursive: true }));

async function imageOf(path: string, rules: ReadRules): Promise<SnapshotImage> {
  return (await loadImage(fileSource(path), rules)).image;
}

/** Writes records as NDJSON. */
function fileOf(name: string, records: readonly object[]): string {
  const path = join(folder, basename(name));
  writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  return path;
}

/** Largest number of records of each set. */
const RECORDS_MAX = 15_000;

const sets = findDataSets();
test('the folder of real data exists', { skip: sets.length > 0 ? false : NO_DATA }, async (t) =>
  t.ok(sets.length > 0),
);

for (const set of sets) {
  const records = recordsOf(set).slice(0, RECORDS_MAX);
  const plain = imageOf(fileOf(`${set.name}.plain`, records), { identifiers: 'uuid' });
  const timeZone = set.name.startsWith('rpi') ? 'America/New_York' : 'Europe/Paris';

  test(`${set.name} is the same with other names and with local times in two columns`, async (t) => {
    const written = records.map(({ time, endTime, title, room, ...record }) => {
      const [start, end] = [time, endTime].map((each) =>
        Temporal.Instant.from(each as string).toZonedDateTimeISO(timeZone),
      ) as [Temporal.ZonedDateTime, Temporal.ZonedDateTime];
      const date = ({ day, month, year }: Temporal.ZonedDateTime): string => `${day}.${month}.${year}`;
      const clock = ({ hour, minute, second }: Temporal.ZonedDateTime): string =>
        `${hour}:${String(minute).padStart(2, '0')}:${String(second).padStart(2, '0')}`;
      const times = { Tag: date(start), Von: clock(start), Bistag: date(end), Bis: clock(end) };
      return { ...record, ...times, Veranstaltung: { Titel: [title] } };
    });
    const image = await imageOf(fileOf(`${set.name}.local`, written), {
      identifiers: 'uuid',
      dateOrder: 'dmy',
      timeZone,
      fieldMap: { time: '{Tag} {Von}', endTime: '{Bistag} {Bis}', title: 'Veranstaltung.Titel.0' },
    });
    t.equal(
      image.summary.id,
      (await plain).summary.id,
      'the content is the same, by the fast way and by the map',
    );
    t.strictSame(image.summary.ambiguousTimes, { gaps: 0, overlaps: 0 });
  });

  test(`${set.name} is the same as CSV with other names`, async (t) => {
    const names = [...new Set(records.flatMap((record) => Object.keys(record)))].filter(
      (name) => name !== 'room',
    );
    const cell = (value: unknown): string =>
      value === null || value === undefined ? '' : `"${String(value).replaceAll('"', '""')}"`;
    const lines = [
      names.map((name) => `x.${name}`),
      ...records.map((record) => names.map((name) => cell(record[name]))),
    ];
    const path = join(folder, `${set.name}.csv`);
    writeFileSync(path, lines.map((line) => `${line.join(';')}\r\n`).join(''));
    const served = FIELDS.filter(({ name }) => names.includes(name));
    const fieldMap = Object.fromEntries(served.map(({ name }) => [name, `x.${name}`]));
    const image = await imageOf(path, { identifiers: 'uuid', fieldMap });
    t.equal(image.summary.id, (await plain).summary.id);
    t.equal(image.summary.rejected, 0);
  });

  test(`${set.name} is the same with texts in place of identifiers, and without ids`, async (t) => {
    const named = records.map(({ id: _, roomId, courseId, ...record }) => ({
      ...record,
      roomId: roomId && `Room ${roomId}`,
      courseId: courseId && `Course ${courseId}`,
    }));
    const rules: ReadRules = { identifiers: 'derived' };
    const image = await imageOf(fileOf(`${set.name}.named`, named), rules);
    t.equal(image.summary.rejected, 0);
    t.equal(image.summary.events, records.length, 'equal records, too, have identifiers of their own');
    const rooms = new Set(records.flatMap(({ roomId }) => (roomId ? [`Room ${roomId}`] : [])));
    t.strictSame(
      new Set(new Snapshot(image).valuesOf('roomId')),
      new Set([...rooms].map((room) => derivedIdentifier('roomId', room))),
    );
    const reversed = await imageOf(fileOf(`${set.name}.reversed`, named.reverse()), rules);
    t.equal(reversed.summary.id, image.summary.id, 'the order of records does not matter');
  });
}
