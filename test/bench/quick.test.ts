/** The output of quick and incomplete runs of the bench: sentences without verdicts. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { test } from 'tap';

interface Peer {
  readonly name: string;
  readonly file: string;
}

interface Session {
  readonly peersLeftOut: ReadonlySet<string>;
  say(line: string): void;
  startPeer(peer: Peer): Promise<unknown>;
  end(): Promise<void>;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const load = (path: string): Promise<unknown> => import(pathToFileURL(join(ROOT, 'bench', path)).href);

const { rowOf, tell, tellEnd } = (await load('rows.mjs')) as {
  tellEnd(rows: readonly object[], isQuick: boolean, seconds: number): string;
  rowOf(about: object, values: readonly number[]): object;
  tell(row: object, options: { isJudged: boolean }): string;
};
const { Session } = (await load('session.mjs')) as { Session: new (settings: object) => Session };
const { settingsOf } = (await load('settings.mjs')) as { settingsOf(argv: readonly string[]): object };

const STACK = /^ +at /m;

/** Runs the bench of a folder, without real timetables. */
function bench(root: string, ...argv: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [join(root, 'bench/run.mjs'), ...argv], {
    encoding: 'utf8',
    env: { ...process.env, LECTERN_DATA: join(tmpdir(), 'no-timetables') },
  });
}

test('a row of a quick run has figures and no verdict', async (t) => {
  const row = rowOf(
    { group: 'workload', name: 'hot URL', set: 'medium', unit: 'ratio', target: 1.1 },
    [2, 3],
  );
  t.match(tell(row, { isJudged: true }), /2\.50, .* at most 1\.10 MISSED/);
  const quick = tell(row, { isJudged: false });
  t.match(quick, /^hot URL \(medium\) +; 2\.50, 2\.25 to 2\.75 \(2\.00 to 3\.00\)$/);
  const peer = rowOf(
    { group: 'peer, x', name: 'y', set: 'medium', unit: 'times', target: 9, isLeast: true },
    [1],
  );
  t.match(tell(peer, { isJudged: true }), /at least 9\.00 MISSED/);
  t.notMatch(tell(peer, { isJudged: false }), /at least|at most|MISSED/);
});

test('neither the end of a quick run nor its figures have a verdict', (t) => {
  const row = rowOf({ group: 'workload', name: 'hot URL', set: 'medium', unit: 'ratio', target: 1.1 }, [2]);
  t.equal(tellEnd([row], false, 3), '1 row in 3 s; beyond their target: hot URL (medium)');
  t.match(tellEnd([row], true, 3), /^1 row in 3 s; a quick run .* not to be judged$/);
  const script = `import { rowPrinter } from './bench/targets.mjs';
    for (const isQuick of [true, false]) rowPrinter(isQuick)('start', [2, 3, 4], 'ms', 1);`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const [quick, whole] = stdout.split('\n');
  t.match(quick, /^start +3\.00 ms {2}\(2\.00 to 4\.00\)$/);
  t.match(whole, /3\.00 of target 1 ms, MISSED$/);
  t.end();
});

test('benches with --quick leave verdicts to the two modules that know quick runs', (t) => {
  const paths = readdirSync(join(ROOT, 'bench'), { recursive: true, encoding: 'utf8' });
  const benches = paths.filter((path) => /(^|\/)run\.mjs$/.test(path) && !path.includes('node_modules'));
  const quick = benches.filter((path) => readFileSync(join(ROOT, 'bench', path), 'utf8').includes('quick'));
  t.ok(quick.length >= 5, quick.join());
  for (const path of quick) {
    const text = readFileSync(join(ROOT, 'bench', path), 'utf8');
    t.notMatch(text, /MISSED|beyond their|import \{[^}]*\bprintRow\b|import \{[^}]*\bisMet\b/, path);
  }
  t.end();
});

