/**
 * The README and the pages of docs/ are right: their examples run against a real service, and their tables
 * agree with the program.
 *
 * - `bash` blocks of a page are one session, in order. A line that ends in `# → text` must print that text,
 * and every other line must not get a problem. - `sh` blocks run until they are stopped: each `lectern serve`
 * is started and must become ready. - `js` blocks are programs, `json` blocks are files, `text` blocks are
 * the output of `npm start`. `yaml` blocks are timetable files, or parts of them. - `console` blocks have commands after `$ `, and their output. Those that need
 * another machine or a database are not run.
 */
import { spawn, spawnSync } from 'node:child_process';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { type LecternErrorCode, PARAMETER_FAULTS, PROBLEMS } from '../../src/base/errors.js';
import * as limits from '../../src/base/limits.js';
import type { RejectionCode } from '../../src/base/model/event.js';
import { createOpenApiDocument } from '../../src/http/openapi/document.js';
import { readTimetableFile } from '../../src/options/timetable-file.js';
import { start } from '../cli/lectern.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
process.setMaxListeners(100);
const DEMO = 'fixtures/demo.ndjson.gz';
const DOCUMENTED_ORIGIN = 'http://127.0.0.1:3000';
const PROGRAM_MS_MAX = 240_000;
/** Output of `lectern serve` when it is ready: a text in development, a log line in production. */
const READY = /^Lectern serves .+ at http:.*\n.*, loaded in |"msg":"ready"/m;
/** Arguments of `env`: without the loader that tap adds to every process, and without settings. */
const PLAIN = [
  'NODE_OPTIONS',
  ...Object.keys(process.env).filter((name) => name.startsWith('LECTERN_')),
].flatMap((name) => ['-u', name]);

/** Blocks of `ts` are parts of programs that a page has elsewhere as a whole; they do not run. */
const LANGUAGES = ['ts', 'sql', 'bash', 'cjs', 'console', 'js', 'json', 'sh', 'text', 'yaml'];
/** The pages by path. The README comes first, because later pages use the file that it writes. */
const PAGES: ReadonlyMap<string, string> = new Map(
  [
    'README.md',
    ...readdirSync(join(ROOT, 'docs'))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  ].map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]),
);
const readme = PAGES.get('README.md') as string;
const all = [...PAGES.values()].join('\n');
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly engines: { readonly node: string };
  readonly scripts: Readonly<Record<string, string>>;
};

function blocks(language: string, text = all): string[] {
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .filter(([, tag]) => tag === language)
    .map(([, , text]) => text as string);
}

/** The commands of `console` blocks, each with the lines of its output. */
const CONSOLE = blocks('console').flatMap((block) =>
  block
    .replace(/ \\\n */g, ' ')
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const [command = '', ...output] = text.trimEnd().split('\n');
      return { command, output };
    }),
);
/** What cannot run on this machine alone. */
const NEEDS_OTHERS = /https:\/\/|postgres:\/\/|database-password/;

/** A line of output, in which … stands for any text. */
function patternOf(line: string): string {
  return line
    .split('…')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*');
}

/** The rows of every table, with trimmed cells. */
const rows: readonly (readonly string[])[] = all
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim()),
  );

