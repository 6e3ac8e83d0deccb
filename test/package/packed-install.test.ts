/**
 * The package as users get it: packed, put into an empty project, imported, compiled against and run. To need
 * no network, the test unpacks the tarball by hand and links declared packages to those of the checkout; with
 * LECTERN_REAL_INSTALL=1, `npm install` does both.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from 'tap';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const REAL_INSTALL = process.env.LECTERN_REAL_INSTALL === '1';
/**
 * Arguments of `env`: a plain Node, without the loaders, module paths and settings of the tests. Changing the
 * environment of a child is not enough, because tap restores its own loader.
 */
const PLAIN = ['NODE_OPTIONS', 'NODE_PATH', ...Object.keys(process.env)]
  .filter((name) => /^(?:NODE_(?:OPTIONS|PATH)|LECTERN_\w+)$/.test(name))
  .flatMap((name) => ['-u', name]);
const COMMAND_MS_MAX = 60_000;
/** Half of the size is the docs page. A larger package needs a review. */
const PACKED_BYTES_MAX = 5_000_000;
/** Runs a command in a folder; rejects if it fails or hangs. */
function run(cwd: string, ...command: string[]): Promise<{ readonly stdout: string }> {
  return promisify(execFile)('env', [...PLAIN, ...command], { cwd, timeout: COMMAND_MS_MAX });
}

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
};

