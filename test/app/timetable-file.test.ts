/**
 * A timetable file at work: in a program, and when it changes. Inside for its loads in this thread, which
 * take less time.
 */
import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { FileLoader } from '../../src/app/file-loader.js';
import { KeptTimetable } from '../../src/app/timetable.js';
import type { TimetableEvents } from '../../src/app/timetable-events.js';
import type { TimetableDescription } from '../../src/index.js';
import { resolveOptions } from '../../src/options/resolve.js';
import { Loader } from '../../src/refresh/loader.js';
import { runTaskHere } from '../../src/refresh/thread/task.js';
import { openHere } from './open-here.js';

const UUID = '11111111-1111-4111-8111-11111111111';
const PLAIN = `id,time,endTime,title,roomId\n${UUID}1,2026-10-05T08:00:00Z,2026-10-05T09:30:00Z,Logic,\n`;
const GERMAN = 'Datum;Von;Bis;Fach;Raum\n05.10.2026;08:00;09:30;Algebra;A 101\n';
const AMERICAN = 'Date;From;To;Course\n10/06/2026;08:00;09:30;Calculus\n';

const FILE = `
identifiers: derived
sources:
  - from: german.csv
    name: Mathematik
    dateOrder: dmy
    timeZone: Europe/Berlin
    fields: { time: '{Datum} {Von}', endTime: '{Datum} {Bis}', title: Fach, roomId: Raum }
  - from: american.csv
    dateOrder: mdy
    timeZone: America/New_York
    prefix: 'NY: '
    fields: { time: '{Date} {From}', endTime: '{Date} {To}', title: Course }
  - from: plain.csv
    identifiers: uuid
`;

/** Opens a timetable file whose loads run on this thread. */
function open(t: Test, path: string): KeptTimetable {
  const loader = new FileLoader(path, ({ source, rules }) => {
    const made = new Loader(source, rules);
    made.run = (task, listeners, chunks) => runTaskHere(task, listeners, chunks) as Promise<never>;
    return made;
  });
  const timetable = new KeptTimetable(resolveOptions('openTimetable', { timetable: path }), loader);
  t.teardown(() => timetable.close());
  return timetable;
}

