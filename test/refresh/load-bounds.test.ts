import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { openHere } from '../app/open-here.js';
import { keptLog } from '../app/threads.js';
import { SECRET } from '../auth/tokens.js';
import { endless, endlessRecords, goodEvents } from '../hard/endless.mjs';
import { openTimetable, startService } from './built.js';

const GOOD = goodEvents()
  .map((event) => `${JSON.stringify(event)}\n`)
  .join('');
type Format = Parameters<typeof endless>[0];

/** An upstream whose first answer is good, and whose later answers go on until the client stops reading. */
async function startEndless(
  t: Test,
  format: Format,
): Promise<{ readonly url: string; bytes: number; isGood: boolean }> {
  const upstream = { url: '', bytes: 0, isGood: true };
  async function pour(res: ServerResponse): Promise<void> {
    for (const piece of endless(format)) {
      if (res.destroyed) return;
      upstream.bytes += piece.length;
      if (res.write(piece)) continue;
      await new Promise<void>((resolve) => {
        const done = (): void => {
          res.off('drain', done).off('close', done);
          resolve();
        };
        res.on('drain', done).on('close', done);
      });
    }
  }
  const server = createServer((_, res) => {
    if (upstream.isGood) res.end(GOOD);
    else void pour(res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  upstream.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return upstream;
}

test('an endless upstream is abandoned early, and the served snapshot stays', async (t) => {
  const upstream = await startEndless(t, 'ndjson');
  const { log, lines } = keptLog();
  const service = await startService(
    { port: 0, hs256Secret: SECRET, source: upstream.url, memoryMbMax: 64 },
    { log },
  );
  t.teardown(() => service.close());
  const { timetable } = service;
  await service.ready;
  upstream.isGood = false;
  const refused: unknown[] = [];
  timetable.on('refused', ({ refusal, summary }) => refused.push([refusal.code, summary]));
  const { result, reason } = await timetable.refresh();
  t.equal(result, 'refused');
  t.match(reason, /was refused: the load takes more than 64 MiB/);
  t.strictSame(refused, [['memory', null]]);
  t.equal(timetable.all().total, 200);
  t.match(timetable.source, { state: 'refused', lastError: /more than 64 MiB/ }, '/health says so');
  t.equal(timetable.status, 'degraded');
  t.match(
    lines.filter(({ message }) => message === 'timetable refused'),
    [{ level: 'warn', fields: { reason: /more than 64 MiB/ } }],
  );
  t.ok(upstream.bytes < 100e6, `${upstream.bytes} bytes`);
  upstream.isGood = true;
  t.equal((await timetable.refresh()).result, 'unchanged');
  t.match(
    timetable.source,
    { state: 'loaded', lastError: null },
    'and it is over when the source is well again',
  );
});

test('a first load is bounded by memory', async (t) => {
  const formats = ['json-array', 'ndjson', 'messagepack'] as const;
  for (const format of formats) {
    const upstream = await startEndless(t, format);
    upstream.isGood = false;
    const timetable = openTimetable({ source: upstream.url, memoryMbMax: 64 });
    await t.rejects(
      timetable.ready,
      {
        code: 'snapshot-refused',
        message: /the load takes more than 64 MiB, the limit for a load: after \d+ events/,
      },
      format,
    );
    t.ok(upstream.bytes < 100e6, `${format}: ${upstream.bytes} bytes`);
    await timetable.close();
  }
});

test('endless records of a program are abandoned, on a thread and on the main thread', async (t) => {
  const places = [openHere, openTimetable];
  for (const open of places) {
    let isEndless = false;
    let ended = false;
    function* records(): Generator<unknown> {
      try {
        yield* isEndless ? endlessRecords() : goodEvents();
      } finally {
        ended = true;
      }
    }
    const source = { name: 'records', load: () => ({ records: records(), version: null }) };
    const timetable = open({ source, memoryMbMax: 64 });
    await timetable.ready;
    isEndless = true;
    ended = false;
    t.match(await timetable.refresh(), { result: 'refused', reason: /more than 64 MiB/ });
    t.ok(ended, 'and closed');
    t.equal(timetable.all().total, 200);
    await timetable.close();
  }
});

test('an unchanged source whose load was refused is not read again', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-bounds-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const line = (n: number): string => `{"id":"${n}"}\n`;
  const lines = (from: number, count: number): string =>
    Array.from({ length: count }, (_, n) => line(from + n)).join('');
  const paths = ['first', 'second', 'third'].map((name) => join(folder, name));
  const [first = '', second = '', third = ''] = paths;
  writeFileSync(first, lines(0, 10));
  writeFileSync(second, lines(10, 90));
  writeFileSync(third, lines(100, 20));
  let requests = 0;
  let read = 0;
  const server = createServer((req, res) => {
    requests++;
    const isKnown = req.headers['if-none-match'] === '"1"';
    if (!isKnown) read++;
    res.writeHead(isKnown ? 304 : 200, { etag: '"1"' }).end(isKnown ? '' : lines(0, 120));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const map = join(folder, 'lecturers');
  writeFileSync(map, '{}');
  let loads = 0;
  const records = {
    name: 'records',
    load({ previous }: { readonly previous: string | null }) {
      if (previous === '1') return { notModified: true } as const;
      loads++;
      return { records: [{ id: 'x' }], version: '1' };
    },
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const file = (path: string) => ({ kind: 'file', path }) as const;
  for (const [name, source] of [
    ['two files', { kind: 'merged', specs: [file(second), file(third)] }],
    ['three, of which one is not reached', { kind: 'merged', specs: paths.map(file) }],
    ['a file with a map of lecturers', { ...file(second), lecturerIds: map }],
    ['an address', { kind: 'http', url }],
    ['records', records],
  ] as const) {
    const timetable = openTimetable({ source, watch: false, refreshSeconds: 0 });
    let told = 0;
    timetable.on('refused', () => told++);
    await t.rejects(timetable.ready, { code: 'snapshot-refused', message: /it has no events/ }, name);
    t.match(await timetable.refresh(), { result: 'refused', reason: /it has no events/ }, name);
    t.equal(told, 1, `${name}: read once`);
    if (name !== 'an address' && name !== 'records') {
      writeFileSync(second, lines(10, 91 + told));
      await timetable.refresh();
      t.equal(told, 2, `${name}: and read again once it has changed`);
    }
    await timetable.close();
  }
  t.strictSame([requests, read, loads], [2, 1, 1]);
});