interface Tarball {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

/** All files that the package may contain. */
const ALLOWED: readonly RegExp[] = [
  /^(?:package\.json|README\.md|CHANGELOG\.md|CONTRIBUTING\.md|SECURITY\.md|LICENSE)$/,
  /^docs\/(?:[a-z]+\/)?[A-Za-z0-9-]+\.md$/,
  /^(?:deploy\/(?:fleet\/)?[a-z-]+\.(?:service|yaml|conf|json)|examples\/[a-z-]+\.(?:mjs|jsx)|bench\/results\/[a-z]+\.svg)$/,
  /^fixtures\/(?:demo\.ndjson\.gz|demo-rooms\.ndjson)$/,
  /^docs\/pages\/[a-z-]+\.webp$/,
  /^dist\/http\/pages\/(?:(?:main|part|style|later)-[A-Z0-9]{8}\.(?:js|css)|worker\.js|app\.webmanifest|icon\.svg)(?:\.br|\.gz)?$/,
  /^dist\/http\/pages\/(?:built\.json|licences\.txt)$/,
  /^src\/[a-z0-9/-]+(?:\.d)?\.ts$/,
  /^dist\/[a-z0-9/-]+\.(?:js|d\.ts)(?:\.map)?$/,
  /^dist\/http\/development\/swagger-ui\/(?:swagger-ui\.css|swagger-ui-bundle\.js|favicon-32x32\.png|LICENSE|NOTICE)$/,
  /^dist\/(?:openapi|timetable\.schema)\.json$/,
  /^(?:src|dist)\/cli\/column-names\.json$/,
  /^src\/source\/calendar\/windows-zones\.json$/,
  /^dist\/(?:refresh\/thread\/(?:client-)?worker|app\/serving)-text-licences\.txt$/,
];
/** Files that users need. */
const REQUIRED: readonly string[] = [
  'package.json',
  'README.md',
  'docs/http-api.md',
  'LICENSE',
  'dist/index.js',
  'dist/index.d.ts',
  'dist/cli.js',
  'dist/openapi.json',
  'dist/timetable.schema.json',
  'dist/cli/column-names.json',
  'dist/http/development/swagger-ui/swagger-ui-bundle.js',
  'dist/http/development/swagger-ui/swagger-ui.css',
  'dist/http/development/swagger-ui/LICENSE',
  'dist/http/pages/built.json',
  'dist/http/pages/worker.js',
  'dist/client/client.js',
];

const RECORDS = `[
  { id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417', time: '2024-09-02T08:00:00Z', endTime: '2024-09-02T09:00:00Z', type: 'Lab' },
  { id: '51b5e7a5-0b9f-4b7c-8a5f-9f1f7a5b6d20', time: '2024-09-02T10:00:00Z', endTime: '2024-09-02T11:00:00Z', type: 'Lecture' },
]`;

/** Uses of the public types that compile only if the types are complete. */
const TYPED_PROGRAM = `
import { LecternError, openTimetable, type EventPage, type Timetable, type TimetableEvent } from 'lectern';

const timetable: Timetable = openTimetable({ source: ${RECORDS} });
await timetable.ready;
const page: EventPage = timetable.find({ type: ['Lab', 'Exam'], startTime: new Date(0), limit: 5 });
const titles: (string | null)[] = page.events.map((event: TimetableEvent) => event.title);
try {
  // @ts-expect-error there is no such filter
  timetable.find({ lecturer: 'Ada' });
} catch (error) {
  if (!(error instanceof LecternError)) throw error;
  console.log(JSON.stringify({ titles, faults: error.faults.map(({ code }) => code) }));
}
await timetable.close();
`;

function tsconfig(resolution: { module: string; moduleResolution: string }): string {
  return JSON.stringify({
    compilerOptions: {
      target: 'es2022',
      lib: ['es2022'],
      types: ['node'],
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      outDir: `out-${resolution.moduleResolution}`,
      ...resolution,
    },
    files: ['program.ts'],
  });
}

test('the package', async (t) => {
  t.ok(REAL_INSTALL || existsSync(join(ROOT, 'dist/index.js')), 'the project is built: npm run build');
  const folder = mkdtempSync(join(tmpdir(), 'lectern-package-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  // It is not built again here, because other tests use the same build.
  const scripts = REAL_INSTALL ? [] : ['--ignore-scripts'];
  const packed = await run(
    ROOT,
    'npm',
    'pack',
    '--json',
    '--silent',
    '--pack-destination',
    folder,
    ...scripts,
  );
  const [tarball] = JSON.parse(packed.stdout) as [Tarball];
  const project = join(folder, 'project');
  mkdirSync(project);
  await install(project, join(folder, tarball.filename));
  const installed = join(project, 'node_modules/lectern');

  await t.test('the package has exactly the needed files', async (t) => {
    const paths = tarball.files.map((file) => file.path);
    t.same(
      paths.filter((path) => !ALLOWED.some((pattern) => pattern.test(path))),
      [],
      'nothing else',
    );
    for (const path of REQUIRED) t.ok(paths.includes(path), path);
    for (const document of paths.filter((path) => path.endsWith('.md'))) {
      const text = readFileSync(join(ROOT, document), 'utf8');
      const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link = '']) =>
        posix.join(dirname(document), link),
      );
      const dead = links.filter(
        (link) => !paths.some((path) => path === link || path.startsWith(`${link}/`)),
      );
      t.same(dead, [], `what ${document} links to`);
    }
    const stale = paths.filter((path) => {
      const module = /^dist\/(?!http\/development\/swagger-ui\/|http\/pages\/)(.+)\.js$/.exec(path)?.[1];
      return module !== undefined && !paths.includes(`src/${module}.ts`);
    });
    t.same(stale, [], 'every module has its source');
    t.ok(tarball.size < PACKED_BYTES_MAX, 'small');
    const kilobytes = (bytes: number) => `${Math.round(bytes / 1000)} kB`;
    t.comment(
      `${paths.length} files, ${kilobytes(tarball.size)} packed, ${kilobytes(tarball.unpackedSize)} unpacked`,
    );
  });

  await t.test('a plain program imports the package', async (t) => {
    const program = `
      import { openTimetable } from 'lectern';
      const timetable = openTimetable({ source: ${RECORDS} });
      await timetable.ready;
      console.log(JSON.stringify([timetable.types(), timetable.find({ type: 'Lab' }).total]));
      await timetable.close();`;
    writeFileSync(join(project, 'plain.mjs'), program);
    t.same(JSON.parse(await runProgram(project, 'plain.mjs')), [['Lab', 'Lecture'], 1]);
  });

  for (const resolution of [
    { module: 'nodenext', moduleResolution: 'nodenext' },
    { module: 'esnext', moduleResolution: 'bundler' },
  ]) {
    await t.test(
      `the package compiles and runs with moduleResolution ${resolution.moduleResolution}`,
      async (t) => {
        writeFileSync(join(project, 'program.ts'), TYPED_PROGRAM);
        writeFileSync(join(project, 'tsconfig.json'), tsconfig(resolution));
        const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
        const compiled = await run(project, process.execPath, compiler, '-p', project).then(
          ({ stdout }) => stdout,
          (error: { readonly stdout: string; readonly stderr: string }) =>
            `${error.stdout}${error.stderr}` || 'failed',
        );
        t.equal(compiled, '', 'no errors of types');
        const output = await runProgram(project, `out-${resolution.moduleResolution}/program.js`);
        t.same(JSON.parse(output), { titles: [null], faults: ['unknown-parameter'] });
      },
    );
  }

  await t.test('the command of the package runs, and serves the docs page from its own files', async (t) => {
    const cli = join(installed, 'dist/cli.js');
    t.equal((await runProgram(project, cli, '--version')).trim(), manifest.version);
    t.equal(
      readFileSync(join(installed, 'dist/openapi.json'), 'utf8'),
      await runProgram(project, cli, 'openapi'),
      'the OpenAPI document is the one that the command prints',
    );
    const source = join(installed, 'fixtures/demo.ndjson.gz');
    const service = spawn('env', [...PLAIN, process.execPath, cli, 'serve', source, '--dev', '--port', '0'], {
      cwd: project,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    t.teardown(() => service.kill('SIGKILL'));
    const docs = await printedLine(service, /^Documentation: (\S+)$/m);
    const response = await fetch(`${docs}/swagger-ui-bundle.js`);
    t.equal(response.status, 200);
    t.ok((await response.text()).length > 1_000_000);
    service.kill('SIGTERM');
    t.same(await once(service, 'exit'), [0, null]);
  });
});

async function install(project: string, tarball: string): Promise<void> {
  writeFileSync(join(project, 'package.json'), '{ "name": "user", "private": true, "type": "module" }\n');
  const modules = join(project, 'node_modules');
  const link = (name: string) => {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  };
  if (REAL_INSTALL) {
    await run(project, 'npm', 'install', '--no-audit', '--no-fund', tarball);
  } else {
    mkdirSync(join(modules, 'lectern'), { recursive: true });
    await run(join(modules, 'lectern'), 'tar', '-xzf', tarball, '--strip-components=1');
    // Only declared packages: importing any other fails here, as it would for a user.
    for (const name of Object.keys(manifest.dependencies)) link(name);
  }
  link('@types/node');
}

/** Standard output of a program. */
async function runProgram(cwd: string, ...argv: string[]): Promise<string> {
  return (await run(cwd, process.execPath, ...argv)).stdout;
}

/** The first group of a pattern, once standard output has it. */
function printedLine(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    let errors = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const found = pattern.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${output}${errors}`)));
  });
}
