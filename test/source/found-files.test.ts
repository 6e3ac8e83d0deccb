import { chmodSync, mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { test } from 'tap';
import { loadImage } from '../../src/refresh/thread/load-image.js';
import { filesOfFolder, filesOfGlob, findFiles } from '../../src/source/found-files.js';
import type { LoadOptions, PartsReport } from '../../src/source/source.js';
import { parseSourceArgument, sourceDigest, sourceOfSpec } from '../../src/source/spec.js';
import { testFolder } from '../base/files/test-folder.js';
import { collect, failureOf } from './collect.js';
import { ndjson } from './http/upstream.js';

const line = (id: string, title = id): string => ndjson([{ id, title }]);

test('a folder means the files directly in it with known endings, sorted by code point', async (t) => {
  const folder = t.testdir({
    'b.ndjson': '',
    'a.ICS': '',
    'Z.csv': '',
    'é.tsv': '',
    '10.jsonl': '',
    '9.json': '',
    'x.msgpack': '',
    'y.ndjson.gz': '',
    '.hidden.ics': '',
    'readme.md': '',
    ics: '',
    'x.ics~': '',
    'x.zip': '',
    'folder.ics': { 'inner.ics': '' },
    link: t.fixture('symlink', 'b.ndjson'),
    'link.ics': t.fixture('symlink', 'b.ndjson'),
    'folder-link.ics': t.fixture('symlink', 'folder.ics'),
    'nowhere.ics': t.fixture('symlink', 'gone'),
    'loop.ics': t.fixture('symlink', 'loop.ics'),
  });
  const { paths, skipped } = await filesOfFolder(folder);
  t.strictSame(
    paths.map((path) => path.slice(folder.length + 1)),
    [
      '10.jsonl',
      '9.json',
      'Z.csv',
      'a.ICS',
      'b.ndjson',
      'link.ics',
      'loop.ics',
      'nowhere.ics',
      'x.msgpack',
      'y.ndjson.gz',
      'é.tsv',
    ],
  );
  t.equal(skipped, 8);
});

test('a glob matches as documented', async (t) => {
  const folder = t.testdir({
    'a.ics': '',
    'b.csv': '',
    'c d.ics': '',
    '.hidden.ics': '',
    'data[1].csv': '',
    one: { 'a.ics': '', 'b.ics': '', deep: { 'a.ics': '', '.git': { 'a.ics': '' } } },
    two: { 'a.ics': '', 'folder.ics': { 'x.csv': '' } },
    link: t.fixture('symlink', 'two'),
    '.dot': { 'a.ics': '' },
  });
  for (const [pattern, expected, skipped = 0] of [
    ['*.ics', ['a.ics', 'c d.ics']],
    ['?.ics', ['a.ics']],
    ['[ab].*', ['a.ics', 'b.csv']],
    ['[!a].csv', ['b.csv']],
    ['{a,b}.*', ['a.ics', 'b.csv']],
    ['*/a.ics', ['link/a.ics', 'one/a.ics', 'two/a.ics']],
    ['./o*/[a-b].ics', ['one/a.ics', 'one/b.ics']],
    ['two/*', ['two/a.ics'], 1],
    ['**/a.ics', ['a.ics', 'one/a.ics', 'one/deep/a.ics', 'two/a.ics']],
    ['**/deep/**', ['one/deep/a.ics']],
    ['one/**/*.ics', ['one/a.ics', 'one/b.ics', 'one/deep/a.ics']],
    ['**/**/b.*', ['b.csv', 'one/b.ics']],
    ['.d*/*', ['.dot/a.ics']],
    ['.hid*', ['.hidden.ics']],
    ['data\\[1\\].c*', ['data[1].csv']],
  ] as const) {
    const found = await filesOfGlob(`${folder}/${pattern}`);
    t.strictSame(
      found.paths.map((path) => path.slice(folder.length + 1)),
      expected,
      pattern,
    );
    t.equal(found.skipped, skipped, pattern);
  }
});

test('if no file is found, the error lists the other entries', async (t) => {
  const folder = t.testdir({
    none: {},
    some: { 'a.md': '', b: {}, 'c.txt': '', d: '', e: '', f: '', g: '' },
    file: '',
  });
  for (const [text, message] of [
    ['none', /none: no file in it ends in \.ndjson, .*\.ics, with or without \.gz; there is nothing$/],
    ['some', /; there are a\.md, b\/, c\.txt, d, e and 2 more$/],
    ['missing/', /cannot read .*missing\/: there is no such file/],
    ['some/*.ics', /no file matches it; in .*some there are a\.md, b\/, c\.txt, d, e and 2 more$/],
    ['missing/*.ics', /no file matches it; there is no folder .*missing$/],
    ['file/*.ics', /no file matches it; there is no folder .*file$/],
  ] as const) {
    const spec = parseSourceArgument(`${folder}/${text}`);
    const failure = await failureOf(collect(sourceOfSpec(spec)));
    t.match(failure, { code: 'source-unreadable', message }, text);
  }
});

test('an unreadable folder is not treated as empty', {
  skip: process.getuid?.() === 0 && 'root reads everything',
}, async (t) => {
  const folder = testFolder(t, { open: { 'a.ics': '' }, closed: { 'a.ics': '' } });
  chmodSync(join(folder, 'closed'), 0);
  t.teardown(() => chmodSync(join(folder, 'closed'), 0o700));
  for (const find of [
    filesOfFolder(join(folder, 'closed')),
    filesOfGlob(`${folder}/**/*.ics`),
    filesOfGlob(`${folder}/*/*.ics`),
  ]) {
    t.match(await failureOf(find), { code: 'source-unreadable', message: /permission denied/ });
  }
});

test('the file system decides whether an argument is a folder or a glob', (t) => {
  const folder = t.testdir({ folder: {}, 'a[1].csv': '', '{a}': {} });
  for (const [text, expected] of [
    ['folder', { kind: 'folder', path: `${folder}/folder` }],
    ['folder/', { kind: 'folder', path: `${folder}/folder/` }],
    ['new/', { kind: 'folder', path: `${folder}/new/` }],
    ['new', { kind: 'file', path: `${folder}/new` }],
    ['a[1].csv', { kind: 'file', path: `${folder}/a[1].csv` }],
    ['{a}', { kind: 'folder', path: `${folder}/{a}` }],
    ['*.csv', { kind: 'glob', pattern: `${folder}/*.csv` }],
    ['{b}', { kind: 'glob', pattern: `${folder}/{b}` }],
    ['a(1).csv', { kind: 'file', path: `${folder}/a(1).csv` }],
  ] as const) {
    const spec = parseSourceArgument(`${folder}/${text}`);
    t.strictSame(spec, expected, text);
    t.strictSame(structuredClone(spec), spec);
  }
  t.strictSame(parseSourceArgument(`file://${folder}/folder`), { kind: 'folder', path: `${folder}/folder` });
  for (const kind of ['folder', 'glob']) {
    t.throws(() => sourceOfSpec({ kind, path: '', pattern: '' } as never), { code: 'option-invalid' });
  }
  t.end();
});

test('a folder stays the same source, whatever files it holds', (t) => {
  const folder = t.testdir({ 'a.ics': '' });
  const digest = (): string => sourceDigest(parseSourceArgument(folder), folder);
  const before = digest();
  writeFileSync(join(folder, 'b.ics'), '');
  t.equal(digest(), before);
  t.not(sourceDigest({ kind: 'glob', pattern: folder }, folder), before);
  t.end();
});

test('files are searched again at each load, and only changed ones are read', async (t) => {
  const folder = t.testdir({
    'a.ndjson': line('a'),
    'b.ndjson.gz': gzipSync(line('b')),
    'c.json': '[{"id":"c"}]',
  });
  const source = sourceOfSpec(parseSourceArgument(folder));
  let report: PartsReport = { parts: [], skipped: 0 };
  let previous: string | null = null;
  const load = async (): Promise<string[] | 'not-modified'> => {
    const options: LoadOptions = {
      parts: report.parts,
      previous,
      allowMissing: true,
      onParts: (next) => {
        report = next;
      },
    };
    const ids: string[] = [];
    const summary = await source.load({ row: (row) => ids.push(row.textOf(0)), fault() {} }, options);
    if (summary === 'not-modified') return summary;
    previous = summary.version;
    return ids;
  };
  const states = (): unknown[] =>
    report.parts.map(({ name, failure }) => [name.slice(folder.length + 1), failure?.code ?? 'ok']);

  t.strictSame(await load(), ['c', 'b', 'a'], 'later ones win, so they come first');
  t.equal(await load(), 'not-modified');
  const copies = report.parts.map(({ copy }) => copy);

  writeFileSync(join(folder, 'd.ndjson'), line('d'));
  t.strictSame(await load(), ['d', 'c', 'b', 'a'], 'a file was added');
  t.strictSame(
    report.parts.slice(0, 3).map(({ copy }) => copy),
    copies,
    'the others were not read again',
  );
  unlinkSync(join(folder, 'c.json'));
  t.strictSame(await load(), ['d', 'b', 'a'], 'a file was removed');
  renameSync(join(folder, 'a.ndjson'), join(folder, 'e.ndjson'));
  t.strictSame(await load(), ['a', 'd', 'b'], 'a file was renamed');
  t.equal(await load(), 'not-modified');

  writeFileSync(join(folder, 'd.ndjson'), '<html>');
  t.equal(await load(), 'not-modified', 'a file is malformed: its last records are still there');
  t.strictSame(states(), [
    ['b.ndjson.gz', 'ok'],
    ['d.ndjson', 'source-malformed'],
    ['e.ndjson', 'ok'],
  ]);
  writeFileSync(join(folder, 'e.ndjson'), line('e'));
  t.strictSame(await load(), ['e', 'd', 'b'], 'and others are news');
  unlinkSync(join(folder, 'd.ndjson'));
  mkdirSync(join(folder, 'd.ndjson'));
  t.strictSame(await load(), ['e', 'b'], 'a folder takes its place: the file is gone');
  symlinkSync('f.ndjson', join(folder, 'f.ndjson'));
  t.strictSame(await load(), ['e', 'b'], 'a link that leads to itself');
  t.strictSame(states(), [
    ['b.ndjson.gz', 'ok'],
    ['e.ndjson', 'ok'],
    ['f.ndjson', 'source-unreadable'],
  ]);
  t.match(report.parts[2]?.failure?.message, /f\.ndjson: its symbolic links form a loop$/);
  t.equal(report.skipped, 1);
});

test('300 files are read a few at a time', async (t) => {
  const folder = t.testdir(
    Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`${n}.ndjson`, line(`e${n}`)])),
  );
  const spec = parseSourceArgument(folder);
  const { records, summary } = await collect(sourceOfSpec(spec));
  t.equal(records.length, 300);
  t.equal(
    summary.bytesRead,
    Array.from({ length: 300 }, (_, n) => line(`e${n}`).length).reduce((a, b) => a + b),
  );
  t.equal((await findFiles(spec as never)).paths.length, 300);
});

