/** How `lectern serve` starts, fails to start, and is aborted during the start. */
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, openSync, readdirSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { testFolder } from '../base/files/test-folder.js';
import { timeForAFault, until } from '../waiting/until.js';
import { lectern, ROOT, type Running, start } from './lectern.js';

const DEMO = 'fixtures/demo.ndjson.gz';
const SECRET = 'this-is-a-secret-of-more-than-thirty-two-bytes';

function recordsOf(log: string): Record<string, unknown>[] {
  return log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Resolves when standard error has the text. */
function logged({ child }: Running, text: string): Promise<void> {
  return new Promise((resolve) => {
    let log = '';
    child.stderr?.on('data', (chunk: string) => {
      log += chunk;
      if (log.includes(text)) resolve();
    });
  });
}

/** Opens a pipe for writing, without waiting for a reader. */
function openWriter(pipe: string): number {
  const both = openSync(pipe, 'r+');
  const writer = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
  closeSync(both);
  return writer;
}

/** Resolves when a reader has opened the pipe; until then a write fails (EPIPE). */
async function whenRead(writer: number): Promise<void> {
  await until(() => {
    try {
      return writeSync(writer, 'x');
    } catch {
      return 0;
    }
  });
}

test('a signal ends a service that still waits for its source or secret', async (t) => {
  const folder = testFolder(t);
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);

  const source = start(['serve', pipe, '--dev', '--port', '0', '--log-level', 'info']);
  await logged(source, '"listening"');
  source.child.kill('SIGTERM');
  t.match(await source.ended, { code: 0, signal: null, stderr: /"msg":"closed"/ }, 'source: in good order');

  const unwritten = await lectern(['serve', DEMO, '--port', '0', '--hs256-secret-file', pipe]);
  t.match(unwritten, { code: 1, stderr: /pipe is a pipe without a writer/ }, 'a pipe without a writer');

  const writer = openWriter(pipe);
  t.teardown(() => closeSync(writer));
  const secret = start(['serve', DEMO, '--port', '0', '--hs256-secret-file', pipe]);
  await whenRead(writer);
  secret.child.kill('SIGINT');
  t.match(await secret.ended, { code: null, signal: 'SIGINT', stderr: /"msg":"closing"/ }, 'secret: at all');
});

test('a named pipe is a source once a process writes to it', async (t) => {
  const pipe = join(t.testdir({}), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const inspecting = lectern(['inspect', pipe]);
  // In this time, the process could wrongly stop reading the pipe.
  await timeForAFault(300);
  const event =
    '{"id":"2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417","time":"2026-09-14T08:00:00Z","endTime":"2026-09-14T09:00:00Z"}';
  writeFileSync(pipe, `${event}\n`);
  t.match(await inspecting, { code: 0, stdout: /^events +1$/m });
});

test('a failed start in production is a fatal log record', async (t) => {
  const cases: readonly (readonly [
    argv: readonly string[],
    env: Record<string, string>,
    code: 1 | 2,
    reason: RegExp,
  ])[] = [
    [[DEMO], {}, 1, /^production needs a key/],
    [['no-such-file'], { LECTERN_HS256_SECRET: SECRET }, 1, /no-such-file: there is no such file$/],
    [[DEMO, '--table', 'x'], { LECTERN_HS256_SECRET: SECRET }, 2, /has no effect/],
  ];
  for (const [argv, env, code, reason] of cases) {
    const outcome = await lectern(['serve', ...argv, '--port', '0'], { env });
    t.equal(outcome.code, code);
    t.match(recordsOf(outcome.stderr).at(-1), { level: 60, msg: 'cannot serve', reason });
    t.notOk(outcome.stderr.includes(SECRET));
  }
  const silent = await lectern(['serve', DEMO, '--port', '0', '--log-level', 'silent']);
  t.match(
    silent,
    { code: 1, stderr: /^error: production needs a key[^\n]*\n$/ },
    'without a log, a plain line',
  );
});

test('development mode warns when other machines can reach it', async (t) => {
  const open = start(['serve', DEMO, '--dev', '--port', '0', '--host', '0.0.0.0']);
  await open.printed('A new token');
  open.child.kill('SIGTERM');
  const { stderr } = await open.ended;
  t.match(
    stderr,
    /^warning: development mode on http:\/\/0\.0\.0\.0:\d+: anyone who can reach .* gets a token/m,
  );
  // On a busy machine a line about a slow source may follow.
  t.equal(stderr.split('\n').filter((line) => line.startsWith('warning: ')).length, 1);
});

test('an unwritable snapshot file causes one message, and serving continues', async (t) => {
  const event = (title: string): string =>
    `{"id":"2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417","time":"2026-09-14T08:00:00Z","endTime":"2026-09-14T09:00:00Z","title":"${title}"}`;
  const folder = t.testdir({ source: event('first'), 'notes.txt': 'not a snapshot file' });
  const file = join(folder, 'notes.txt');
  const options = ['--dev', '--port', '0', '--snapshot-file', file];
  const running = start(['serve', join(folder, 'source'), ...options]);
  const unwritten = logged(running, 'snapshot file not written');
  const printed = await running.printed('A new token');
  await unwritten;
  const origin = /at (http:\/\/[^/]+)/.exec(printed)?.[1] ?? '';
  t.equal((await fetch(`${origin}/health`)).status, 200, 'it serves');
  running.child.kill('SIGTERM');
  const { code, stderr } = await running.ended;
  t.equal(code, 0);
  const records = recordsOf(stderr).filter(({ msg }) => msg === 'snapshot file not written');
  t.match(records, [
    { reason: /notes\.txt could not be written: the file at this path is not a snapshot file/ },
  ]);
  t.notMatch(stderr, /timetable not loaded|\bat .*\.[jt]s:\d/, 'no other message, no stack');
  t.notOk(
    readdirSync(folder).some((name) => name.endsWith('.tmp')),
    'no temporary file',
  );
});

/** Starts a service that may open so many descriptors, and ends it when it serves. */
function withDescriptors(
  descriptors: number,
): Promise<{ readonly isServing: boolean; readonly stderr: string }> {
  const command = `ulimit -n ${descriptors}; exec "$0" "$@"`;
  // At a lower level, a line about a slow load may follow on a busy machine.
  const options = ['--dev', '--port', '0', '--log-level', 'error'];
  const argv = ['-c', command, process.execPath, 'dist/cli.js', 'serve', DEMO, ...options];
  const child = spawn('sh', argv, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  let isServing = false;
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (text.includes('http://')) isServing = child.kill();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve) => child.once('close', () => resolve({ isServing, stderr })));
}

test('with too few descriptors the start ends with a sentence that says how many are right', async (t) => {
  const refusal = 'error: too many files are open: allow this process more, such as 1024 (ulimit -n 1024)\n';
  t.strictSame(await withDescriptors(40), { isServing: false, stderr: refusal });
  // How many suffice depends on the processors and on the version of Node.
  for (const descriptors of [60, 80, 90]) {
    const { isServing, stderr } = await withDescriptors(descriptors);
    if (!isServing) t.equal(stderr, refusal, `${descriptors} descriptors`);
  }
});
