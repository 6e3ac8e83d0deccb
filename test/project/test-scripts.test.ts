/** The scripts that run tests: the files that a name matches, the tests that a change affects, and the selections. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { test } from 'tap';
import { parse } from 'yaml';

interface TestFiles {
  testFiles(): readonly string[];
  matching(name: string, files: readonly string[]): readonly string[];
  closureOf(file: string): ReadonlySet<string>;
  needsBuild(closure: ReadonlySet<string>): boolean;
  affectedBy(
    changed: readonly string[],
    files: readonly string[],
  ): { files: readonly string[]; left: number };
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const load = (name: string): Promise<unknown> => import(pathToFileURL(join(ROOT, 'scripts', name)).href);
const { testFiles, matching, closureOf, needsBuild, affectedBy } = (await load(
  'test-files.mjs',
)) as TestFiles;
interface Selections {
  readonly SLOW: Readonly<Record<string, string>>;
  readonly SLOW_SIZES: readonly string[];
  readonly FIRST: readonly string[];
  readonly SELECTIONS: Readonly<Record<'fast' | 'slow' | 'hard', { has(path: string): boolean }>>;
}
const { SLOW, SLOW_SIZES, FIRST, SELECTIONS } = (await load('test-selections.mjs')) as Selections;

const FILES = ['test/http/server/close.test.ts', 'test/answer/plan.test.ts', 'test/answer/plan-b.test.ts'];

test('an exact name means one file; otherwise all files that contain it run', async (t) => {
  const table: [string, readonly string[]][] = [
    ['answer/plan', ['test/answer/plan.test.ts']],
    ['plan', ['test/answer/plan.test.ts']],
    ['pla', ['test/answer/plan.test.ts', 'test/answer/plan-b.test.ts']],
    ['test/answer/plan.test.ts', ['test/answer/plan.test.ts']],
    ['./test/http/server/close.test.ts', ['test/http/server/close.test.ts']],
    ['answer/', ['test/answer/plan.test.ts', 'test/answer/plan-b.test.ts']],
    ['nothing', []],
  ];
  for (const [name, expected] of table) t.strictSame(matching(name, FILES), expected, name);
});

test('the modules of a test are known, and whether it needs the build', async (t) => {
  const time = closureOf('test/base/model/time.test.ts');
  t.ok(time.has('src/base/model/time.ts'));
  t.notOk(needsBuild(time));
  t.ok(needsBuild(closureOf('test/embedding/reads.test.ts')), 'a module beside it names dist/');
  t.notOk(needsBuild(closureOf('test/cli/usage.test.ts')), 'it takes the source where it is not compiled');
});

test('a change affects the tests that import it', async (t) => {
  const files = testFiles();
  t.ok(files.length > 100);
  t.strictSame(affectedBy(['test/base/model/time.test.ts'], files), {
    files: ['test/base/model/time.test.ts'],
    left: 0,
  });
  const changed = affectedBy(['src/base/structures/radix-sort.ts'], files);
  t.ok(changed.files.includes('test/base/structures/radix-sort.test.ts'));
  t.notOk(changed.files.includes('test/base/model/time.test.ts'));
  t.notOk(changed.files.includes('test/embedding/reads.test.ts'));
  t.ok(changed.left > 5, 'tests of the build are told of');
  t.ok(affectedBy(['test/oracle/schedule.ts'], files).files.length > 1);
});

test('the tests with larger sizes are in the selections that ask for them', async (t) => {
  const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
  const imports = (path: string, names: string): boolean =>
    new RegExp(`import \\{[^}]*\\b(?:${names})\\b[^}]*\\} from '[./]*/hard/[a-z-]+\\.js'`).test(read(path));
  const isHard = (path: string): boolean => imports(path, 'HARD|size') || /env\.TESTS_HARD/.test(read(path));
  // The third argument of size() is the medium size.
  const isMedium = (path: string): boolean =>
    (imports(path, 'HARD|size') && /\bfindDataSets\(/.test(read(path))) ||
    imports(path, 'SLOW|runs|slowTest') ||
    (isHard(path) && /\bsize\([^(),]+,[^(),]+,[^(),]+\)/.test(read(path)));
  const name = (path: string): string => path.replace(/^test\/(.*)\.ts$/, '$1.js');
  const files = testFiles().filter((path) => path !== 'test/project/test-scripts.test.ts');
  const hard = files.filter(isHard).map(name);
  t.ok(hard.length > 30, `${hard.length} files`);
  t.strictSame(
    hard.filter((path) => !SELECTIONS.hard.has(path)),
    [],
  );
  const medium = files.filter(isMedium).map(name);
  t.strictSame(
    medium.filter((path) => !SELECTIONS.slow.has(path)),
    [],
  );
  // `npm test` has run what the others leave out.
  const repeated = files.filter((path) => imports(path, 'fastTest')).map(name);
  t.strictSame(
    repeated.filter((path) => !SELECTIONS.fast.has(path)),
    [],
  );
  for (const path of files.map(name)) t.ok(SELECTIONS.fast.has(path) || SELECTIONS.slow.has(path), path);
  for (const start of [...Object.keys(SLOW), ...SLOW_SIZES, ...FIRST])
    t.ok(
      files.map(name).some((path) => path.startsWith(start)),
      `${start} has tests`,
    );
});

test('test/ mirrors src/; CONTRIBUTING.md names every other folder, and only existing scripts', async (t) => {
  const text = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  const entries = readdirSync(join(ROOT, 'test'), { withFileTypes: true });
  t.strictSame(
    entries.filter((entry) => entry.isFile()).map(({ name }) => name),
    [],
    'no loose files',
  );
  for (const { name } of entries.filter((entry) => entry.isDirectory())) {
    t.ok(existsSync(join(ROOT, 'src', name)) || text.includes(`\`test/${name}\``), name);
  }
  const folders = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((each) =>
    each.isDirectory(),
  );
  for (const { name } of folders) t.ok(existsSync(join(ROOT, 'test', name)), `src/${name} has tests`);
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const named = [...text.matchAll(/`npm run ([\w:]+)/g)].map(([, name]) => name ?? '');
  t.ok(named.length >= 8);
  for (const name of named) t.ok(name in scripts, name);
});

test('every file names the same version of Node', async (t) => {
  const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
  const oldest = Number(/^>=(\d+)\./.exec(engines.node)?.[1]);
  t.equal(Number(read('.nvmrc')), oldest);
  t.match(read('CONTRIBUTING.md'), `Node ${engines.node.slice(2)} or later`);
  const workflow = parse(read('.github/workflows/ci.yml')) as {
    jobs: { all: { strategy: { matrix: { node: number[] } }; steps: { run?: string }[] } };
  };
  const { strategy, steps } = workflow.jobs.all;
  t.strictSame(strategy.matrix.node, [oldest, 22, 24, 26]);
  t.ok(
    steps.some(({ run }) => run === '.ci/run'),
    'it runs what is run by hand',
  );
});
