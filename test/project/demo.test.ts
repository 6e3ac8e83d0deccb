/** `npm start`: the demo has full weeks around any day, and changes to show. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { test } from 'tap';
import { changedRows, type DemoRow, rowsAround } from '../../scripts/demo-rows.mjs';
import { until } from '../waiting/until.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DAY_MS = 86_400_000;
/** Weeks since a Monday. */
const weekOf = (instant: number): number => Math.floor((instant - Date.UTC(2024, 0, 1)) / (7 * DAY_MS));
const FIXTURE = gunzipSync(readFileSync(`${ROOT}/fixtures/demo.ndjson.gz`))
  .toString('utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as DemoRow);

test('the weeks around any day are full, each id is there once, and the term of the examples stays', (t) => {
  for (const today of ['2026-02-11', '2026-09-14', '2026-11-27', '2026-12-25', '2027-01-20', '2031-06-03']) {
    const nowMs = Date.parse(`${today}T10:00:00Z`);
    const rows = rowsAround(FIXTURE, nowMs);
    for (const near of [nowMs - 7 * DAY_MS, nowMs, nowMs + 7 * DAY_MS]) {
      if (today === '2026-09-14' && near < nowMs) continue;
      const week = rows.filter(({ time }) => weekOf(Date.parse(time)) === weekOf(near));
      t.ok(week.length > 500, `${today}: ${week.length} lessons in a week`);
    }
    t.equal(new Set(rows.map(({ id }) => id)).size, rows.length, `${today}: ids`);
    const all = new Set(rows);
    if (nowMs > Date.parse('2026-10-01')) t.ok(FIXTURE.slice(0, 2000).every((row) => all.has(row)));
    const changed = changedRows(rows, nowMs);
    const others = changed.filter((row) => !all.has(row));
    t.ok(others.length > 10 && others.length < 100, `${today}: ${others.length} changes`);
    t.equal(new Set(changed.map(({ id }) => id)).size, changed.length, `${today}: ids after the changes`);
    const own = changed.filter(
      ({ studyGroup, time }) => studyGroup === 'BIO-1A' && weekOf(Date.parse(time)) === weekOf(nowMs),
    );
    const clash = own.find((a) => own.some((b) => a !== b && a.time <= b.time && b.time < a.endTime));
    t.ok(clash, `${today}: a clash in the week of the test token`);
  }
  t.end();
});

test('npm start prints the address of the page first, and lessons change after the start', async (t) => {
  t.ok(existsSync(`${ROOT}/dist/cli.js`), 'the project is built: npm run build');
  const child = spawn(process.execPath, ['scripts/demo.mjs', '--port', '0'], { cwd: ROOT });
  t.teardown(() => child.kill('SIGTERM'));
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  await until(() => printed.includes('loaded again'));
  const [, view = ''] = /^Timetable: (http\S+\/view)\n/.exec(printed) ?? [];
  const base = view.replace(/\/view$/, '');
  const ask = async <T>(path: string, token = ''): Promise<T> => {
    const answer = await fetch(base + path, { headers: { Authorization: `Bearer ${token}` } });
    t.equal(answer.status, 200, path);
    return (await answer.json()) as T;
  };
  const { access_token: token } = await ask<{ access_token: string }>('/login');
  const since = new Date(Date.now() - DAY_MS).toISOString();
  const changes = await ask<Record<'added' | 'changed' | 'removed' | 'earlier', unknown[]>>(
    `/schedule/changes?since=${since}&earlier=true`,
    token,
  );
  t.ok(changes.added.length > 0 && changes.changed.length > 5 && changes.removed.length > 0);
  t.equal(changes.earlier.length, changes.changed.length + changes.removed.length);
  t.match(await ask('/schedule/feed?for=personal', token), { webcal: /^webcal:/ });
  child.kill('SIGTERM');
  t.same(await once(child, 'exit'), [0, null]);
});
