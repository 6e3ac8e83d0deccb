/** Snapshot files in a program: matching sources, pinned files, and changes afterwards. */
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { crc32 } from 'node:zlib';
import { Packr, unpack } from 'msgpackr';
import { type Test, test } from 'tap';
import type { TimetableOptions } from '../../src/index.js';
import { readImageFile, writeImageFile } from '../../src/snapshot/image-file.js';
import { IMAGE_FORMAT } from '../../src/snapshot/image-layout.js';
import { sourceDigest } from '../../src/source/spec.js';
import { fastTest, slowTest } from '../hard/slow-test.js';
import { stored } from '../snapshot/images.js';
import { timeForAFault } from '../waiting/until.js';
import { BUILT_MODULE, idOf, openTimetable, record, runProgram, temporaryFolder } from './built.js';

/** Writes a snapshot file of these records. */
async function snapshotOf(
  t: Test,
  records: object[],
  options: Partial<TimetableOptions> = {},
): Promise<string> {
  const snapshotFile = join(await temporaryFolder(t), 'image');
  const timetable = openTimetable({ source: records, snapshotFile, ...options });
  await timetable.ready;
  await timetable.close();
  return snapshotFile;
}

test('a snapshot with another kind of identifiers is not served, even if the source did not change', async (t) => {
  const folder = await temporaryFolder(t);
  const source = join(folder, 'events.json');
  await writeFile(source, JSON.stringify([record(1), record(2, { id: 'event-2' })]));
  const snapshotFile = join(folder, 'image');
  const any = openTimetable({ source, snapshotFile, identifiers: 'any' });
  t.equal((await any.ready).events, 2);
  await any.close();

  const expected = /image cannot be used: it was made with identifiers 'any'; this timetable uses 'uuid'/;
  const pinned = openTimetable({ source: [], pin: snapshotFile });
  await t.rejects(pinned.ready, { code: 'image-unusable', message: expected });
  await pinned.close();

  const uuid = openTimetable({ source, snapshotFile });
  const errors: Error[] = [];
  uuid.on('error', (error) => errors.push(error));
  const { events, rejected, identifiers } = await uuid.ready;
  t.strictSame([events, rejected, identifiers], [1, 1, 'uuid']);
  t.equal(uuid.publication?.origin, 'source');
  t.match(errors, [{ code: 'image-unusable', message: expected }]);
  await uuid.close();
});