/** Writes a file as an editor does, so that no half of it is seen. */
function replace(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

/** The next event of one kind. Waiting keeps the process alive. */
function next<Name extends 'error' | 'published'>(
  timetable: KeptTimetable,
  name: Name,
): Promise<TimetableEvents[Name][0]> {
  const alive = setInterval(() => {}, 1000);
  return new Promise((resolve) => {
    const listener = (first: TimetableEvents[Name][0]): void => {
      timetable.off(name, listener as never);
      clearInterval(alive);
      resolve(first);
    };
    timetable.on(name, listener as never);
  });
}

test('sources with rules of their own are one timetable', async (t) => {
  const folder = t.testdir({
    'timetable.yaml': FILE,
    'german.csv': GERMAN,
    'american.csv': AMERICAN,
    'plain.csv': PLAIN,
  });
  const timetable = open(t, join(folder, 'timetable.yaml'));
  await timetable.ready;
  t.same(
    timetable.find().events.map(({ title, time }) => [title, time]),
    [
      ['Algebra', '2026-10-05T06:00:00.000Z'],
      ['Logic', '2026-10-05T08:00:00.000Z'],
      ['NY: Calculus', '2026-10-06T12:00:00.000Z'],
    ],
    'dates by each order, times in each zone',
  );
  t.equal(timetable.find({ roomId: 'A 101' }).total, 1, 'queries derive identifiers as the file says');
  t.same(
    timetable.source.parts?.listed.map(({ name, records }) => [name, records]),
    [
      ['Mathematik', 1],
      ['american.csv', 1],
      ['plain.csv', 1],
    ],
  );
});

test('the file is watched: a bad one keeps the served timetable, a good one is loaded', async (t) => {
  const folder = t.testdir({
    'timetable.yaml': FILE,
    'german.csv': GERMAN,
    'american.csv': AMERICAN,
    'plain.csv': PLAIN,
  });
  const path = join(folder, 'timetable.yaml');
  const timetable = open(t, path);
  await timetable.ready;
  const failed = next(timetable, 'error');
  replace(path, FILE.replace('dateOrder: mdy', 'dateOrder: dym'));
  const error = await failed;
  t.match(
    error.message,
    /timetable.yaml:10:5: sources\[1\].dateOrder: it is "dym": it must be ymd, dmy or mdy/,
  );
  t.match(timetable.source, { state: 'failed', lastError: /10:5/ }, 'the state has the fault');
  t.equal(timetable.find().total, 3, 'the served timetable stays');
  const published = next(timetable, 'published');
  replace(path, FILE.replace("prefix: 'NY: '", "prefix: 'New York: '").replace('Mathematik', 'Mathe'));
  await published;
  t.equal(timetable.find().events[2]?.title, 'New York: Calculus');
  t.match(timetable.source, {
    state: 'loaded',
    lastError: null,
    parts: { listed: [{ name: 'Mathe' }, {}, {}] },
  });
  await t.resolves(timetable.refresh());
  replace(path, FILE.replace('identifiers: derived', 'identifiers: any'));
  t.match(await timetable.refresh(), {
    result: 'failed',
    reason: /identifiers is now any, and was derived at the start; restart/,
  });
  replace(path, FILE.replace(/ {2}- from: american[\s\S]*(?= {2}- from: plain)/, ''));
  t.match(await timetable.refresh({ force: true }), { result: 'published' });
  t.equal(timetable.source.parts?.total, 2, 'a source was left out');
  replace(path, 'identifiers: derived\nsources: [{ from: plain.csv, identifiers: uuid }]');
  t.match(await timetable.refresh({ force: true }), { result: 'published' });
  t.equal(timetable.source.parts, null, 'a single source has no parts');
});

test('rooms of the file have an encoding and columns of their own, and lines end in any way', async (t) => {
  const folder = t.testdir({
    'timetable.yaml': `identifiers: any
rooms: { from: rooms.csv, encoding: windows-1252, fields: { id: Nome sala, name: Tipo, building: Edifício, capacity: Lugares } }
sources: [{ from: lessons.csv }]
`,
    'lessons.csv':
      'id;time;endTime;title;roomId\n1;2026-10-05T08:00:00Z;2026-10-05T09:30:00Z;Introdução;B1.01\r\n2;2026-10-05T10:00:00Z;2026-10-05T11:30:00Z;Lógica;B1.01\r\n',
  });
  writeFileSync(
    join(folder, 'rooms.csv'),
    Buffer.from(
      'Nome sala;Tipo;Edifício;Lugares\r\nB1.01;Anfiteatro;Edifício I;120\nB1.02;Laboratório;Edifício I;30\r\n',
      'latin1',
    ),
  );
  const timetable = open(t, join(folder, 'timetable.yaml'));
  await timetable.ready;
  t.same(
    timetable.find().events.map(({ title }) => title),
    ['Introdução', 'Lógica'],
  );
  const free = { by: 'room', startTime: '2026-10-05T12:00:00Z', endTime: '2026-10-05T13:00:00Z' } as const;
  t.match(timetable.free(free).free, [
    { id: 'B1.01', name: 'Anfiteatro', building: 'Edifício I', capacity: 120 },
    { id: 'B1.02', name: 'Laboratório', building: 'Edifício I', capacity: 30 },
  ]);
  replace(join(folder, 'timetable.yaml'), 'identifiers: any\nsources: [{ from: lessons.csv }]\n');
  await timetable.refresh();
  t.equal(timetable.free(free).total, 1, 'rooms without events go with the rooms file');
});

test('a program gives the file as an object, and a handler reads identifiers as the file says', async (t) => {
  const folder = t.testdir({ 'german.csv': GERMAN });
  const description: TimetableDescription = {
    identifiers: 'derived',
    sources: [
      {
        from: join(folder, 'german.csv'),
        dateOrder: 'dmy',
        timeZone: 'Europe/Berlin',
        fields: { time: '{Datum} {Von}', endTime: '{Datum} {Bis}', title: 'Fach', roomId: 'Raum' },
      },
    ],
  };
  const timetable = openHere({ timetable: description });
  t.teardown(() => timetable.close());
  await timetable.ready;
  t.equal(timetable.find({ roomId: 'A 101' }).total, 1);
  writeFileSync(join(folder, 'timetable.json'), JSON.stringify(description));
  const ofFile = open(t, join(folder, 'timetable.json'));
  const server = createServer(ofFile.handler()).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await ofFile.ready;
  const { port } = server.address() as { port: number };
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/schedule?roomId=A%20101`, {
    headers: { connection: 'close' },
  });
  t.match(await answer.json(), [{ title: 'Algebra' }]);
});

test('a timetable needs a source or a file, and a bad file ends the start', async (t) => {
  t.throws(() => openHere({}), { message: 'openTimetable() takes source or timetable' });
  t.throws(() => openHere({ source: [], timetable: 'x.yaml' }), { code: 'option-invalid' });
  t.throws(() => openHere({ timetable: 'x.yaml', timeZone: 'UTC' }), {
    message: 'timeZone has no effect with a timetable file, which says it itself',
  });
  const timetable = open(t, join(t.testdir({ 'timetable.yaml': 'sources: 1' }), 'timetable.yaml'));
  await t.rejects(timetable.ready, {
    message: /timetable.yaml:1:1: sources: it is 1; expected a list of sources/,
  });
  await t.rejects(timetable.serve({ port: 0 }), { message: /expected a list of sources/ });
});

test('a source is asked again after its own time', async (t) => {
  const folder = t.testdir({ 'plain.csv': PLAIN });
  let asked = 0;
  const server = createServer((_, res) => {
    asked++;
    res.end(PLAIN.replaceAll(UUID, `${UUID.slice(0, -1)}2`));
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const path = join(folder, 'timetable.yaml');
  writeFileSync(
    path,
    `sources:\n  - from: plain.csv\n  - from: http://127.0.0.1:${port}/\n    refreshSeconds: 3600\n`,
  );
  const timetable = open(t, path);
  await timetable.ready;
  t.equal(asked, 1);
  writeFileSync(join(folder, 'plain.csv'), PLAIN.replace('Logic', 'Sets'));
  const published = next(timetable, 'published');
  await published;
  t.equal(asked, 1, 'a change of the file does not ask the address');
  await timetable.refresh();
  t.equal(asked, 2, 'a program that asks for a load asks it');
});

test('terms of the file give weekdays and weeks their dates, beside dated sources', async (t) => {
  const folder = t.testdir({
    'timetable.yaml': `identifiers: derived
timeZone: Europe/London
terms: { autumn: { firstDay: 2026-09-28, weeks: 12, except: [2026-11-04] } }
sources:
  - from: weeks.csv
    fields: { title: course, roomId: room, studyGroup: { from: group, split: '+' }, type: { from: type, values: { L: Lecture } } }
    when: { day: day, start: start, end: end, weeks: weeks }
  - { from: plain.csv, identifiers: uuid }
`,
    'weeks.csv':
      'course;type;day;start;end;weeks;room;group\nM1;L;Mon;09:00;11:00;1-6,8-12;LT 1;A\nP1;L;Wed;10:00;12:00;;LT 2;A\n',
    'plain.csv': PLAIN,
  });
  const timetable = open(t, join(folder, 'timetable.yaml'));
  const { events } = await timetable.ready;
  t.equal(events, 23, 'eleven, eleven, because 4 November is free, and one with a date');
  t.equal(timetable.find({ type: 'Lecture' }).total, 22);
  t.match(timetable.find({ roomId: 'LT 1' }).events[0], { time: '2026-09-28T08:00:00.000Z' });
});