/** A folder like a fresh, built checkout, where the examples can write. */
function checkout(t: { teardown(end: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-readme-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['dist', 'fixtures', 'package.json']) symlinkSync(join(ROOT, name), join(folder, name));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/lectern'));
  symlinkSync(join(ROOT, 'node_modules/.bin'), join(folder, 'node_modules/.bin'));
  return folder;
}

const MISSING = ['bash', 'curl', 'gzip', 'sed'].filter(
  (tool) => spawnSync(tool, ['--version'], { stdio: 'ignore' }).error !== undefined,
);
const NO_SHELL = `no ${MISSING.join(', ')}`;

if (MISSING.length > 0) {
  test('the examples run unchanged', { skip: NO_SHELL }, () => {});
} else {
  test('the examples run unchanged', async (t) => {
    t.ok(existsSync(join(ROOT, 'dist/cli.js')), 'the project is built: npm run build');
    const folder = checkout(t);
    const upstream = start(['serve', DEMO, '--dev', '--port', '0']);
    t.teardown(async () => {
      upstream.child.kill('SIGTERM');
      await upstream.ended;
    });
    const greeting = await upstream.printed('A new token');
    const origin = /at (http:\/\/[^/]+)/.exec(greeting)?.[1] ?? '';
    const local = (text: string) => text.replaceAll(DOCUMENTED_ORIGIN, origin);

    await t.test('npm start prints the text of the README', async (t) => {
      t.equal(manifest.scripts.start, 'node scripts/demo.mjs');
      const lines = blocks('text').join('').trimEnd().split('\n').map(local);
      t.ok(lines.length > 3);
      for (const line of lines) t.match(greeting, new RegExp(`^${patternOf(line)}$`, 'm'), line);
    });

    for (const [path, page] of PAGES) {
      const session = blocks('bash', page);
      if (session.length === 0) continue;
      await t.test(`the example commands of ${path} succeed`, async (t) => {
        const marked = session.map(
          (block, n) => `printf '\\n@@@ ${n}\\n'\n${local(block).replace(/ {2}# → .*$/gm, '')}`,
        );
        const script = `set -euo pipefail\n${marked.join('')}`;
        const { code, output } = await run('bash', ['-c', script], folder);
        t.equal(code, 0, 'it ends well', { output });
        const printed = output.split(/^@@@ \d+\n/m).slice(1);
        for (const [n, block] of session.entries()) {
          const wanted = [...block.matchAll(/ {2}# → (.*)$/gm)].map(([, text]) => text as string);
          for (const text of wanted) t.ok(printed[n]?.includes(text), text, { printed: printed[n] });
          if (wanted.some((text) => text.includes('did you mean'))) continue;
          t.notMatch(printed[n], /urn:lectern:problem/, `block ${n + 1} is answered`);
        }
      });
    }

    await t.test('example commands that run until they are stopped become ready', async (t) => {
      const { publicKey } = generateKeyPairSync('ed25519');
      writeFileSync(
        join(folder, 'keys.json'),
        JSON.stringify({ keys: [publicKey.export({ format: 'jwk' })] }),
      );
      const enrolments = blocks('json').find((block) => block.includes('"alice"'));
      writeFileSync(join(folder, 'enrolments.json'), enrolments ?? '');
      const revoked = blocks('json').find((block) => /"alice": "\d/.test(block));
      writeFileSync(join(folder, 'revoked.json'), revoked ?? '');
      const login = await fetch(`${origin}/api/v1/login`);
      const { access_token: token } = (await login.json()) as { access_token: string };
      mkdirSync(join(folder, 'timetables'));
      copyFileSync(join(folder, 'term.ics'), join(folder, 'timetables/term.ics'));
      copyFileSync(join(folder, 'mine.ndjson'), join(folder, 'base.ndjson'));
      writeFileSync(
        join(folder, 'corrections.csv'),
        'id,time,endTime\n7f2c0a52-8f4b-4d53-9f0e-0d8f6f0b6c11,2026-09-14T09:00:00Z,2026-09-14T10:00:00Z\n',
      );
      const shown = CONSOLE.map(({ command }) => command).filter((command) => !NEEDS_OTHERS.test(command));
      const commands = [...blocks('sh'), ...shown.map((command) => `${command}\n`)].filter((block) =>
        block.includes('lectern serve'),
      );
      t.ok(commands.length > 12, `${commands.length} commands`);
      const started = commands.map(async (command) => {
        const free = /--port \d+/.test(command)
          ? command.replace(/--port \d+/, '--port 0')
          : command.replace(/\n$/, ' --port 0');
        const alone = local(free).replace('https://login.example.org/jwks', 'http://127.0.0.1:9/jwks');
        const script = `token=${token}\n${alone.replace('lectern serve', 'exec node dist/cli.js serve')}`;
        return run('bash', ['-c', script], folder, READY);
      });
      for (const [n, { output }] of (await Promise.all(started)).entries()) {
        t.match(output, READY, commands[n] ?? '');
      }
    });

    await t.test('the first file is served and read as docs/data-sources.md shows', async (t) => {
      const page = PAGES.get('docs/data-sources.md') as string;
      const [serve = ''] = blocks('sh', page);
      const [block = ''] = blocks('console', page);
      const lines = block.split('\n').filter((line) => line !== '');
      const isCommand = (line: string): boolean => line.startsWith('$ ');
      const commands = lines.filter(isCommand).map((line) => line.slice(2));
      const port = '3003';
      t.match(serve, `--port ${port}`);
      const script = `${serve.replace('lectern', 'node dist/cli.js').replace(port, '0').trimEnd()} > served.txt 2>&1 &
until grep -q 'A new token' served.txt; do kill -0 $!; sleep 0.02; done
port=$(sed -n 's/.*at http:..127.0.0.1:\\([0-9]*\\).*/\\1/p' served.txt)
${commands.join('\n').replaceAll(port, '$port').replace("'http://127.0.0.1:$port", "http://127.0.0.1:$port'")}
kill $!`;
      const { code, output } = await run('bash', ['-euc', script], folder);
      t.equal(code, 0, 'it ends well', { output });
      for (const line of lines.filter((each) => !isCommand(each)))
        t.match(output, new RegExp(patternOf(line)), line);
    });

    await t.test('a refused refresh is reported as the page shows', async (t) => {
      const shown = CONSOLE.filter(({ command }) => command.startsWith('curl -X POST '));
      t.equal(shown.length, 1);
      const events = (count: number): string =>
        Array.from({ length: count }, () =>
          JSON.stringify({ id: randomUUID(), time: '2026-09-14T08:00:00Z', endTime: '2026-09-14T09:00:00Z' }),
        ).join('\n');
      const [source, secret, token] = ['shrinking.ndjson', 'secret.txt', 'admin-token.txt'].map((name) =>
        join(folder, name),
      ) as [string, string, string];
      writeFileSync(source, events(10_000));
      writeFileSync(token, 'a-token-of-the-operator-in-a-file');
      const files = ['--hs256-secret-file', secret, '--admin-token-file', token, '--watch', 'off'];
      const service = start(['serve', source, ...files, '--port', '0', '--admin-port', '0']);
      t.teardown(async () => {
        service.child.kill('SIGTERM');
        await service.ended;
      });
      const { admin = '' } = await service.ready();
      writeFileSync(source, events(12));
      for (const { command, output: lines } of shown) {
        const here = command.replace('http://127.0.0.1:9464', new URL(admin).origin);
        const { output } = await run('bash', ['-c', here], folder);
        t.ok(lines.length > 0);
        for (const line of lines) t.match(output, new RegExp(patternOf(line)), line);
      }
    });

    await t.test('the example programs work', async (t) => {
      const programs = [
        ...blocks('js').map((text) => ['example.mjs', text] as const),
        ...blocks('cjs').map((text) => ['example.cjs', text] as const),
      ];
      t.ok(programs.length > 5);
      for (const [name, program] of programs) {
        writeFileSync(join(folder, name), program);
        const { code, output } = await run(process.execPath, [name], folder);
        t.equal(code, 0, 'it ends well', { output });
        t.match(output, /endTime: '/, 'prints events');
      }
    });
  });
}

/** Runs a program to its end; or until it prints a text, and then ends it. Output is standard output and error. */
async function run(
  command: string,
  argv: readonly string[],
  cwd: string,
  until?: RegExp,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn('env', [...PLAIN, command, ...argv], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = () => child.kill('SIGKILL');
  // Only a test that fails waits so long.
  const timer = setTimeout(kill, PROGRAM_MS_MAX);
  process.once('exit', kill);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (until !== undefined && !child.killed && until.test(output)) child.kill('SIGTERM');
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(timer);
  process.off('exit', kill);
  return { code, output };
}

test('the timetable files of the pages have no fault', async (t) => {
  const found = [...PAGES].flatMap(([page, text]) =>
    [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, yaml = '']) => ({ page, yaml })),
  );
  t.ok(found.length > 1);
  for (const { page, yaml } of found) {
    const whole = /^sources:/m.test(yaml) ? yaml : `${yaml}sources: [{ from: a.csv }]\n`;
    const path = join(t.testdir({ 'timetable.yaml': whole }), 'timetable.yaml');
    await t.resolves(readTimetableFile(path), page);
  }
});

test('the commands of the pages exist', async (t) => {
  for (const [path, page] of PAGES) {
    for (const [, tag] of page.matchAll(/^```(\w+)$/gm))
      t.ok(LANGUAGES.includes(tag as string), `${path}: ${tag}`);
  }
  const commands = blocks('sh').filter((block) => !block.includes('lectern serve'));
  t.same(commands, ['npm ci && npm start\n', 'npm ci && npm test\n']);
  t.ok(manifest.scripts.start !== undefined && manifest.scripts.test !== undefined);
  t.match(readme, `Node ${manifest.engines.node.replace('>=', '')} or later`);
  for (const block of blocks('json')) t.doesNotThrow(() => JSON.parse(block), block);
});

test('the table has every endpoint', async (t) => {
  const document = createOpenApiDocument({ basePath: '/api/v1', identifiers: 'uuid', version: '0' });
  for (const path of Object.keys(document.paths as object)) {
    const full = path === '/health' ? path : `/api/v1${path}`;
    t.ok(
      rows.some(([cell]) => cell === `\`${full}\``),
      full,
    );
  }
});

/** Typed so that a new or removed code does not compile. */
const REJECTIONS: Readonly<Record<RejectionCode, true>> = {
  'malformed-record': true,
  'record-too-large': true,
  'wrong-type': true,
  'missing-field': true,
  'malformed-identifier': true,
  'malformed-time': true,
  'malformed-text': true,
  'end-before-start': true,
  'malformed-recurrence': true,
  'too-many-occurrences': true,
  'duplicate-id': true,
  overridden: true,
};
const ERRORS: Readonly<Record<LecternErrorCode, true>> = {
  'option-invalid': true,
  'source-unreadable': true,
  'source-malformed': true,
  'source-too-large': true,
  'image-unusable': true,
  'image-not-written': true,
  'snapshot-refused': true,
  'key-missing': true,
  'key-invalid': true,
  'address-unavailable': true,
  'parameters-invalid': true,
  'rooms-unusable': true,
  'thread-lost': true,
  'store-unavailable': true,
  'object-damaged': true,
  'announcement-refused': true,
  'not-ready': true,
  stale: true,
  closed: true,
};

test('the README is short', async (t) => {
  t.ok(Buffer.byteLength(readme) <= 8192, `${Buffer.byteLength(readme)} bytes`);
});

test('the pages explain every code', async (t) => {
  for (const [code, { status, title }] of Object.entries(PROBLEMS)) {
    t.same(
      rows.find((cells) => cells[0] === `\`${code}\`` && cells[1] === String(status)),
      [`\`${code}\``, String(status), title],
    );
  }
  const hasRow = (code: string, meaning?: string) =>
    rows.some(
      (cells) =>
        cells.length === 2 && cells[0] === `\`${code}\`` && (meaning === undefined || cells[1] === meaning),
    );
  for (const [code, meaning] of Object.entries(PARAMETER_FAULTS)) t.ok(hasRow(code, meaning), code);
  for (const code of Object.keys(REJECTIONS)) t.ok(hasRow(code), code);
  for (const code of Object.keys(ERRORS)) t.ok(all.includes(`\`${code}\``), code);
});

test("the pages give the program's limits", async (t) => {
  const KIB = 1024;
  const MIB = 1024 * KIB;
  const expected: readonly (readonly [what: string, most: string])[] = [
    ['request target', `${limits.REQUEST_TARGET_BYTES_MAX / KIB} KiB`],
    ['request line and header fields', `${limits.HEADERS_BYTES_MAX / KIB} KiB`],
    ['values of one query parameter', String(limits.PARAMETER_VALUES_MAX)],
    ['days of one window (`days`)', String(limits.DAYS_MAX)],
    ['weeks of free time (`weeks`)', String(limits.WEEKS_MAX)],
    ['entries of one page (`limit`)', limits.PAGE_LIMIT_MAX.toLocaleString('en')],
    ['token', `${limits.TOKEN_BYTES_MAX / KIB} KiB`],
    ["values in one user's claims and enrolments", limits.IDENTITY_VALUES_MAX.toLocaleString('en')],
    ['requests in flight on one connection', String(limits.REQUESTS_IN_FLIGHT_MAX)],
    ['requests that wait on one connection', String(limits.PIPELINED_WAITING_MAX)],
    ['header fields of a request', String(limits.HEADER_FIELDS_MAX)],
    ['connections of each serving thread', limits.CONNECTIONS_MAX_DEFAULT.toLocaleString('en')],
    ['one record of a source', `${limits.RECORD_BYTES_MAX / MIB} MiB`],
    ['rooms of a rooms file', limits.ROOMS_MAX.toLocaleString('en')],
    ['all events as JSON', `${Math.round(limits.ROW_BYTES_MAX / MIB / KIB)} GiB, about 10 million events`],
    ['snapshots that `/schedule/changes` can compare with', String(limits.SNAPSHOTS_KEPT_MAX)],
    ['event streams', limits.EVENT_STREAMS_MAX_DEFAULT.toLocaleString('en')],
    ['changes in one message of an event stream', `${limits.CHANGE_MESSAGE_BYTES_MAX / KIB} KiB`],
    [
      'requests of each serving thread that wait for a version',
      limits.VERSION_WAITS_MAX.toLocaleString('en'),
    ],
    [
      'rejections kept with position and reason (all are counted)',
      limits.REJECTIONS_KEPT_MAX.toLocaleString('en'),
    ],
  ];
  for (const row of expected) {
    t.same(
      rows.find(([what]) => what === row[0]),
      row,
    );
  }
  const section = /^## Limits\n(.*?)^The bounds/ms.exec(PAGES.get('docs/http-api.md') ?? '')?.[1] ?? '';
  const named = [...section.matchAll(/^\| (.+?) \|/gm)].map(([, what]) => what).slice(1);
  t.same(
    named,
    expected.map(([what]) => what),
    'every row of the table has its limit here',
  );
});
