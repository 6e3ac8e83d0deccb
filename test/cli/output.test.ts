import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { test } from 'tap';
import { until } from '../waiting/until.js';
import { CLI, ROOT } from './lectern.js';

const DEMO = 'fixtures/demo.ndjson.gz';
const FULL = existsSync('/dev/full');
const NO_BASH = spawnSync('bash', ['-c', 'true']).error !== undefined && 'bash is not installed';

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
}

/** Runs a shell line in which $L is the command line. */
function shell(line: string): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile('bash', ['-c', line], {
      cwd: ROOT,
      env: { ...process.env, L: [process.execPath, ...CLI].join(' ') },
    });
    let stderr = '';
    child.stderr?.on('data', (text: string) => {
      stderr += text;
    });
    child.once('close', (code) => resolve({ code, stderr }));
  });
}

const COMMANDS = [
  '--help',
  `export ${DEMO} -f csv`,
  'openapi',
  `inspect ${DEMO}`,
  `explain ${DEMO} type=LEC`,
];

test('commands end quietly when their reader closes the pipe', { skip: NO_BASH }, async (t) => {
  await Promise.all(
    COMMANDS.map(async (command) => {
      t.same(await shell(`set -o pipefail; $L ${command} | true`), { code: 0, stderr: '' }, command);
    }),
  );
});

test('output that cannot be written gives one line and exit code 1', {
  skip: NO_BASH || (!FULL && 'no /dev/full'),
}, async (t) => {
  const stderr = 'error: cannot write to standard output: no space is left on the device\n';
  await Promise.all(
    COMMANDS.map(async (command) => {
      t.same(await shell(`$L ${command} > /dev/full`), { code: 1, stderr }, command);
    }),
  );
});

const BROKEN: readonly (readonly [name: string, open: () => number | null])[] = [
  ['a reader that goes away', () => null],
  ...(FULL ? [['a full device', () => openSync('/dev/full', 'w')] as const] : []),
];

for (const [i, [name, open]] of BROKEN.entries()) {
  // Each fault on one of the two outputs, because starting a service takes a second.
  const broken = i + 1;
  test(`serve continues when an output is closed: ${name}, on ${broken === 1 ? 'standard output' : 'the log'}`, async (t) => {
    const file = open();
    const stdio = ['ignore', 'pipe', 'pipe'].map((each, fd) => (fd === broken ? (file ?? each) : each));
    const argv = ['serve', DEMO, '--dev', '--port', '0', '--log-level', 'info'];
    const child = spawn(process.execPath, [...CLI, ...argv], { cwd: ROOT, stdio: stdio as 'pipe'[] });
    if (file !== null) closeSync(file);
    child.stdio[broken]?.destroy();
    const ended = once(child, 'exit');
    const origin = await new Promise<string>((resolve) => {
      let text = '';
      child.stdio[broken === 1 ? 2 : 1]?.on('data', (chunk: Buffer) => {
        text += chunk;
        const match = /(http:\/\/127[^/"]+).*\n/.exec(text);
        if (match !== null) resolve(match[1] ?? '');
      });
    });
    t.match(await healthyWithin(origin), { status: 'ok' }, 'ready, and what is printed then is printed');
    child.kill('SIGHUP');
    t.match(await healthyWithin(origin), { status: 'ok' }, 'and after something was logged');
    child.kill('SIGTERM');
    t.same(await ended, [0, null]);
  });
}

/** /health once there is a snapshot, slightly after the output about it. */
async function healthyWithin(origin: string): Promise<unknown> {
  await until(async () => (await fetch(`${origin}/health`)).ok);
  return (await fetch(`${origin}/health`)).json();
}
