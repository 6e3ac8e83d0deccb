/**
 * A service that starts from a snapshot file with right checksums and wrong content, and gets requests at once. Every
 * request ends, every answer has its announced length, and all answers are right once the source is loaded.
 */
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'tap';
import { hs256, SECRET } from '../auth/tokens.js';
import { testFolder } from '../files/test-folder.js';
import { recordFigure } from '../hard/figures.mjs';
import { HARD, size } from '../hard/size.js';
import { arrayAt, type Change, changes, crafted, smallChange } from '../snapshot/crafted.js';
import { idOf } from '../snapshot/images.js';
import { until } from '../waiting/until.js';
import { openTimetable } from './built.js';

const EVENTS = 300;
const RUNS = size(4, 100, 15);
/** Even on a busy machine everything takes less than a tenth of this time, unless it hangs. */
const PATIENCE_MS = 10_000;
const PATHS = [
  '/schedule/all',
  '/schedule/all?format=msgpack',
  '/schedule/conflicts',
  '/schedule/conflicts?format=msgpack&limit=5',
  '/schedule/types',
  `/schedule?roomId=${idOf(3)}&limit=3`,
  '/schedule?studyGroup=A&startTime=2024-09-02T09:00:00Z&endTime=2024-09-03T09:00:00Z',
];
const Authorization = `Bearer ${hs256({ sub: 'alice', exp: Math.floor(Date.now() / 1000) + 7200 })}`;

interface Reply {
  /** 0 if the connection was cut. */
  readonly status: number;
  readonly type: string;
  readonly body: Buffer;
}

/** One answer, whose length node's parser checks. */
function ask(port: number, path: string, agent: Agent): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const cut = (): void => resolve({ status: 0, type: '', body: Buffer.alloc(0) });
    const asking = request(
      { port, path: `/api/v1${path}`, agent, headers: { Authorization } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', cut);
        response.on('end', () => {
          const type = response.headers['content-type'] ?? '';
          resolve({ status: response.statusCode ?? 0, type, body: Buffer.concat(chunks) });
        });
      },
    );
    asking.setTimeout(PATIENCE_MS, () => reject(new Error(`no answer to ${path} in time`)));
    asking.on('error', cut).end();
  });
}

function linesOf(title: string): string {
  return Array.from({ length: EVENTS }, (_, n) =>
    JSON.stringify({
      id: idOf(n),
      time: new Date(Date.UTC(2024, 8, 2, 8 + Math.floor(n / 4))).toISOString(),
      endTime: new Date(Date.UTC(2024, 8, 2, 9 + Math.floor(n / 4) + (n % 11 === 0 ? 1 : 0))).toISOString(),
      title: `${title} ${n}`,
      roomId: n % 7 === 0 ? null : idOf(n % 3),
      lecturer: n % 3 === 0 ? null : `Lecturer ${n % 5}`,
      studyGroup: n % 2 === 0 ? 'A' : 'B',
      type: n % 3 === 0 ? 'Lab' : 'Lecture',
    }),
  ).join('\n');
}

let trials = 0;

interface Outcome {
  /** Whether anything was served before the source was loaded. */
  readonly wasServed: boolean;
  /** The timetable's events about the file. */
  readonly faults: readonly string[];
}

/** Starts from a file, requests everything at once, and again when the source is loaded. */
async function trial(
  source: string,
  snapshotFile: string,
  workers: number,
  right: readonly Buffer[],
): Promise<Outcome> {
  // Another version, because a file that names the present one would be confirmed.
  const at = new Date(Date.UTC(2024, 0, 1) + 1000 * ++trials);
  utimesSync(source, at, at);
  const agent = new Agent({ keepAlive: true });
  const timetable = openTimetable({ source, snapshotFile, watch: false });
  const faults: string[] = [];
  timetable.on('error', (error) => faults.push((error as Error).message));
  let wasServed = false;
  timetable.on('published', ({ origin }) => {
    wasServed ||= origin === 'disk';
  });
  try {
    const server = await timetable.serve({ auth: { hs256Secret: SECRET }, port: 0, workers });
    await timetable.ready;
    const { port } = server.address;
    for (const reply of await Promise.all(PATHS.map((path) => ask(port, path, agent)))) {
      if (![0, 200, 500, 503].includes(reply.status)) throw new Error(`status ${reply.status}`);
      if (reply.type.includes('problem')) JSON.parse(reply.body.toString('utf8'));
    }
    await until(
      () => timetable.source,
      ({ state }) => state === 'loaded',
    );
    // Every thread has the publication.
    await timetable.refresh();
    for (const [n, path] of PATHS.entries()) {
      const { status, body } = await ask(port, path, agent);
      if (status !== 200 || (right[n] !== undefined && !body.equals(right[n]))) {
        throw new Error(`a wrong answer to ${path}: ${status} ${body.toString('utf8', 0, 200)}`);
      }
    }
    return { wasServed, faults };
  } finally {
    agent.destroy();
    await timetable.close();
  }
}

