import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { keptLog } from '../app/threads.js';
import { goodEvents } from '../hard/endless.mjs';
import { until } from '../waiting/until.js';
import { openTimetable, startService } from './built.js';

function folderFor(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-pipe-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const lines = (count: number): string =>
  goodEvents()
    .slice(0, count)
    .map((event) => `${JSON.stringify(event)}\n`)
    .join('');

/** Puts a pipe in place of a file, as a rename does. */
function becomePipe(path: string): void {
  execFileSync('mkfifo', [`${path}.pipe`]);
  renameSync(`${path}.pipe`, path);
}

function becomeFile(path: string, text: string): void {
  writeFileSync(`${path}.next`, text);
  renameSync(`${path}.next`, path);
}

test('a pipe in place of the file is reported, and refreshing continues', {
  skip: process.platform === 'win32',
}, async (t) => {
  const path = join(folderFor(t), 'events');
  writeFileSync(path, lines(200));
  const timetable = openTimetable({ source: path, watch: false });
  t.teardown(() => timetable.close());
  await timetable.ready;
  becomePipe(path);
  for (const force of [false, true]) {
    t.match(await timetable.refresh({ force }), {
      result: 'failed',
      reason: `cannot read ${path}: it is a named pipe; expected a regular file`,
    });
  }
  t.equal(timetable.all().total, 200);
  t.match(timetable.source, { state: 'failed', lastError: /named pipe/ });
  becomeFile(path, lines(190));
  t.match(await timetable.refresh(), { result: 'published' });
  t.equal(timetable.all().total, 190);
});

test('a pipe in place of the map of lecturers is reported, and refreshing continues', {
  skip: process.platform === 'win32',
}, async (t) => {
  const folder = folderFor(t);
  const path = join(folder, 'events');
  const map = join(folder, 'lecturers');
  writeFileSync(path, lines(200));
  writeFileSync(map, '{}');
  const source = { kind: 'file', path, lecturerIds: map } as const;
  const timetable = openTimetable({ source, watch: false });
  t.teardown(() => timetable.close());
  await timetable.ready;
  becomePipe(map);
  t.match(await timetable.refresh(), {
    result: 'failed',
    reason: /lecturers is not a regular file; expected one/,
  });
  becomeFile(map, '{"Doe, John":"f0000000-0000-4000-8000-000000000001"}');
  t.match(await timetable.refresh(), { result: 'published' });
});

test('a pipe that was there at the start is read, and read again if it has a writer', {
  skip: process.platform === 'win32',
}, async (t) => {
  const path = join(folderFor(t), 'events');
  execFileSync('mkfifo', [path]);
  const write = (count: number): void => {
    const child = spawn('/bin/sh', ['-c', 'cat > "$1"', 'sh', path]);
    child.stdin.end(lines(count));
  };
  write(200);
  const timetable = openTimetable({ source: path, watch: false });
  t.teardown(() => timetable.close());
  t.equal((await timetable.ready).events, 200);
  write(190);
  t.match(await timetable.refresh(), { result: 'published' });
  t.equal(timetable.all().total, 190);
});

test('a pipe without a writer is reported', {
  skip: process.platform === 'win32',
}, async (t) => {
  const folder = folderFor(t);
  const path = join(folder, 'events');
  const file = join(folder, 'file');
  execFileSync('mkfifo', [path]);
  writeFileSync(file, lines(200));
  const [pipe, whole] = [keptLog(), keptLog()];
  const options = { dev: true, port: 0, watch: false } as const;
  const other = await startService({ ...options, source: file }, { log: whole.log });
  t.teardown(() => other.close());
  const service = await startService({ ...options, source: path }, { log: pipe.log });
  t.teardown(() => service.close());
  const waiting = () => pipe.lines.filter(({ message }) => message === 'still waiting for the source');
  await until(() => waiting().length > 0);
  t.match(waiting(), [
    { level: 'warn', fields: { source: path, reason: `no data in the named pipe ${path}` } },
  ]);
  writeFileSync(path, lines(200));
  t.equal((await service.ready).events, 200);
  t.equal(waiting().length, 1);
  t.notOk(whole.lines.some(({ message }) => message === 'still waiting for the source'));
});
