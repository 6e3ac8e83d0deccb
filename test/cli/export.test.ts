import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { decode } from '@msgpack/msgpack';
import { type Test, test } from 'tap';
import type { NormalisedEvent, TimetableEvent } from '../../src/base/model/event.js';
import { csvOf, icsOf, ndjsonOf } from '../oracle/representations.js';
import { until } from '../waiting/until.js';
import { CLI, lectern, ROOT } from './lectern.js';
import { assertOneLine, runHere } from './run-here.js';

const DEMO = join(ROOT, 'fixtures/demo.ndjson.gz');
const LINES = gunzipSync(readFileSync(DEMO)).toString().split('\n').filter(Boolean);
const RECORDS = LINES.length;
const FULL = existsSync('/dev/full');
const NO_BASH = spawnSync('bash', ['-c', 'true']).error !== undefined && 'bash is not installed';
const IS_ROOT = process.getuid?.() === 0;

function readJson(path: string): TimetableEvent[] {
  return JSON.parse(readFileSync(path, 'utf8')) as TimetableEvent[];
}

test('every format can be written to a file, chosen by its ending or by --format', async (t) => {
  // A killed export has left a file.
  const folder = t.testdir({ 'labs.csv.0123456789abcdef.unfinished': '' });
  utimesSync(join(folder, 'labs.csv.0123456789abcdef.unfinished'), 0, 0);
  for (const name of ['json', 'msgpack', 'ndjson', 'csv', 'ics']) {
    const path = join(folder, `labs.${name}`);
    const { code, stdout, stderr } = await runHere(t, ['export', DEMO, 'type=LAB', '--output', path]);
    t.same([code, stdout], [0, ''], name);
    t.match(stderr, /^994 events, [\d.]+ .B, to \S+\n$/);
  }
  const events = readJson(join(folder, 'labs.json'));
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
  t.ok(read('labs.ndjson') === ndjsonOf(events));
  t.ok(read('labs.csv') === csvOf(events));
  // Names of rooms and courses are in the records alone. The events last changed when the file did.
  const modified = statSync(DEMO).mtimeMs;
  const all = LINES.map((line) => ({ ...(JSON.parse(line) as NormalisedEvent), modified }));
  t.ok(read('labs.ics') === icsOf(events, all));
  t.same(decode(readFileSync(join(folder, 'labs.msgpack'))), events);
  const allPath = join(folder, 'all.txt');
  t.equal(
    (await runHere(t, ['export', DEMO, '-f', 'ndjson', '-o', allPath])).code,
    0,
    'without a query, every event',
  );
  t.equal(read('all.txt').split('\n').length, RECORDS + 1);
  t.same(
    readdirSync(folder).filter((name) => name.includes('unfinished')),
    [],
    'nothing is left behind',
  );
});

test('a query selects events; without --output they go to standard output', async (t) => {
  const query = 'studyGroup=BIO-1D&type=LEC&limit=3';
  const json = await lectern(['export', DEMO, query, '--format', 'json']);
  t.same([json.code, json.stderr], [0, '']);
  const events = JSON.parse(json.stdout) as TimetableEvent[];
  t.equal(events.length, 3);
  const address = await runHere(t, ['export', DEMO, `/api/v1/schedule?${query}`, '--format', 'csv']);
  t.same([address.code, address.stdout, address.stderr], [0, csvOf(events), '']);
  const file = join(t.testdir(), 'page.ndjson');
  const paged = await runHere(t, ['export', DEMO, query, '-o', file]);
  t.match(paged.stderr, /^3 of [\d,]+ events, /, 'a page says so');
  const empty = await runHere(t, ['export', DEMO, 'type=none', '-f', 'json']);
  t.same([empty.code, empty.stdout], [0, '[]']);
});

