/** Files that are read again. Inside, because files of every kind share this code, and its reports have no face. */
import { rmSync } from 'node:fs';
import { test } from 'tap';
import { LecternError } from '../../../src/base/errors.js';
import { type FileReport, type KeptFile, KeptFiles, keptText } from '../../../src/base/files/kept-files.js';
import { until } from '../../waiting/until.js';
import { Folder } from './folder.js';

/** A file that holds `good` and more, and its accepted contents. */
function keptIn(path: string): { readonly file: KeptFile; readonly taken: string[] } {
  const taken: string[] = [];
  const given = { path, name: `the file ${path}`, bytesMax: 100, code: 'key-invalid' } as const;
  const file = keptText('enrolments', given, (content) => {
    if (!content.startsWith('good')) throw new LecternError('key-invalid', `the file ${path} is bad`);
    return () => void taken.push(content);
  });
  return { file, taken };
}

test('a change takes effect; a bad or missing file is reported once and changes nothing', async (t) => {
  const folder = new Folder(t);
  const path = folder.write('one', 'good 1');
  const { file, taken } = keptIn(path);
  const files = new KeptFiles();
  const told: FileReport[] = [];
  const group = files.keep([file], (report) => told.push(report));
  t.teardown(() => files.close());
  await group.open();
  t.strictSame(taken, ['good 1']);
  t.strictSame(told, [], 'the first reading is not told');
  folder.write('one', 'good 2');
  await until(() => told.length === 1);
  t.match(told[0], { kind: 'enrolments', path, error: null });
  for (const spoil of [() => folder.write('one', 'bad'), () => rmSync(path)]) {
    const before = told.length;
    spoil();
    await until(() => told.length > before);
    t.match(told.at(-1)?.error, { code: 'key-invalid' });
    t.match(told.at(-1)?.error?.message, path, 'the file is named');
    t.strictSame(files.refused, ['enrolments']);
  }
  folder.write('one', 'good 2');
  await until(() => told.length === 4);
  t.equal(told[3]?.error, null, 'the content of before, again');
  t.strictSame(files.refused, []);
  t.strictSame(taken, ['good 1', 'good 2']);
  t.strictSame([...files.counts], [['enrolments', { taken: 2, refused: 2 }]]);
});

test('reload reads at once and reports only changes', async (t) => {
  const folder = new Folder(t);
  const { file, taken } = keptIn(folder.write('two', 'good 2'));
  const files = new KeptFiles();
  const told: FileReport[] = [];
  const group = files.keep([{ ...file, isWatched: false }], (report) => told.push(report));
  await group.open();
  await files.reload();
  t.equal(told.length, 0);
  folder.write('two', 'good 3');
  await files.reload();
  t.strictSame(taken, ['good 2', 'good 3']);
  folder.write('two', 'bad');
  await files.reload();
  await files.reload();
  t.equal(told.length, 3, 'each wish is answered');
  group.close();
  folder.write('two', 'good 4');
  await files.reload();
  t.equal(taken.length, 2, 'closed');
});

test('a bad file at the start rejects, with blocking calls and without', async (t) => {
  const folder = new Folder(t);
  const path = folder.write('one', 'bad');
  const files = new KeptFiles();
  await t.rejects(files.keep([keptIn(path).file], () => {}).open(), { message: `the file ${path} is bad` });
  t.throws(() => files.keep([keptIn(path).file], () => {}).openNow(), { message: `the file ${path} is bad` });
  t.throws(() => files.keep([keptIn(folder.path).file], () => {}).openNow(), {
    message: /cannot be read: .*directory/,
  });
  t.strictSame(files.refused, []);
  folder.write('one', 'good');
  const { file, taken } = keptIn(path);
  const group = files.keep([file], () => {});
  group.openNow();
  t.strictSame(taken, ['good']);
  folder.write('one', 'good 2');
  await until(() => taken.length === 2);
  files.close();
});