test('a missing data set gives a line that says where to get it', (t) => {
  const { status, stdout, stderr } = bench(ROOT, '--quick', '--no-peers', '--sets', 'rpi-fall-2024');
  t.equal(status, 0);
  t.match(
    stdout,
    /^filter \+ window \(rpi-fall-2024\) +; no figure: .*rpi-fall-2024\.ndjson\.gz is not there\./m,
  );
  t.match(stdout, 'github.com/YACS-RCOS/yacs.n');
  t.match(stdout, 'LECTERN_DATA');
  t.match(
    stdout,
    /^0 rows in \d+ s; a quick run shows that everything works, its figures are not to be judged$/m,
  );
  t.equal(stderr, '');
  t.end();
});

/** A checkout without installed peers. */
function withoutPeers(t: { teardown(end: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-bench-checkout-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(ROOT, 'bench'), join(folder, 'bench'), {
    recursive: true,
    filter: (path) => !path.endsWith('node_modules'),
  });
  for (const name of ['scripts', 'node_modules', 'package.json']) {
    symlinkSync(join(ROOT, name), join(folder, name));
  }
  return folder;
}

test('a peer that is not installed gives one sentence with the command to install it', (t) => {
  const folder = withoutPeers(t);
  const sentence =
    /^json-server is not installed: "npm ci --prefix bench\/peers\/json-server" installs it\./m;

  const quick = bench(folder, '--quick', '--sets', 'rpi-fall-2024');
  t.equal(quick.status, 0, 'a quick run goes on without');
  t.match(quick.stdout, sentence);
  t.match(quick.stdout, /installs it\. It is left out\.$/m);
  t.notMatch(quick.stdout + quick.stderr, STACK);

  const whole = bench(folder);
  t.equal(whole.status, 2, 'a run of everything does not begin');
  t.match(whole.stderr, sentence);
  t.match(whole.stderr, /A run of everything needs all peers; --no-peers goes without\.\n$/);
  t.notMatch(whole.stdout + whole.stderr, STACK);

  const check = spawnSync(
    process.execPath,
    [join(folder, 'bench/peers/check.mjs'), '--only', 'json-server'],
    {
      encoding: 'utf8',
    },
  );
  t.equal(check.status, 1);
  t.match(check.stderr, sentence);
  t.match(check.stderr, /There is no peer to check\.\n$/);
  t.notMatch(check.stderr, STACK);
  t.end();
});

test('another checkout is measured in the same rounds', (t) => {
  const options = ['--quick', '--no-peers', '--sets', 'small', '--before', ROOT];
  const { status, stdout } = bench(ROOT, ...options);
  t.equal(status, 0);
  t.match(stdout, /launch 2 of 2: filter \+ window \(small\): floor .* µs, Lectern .* µs, before .* µs/);
  t.match(stdout, /^against before: filter \+ window \(small\) +; \d+\.\d\d times, /m);
  t.end();
});

test('a peer that does not start is left out; a sentence says why', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-bench-peer-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'server.mjs');
  writeFileSync(file, "import 'a-package-that-is-not-there';\n");
  const peer = { name: 'Broken', file: pathToFileURL(file).href };

  const session = new Session(settingsOf(['--quick']));
  const said: string[] = [];
  session.say = (line) => said.push(line);
  try {
    t.equal(await session.startPeer(peer), null);
    t.equal(said.length, 1);
    t.match(
      said[0],
      /^Broken does not start \(.*Cannot find package 'a-package-that-is-not-there'.*\)\. It is left out\.$/,
    );
    t.ok(session.peersLeftOut.has('Broken'));
    t.equal(await session.startPeer(peer), null);
    t.equal(said.length, 1, 'it is said once');
  } finally {
    await session.end();
  }

  const whole = new Session(settingsOf([]));
  try {
    await t.rejects(whole.startPeer(peer), /a-package-that-is-not-there/, 'a run of everything fails');
  } finally {
    await whole.end();
  }
});
