/** A timetable file on the command line. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { startService } from '../../src/app/service.js';
import { assertOneLine, runHere } from './run-here.js';

const FILE = `identifiers: derived
timeZone: Europe/Berlin
sources:
  - from: german.csv
    name: Mathematik
    dateOrder: dmy
    fields: { time: '{Datum} {Von}', endTime: '{Datum} {Bis}', title: Fach, roomId: Raum }
`;

const WESTERN =
  'Datum;Von;Bis;Fach;Raum\n05.10.2026;08:00;09:30;Übung;A 101\n06.10.2026;08:00;09:30;Größen;A 102\n';

test('inspect, export and explain read a timetable file', async (t) => {
  const folder = t.testdir({
    'timetable.yaml': FILE,
    'german.csv': 'Datum;Von;Bis;Fach;Raum\n05.10.2026;08:00;09:30;Algebra;A 101\n',
    'bad.yaml': FILE.replace('dmy', 'dym').replace('from', 'form'),
  });
  const path = join(folder, 'timetable.yaml');
  const inspected = await runHere(t, ['inspect', path, '--json']);
  const { source, summary } = JSON.parse(inspected.stdout) as { source: object; summary: { events: number } };
  t.match(source, { name: 'Mathematik', format: 'csv' });
  t.equal(summary.events, 1);
  const exported = await runHere(t, ['export', path, 'roomId=A 101', '--format', 'csv']);
  t.match(exported.stdout, /2026-10-05T06:00:00.000Z,2026-10-05T07:30:00.000Z,Algebra/);
  t.match((await runHere(t, ['explain', path, 'roomId=A 101'])).stdout, /1 event of 1/);
  for (const command of [['inspect'], ['serve', '--dev'], ['export', '--format', 'csv']]) {
    const [name = '', ...more] = command;
    const outcome = await runHere(t, [name, join(folder, 'bad.yaml'), ...more]);
    const expected =
      /bad.yaml:4:5: sources\[0\]: from is missing; .*:4:5: .* did you mean from\?; .*bad.yaml:6:5: /;
    assertOneLine(t, outcome, 2, expected, name);
  }
  for (const [rooms, code, expected] of [
    ['id,name\nA 101,Large\n', 0, /\nrooms: 1 room\n$/],
    [
      'id,capacity\nA 101,many\n',
      1,
      /error: the rooms file \S+rooms\.csv cannot be used: line 2 \(record 1\): /,
    ],
  ] as const) {
    writeFileSync(join(folder, 'rooms.csv'), rooms);
    writeFileSync(join(folder, 'timetable-of-rooms.yaml'), `rooms: rooms.csv\n${FILE}`);
    const {
      code: ended,
      stdout,
      stderr,
    } = await runHere(t, ['inspect', join(folder, 'timetable-of-rooms.yaml')]);
    t.equal(ended, code);
    t.match(stdout + stderr, expected);
  }
  const vain = await runHere(t, ['inspect', path, '--map', 'title=Fach', '--date-order', 'dmy']);
  assertOneLine(
    t,
    vain,
    2,
    /--map has no effect with a timetable file, which says it itself; --date-order has/,
    'flags',
  );
  const two = await runHere(t, ['inspect', path, join(folder, 'german.csv')]);
  assertOneLine(t, two, 2, /a timetable file is the only source; expected the other sources in it/, 'two');
});

test('inspect refuses what the other commands refuse in a timetable file', async (t) => {
  const good = 'Datum;Von;Bis;Fach;Raum\n05.10.2026;08:00;09:30;Algebra;A 101\n';
  const folder = t.testdir({ 'timetable.yaml': FILE });
  const path = join(folder, 'timetable.yaml');
  for (const bytes of [
    `Stundenplan Herbst\n\n${good}`,
    Buffer.from(good.replace('Algebra', 'Übung'), 'latin1'),
  ]) {
    writeFileSync(join(folder, 'german.csv'), bytes);
    const [inspected, exported] = [
      await runHere(t, ['inspect', path]),
      await runHere(t, ['export', path, '-f', 'csv']),
    ];
    t.same([inspected.code, exported.code], [1, 1]);
    t.match(exported.stderr, /^error: /);
    t.ok(inspected.stderr.includes(exported.stderr), exported.stderr);
  }
});

test('serve takes a timetable file, and says in /health which source fails', async (t) => {
  const folder = t.testdir({
    'timetable.yaml': `${FILE}  - from: other.csv\n    name: Other\n`,
    'german.csv': 'Datum;Von;Bis;Fach;Raum\n05.10.2026;08:00;09:30;Algebra;A 101\n',
    'other.csv': 'id,time,endTime,title\n1,2026-10-06T08:00:00Z,2026-10-06T09:00:00Z,Logic\n',
  });
  const warned: object[] = [];
  const noted = (fields: object): number => warned.push(fields);
  const log = {
    trace() {},
    debug() {},
    info() {},
    warn: noted,
    error: noted,
    fatal() {},
    isLevelEnabled: () => true,
  };
  const source = [join(folder, 'timetable.yaml')];
  const service = await startService({ source, dev: true, port: 0 }, { log: log as never });
  t.teardown(() => service.close());
  await service.ready;
  t.equal(service.timetable.find().total, 2);
  writeFileSync(join(folder, 'other.csv'), 'nothing');
  t.match(await service.timetable.refresh(), { result: 'unchanged' });
  const health = (await (await fetch(`${service.address.origin}/health`)).json()) as {
    source: { parts: object };
  };
  t.match(health.source.parts, {
    total: 2,
    stale: 1,
    listed: [
      { name: 'Mathematik', state: 'ok' },
      { name: 'Other', state: 'stale' },
    ],
  });
  t.match(warned.at(-1), { source: 'Other', state: 'stale' });
});

test('inspect tells the expression for nested records, the delimiter and a missing header', async (t) => {
  const folder = t.testdir({
    'nested.json': JSON.stringify(
      { days: { Mo: [{ start: '08:00', title: 'x' }], Tu: [{ start: '09:00', title: 'y' }] } },
      null,
      2,
    ),
    'plain.csv': '05.10.2026|08:00|Algebra\n06.10.2026|08:00|Logic\n',
  });
  const nested = await runHere(t, ['inspect', join(folder, 'nested.json')]);
  t.match(
    nested.stdout,
    /the records lie within the document; in a timetable file:\n {2}sources:\n.*\n {6}records: ".*\$keys/,
  );
  writeFileSync(join(folder, 'old.csv'), Buffer.from(WESTERN, 'latin1'));
  const written = await runHere(t, ['inspect', join(folder, 'old.csv'), '--write', join(folder, 'old.yaml')]);
  t.match(written, { code: 0, stdout: /old.csv, read as windows-1252: csv/ });
  t.match((await runHere(t, ['export', join(folder, 'old.yaml'), '--format', 'csv'])).stdout, /Übung/);
  const plain = await runHere(t, ['inspect', join(folder, 'plain.csv')]);
  t.match(plain.stdout, /with "\|" between cells, without a header: its columns are column 1/);
});
