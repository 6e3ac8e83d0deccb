/** inspect on typical files: they load with the proposed options. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { DATA_FOLDER, NO_DATA } from '../answer/real-sets.js';
import { runHere } from './run-here.js';

const HEADER = 'Datum;Von;Bis;Fach;Dozent;Raum;Klasse';
const LESSONS = [
  '31.08.2026;08:00;09:30;Übung;"Müller; Jörg";A 101;CS-1',
  '01.09.2026;10:00;11:30;Größen;Weiß;B 2;CS-2',
];
const TEXT = `${[HEADER, ...LESSONS].join('\r\n')}\r\n`;

function fileOf(t: Test, name: string, content: string | Uint8Array): string {
  const path = join(t.testdir({}), name);
  writeFileSync(path, content);
  return path;
}

/** The words of a proposed command from its options on, split as in a shell. */
function optionsOf(stdout: string): string[] {
  const [, options = ''] = /^ {2}lectern serve \S+ (.*)$/m.exec(stdout) ?? [];
  const words = [...options.matchAll(/(?:[^\s']|'[^']*')+/g)].map(([word]) => word.replaceAll("'", ''));
  // Only serve has this option.
  return words.filter((word) => word !== '--dev');
}

test('a German timetable in UTF-8 and UTF-16 loads with the proposal of inspect', async (t) => {
  for (const [encoding, bytes] of [
    ['UTF-8', Buffer.from(TEXT)],
    ['UTF-16', Buffer.from(`\ufeff${TEXT}`, 'utf16le')],
  ] as const) {
    const path = fileOf(t, 'stundenplan.csv', bytes);
    const seen = await runHere(t, ['inspect', path]);
    t.match(seen, { code: 1, stderr: '' }, encoding);
    t.match(seen.stdout, /^events +0$/m);
    t.match(seen.stdout, /^ {2}2 missing-field\n {4}line 2 \(record 1\): id is missing/m);
    t.match(seen.stdout, /^ {2}"Fach" +2 {2}"Übung", "Größen"$/m);
    const options = optionsOf(seen.stdout);
    t.match(
      options.join(' '),
      /--map time=\{Datum\} \{Von\} --map endTime=\{Datum\} \{Bis\} --map title=Fach/,
    );
    const served = await runHere(t, ['inspect', path, '--json', ...options]);
    t.equal(served.code, 0, `${encoding}: the proposal loads it`);
    t.match(JSON.parse(served.stdout), {
      source: { format: 'csv' },
      summary: { events: 2, rejected: 0 },
      columns: [{ name: 'Datum', records: 2, form: 'date', samples: ['31.08.2026', '01.09.2026'] }],
      proposal: null,
    });
  }
});

test('if a map names a wrong column, the existing columns are shown', async (t) => {
  const path = fileOf(t, 'stundenplan.csv', TEXT);
  const outcome = await runHere(t, ['inspect', path, '--map', 'title=Fsch']);
  t.equal(outcome.code, 1);
  t.match(outcome.stderr, /^error: .*names a column that does not exist: "Fsch" .*did you mean "Fach"/);
  t.match(outcome.stdout, /^ {2}"Fach" +1 {2}"Übung"$/m);
});

test('with a wrong map or a missing file, inspect --json prints JSON, too', async (t) => {
  const path = fileOf(t, 'stundenplan.csv', TEXT);
  const wrong = await runHere(t, ['inspect', path, '--json', '--map', 'title=Fsch']);
  t.equal(wrong.code, 1);
  t.match(wrong.stderr, /^error: .*names a column that does not exist/);
  t.match(JSON.parse(wrong.stdout), {
    source: { name: path },
    error: { code: 'source-malformed', message: /names a column that does not exist: "Fsch"/ },
    columns: [{ name: 'Datum', records: 1, form: 'date' }],
    proposal: { map: { title: 'Fach' }, command: /^lectern serve / },
  });
  const missing = await runHere(t, ['inspect', `${path}.gz`, '--json']);
  t.equal(missing.code, 1);
  t.match(JSON.parse(missing.stdout), {
    error: { message: /stundenplan\.csv\.gz/ },
    columns: [],
    proposal: null,
  });
});

test('the proposed command runs when pasted, and its guesses are named', async (t) => {
  const path = fileOf(t, 'stundenplan.csv', TEXT);
  const { stdout } = await runHere(t, ['inspect', path]);
  t.match(stdout, /^ {2}lectern serve .* --time-zone \S+ --identifiers derived --dev$/m);
  t.match(stdout, /^ {2}the times have no offset, and --time-zone \S+ is a guess \(.*\): check it/m);
  t.match(stdout, /^ {2}--dev is for a first look: .* In production give a key instead/m);
  const given = await runHere(t, ['inspect', path, '--time-zone', 'Asia/Tokyo']);
  t.match(given.stdout, /--time-zone Asia\/Tokyo/);
  t.notMatch(given.stdout, /is a guess/, 'a given zone is no guess');
});

test('inspect reports a source without records, and a source that needs no map', async (t) => {
  const empty = await runHere(t, ['inspect', fileOf(t, 'empty.csv', `${HEADER}\n`)]);
  t.match(empty, { code: 1, stdout: /\n\nthe source has no records\n$/ });
  const row = '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417,2026-08-31T06:00:00Z,2026-08-31T07:30:00Z,Algebra';
  const good = await runHere(t, ['inspect', fileOf(t, 'good.csv', `id,time,endTime,title\n${row}\n`)]);
  t.equal(good.code, 0);
  t.notMatch(good.stdout, /to serve the source/, 'nothing is proposed');
  t.match(good.stdout, /columns of the first 1 record/);
});

const RPI = join(DATA_FOLDER, 'raw', 'rpi-fall-2024.csv');
test('for a real table of courses with weekdays, a timetable file is proposed', {
  skip: existsSync(RPI) ? false : NO_DATA,
}, async (t) => {
  const outcome = await runHere(t, ['inspect', RPI]);
  t.equal(outcome.code, 1);
  t.match(outcome.stdout, /: csv, 1\.8 MB, with "," between cells\n/);
  t.match(
    outcome.stdout,
    /to serve the source, write a timetable file, check it and serve it:\n {2}lectern inspect \S+ --write timetable\.yaml\n/,
  );
});

test('a usable calendar gets no proposal; its own properties are proposed for empty fields', async (t) => {
  const calendar = (...lines: readonly string[]): string =>
    [
      ...['BEGIN:VCALENDAR', 'X-WR-CALNAME:CS-1', 'BEGIN:VEVENT', 'UID:1', 'CLASS:PUBLIC'],
      ...['DTSTART:20260914T060000Z', 'DTEND:20260914T070000Z', 'SUMMARY:Algebra', ...lines],
      ...['END:VEVENT', 'END:VCALENDAR', ''],
    ].join('\r\n');
  const plain = await runHere(t, ['inspect', fileOf(t, 'plain.ics', calendar())]);
  t.notMatch(plain.stdout, /to serve the source, try|cannot be proposed/);
  const own = await runHere(t, ['inspect', fileOf(t, 'own.ics', calendar('X-COURSE:M1', 'X-RAUM:A 1'))]);
  t.match(own.stdout, /^ {2}lectern serve \S+own\.ics --map courseId=X-COURSE --map roomId=X-RAUM --dev$/m);
  const full = await runHere(t, ['inspect', fileOf(t, 'full.ics', calendar('X-RAUM:A 1', 'LOCATION:B'))]);
  t.notMatch(full.stdout, /to serve the source, try/, 'events have a room');
});

test('several sources are inspected as one, and unreadable ones are named', async (t) => {
  const line = (id: string): string =>
    `{"id":"0000000${id}-0000-4000-8000-000000000000","time":"2026-09-14T06:00:00Z","endTime":"2026-09-14T07:00:00Z"}\n`;
  const folder = t.testdir({
    a: { 'one.ndjson': line('1'), 'cut.ics': 'BEGIN:VCALENDAR\r\n' },
    two: line('2'),
  });
  const argv = [join(folder, 'a'), join(folder, 'two')];
  const { code, stdout } = await runHere(t, ['inspect', ...argv]);
  t.equal(code, 0);
  t.match(stdout, /^events +2$/m);
  t.match(stdout, /^1 source cannot be read:\n {2}\S+cut\.ics: the source ends inside VCALENDAR; expected/m);
  const { source } = JSON.parse((await runHere(t, ['inspect', ...argv, '--json'])).stdout);
  t.match(source, { sources: 3, failed: [{ name: /cut\.ics$/, reason: /ends inside VCALENDAR/ }] });
  const named = await runHere(t, ['inspect', join(folder, 'two'), join(folder, 'a', 'cut.ics')]);
  t.equal(named.code, 1, 'a named file must be good');
  t.match(named.stderr, /cut\.ics: the source ends inside VCALENDAR/);
});