/** A source, its snapshot file, and all answers of both. */
async function good(folder: string): Promise<{ source: string; bytes: Buffer; right: Buffer[] }> {
  const source = join(folder, 'events.ndjson');
  const file = join(folder, 'good');
  writeFileSync(source, linesOf('Lesson'));
  const timetable = openTimetable({ source, snapshotFile: file, watch: false });
  const agent = new Agent({ keepAlive: true });
  const server = await timetable.serve({ auth: { hs256Secret: SECRET }, port: 0 });
  await timetable.ready;
  const right: Buffer[] = [];
  for (const path of PATHS) right.push((await ask(server.address.port, path, agent)).body);
  agent.destroy();
  await timetable.close();
  return { source, bytes: readFileSync(file), right };
}

test('a service that starts from a crafted file is right once the source is loaded', async (t) => {
  const folder = t.testdir();
  const { source, bytes, right } = await good(folder);
  const file = join(folder, 'image');
  const seen = { refused: 0, withdrawn: 0, served: 0 };
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.oneof(changes, smallChange), async (all) => {
      writeFileSync(file, crafted(bytes, all), { mode: 0o600 });
      const { wasServed, faults } = await trial(source, file, run++ % 5 === 0 ? 2 : 1, right);
      if (faults.length > 1) throw new Error(`more than one reason: ${faults.join('; ')}`);
      if (!wasServed) seen.refused++;
      else if (faults.length > 0) seen.withdrawn++;
      else seen.served++;
    }),
    { numRuns: RUNS, seed: 31, endOnFailure: true },
  );
  t.comment(JSON.stringify(seen));
  t.ok(seen.refused > RUNS / 2, JSON.stringify(seen));
  if (HARD) {
    const { refused, withdrawn, served } = seen;
    recordFigure(
      'crafted-files',
      `${RUNS} starts: ${refused} files refused, ${withdrawn} withdrawn, ${served} served; 0 crashes, 0 requests without an end, 0 wrong answers after the load`,
    );
  }
});

/** Each is served at once, because the fault is only in the rows. */
const WITHDRAWN: readonly (readonly [string, Change])[] = [
  [
    'no quote in any row',
    (parts) => {
      const rows = arrayAt(parts, 'rows.bytes');
      rows.fill(0x20, 1, rows.length - 1);
    },
  ],
  ['a row that is not JSON', (parts) => void arrayAt(parts, 'rows.bytes').write('{{', 1)],
];

for (const workers of [1, 2]) {
  for (const [name, change] of WITHDRAWN) {
    test(`a crafted file is withdrawn until the source is loaded, ${workers} serving: ${name}`, async (t) => {
      const folder = testFolder(t);
      const { source, bytes } = await good(folder);
      const file = join(folder, 'image');
      writeFileSync(file, crafted(bytes, [change]), { mode: 0o600 });
      // The first load fails, so that the withdrawn image has no replacement.
      writeFileSync(source, 'this is no timetable');
      const timetable = openTimetable({ source, snapshotFile: file, watch: false });
      t.teardown(() => timetable.close());
      const faults: string[] = [];
      timetable.on('error', (error) => faults.push((error as Error).message));
      const server = await timetable.serve({ auth: { hs256Secret: SECRET }, port: 0, workers });
      await timetable.ready;
      const agent = new Agent({ keepAlive: true });
      t.teardown(() => agent.destroy());
      await until(
        () => faults.length,
        (seen) => seen >= 2,
      );
      t.match(faults[0], /^the snapshot file .* cannot be used: row 0 is not a row$/);
      const { port } = server.address;
      await until(
        async () => (await ask(port, '/schedule/all', agent)).status,
        (seen) => seen === 503,
      );
      for (const path of PATHS) t.equal((await ask(port, path, agent)).status, 503, path);
      t.match(timetable, { status: 'starting', summary: null, view: null });
      t.throws(() => timetable.find(), { code: 'not-ready' });
      writeFileSync(source, linesOf('Another'));
      t.match(await timetable.refresh(), { result: 'published' });
      const reply = await ask(port, '/schedule/all', agent);
      t.equal(reply.status, 200);
      t.match((JSON.parse(reply.body.toString('utf8')) as object[])[0], { title: /^Another / });
      t.equal(timetable.status, 'ok');
    });
  }
}

test('digests reveal a file of another timetable with the right id', async (t) => {
  const folder = t.testdir();
  const { source, bytes, right } = await good(folder);
  const file = join(folder, 'image');
  const forged: Change = (parts) => {
    const rows = arrayAt(parts, 'rows.bytes');
    for (let at = rows.indexOf('Lesson'); at !== -1; at = rows.indexOf('Lesson', at))
      at += rows.write('Pranks', at);
  };
  writeFileSync(file, crafted(bytes, [forged]), { mode: 0o600 });
  const { wasServed, faults } = await trial(source, file, 1, right);
  t.ok(wasServed, 'such a file can be served: it is a timetable');
  t.match(faults, [/cannot be used: dayDigests does not match/]);
});
