/** A service whose folders are removed while it runs: it reports each in one clear sentence and continues to serve. */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Test, test } from 'tap';
import { hs256, SECRET } from '../auth/tokens.js';
import { until } from '../waiting/until.js';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
/** The user nobody, who has none of root's rights. */
const OTHER_USER = 65_534;
const Authorization = `Bearer ${hs256({ sub: 'alice', exp: Math.floor(Date.now() / 1000) + 7200 })}`;

interface Line {
  readonly msg: string;
  readonly reason?: string;
}

interface Running {
  /** Lines of the log so far. */
  lines(): Line[];
  /** Waits for a line after the first `from` with this message, and returns its reason. */
  told(from: number, msg: string): Promise<string>;
  /** The title of the first served event. */
  title(): Promise<string>;
}

function put(path: string, title: string, count = 3): void {
  const lines = Array.from({ length: count }, (_, n) =>
    JSON.stringify({
      id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
      time: '2026-09-14T08:00:00Z',
      endTime: '2026-09-14T09:00:00Z',
      title,
    }),
  );
  writeFileSync(`${path}.new`, lines.join('\n'));
  renameSync(`${path}.new`, path);
}

async function run(
  t: Test,
  args: readonly string[],
  { cwd, user, before = [] }: { cwd?: string; user?: number; before?: readonly string[] } = {},
): Promise<Running> {
  const [program = '', ...rest] = [...before, process.execPath, CLI, 'serve', ...args, '--port', '0'];
  const child = spawn(program, rest, {
    env: { ...process.env, LECTERN_HS256_SECRET: SECRET, LECTERN_LOG_LEVEL: 'info' },
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
    ...(user === undefined ? {} : { uid: user, gid: user }),
  });
  t.teardown(() => child.kill('SIGKILL'));
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const lines = (): Line[] =>
    log
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  const told = async (from: number, msg: string): Promise<string> => {
    const found = await until(() => {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it has ended: ${log}`);
      return lines()
        .slice(from)
        .find((line) => line.msg === msg);
    });
    return found?.reason ?? '';
  };
  await told(0, 'timetable published');
  const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(log)?.[1];
  return {
    lines,
    told,
    async title() {
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/schedule/all`, {
        headers: { Authorization },
      });
      return ((await response.json()) as { title: string }[])[0]?.title ?? '';
    },
  };
}

const onlyRoot = process.geteuid?.() === 0 ? {} : { skip: 'only root may act as another user' };
const notOnWindows = process.platform === 'win32' ? { skip: 'no such permissions' } : {};

test(
  'a removed, unwritable or replaced snapshot folder is reported with each publication, and serving continues',
  onlyRoot,
  async (t) => {
    const folder = t.testdir();
    chmodSync(folder, 0o777);
    const source = join(folder, 'events.ndjson');
    const home = join(folder, 'home');
    const snapshot = join(home, 'snapshot');
    const open = (mode: number, then = (): unknown => null): void => {
      rmSync(home, { recursive: true, force: true });
      mkdirSync(home);
      chmodSync(home, mode);
      then();
    };
    put(source, 'first');
    open(0o777);
    const service = await run(t, [source, '--snapshot-file', snapshot], { user: OTHER_USER });
    await until(() => existsSync(snapshot));
    const cases: readonly (readonly [string, () => void, RegExp])[] = [
      ['removed', () => rmSync(home, { recursive: true }), /its folder was removed, or cannot hold files$/],
      ['a file', () => writeFileSync(home, ''), /a part of its path is not a directory$/],
      ['not writable', () => open(0o555), /permission denied$/],
      [
        'in a loop',
        () => open(0o777, () => symlinkSync('snapshot', snapshot)),
        /its symbolic links form a loop$/,
      ],
      ['not searchable', () => open(0o000), /permission denied$/],
      ['a folder', () => open(0o777, () => mkdirSync(snapshot)), /it is a directory$/],
    ];
    const reported = new Set<string>();
    for (const [name, change, reason] of cases) {
      const from = service.lines().length;
      change();
      put(source, name);
      await service.told(from, 'timetable published');
      const written = (): (string | undefined)[] =>
        service
          .lines()
          .slice(from)
          .filter(({ msg }) => msg === 'snapshot file not written')
          .map((line) => line.reason);
      // Each reason is logged once until the file is written again.
      const isNew = !reported.has(String(reason));
      reported.add(String(reason));
      if (isNew) await until(() => written().some((each) => reason.test(each ?? '')));
      t.equal(written().length, isNew ? 1 : 0, `${name}: lines for the file`);
      t.equal(await service.title(), name, 'served all the same');
    }
  },
);

test('a limit on file sizes does not end the process', notOnWindows, async (t) => {
  const folder = t.testdir();
  const source = join(folder, 'events.ndjson');
  put(source, 'small');
  const before = ['bash', '-c', 'ulimit -f 100; exec "$@"', 'bash'];
  const service = await run(t, [source, '--snapshot-file', join(folder, 'snapshot')], { before });
  const from = service.lines().length;
  put(source, 'large', 900);
  t.match(await service.told(from, 'snapshot file not written'), /it would exceed the limit on file sizes$/);
  t.equal(await service.title(), 'large');
});

test(
  'without its working folder a process starts no thread, reports this, and continues to serve',
  notOnWindows,
  async (t) => {
    const folder = t.testdir();
    const source = join(folder, 'events.ndjson');
    const cwd = join(folder, 'release');
    mkdirSync(cwd);
    put(source, 'first');
    const service = await run(t, [source], { cwd });
    const from = service.lines().length;
    rmSync(cwd, { recursive: true });
    put(source, 'second');
    t.match(
      await service.told(from, 'timetable not loaded'),
      /^the working folder of the process was removed, and Node cannot start a thread without one; start the service again/,
    );
    t.equal(await service.title(), 'first');
  },
);
