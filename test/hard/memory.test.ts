import { type ChildProcess, spawn } from 'node:child_process';
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { type Test, test } from 'tap';
import { builtModule } from '../refresh/built.js';
import { endless, type Format, goodEvents, packed, someOf } from './endless.mjs';
import { recordFigure } from './figures.mjs';
import { HARD } from './size.js';

/**
 * A source of any kind does not end a process that has 512 MiB. If possible it runs in its own control group, where the
 * system would kill it. Otherwise its loads have the bound of such a group, and its resident memory is compared.
 */
const LIMIT_MIB = 512;
const MIB = 2 ** 20;
const SCRIPT = fileURLToPath(new URL('./bounded.mjs', import.meta.url));
/** Growth is allowed, so that only memory can stop a load. */

interface Outcome {
  readonly result: string;
  readonly reason: string | null;
  readonly refusals: readonly string[];
  readonly before: number;
  readonly after: number;
  readonly ms: number;
  readonly peakMib: number;
}

type Serve = (req: IncomingMessage, res: ServerResponse, n: number) => void;

interface Job {
  readonly kind: string;
  readonly options?: object;
  /** The source that replaces the served file. */
  readonly hostile?: () => Readable;
  readonly serve?: Serve;
  readonly outcome: { readonly result: string; readonly reason?: RegExp };
}

/** A control group of version 1 or 2 within the group of this process; null if none can be made. */
function createGroup(): string | null {
  const self = existsSync('/proc/self/cgroup') ? readFileSync('/proc/self/cgroup', 'utf8') : '';
  const [, own1] = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(self) ?? [];
  const [, own2] = /^0::(.*)$/m.exec(self) ?? [];
  const places = [
    {
      folder: own1 === undefined ? null : join('/sys/fs/cgroup/memory', own1),
      limit: 'memory.limit_in_bytes',
    },
    { folder: own2 === undefined ? null : join('/sys/fs/cgroup', own2), limit: 'memory.max' },
  ];
  for (const { folder, limit } of places) {
    if (folder === null) continue;
    const group = join(folder, `lectern-test-${process.pid}`);
    try {
      mkdirSync(group);
      try {
        writeFileSync(join(group, limit), String(LIMIT_MIB * MIB));
        return group;
      } catch {
        rmdirSync(group);
      }
    } catch {
      // This user cannot write to it, or it is not in use.
    }
  }
  return null;
}

const GROUP = createGroup();
let running: ChildProcess | null = null;
process.on('exit', () => {
  running?.kill('SIGKILL');
  const beganMs = performance.now();
  // A group is busy for a moment after its last process has ended.
  while (GROUP !== null && existsSync(GROUP) && performance.now() - beganMs < 1000) {
    try {
      rmdirSync(GROUP);
    } catch {}
  }
});

async function run(t: Test, { kind, options, hostile, serve }: Job): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-memory-'));
  let requests = 0;
  const server = createServer((req, res) => serve?.(req, res, requests++));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const path = join(folder, 'hostile');
  if (hostile !== undefined) await pipeline(hostile(), createWriteStream(path));
  const bounded = GROUP === null ? { memoryMbMax: 350, ...options } : options;
  const job = {
    kind,
    options: bounded,
    folder,
    address,
    ...(hostile === undefined ? {} : { hostile: path }),
  };
  const enter = GROUP === null ? '' : `echo $$ > "${GROUP}/cgroup.procs" && `;
  const argv = [SCRIPT, builtModule('index.js'), JSON.stringify(job)];
  const child = spawn('/bin/sh', ['-c', `${enter}exec "$@"`, 'sh', process.execPath, ...argv]);
  const output = { out: '', err: '' };
  running = child;
  child.stdout.on('data', (chunk) => {
    output.out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output.err += chunk;
  });
  child.stdin.on('error', () => {});
  if (kind === 'stdin')
    Readable.from(endless('ndjson'))
      .on('error', () => {})
      .pipe(child.stdin);
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.on('close', (...end) => resolve(end));
  });
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
  running = null;
  t.strictSame([code, signal], [0, null], `the process lives: ${output.err.slice(-500)}`);
  return JSON.parse(output.out) as Outcome;
}

/** Good at first, then endless. */
function pouring(format: Format, options: { isVaried?: boolean; title?: string } = {}): Serve {
  return async (_, res, n) => {
    if (n === 0) {
      res.end(goodText());
      return;
    }
    Readable.from(endless(format, options))
      .on('error', () => {})
      .pipe(res);
    res.on('error', () => {});
  };
}

const PAGES = endless('ndjson');
/** Pages of a few thousand records, each with a next link. */
const paging: Serve = (_, res, n) => {
  if (n === 0) {
    res.end(goodText());
    return;
  }
  res.setHeader('Link', `</${n}>; rel="next"`);
  res.end(Buffer.concat(Array.from({ length: 8 }, () => PAGES.next().value)));
};

/** One record that never ends. */
const oneLine: Serve = (_, res, n) => {
  if (n === 0) {
    res.end(goodText());
    return;
  }
  function* line(): Generator<Buffer> {
    yield Buffer.from('{"id":"');
    for (let piece = 0; piece < 4000; piece++) yield Buffer.alloc(256 * 1024, 0x78);
  }
  Readable.from(line())
    .on('error', () => {})
    .pipe(res);
  res.on('error', () => {});
};