test('wrong usage gives one line', async (t) => {
  const missing = join(t.testdir(), 'no/such.csv');
  const cases: [argv: string[], code: number, message: RegExp][] = [
    [[DEMO], 2, /the format is not known: give --format json, msgpack, ndjson, csv or ics/],
    [[DEMO, '-o', 'list.xlsx'], 2, /the format is not known/],
    [
      [DEMO, '-f', 'xlsx'],
      2,
      /argument 'xlsx' is invalid. Allowed choices are json, msgpack, ndjson, csv, ics/,
    ],
    [[DEMO, 'typ=LEC', '-f', 'csv'], 2, /did you mean type\?/],
    [[DEMO, 'limit=0', '-f', 'csv'], 2, /limit/],
    [[DEMO, 'format=csv', '-f', 'csv'], 2, /give it as --format/],
    [[DEMO, '/schedule/conflicts?by=room', '-f', 'csv'], 2, /only GET \/schedule can be exported/],
    [['missing.ndjson', '-f', 'csv'], 1, /missing\.ndjson/],
    [[DEMO, '-o', missing], 1, /cannot write .*no\/such\.csv: there is no such folder/],
    [[DEMO, '-f', 'csv', '-o', ROOT], 1, /it is a folder/],
  ];
  for (const [argv, code, message] of cases) {
    assertOneLine(t, await runHere(t, ['export', ...argv]), code, message, argv.join(' '));
  }
});

test('a file is replaced only when the new one is complete', async (t) => {
  const folder = t.testdir();
  const path = join(folder, 'all.json');
  writeFileSync(path, 'old', { mode: 0o640 });
  const link = join(folder, 'link.json');
  symlinkSync(path, link);
  t.equal((await runHere(t, ['export', 'missing.ndjson', '-o', path])).code, 1);
  t.equal(readFileSync(path, 'utf8'), 'old', 'a load that fails leaves it');
  t.equal((await runHere(t, ['export', DEMO, 'limit=2', '-o', link])).code, 0);
  t.equal(readJson(path).length, 2, 'the target of a link is replaced');
  t.equal(statSync(path).mode & 0o777, 0o640, 'its permissions stay');
  t.same(readdirSync(folder).sort(), ['all.json', 'link.json']);
});

test('a full disk or an unwritable folder gives one line', async (t) => {
  if (FULL) {
    const full = await runHere(t, ['export', DEMO, '-f', 'csv', '-o', '/dev/full']);
    assertOneLine(t, full, 1, /cannot write \/dev\/full: no space is left on the device/, 'full');
  }
  const folder = join(t.testdir(), 'closed');
  mkdirSync(folder);
  chmodSync(folder, 0o500);
  const closed = await runHere(t, ['export', DEMO, 'limit=1', '-o', join(folder, 'a.csv')]);
  // Root may write everywhere.
  if (IS_ROOT) t.equal(closed.code, 0);
  else assertOneLine(t, closed, 1, /permission denied/, 'closed');
});

test('export ends quietly when its reader closes the pipe', { skip: NO_BASH }, async (t) => {
  const line = `set -o pipefail; ${[process.execPath, ...CLI].join(' ')} export ${DEMO} -f csv | true`;
  const child = spawn('bash', ['-c', line], { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk;
  });
  t.same(await once(child, 'close'), [0, null]);
  t.equal(stderr, '');
});

/** Interrupts an export that reads from a pipe which stays open. */
async function interrupt(t: Test, signal: NodeJS.Signals): Promise<void> {
  const folder = t.testdir({ 'all.csv': 'old' });
  const argv = [...CLI, 'export', '-', '-o', join(folder, 'all.csv')];
  const child = spawn(process.execPath, argv, { cwd: ROOT, stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.write('{"id":');
  // The unfinished file exists before the load begins.
  await until(
    () => readdirSync(folder),
    (seen) => seen.length >= 2,
  );
  const ended = once(child, 'close');
  child.kill(signal);
  t.same(await ended, [null, signal], 'it ends as the signal does');
  t.same(readdirSync(folder), ['all.csv'], 'nothing is left behind');
  t.equal(readFileSync(join(folder, 'all.csv'), 'utf8'), 'old');
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  test(`${signal} leaves the file as it was`, (t) => interrupt(t, signal));
}

test('openapi prints the same document for the same options, without a server', async (t) => {
  const print = async (...argv: string[]): Promise<string> => (await runHere(t, ['openapi', ...argv])).stdout;
  const text = await print();
  t.equal(await print(), text);
  const document = JSON.parse(text) as { openapi: string; servers: { url: string }[] };
  t.match(document, { openapi: '3.1.0', servers: [{ url: '/api/v1' }] });
  t.match(JSON.parse(await print('--base-path', '/timetable')), { servers: [{ url: '/timetable' }] });
  t.match(text, '"format": "uuid"');
  t.notMatch(await print('--identifiers', 'any'), '"format": "uuid"');
  assertOneLine(t, await runHere(t, ['openapi', '--base-path', 'x y']), 2, /base-path/, 'base path');
});
