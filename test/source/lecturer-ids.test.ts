import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { LECTURER_IDS_BYTES_MAX } from '../../src/base/limits.js';
import { fileSource } from '../../src/source/file.js';
import { withOwnRules } from '../../src/source/spec.js';
import { Collector, collect, failureOf, isUnchanged, memorySource } from './collect.js';

const ADA = '00000000-0000-4000-8000-00000000000a';
const ŘEHOŘ = '00000000-0000-4000-8000-00000000000b';
const IDS = { 'Lovelace, Ada': ADA, Řehoř: ŘEHOŘ };

/** The row of a record, or the code of its rejection. */
async function filled(record: unknown): Promise<unknown> {
  const sink = new Collector();
  await withOwnRules(memorySource([record]), { lecturerIds: IDS }).load(sink);
  return sink.records[0]?.value ?? sink.rejections[0]?.code;
}

test("records without lecturerId get it from their lecturer's name", async (t) => {
  t.same(await filled({ lecturer: 'Lovelace, Ada', n: 1 }), {
    lecturer: 'Lovelace, Ada',
    n: null,
    lecturerId: ADA,
  });
  t.same(await filled({ lecturer: 'Lovelace, Ada', lecturerId: null }), {
    lecturer: 'Lovelace, Ada',
    lecturerId: ADA,
  });
  t.same(
    await filled({ lecturer: 'Řehoř'.normalize('NFD') }),
    { lecturer: 'Řehoř'.normalize('NFD'), lecturerId: ŘEHOŘ },
    'however the name is composed',
  );
});

test('every other record stays unchanged', async (t) => {
  for (const record of [
    { lecturer: 'Lovelace, Ada', lecturerId: 'given' },
    { lecturer: 'Lovelace, Ada', lecturerId: 7 },
    { lecturer: 'somebody else' },
    { lecturer: 'toString' },
    { lecturer: '\ud800' },
    { lecturer: 7 },
    { lecturer: null },
    {},
  ]) {
    t.strictSame(await filled(record), record);
  }
  for (const value of [[], null, 'Lovelace, Ada']) t.equal(await filled(value), 'malformed-record');
});

test('positions, rejections and the summary are passed on', async (t) => {
  const path = join(t.testdir({ data: '{"lecturer":"Řehoř"}\n{\n' }), 'data');
  const source = withOwnRules(fileSource(path), { lecturerIds: IDS });
  t.equal(source.name, path);
  const sink = new Collector();
  const summary = await source.load(sink);
  t.match(sink.records, [{ value: { lecturerId: ŘEHOŘ }, position: { record: 1, line: 1 } }]);
  t.match(sink.rejections, [{ code: 'malformed-record', position: { record: 2 } }]);
  t.match(summary, { format: 'ndjson', version: String });
});

test('the version covers the map, given directly or as a file', async (t) => {
  const folder = t.testdir({ data: '{}\n', ids: JSON.stringify(IDS) });
  const data = fileSource(join(folder, 'data'));
  const inFile = withOwnRules(data, { lecturerIds: join(folder, 'ids') });
  const { version } = (await collect(inFile)).summary;
  t.ok(await isUnchanged(inFile, version));
  t.ok(
    await isUnchanged(withOwnRules(data, { lecturerIds: { Řehoř: ŘEHOŘ, 'Lovelace, Ada': ADA } }), version),
    'in any order',
  );
  t.notOk(await isUnchanged(withOwnRules(data, { lecturerIds: { ...IDS, x: 'y' } }), version));
  t.notOk(await isUnchanged(data, version), 'not the version of the data alone');
  t.notOk(await isUnchanged(inFile, (await collect(data)).summary.version));

  writeFileSync(join(folder, 'ids'), '{}');
  t.notOk(await isUnchanged(inFile, version));
  writeFileSync(join(folder, 'ids'), JSON.stringify(IDS));
  t.ok(await isUnchanged(inFile, version), 'what counts is what it says');
  writeFileSync(join(folder, 'data'), '{}\n{}\n');
  t.notOk(await isUnchanged(inFile, version));
  t.equal((await collect(withOwnRules(memorySource([]), { lecturerIds: IDS }))).summary.version, null);
});

test('an invalid map is a failure', async (t) => {
  const folder = t.testdir({
    array: '[]',
    broken: '{"a":',
    numbers: '{"Ada":7}',
    latin: Buffer.from('{"\xe9":"a"}', 'latin1'),
    large: Buffer.alloc(LECTURER_IDS_BYTES_MAX + 1, 0x20),
  });
  const cases: [name: string, code: string, problem: RegExp][] = [
    ['array', 'source-malformed', /expected an object of the form/],
    ['broken', 'source-unreadable', /it is not JSON: line 1, column 6: found the end; expected a value/],
    ['numbers', 'source-malformed', /the identifier of "Ada" is not a string/],
    ['latin', 'source-unreadable', /it is not UTF-8 text/],
    ['large', 'source-unreadable', / has \d+ bytes; at most \d+ are read$/],
    ['missing', 'source-unreadable', /there is no such file$/],
    ['folder', 'source-unreadable', /it is a directory; expected a file/],
    // Opening it would wait for a writer forever.
    ['pipe', 'source-unreadable', / is not a regular file; expected one$/],
  ];
  mkdirSync(join(folder, 'folder'));
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  for (const [name, code, message] of cases) {
    const source = withOwnRules(memorySource([]), { lecturerIds: join(folder, name) });
    t.match(await failureOf(collect(source)), { code, message }, name);
  }
});

test('a prefix and the identifier of a lecturer are the same at each date of a record', async (t) => {
  const folder = t.testdir({
    'a.csv': 'id,title,lecturer,type,day,start,end\n1,Maths,"Lovelace, Ada",a,Mon,09:00,10:00\n',
    'a.ics': [
      'BEGIN:VCALENDAR',
      'BEGIN:VEVENT',
      'UID:1',
      'DTSTART:20260928T070000Z',
      'DTEND:20260928T080000Z',
      'RRULE:FREQ=WEEKLY;COUNT=3',
      'SUMMARY:Maths',
      'CATEGORIES:a',
      'ORGANIZER;CN="Lovelace, Ada":mailto:ada@example.org',
      'END:VEVENT',
      'END:VCALENDAR',
      '',
    ].join('\r\n'),
  });
  const kinds = { from: 'type', values: { a: 'b', b: 'c' } };
  const ofCalendar = { from: 'CATEGORIES', values: { a: 'b', b: 'c' } };
  for (const name of ['a.csv', 'a.ics']) {
    const sink = new Collector();
    await withOwnRules(fileSource(join(folder, name)), {
      lecturerIds: IDS,
      prefix: 'ERASMUS: ',
      rules: {
        identifiers: 'any',
        timeZone: 'UTC',
        ...{ from: '2026-01-01', to: '2027-01-01' },
        fieldMap: { csv: { type: kinds }, icalendar: { type: ofCalendar } },
        when: { day: 'day', start: 'start', end: 'end' },
        terms: { autumn: { firstDay: '2026-09-28', weeks: 3 } },
      },
    }).load(sink);
    const values = sink.records.map(({ value }) => value);
    const each = { title: 'ERASMUS: Maths', lecturer: 'Lovelace, Ada', lecturerId: ADA, type: 'b' };
    t.match(values, [each, each, each], name);
    t.equal(values.length, 3);
  }
});
