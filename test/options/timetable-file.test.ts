/** What a timetable file may say, and the sentences on what it says wrongly. */
import fs, { mkdirSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import type { LecternError } from '../../src/base/errors.js';
import { TIMETABLE_FILE_BYTES_MAX } from '../../src/base/limits.js';
import { isTimetableFile } from '../../src/options/conditions.js';
import { rangeOf } from '../../src/options/timetable-check.js';
import { planTimetable, readTimetableFile } from '../../src/options/timetable-file.js';
import { TIMETABLE } from '../../src/options/timetable-table.js';
import { loadImage } from '../../src/refresh/thread/load-image.js';
import { sourceOfSpec } from '../../src/source/spec.js';

type Made = (...from: unknown[]) => unknown;
const pages = (await import(new URL('../../scripts/timetable-pages.mjs', import.meta.url).href)) as {
  readonly timetableSchema: Made;
  readonly timetableTables: Made;
};

/** All faults of a file, without its name. */
async function faultsOf(t: Test, text: string, name = 'timetable.yaml'): Promise<string[]> {
  const path = join(t.testdir({ [name]: text }), name);
  try {
    await readTimetableFile(path);
    return [];
  } catch (error) {
    return (error as LecternError).message
      .split(`; ${path}`)
      .map((each) => each.replace(`${path}`, '').slice(1));
  }
}

test('each source has its own rules, and the file has those of all', async (t) => {
  const folder = t.testdir({
    'timetable.yaml': `# yaml-language-server: $schema=lectern/timetable.schema.json
timeZone: Europe/London
dateOrder: dmy
rooms: { from: rooms.csv, encoding: windows-1252, fields: { id: Nome sala, capacity: 000 } }
sources:
  - from: lessons.csv
    name: Lessons
    identifiers: derived
    delimiter: "|"
    header: [day, 2]
    fields:
      title: Unidade Curricular
      time: '{Data} {Início}'
  - from: https://example.org/api/timetable
    refreshSeconds: 60
    dateOrder: mdy
    headers: { Authorization: 'Bearer file:token' }
    auth: &none
`.replace('    auth: &none\n', ''),
  });
  const { source, rules, rooms, warnings } = await readTimetableFile(join(folder, 'timetable.yaml'));
  t.same(rules, { identifiers: 'derived', timeZone: 'Europe/London' });
  t.same(warnings, []);
  t.match(rooms, {
    source: join(folder, 'rooms.csv'),
    rules: { encoding: 'windows-1252', fieldMap: { id: 'Nome sala', capacity: '000' } },
  });
  t.match(source, {
    kind: 'merged',
    specs: [
      {
        kind: 'file',
        path: join(folder, 'lessons.csv'),
        name: 'Lessons',
        rules: {
          identifiers: 'derived',
          dateOrder: 'dmy',
          timeZone: 'Europe/London',
          delimiter: '|',
          header: ['day', '2'],
        },
      },
      {
        kind: 'http',
        refreshSeconds: 60,
        headers: { Authorization: { scheme: 'Bearer', file: join(folder, 'token') } },
        rules: { identifiers: 'uuid', dateOrder: 'mdy' },
      },
    ],
  });
});

test('a program gives the same as an object', async (t) => {
  const { source, rules } = planTimetable({
    identifiers: 'any',
    sources: [{ from: '/a.csv', prefix: 'X ' }],
  });
  t.match(source, { kind: 'file', path: '/a.csv', prefix: 'X ', rules: { identifiers: 'any' } });
  t.equal(rules.identifiers, 'any');
  t.throws(() => planTimetable({ sources: [{ from: 'a', timeZon: 'x' }] } as never), {
    message: 'sources[0].timeZon: there is no entry "timeZon": did you mean timeZone?',
  });
});

const SOURCES = 'sources: [{ from: a.csv }]\n';

/** A file, and what is said of it. Each text begins with line and column. */
const FAULTS: readonly (readonly [what: string, text: string, ...faults: RegExp[]])[] = [
  ['an empty file', '', /^1:1: it is empty; expected entries such as/],
  ['no sources', 'timeZone: Europe/Berlin', /^1:1: sources is missing/],
  ['an empty list', 'sources: []', /^1:1: sources: it is an empty list; expected at least one source/],
  [
    'a source that is a text',
    'sources: [a.csv]',
    /^1:11: sources\[0\]: it is the text "a.csv"; expected entries such as from/,
  ],
  [
    'a typo',
    `timezone: UTC\n${SOURCES}`,
    /^1:1: timezone: there is no entry "timezone": did you mean timeZone\?/,
  ],
  [
    'a typo in a source',
    'sources:\n  - form: a',
    /^2:5: sources\[0\]: from is missing/,
    /^2:5: .*"form": did you mean from\?/,
  ],
  ['a duplicate key', `${SOURCES}${SOURCES}`, /^2:1: this key is given twice/],
  ['a tab', 'sources:\n\t- from: a', /^2:1: a tab indents this line; expected spaces$/],
  [
    'tabs, and other faults',
    'sources:\n\t- from: a\n\t  dateOrder: dym\n  - from: b\n    nam: x',
    /^2:1: a tab indents this line; expected spaces$/,
    /^3:1: a tab indents this line; expected spaces$/,
    /^3:4: sources\[0\].dateOrder: it is "dym"/,
    /^5:5: sources\[1\].nam: there is no entry/,
  ],
  ['an alias without an anchor', `a: *x\n${SOURCES}`, /^1:4: .*(alias|anchor)/i],
  ['an anchor within itself', `a: &x [*x]\n${SOURCES}`, /nested more than 16 deep/],
  ['two documents', `${SOURCES}---\n${SOURCES}`, /^2:1: a second document begins here/],
  ['an unknown tag', 'sources: !!python/object []', /^1:10: this tag is not known/],
  ['a list as a key', `? [a]\n: b\n${SOURCES}`, /^1:1: a key is a list or a map/],
  ['an open bracket', 'sources: [', /^1:\d+: /],
  [
    'aliases that multiply',
    `a: &a [1,1,1,1,1,1,1,1]\n${'bcdefg'.replace(/./g, (n) => `${n}: &${n} [${`*${String.fromCharCode(n.charCodeAt(0) - 1)},`.repeat(8)}]\n`)}${SOURCES}`,
    /more than 50000 values; write out what its aliases repeat/,
  ],
  ['deep lists', `a: ${'['.repeat(200)}${']'.repeat(200)}\n${SOURCES}`, /nested more than 16 deep/],
  [
    'deep lists in a column',
    `a: ${'\n'}${'- '.repeat(200)}x\n${SOURCES}`,
    /^2:33: it is nested more than 16 deep/,
  ],
  ['brackets in texts', `a: "${'['.repeat(200)}"\n${SOURCES}`, /there is no entry "a"/],
  ['very deep lists', `a: ${'['.repeat(200_000)}`, /^1:\d+: it is nested more than 16 deep/],
  [
    'a wrong zone',
    `timeZone: Europe/Berln\n${SOURCES}`,
    /^1:1: timeZone: it is "Europe\/Berln": there is no such time zone; did you mean Europe\/Berlin\?/,
  ],
  [
    'a number as a word',
    'sources: [{ from: a, refreshSeconds: soon }]',
    /refreshSeconds: it is the text "soon"; expected a number from 1/,
  ],
  [
    'a boolean as a text',
    'sources: [{ from: a, prefix: true }]',
    /prefix: it is true; expected a text, in quotes/,
  ],
  [
    'an unknown field',
    'sources: [{ from: a, fields: { titel: x } }]',
    /^1:32: sources\[0\].fields.titel: there is no entry "titel": did you mean title\?/,
  ],
  [
    'a broken template',
    "sources: [{ from: a, fields: { title: '{a' } }]",
    /^1:32: sources\[0\].fields.title: /,
  ],
  ['a folder above', 'sources: [{ from: .. }]', /^1:13: sources\[0\].from: it is a folder above this file/],
  [
    'a file: address',
    'sources: [{ from: "file:///a.csv" }]',
    /from: it is a file: address; expected the path/,
  ],
  ['a store', 'sources: [{ from: "nats://h/x" }]', /from: it is a store/],
  ['another scheme', 'sources: [{ from: "ftp://h/x" }]', /from: a source of the scheme ftp cannot be read/],
  [
    'headers for a file',
    'sources: [{ from: a, headers: { A: b } }]',
    /headers: it has no effect, as the source is not an http/,
  ],
  [
    'a table for a file',
    'sources: [{ from: a, table: b }]',
    /table: it has no effect, as the source is not a PostgreSQL address/,
  ],
  ['no table', 'sources: [{ from: "postgres://h/d" }]', /a PostgreSQL source needs table or query/],
  [
    'a followed table beside a file',
    'sources: [{ from: "postgres://h/d", table: t, follow: true }, { from: a }]',
    /follow: a followed database must be the only source/,
  ],
  [
    'calendar days',
    'sources: [{ from: a, calendarFrom: 2026-02-01, calendarTo: 2026-01-01 }]',
    /calendarTo: it must be after calendarFrom/,
  ],
  [
    'a day that is none',
    'sources: [{ from: a, calendarFrom: 2026-02-30 }]',
    /calendarFrom: it is "2026-02-30": /,
  ],
  [
    'one name twice',
    'sources: [{ from: a, name: x }, { from: b, name: x }]',
    /^1:44: sources\[1\].name: sources\[0\] has this name already/,
  ],
  ['standard input twice', 'sources: [{ from: "-" }, { from: "-" }]', /standard input is given twice/],
  [
    'two characters',
    'sources: [{ from: a, delimiter: "||" }]',
    /delimiter: it is "\|\|": it must be one character/,
  ],
  [
    'any beside derived',
    'sources: [{ from: a, identifiers: any }, { from: b, identifiers: derived }]',
    /sources\[1\].identifiers: it cannot be derived beside a source with any/,
  ],
  [
    'a term without weeks',
    `timeZone: UTC\nterms: { a: { firstDay: 2026-09-28 } }\n${SOURCES}`,
    /^2:10: terms.a: weeks is missing/,
  ],
  [
    'a day off that is none',
    `terms: { a: { firstDay: 2026-09-28, weeks: 2, except: [2026-02-30] } }\n${SOURCES}`,
    /^1:56: terms.a.except\[0\]: except "2026-02-30": /,
  ],
  [
    'a pattern without a term',
    'timeZone: UTC\nsources: [{ from: a, when: { day: d, start: s } }]',
    /^2:22: sources\[0\].when: when needs a term/,
  ],
  [
    'a typo in a pattern',
    'sources: [{ from: a, when: { dya: d, start: s } }]',
    /when: day is missing/,
    /"dya": did you mean day\?/,
  ],
  [
    'a cycle of one week',
    'sources: [{ from: a, when: { day: d, start: s, cycle: 1 } }]',
    /cycle: it is "1": it must be a whole number from 2 to 8/,
  ],
  [
    'a value that goes nowhere',
    'sources: [{ from: a, fields: { title: { form: a } } }]',
    /fields.title: from is missing/,
    /"form": did you mean from\?/,
  ],
  [
    'fields that every object has',
    'sources: [{ from: a, fields: { toString: a, constructor: b } }]',
    /fields.toString: there is no entry "toString"/,
    /fields.constructor: there is no entry "constructor"/,
  ],
  [
    'a fallback that is none',
    'sources: [{ from: a, fields: { type: { from: a, values: { x: y, z: null }, otherwise: drop } } }]',
    /otherwise: it is "drop": it must be keep, reject or null/,
  ],
  [
    'a missing variable',
    'sources: [{ from: "https://h/", auth: { tokenUrl: "https://h/t", clientId: a, clientSecret: "env:NO_SUCH" } }]',
    /clientSecret: the environment variable NO_SUCH is not set/,
  ],
];

test('each fault has a sentence at its place, and all are told at once', async (t) => {
  for (const [what, text, ...expected] of FAULTS) {
    const found = await faultsOf(t, text);
    t.equal(found.length >= expected.length, true, `${what}: ${found.join('; ')}`);
    for (const [n, fault] of expected.entries()) t.match(found[n], fault, what);
  }
  const terms = await faultsOf(t, 'terms:\n  a: { weeks: 0, firstDay: x }\n  b: {}\nsources: []\n');
  t.equal(terms.length, 5, `each fault once: ${terms.join('; ')}`);
  const lines = terms.map((fault) => Number(/^(\d+):/.exec(fault)?.[1]));
  t.strictSame(lines, [2, 2, 3, 3, 4], 'in the order of the file');
  const many = 'timezone: x\nsources:\n  - from: ..\n    prefix: true\n  - { from: b, dateOrder: dym }\n';
  t.equal((await faultsOf(t, many)).length, 4, 'a typo, a folder above, a boolean and a wrong order');
});

test('a file that is too large is not read', async (t) => {
  const [fault] = await faultsOf(t, `# ${'x'.repeat(TIMETABLE_FILE_BYTES_MAX)}\n${SOURCES}`);
  t.match(fault, /at most \d+ are read/);
});

test('JSON with sources is a timetable file, too', async (t) => {
  const folder = t.testdir({
    'timetable.json': '{\n\t"sources": [\n\t\t{"from": "a.csv", "dateOrder": "dym"}\n\t]\n}',
    'broken.json': '{ "timeZone": "UTC", "sources": [',
    'data.json': '{ "events": [] }',
    'list.json': '[]',
  });
  t.ok(isTimetableFile(join(folder, 'timetable.json')));
  t.ok(isTimetableFile(join(folder, 'broken.json')));
  t.ok(isTimetableFile('anything.yml'));
  t.notOk(isTimetableFile(join(folder, 'data.json')));
  t.notOk(isTimetableFile(join(folder, 'list.json')));
  t.notOk(isTimetableFile('https://example.org/timetable.yaml'));
  await t.rejects(readTimetableFile(join(folder, 'timetable.json')), {
    message: /timetable.json:3:21: sources\[0\].dateOrder: it is "dym": it must be ymd, dmy or mdy/,
  });
});

test('secrets in the file are a warning that says how to refer to them', async (t) => {
  const folder = t.testdir({
    'timetable.yaml': `sources:
  - from: https://user:secret-1@example.org/x
  - from: https://example.org/x
    headers: { X-Api-Key: secret-2, Accept-Language: de }
  - from: https://example.org/y
    auth: { tokenUrl: 'https://example.org/token', clientId: a, clientSecret: secret-3 }
  - from: https://example.org/z.ics?authtoken=secret-4&author=x&token=
`,
  });
  const { warnings } = await readTimetableFile(join(folder, 'timetable.yaml'));
  t.match(warnings[0], /:2:5: sources\[0\].from: the address holds a password; give it in headers/);
  t.match(
    warnings[1],
    /:4:16: sources\[1\].headers.X-Api-Key: the file holds a secret; refer to it as "file:PATH", or with env:NAME/,
  );
  t.match(warnings[2], /clientSecret: the file holds a secret; refer to it as file:PATH or env:NAME/);
  t.match(
    warnings.at(-1),
    /:7:5: sources\[3\].from: the query of the address holds a secret \(authtoken\); if/,
  );
  t.equal(warnings.length, 4);
  t.notMatch(warnings.join(), /secret-\d/);
});

test('a calendar at a webcal address may have tokens of an issuer', async (t) => {
  const folder = t.testdir({
    secret: 'client-secret',
    'timetable.yaml': `sources:
  - from: webcal://example.org/x.ics
    auth: { tokenUrl: 'https://example.org/token', clientId: a, clientSecret: 'file:secret' }
`,
  });
  const { source, warnings } = await readTimetableFile(join(folder, 'timetable.yaml'));
  t.match(source, { kind: 'http', url: 'https://example.org/x.ics', clientCredentials: { clientId: 'a' } });
  t.strictSame(warnings, []);
});

test('a folder above is no fault if the file is not among its own sources', async (t) => {
  const folder = t.testdir({ school: {} });
  mkdirSync(join(folder, 'data'));
  writeFileSync(join(folder, 'school/timetable.yaml'), 'sources: [{ from: ../data }, { from: . }]');
  t.match(await readTimetableFile(join(folder, 'school/timetable.yaml')), { source: { kind: 'merged' } });
});

test('what only the records prove wrong names its line of the file', async (t) => {
  const json = JSON.stringify([{ Fach: 'x', von: 'y' }]);
  const folder = t.testdir({
    'a.csv': 'Fach,Von,Bis\nx,y,z\n',
    'a.json': json,
    'w.csv': 'title,day,start,end\nx,Montag,09:00,09:30\ny,Oktober,09:00,09:30\n',
  });
  const cases: readonly (readonly [text: string, problem: RegExp])[] = [
    [
      'sources:\n  - from: a.csv\n    fields:\n      title: Fahc\n      csv: { time: Vno }',
      /"Fahc" \(for title, at [^ ]*t\.yaml:4:7; did you mean "Fach"\?\), "Vno" \(for time, at [^ ]*t\.yaml:5:14; did you mean "Von"\?\)/,
    ],
    [
      'sources:\n  - from: a.json\n    fields: { title: { from: Fahc, values: { a: b } } }',
      /"Fahc" \(for title, at [^ ]*t\.yaml:3:15; /,
    ],
    [
      'sources:\n  - from: a.json\n    records: lessons.*',
      /"lessons\.\*" \(at [^ ]*t\.yaml:3:5\) gives nothing/,
    ],
    [
      'sources:\n  - from: a.json\n    records: count($)',
      /\(at [^ ]*t\.yaml:3:5\): character 6: "count" is no function/,
    ],
  ];
  const load = async (text: string) => {
    writeFileSync(join(folder, 't.yaml'), text);
    const { source, rules } = await readTimetableFile(join(folder, 't.yaml'));
    return loadImage(sourceOfSpec(source), rules);
  };
  for (const [text, message] of cases)
    await t.rejects(load(text), { code: 'source-malformed', message }, text);
  const { image } = await load(
    [
      'timeZone: UTC',
      'identifiers: derived',
      'terms: { a: { firstDay: 2026-09-28, weeks: 2 } }',
      'sources:',
      '  - from: w.csv',
      '    when: { day: day, start: start, end: end }',
    ].join('\n'),
  );
  t.match(image.summary.rejections, [{ detail: /^day "Oktober": .*; see when at [^ ]*t\.yaml:6:5$/ }]);
});

test('no call that blocks asks for the paths of sources: the main thread would wait for a file system that hangs', async (t) => {
  const folder = t.testdir({
    lessons: { 'a.csv': '' },
    'b.csv': '',
    't.yaml': 'sources: [{ from: lessons }, { from: b.csv }, { from: "*.ics" }]\n',
  });
  const { statSync } = fs;
  const asked: string[] = [];
  const told = (...args: Parameters<typeof statSync>) => {
    asked.push(String(args[0]));
    return statSync(...args);
  };
  Object.assign(fs, { statSync: told });
  syncBuiltinESMExports();
  t.teardown(() => {
    Object.assign(fs, { statSync });
    syncBuiltinESMExports();
  });
  const { source } = await readTimetableFile(join(folder, 't.yaml'));
  t.match(source, { specs: [{ kind: 'folder' }, { kind: 'file' }, { kind: 'glob' }] });
  t.strictSame(
    asked.filter((path) => path.startsWith(folder)),
    [],
  );
});

test('the schema and the page have each entry of the table', async (t) => {
  const schema = JSON.stringify(pages.timetableSchema(TIMETABLE));
  const tables = String(pages.timetableTables(TIMETABLE, rangeOf));
  const { $defs } = JSON.parse(schema) as { $defs: Record<string, { properties: object }> };
  t.same(Object.keys($defs), [
    'Term',
    'RoomsDescription',
    'SourceDescription',
    'FieldValue',
    'WeeklyPattern',
    'SourceAuth',
  ]);
  for (const { name } of TIMETABLE.entries)
    t.ok(schema.includes(`"${name}"`) && tables.includes(`\`${name}\``), name);
  t.ok(Object.hasOwn($defs.SourceDescription?.properties ?? {}, 'dateOrder'));
});
