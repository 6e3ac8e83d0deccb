import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { test } from 'tap';
import type { LecternError } from '../../src/base/errors.js';
import { ROOMS_MAX } from '../../src/base/limits.js';
import { derivedIdentifier } from '../../src/base/model/derived-identifier.js';
import { readRooms, roomsOf } from '../../src/source/rooms-file.js';

const A = 'aaaaaaaa-0000-4000-8000-000000000001';
const B = 'bbbbbbbb-0000-4000-8000-000000000002';

const folder = mkdtempSync(join(tmpdir(), 'lectern-rooms-'));
t.teardown(() => rmSync(folder, { recursive: true }));
let files = 0;

function fileOf(content: string | Buffer): string {
  const path = join(folder, `rooms-${++files}`);
  writeFileSync(path, content);
  return path;
}

async function faultOf(content: string, identifiers: 'uuid' | 'any' = 'uuid'): Promise<LecternError> {
  return readRooms(fileOf(content), { identifiers }).then(
    () => {
      throw new Error('it was read');
    },
    (error: LecternError) => error,
  );
}

test('rooms of a JSON array are sorted by id, in canonical form, without other fields', async (t) => {
  const json = JSON.stringify([
    { id: B.toUpperCase(), name: 'Aula', building: 'cafe\u0301', capacity: 300, floor: 2 },
    { id: A },
    { id: A.replace('1', '3'), name: null, building: '', capacity: '25' },
  ]);
  const { rooms, digest } = await readRooms(fileOf(json), { identifiers: 'uuid' });
  t.same(rooms, [
    { id: A, name: null, building: null, capacity: null },
    { id: A.replace('1', '3'), name: null, building: null, capacity: 25 },
    { id: B, name: 'Aula', building: 'caf\u00e9', capacity: 300 },
  ]);
  t.match(digest, /^[\w-]{22}$/);
  const reordered = JSON.stringify([...(JSON.parse(json) as unknown[])].reverse());
  t.equal((await readRooms(fileOf(reordered), { identifiers: 'uuid' })).digest, digest);
  t.not((await readRooms(fileOf(json.replace('300', '301')), { identifiers: 'uuid' })).digest, digest);
  t.same((await readRooms(fileOf('[]'), { identifiers: 'uuid' })).rooms, []);
});

test('rooms may have identifiers of any kind, and numbers', async (t) => {
  const { rooms } = await readRooms(fileOf('{"id": 101}\n{"id": "Aula", "name": "Audimax"}'), {
    identifiers: 'any',
  });
  t.same(
    rooms.map(({ id, name }) => [id, name]),
    [
      ['101', null],
      ['Aula', 'Audimax'],
    ],
  );
});

test('with derived identifiers, the text becomes the name', async (t) => {
  const csv = 'id;capacity;building\nA 101;30;Main\nA 102;;\n';
  const { rooms } = await readRooms(fileOf(csv), { identifiers: 'derived' });
  t.same(rooms.map(({ name, building, capacity }) => [name, building, capacity]).sort(), [
    ['A 101', 'Main', 30],
    ['A 102', null, null],
  ]);
  t.ok(rooms.some(({ id }) => id === derivedIdentifier('roomId', 'A 101')));
  t.equal(
    (await readRooms(fileOf(csv.replace('30', 'x')), { identifiers: 'derived' }).catch(
      (error: Error) => error,
    )) instanceof Error,
    true,
  );
});

test('faults of CSV have their lines', async (t) => {
  const error = await faultOf(`id,name,capacity\n${A},"two\nlines",30\n${B},Aula,many\n,x,1\n`);
  t.match(error.message, /line 4 \(record 2\): the capacity "many" .*; line 5 \(record 3\): it has no id$/);
});

const FAULTS: readonly [content: string, message: RegExp][] = [
  ['', /is empty/],
  ['{"rooms": []}', /expected that array at the top level/],
  ['{"name": "A"}', /line 1: it has no id$/],
  [
    '[1]',
    /^the rooms file \S+ cannot be used: line 1: the record is a number \(1\); expected an object of the form/,
  ],
  [`[{"id": "${A}"},\n{"id": "A101"}]`, /line 2: the id "A101" is not a UUID such as/],
  [`[{"id": "${A}"},\n{"id": "${A.toUpperCase()}"}]`, /line 2: an earlier record has the same id "aaaaaaaa/],
  [
    `[{"id": "${A}", "building": "X"},\n{"id": "${A}", "building": "Y"}]`,
    /line 2: .* has the same id "[^"]+" in another building; expected an id of both, such as fields: \{ id: '\{building\} \{name\}' \}/,
  ],
  [`[{"id": "${A}", "name": 7}]`, /line 1: the name "7" is not a text of at most 256 characters/],
  [`[{"id": "${A}", "building": ["A"]}]`, /line 1: the building "an array" is not a text/],
  [`[{"id": "${A}", "name": "${'x'.repeat(257)}"}]`, /line 1: the name "x{40}" is not a text/],
  [`[{"id": "${A}", "capacity": -1}]`, /line 1: the capacity "-1" is not a whole number from 0 to 999999/],
  [`[{"id": "${A}", "capacity": 2.5}]`, /the capacity "2.5"/],
  [`[{"id": "${A}", "capacity": "many"}]`, /the capacity "many"/],
  [`[{"id": "${A}"}, {"id": ]`, /line 1/],
  [
    `[\n{"id": ""},\n{"id": "${A}", "capacity": "x", "name": 1},\n7]`,
    /line 2 \(record 1\): it has no id; line 3 \(record 2\): the name "1" is not a text.*; line 3 \(record 2\): the capacity "x" .*; line 4 \(record 3\): the record is a number \(7\); expected an object/,
  ],
  [`[${'{},'.repeat(20)}{}]`, /line 1 \(record 10\): it has no id; and 11 more faults$/],
];

test('a file with faults is refused, and every fault is named with its line', async (t) => {
  for (const [content, message] of FAULTS) {
    const error = await faultOf(content);
    t.equal(error.code, 'rooms-unusable', content.slice(0, 60));
    t.match(error.message, message, error.message.slice(0, 300));
  }
  t.match(await readRooms(join(folder, 'none'), { identifiers: 'uuid' }).catch((error: unknown) => error), {
    code: 'rooms-unusable',
    message: /there is no such file/,
  });
});

test('the number of rooms is bounded', async (t) => {
  const lines = Array.from({ length: ROOMS_MAX + 1 }, (_, n) => `{"id":"r${n}"}`);
  t.equal(
    (await readRooms(fileOf(lines.slice(1).join('\n')), { identifiers: 'any' })).rooms.length,
    ROOMS_MAX,
  );
  const error = await faultOf(lines.join('\n'), 'any');
  t.match(error.message, /it has more than 20000 rooms$/);
});

test('rooms given by a program are checked like those of a file', (t) => {
  t.equal(roomsOf([{ id: A }], 'uuid').rooms.length, 1);
  t.throws(() => roomsOf([{ id: A }, { id: 'x' }, null], 'uuid'), {
    code: 'option-invalid',
    message:
      /^rooms cannot be used: record 2: the id "x" is not a UUID .*; record 3: the record is null; expected an object/,
  });
  t.end();
});

test('rooms are read in the given encoding', async (t) => {
  const file = fileOf(Buffer.from(`id,name\n${A},Gro\u00dfer Saal\n`, 'latin1'));
  const { rooms } = await readRooms(file, { identifiers: 'uuid', encoding: 'windows-1252' });
  t.match(rooms, [{ id: A, name: 'Gro\u00dfer Saal' }]);
});