test('300 calendars are read as one timetable', async (t) => {
  const calendar = (n: number): string =>
    [
      ...[
        'BEGIN:VCALENDAR',
        'VERSION:2.0',
        `X-WR-CALNAME:Group ${n}`,
        'BEGIN:VEVENT',
        `UID:lesson-${n}@example.org`,
      ],
      ...['DTSTART:20260914T060000Z', 'DTEND:20260914T070000Z', 'RRULE:FREQ=WEEKLY;COUNT=2'],
      ...[`SUMMARY:Lesson ${n}`, `LOCATION:Room ${n % 7}`, 'END:VEVENT', 'END:VCALENDAR', ''],
    ].join('\r\n');
  const folder = t.testdir(
    Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`${n}.ics`, calendar(n)])),
  );
  const source = sourceOfSpec(parseSourceArgument(folder));
  const rules = { identifiers: 'uuid', from: '2026-09-01', to: '2027-03-01' } as const;
  const { image } = await loadImage(source, rules);
  const { events, rejected, fields } = image.summary;
  t.strictSame([events, rejected], [600, 0]);
  t.match(
    fields.filter(({ name }) => ['roomId', 'studyGroup'].includes(name)),
    [
      { name: 'roomId', values: 7 },
      { name: 'studyGroup', values: 300 },
    ],
  );
});