function goodText(): string {
  return goodEvents()
    .map((event) => `${JSON.stringify(event)}\n`)
    .join('');
}

const some = (format: Format, pieces: number, options: { isVaried?: boolean; title?: string } = {}) =>
  someOf(endless(format, options), pieces, format);
/** 40 of them are 1 GiB in 500 records each, and 3 MB of gzip. */
const LONG_TITLE = 'x'.repeat(50_000);

function* giantMap(): Generator<Buffer> {
  yield Buffer.from('{"last":""');
  for (let n = 0; n < 1_000_000; n++) yield Buffer.from(`,"${n.toString(36)}":""`);
  yield Buffer.from('}');
}

const MEMORY = { result: 'refused', reason: /the limit for a load/ };
const JOBS: readonly (Job & { readonly name: string; readonly isQuick?: true })[] = [
  {
    name: 'an address without end',
    kind: 'address',
    options: {},
    serve: pouring('ndjson'),
    outcome: MEMORY,
    isQuick: true,
  },
  {
    name: 'a file of 1,000,000',
    kind: 'file',
    hostile: () => Readable.from(some('ndjson', 2000)),
    outcome: MEMORY,
  },
  {
    name: 'a file as MessagePack',
    kind: 'file',
    hostile: () => Readable.from(some('messagepack', 2000)),
    outcome: MEMORY,
  },
  {
    name: 'a file whose texts all differ',
    kind: 'file',
    hostile: () => Readable.from(some('ndjson', 500, { isVaried: true })),
    outcome: MEMORY,
  },
  {
    name: 'a calendar',
    kind: 'file',
    hostile: () => Readable.from(some('icalendar', 2000)),
    outcome: MEMORY,
  },
  {
    name: 'CSV whose texts all differ',
    kind: 'file',
    hostile: () => Readable.from(some('csv', 1500, { isVaried: true })),
    outcome: MEMORY,
  },
  {
    name: 'a gzipped file',
    kind: 'file',
    hostile: () => packed(some('ndjson', 40, { title: LONG_TITLE })),
    outcome: MEMORY,
  },
  { name: 'an address as NDJSON', kind: 'address', serve: pouring('ndjson'), outcome: MEMORY },
  {
    name: 'an address as an array',
    kind: 'address',
    serve: pouring('json-array'),
    outcome: MEMORY,
  },
  {
    name: 'an address as MessagePack',
    kind: 'address',
    serve: pouring('messagepack', { isVaried: true }),
    outcome: MEMORY,
  },
  { name: 'an address in pages', kind: 'address', serve: paging, outcome: MEMORY },
  {
    name: 'one line of 1 GB',
    kind: 'address',
    serve: oneLine,
    outcome: { result: 'refused', reason: /its only record was rejected/ },
  },
  {
    name: 'several sources',
    kind: 'several',
    serve: pouring('ndjson', { isVaried: true }),
    // The address is stale; the file beside it is still served.
    outcome: { result: 'unchanged' },
  },
  { name: 'records of a program', kind: 'records', outcome: MEMORY },
  { name: 'the same asynchronously', kind: 'async-records', outcome: MEMORY },
  { name: 'standard input', kind: 'stdin', outcome: MEMORY },
  {
    name: 'a map of a million lecturers',
    kind: 'lecturers',
    hostile: () => Readable.from(giantMap()),
    outcome: { result: 'unchanged' },
  },
  {
    name: 'as many as just go',
    kind: 'file',
    hostile: () => Readable.from(some('ndjson', 900)),
    outcome: { result: 'published' },
  },
];

test(`in ${LIMIT_MIB} MiB no source ends a process that serves 200 events`, {
  timeout: 1_800_000,
}, async (t) => {
  t.comment(GROUP === null ? 'no control group can be made: memory is compared' : `in the group ${GROUP}`);
  const peaks: [string, number][] = [];
  for (const job of JOBS.filter(({ isQuick }) => HARD || isQuick === true)) {
    const outcome = await run(t, job);
    t.match(outcome, job.outcome, job.name);
    if (job.outcome.result !== 'published') t.equal(outcome.after, 200, 'what was good is served');
    t.ok(outcome.peakMib <= LIMIT_MIB, `${job.name}: ${outcome.peakMib} MiB`);
    peaks.push([job.name, outcome.peakMib]);
    t.comment(`${job.name}: ${outcome.result} after ${outcome.ms} ms, ${outcome.peakMib} MiB`);
  }
  if (!HARD) return;
  const refused = peaks.filter(
    ([name]) => JOBS.find((job) => job.name === name)?.outcome.result === 'refused',
  );
  const [name, mib] = refused.reduce((most, each) => (each[1] > most[1] ? each : most));
  const published = peaks.find(([each]) => each === 'as many as just go')?.[1] ?? 0;
  const map = peaks.find(([each]) => each === 'a map of a million lecturers')?.[1] ?? 0;
  recordFigure(
    'load-memory',
    `${peaks.length} cases, none ended the process; a refused load took at most ${mib} MiB (${name}); 450,000 events loaded with ${published} MiB, a map of a million lecturers with ${map}`,
    { limitMib: LIMIT_MIB, isGroup: GROUP !== null, peaks: Object.fromEntries(peaks) },
  );
});