test('a snapshot of another source is not served at the start, but a snapshot without a source name is', async (t) => {
  const folder = await temporaryFolder(t);
  const [demo, mine, snapshotFile] = ['demo.json', 'mine.json', 'image'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  await writeFile(demo, JSON.stringify([record(1), record(2), record(3)]));
  await writeFile(mine, JSON.stringify([record(4)]));
  const openedWith = async (source: TimetableOptions['source']): Promise<unknown[]> => {
    const timetable = openTimetable({ source, snapshotFile });
    const errors: Error[] = [];
    timetable.on('error', (error) => errors.push(error));
    const { events } = await timetable.ready;
    const { origin } = timetable.publication ?? {};
    await timetable.close();
    return [events, origin, ...errors.map(({ message }) => message)];
  };
  t.strictSame(await openedWith(demo), [3, 'source']);
  t.strictSame(await openedWith(demo), [3, 'disk']);
  t.strictSame(await openedWith(relative(process.cwd(), demo)), [3, 'disk'], 'the same file');
  const [events, origin, message, ...more] = await openedWith(mine);
  t.strictSame([events, origin, more], [1, 'source', []]);
  t.match(message, /image is not served: it comes from the source ".*demo\.json", not from ".*mine\.json"/);
  t.strictSame(await openedWith(mine), [1, 'disk'], 'it has been replaced');

  const { image } = readImageFile(snapshotFile);
  writeImageFile(snapshotFile, stored(image));
  t.strictSame(await openedWith(demo), [1, 'disk'], 'a file from before it was noted');
});

test('a snapshot file of an earlier format is replaced, not served', async (t) => {
  const folder = await temporaryFolder(t);
  const source = join(folder, 'events.json');
  const snapshotFile = join(folder, 'image');
  await writeFile(source, JSON.stringify([record(1), record(2)]));
  const first = openTimetable({ source, snapshotFile });
  await first.ready;
  await first.close();

  const bytes = await readFile(snapshotFile);
  const end = 16 + bytes.readUInt32LE(8);
  const { hashSeed: _, ...header } = unpack(bytes.subarray(16, end)) as Record<string, unknown>;
  const packed = new Packr({ useRecords: false }).pack({
    ...header,
    formatVersion: IMAGE_FORMAT - 1,
  });
  const prefix = Buffer.from(bytes.subarray(0, 16));
  prefix.writeUInt32LE(packed.length, 8);
  prefix.writeUInt32LE(crc32(packed), 12);
  await writeFile(snapshotFile, Buffer.concat([prefix, packed, bytes.subarray(end)]));

  const timetable = openTimetable({ source, snapshotFile });
  const errors: Error[] = [];
  timetable.on('error', (error) => errors.push(error));
  t.equal((await timetable.ready).events, 2);
  t.equal(timetable.publication?.origin, 'source');
  const reason = `its format version is ${IMAGE_FORMAT - 1}; this version of Lectern reads ${IMAGE_FORMAT}`;
  t.match(errors, [{ code: 'image-unusable', message: reason }]);
  await timetable.close();
  const again = openTimetable({ source, snapshotFile });
  await again.ready;
  t.equal(again.publication?.origin, 'disk', 'it has been replaced');
  await again.close();
});

fastTest('a snapshot file names its source without secrets; another secret is still the same source', (t) => {
  const of = (url: string): string => sourceDigest({ kind: 'http', url }, 'x');
  t.equal(of('https://ada:hidden@a.example/all'), of('https://a.example/all'));
  const headers = { Authorization: 'Bearer hidden' };
  t.strictSame(
    sourceDigest({ kind: 'http', url: 'https://a.example/all', headers }, 'x'),
    of('https://a.example/all'),
  );
  t.not(of('https://a.example/all?of=1'), of('https://a.example/all?of=2'));
  t.notMatch(of('https://a.example/all?key=hidden'), /hidden/);
  t.end();
});

test('a pinned file never becomes stale; damaged files and pipes are refused at once', async (t) => {
  const pin = await snapshotOf(t, [record(1), record(2)]);
  const timetable = openTimetable({ source: [record(9)], pin, staleSecondsMax: 0.05, refreshSeconds: 0.05 });
  const { id } = await timetable.ready;
  await timeForAFault(200);
  await timetable.refresh({ force: true });
  t.equal(timetable.find().total, 2, 'no source is asked, so the file does not become stale');
  t.match([timetable.status, timetable.publication], ['ok', { origin: 'pin' }]);
  t.match(timetable.changes(id), { added: [], changed: [], removed: [] });
  t.equal(timetable.changes('another'), null, 'nothing is known of the past');
  await timetable.close();

  const bytes = await readFile(pin);
  const folder = await temporaryFolder(t);
  const damaged = join(folder, 'damaged');
  bytes[bytes.length - 20] = (bytes[bytes.length - 20] ?? 0) ^ 1;
  await writeFile(damaged, bytes);
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  for (const [path, message] of [
    [damaged, /is damaged$/],
    [pipe, /it is not a regular file$/],
    [folder, /it is a directory$/],
  ] as const) {
    const failing = openTimetable({ source: [record(1)], pin: path });
    await t.rejects(failing.ready, { code: 'image-unusable', message });
    t.match(failing.source, { state: 'failed', lastError: message });
    t.throws(() => failing.find(), { code: 'not-ready', message });
    await failing.close();
  }
});

test('changes since a snapshot are available after a forced publication and after a restart', async (t) => {
  let records = [1, 2, 3, 4].map((n) => record(n));
  const snapshotFile = join(await temporaryFolder(t), 'image');
  const source = { name: 'the script', load: () => ({ records, version: null }) };
  const timetable = openTimetable({ source, snapshotFile });
  const { id: first } = await timetable.ready;
  records = [record(1, { title: 'new' })];
  await timetable.refresh();
  t.equal(timetable.source.state, 'refused');
  t.strictSame(timetable.changes(first)?.removed, [], 'what was refused is no change');
  await timetable.refresh({ force: true });
  const changes = {
    from: first,
    to: timetable.summary?.id,
    added: [],
    changed: [{ id: idOf(1), title: 'new' }],
    removed: [idOf(2), idOf(3), idOf(4)],
  };
  t.match(timetable.changes(first), changes);
  await timetable.close();

  const again = openTimetable({ source, snapshotFile });
  const { id } = await again.ready;
  t.match(again.changes(first), changes);
  t.match(again.changes(id), { from: id, to: id, added: [], changed: [], removed: [] });
  await again.close();
});

slowTest('two processes that write one snapshot file leave a whole image and no other file', async (t) => {
  const folder = await temporaryFolder(t);
  const program = join(folder, 'program.mjs');
  await writeFile(
    program,
    `import { MemorySource, openTimetable } from ${JSON.stringify(BUILT_MODULE)};
    const events = (title) => Array.from({ length: 2000 }, (_, n) => ({
      id: '00000000-0000-4000-8000-' + String(n).padStart(12, '0'), time: '2024-09-02T08:00:00Z', endTime: '2024-09-02T10:00:00Z', title,
    }));
    const memory = new MemorySource(events('0'));
    const timetable = openTimetable({ source: memory, watch: false, snapshotFile: 'image' });
    timetable.on('error', (error) => console.log(error.code + ' ' + error.message));
    await timetable.ready;
    for (let n = 1; n <= 10; n++) { memory.replace(events(process.argv[2] + n)); await timetable.refresh(); }
    await timetable.close();`,
  );
  const outcomes = await Promise.all(['a', 'b', 'c'].map((name) => runProgram(folder, [program, name])));
  for (const outcome of outcomes) t.match(outcome, { code: 0, stdout: '', stderr: '' });
  t.strictSame((await readdir(folder)).sort(), ['image', 'program.mjs']);
  const pinned = openTimetable({ source: [], pin: join(folder, 'image') });
  t.equal((await pinned.ready).events, 2000);
  t.match(pinned.find({ limit: 1 }).events[0]?.title, /^[abc]10$/);
  await pinned.close();
});

test('an unusable snapshot file is refused when the timetable is opened', async (t) => {
  const folder = await temporaryFolder(t);
  const readOnly = join(folder, 'read-only');
  await mkdir(readOnly);
  await chmod(readOnly, 0o500);
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const cases: [path: string, message: RegExp][] = [
    [folder, /it is a directory; expected the path of a file$/],
    [pipe, /it is not a regular file; expected one$/],
    [join(folder, 'none', 'image'), /there is no folder /],
  ];
  // The superuser can write everywhere.
  if (process.getuid?.() !== 0) cases.push([join(readOnly, 'image'), /permission denied/]);
  for (const [snapshotFile, message] of cases) {
    const options = { source: [record(1)], snapshotFile };
    t.throws(() => openTimetable(options), { code: 'option-invalid', message }, snapshotFile);
  }
});
