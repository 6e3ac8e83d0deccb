import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { test } from 'tap';
import { ROOT, runProgram, temporaryFolder } from './built.js';

/** Uses every part that is found at run time: threads, files, streams, snapshot files, MessagePack, the handler, tokens. */
const PROGRAM = `
import { createServer } from 'node:http';
import { once } from 'node:events';
import { MemorySource, openTimetable } from 'lectern';

async function main() {
  const file = openTimetable({ source: process.argv[2], snapshotFile: 'snapshot.image' });
  const { events } = await file.ready;
  const memory = new MemorySource([{ id: '00000000-0000-4000-8000-000000000001', time: '2024-09-02T08:00:00Z', endTime: '2024-09-02T10:00:00Z', title: 'Bündel' }]);
  const records = openTimetable({ source: memory });
  await records.ready;
  const handler = records.handler({ auth: { hs256Secret: 'a secret of the tests, 32 bytes or more' } });
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = 'http://127.0.0.1:' + server.address().port + '/api/v1/';
  const statuses = [];
  for (const path of ['schedule', 'nothing']) statuses.push((await fetch(address + path)).status);
  const open = createServer(records.handler({ identify: () => ({ studyGroup: 'X' }) })).listen(0, '127.0.0.1');
  await once(open, 'listening');
  const base = 'http://127.0.0.1:' + open.address().port + '/api/v1/schedule';
  const msgpack = await fetch(base + '?format=msgpack');
  const personal = await fetch(base + '/personal');
  const threads = await records.serve({ auth: { hs256Secret: 'a secret of the tests, 32 bytes or more' }, port: 0, workers: 2 });
  for (const path of ['schedule', 'nothing']) statuses.push((await fetch(threads.address.origin + '/api/v1/' + path)).status);
  await threads.close();
  const http = openTimetable({ source: base + '/all' });
  await http.ready;
  console.log(JSON.stringify({
    events,
    found: file.find({ studyGroup: 'BIO-1D', limit: 1 }).total,
    conflicts: file.conflicts({ limit: 1 }).total > 0,
    title: records.get('00000000-0000-4000-8000-000000000001').title,
    statuses,
    msgpack: [msgpack.status, msgpack.headers.get('content-type')],
    personal: personal.status,
    http: http.find().events[0].title,
  }));
  server.close();
  open.close();
  await Promise.all([file.close(), records.close(), http.close()]);
  const again = openTimetable({ source: process.argv[2], snapshotFile: 'snapshot.image', watch: false });
  again.on('published', ({ origin }) => console.log(origin));
  await again.ready;
  await again.close();
}
main();
`;

/**
 * esbuild needs this in an ES module if a CommonJS dependency (here find-my-way) requires a module of Node.
 * Has its own name, because msgpackr imports `createRequire`, too.
 *
 * https://github.com/evanw/esbuild/issues/1921
 */
const ESM_BANNER = {
  js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
};

for (const [format, minify] of [
  ['esm', true],
  ['cjs', false],
] as const) {
  test(`a program runs from a single bundled file: ${format}${minify ? ', minified' : ''}`, async (t) => {
    const folder = await temporaryFolder(t);
    const outfile = join(folder, format === 'esm' ? 'program.mjs' : 'program.cjs');
    const { warnings } = await build({
      stdin: { contents: PROGRAM, resolveDir: ROOT, sourcefile: 'program.js' },
      bundle: true,
      platform: 'node',
      target: 'node20',
      format,
      ...(format === 'esm' ? { banner: ESM_BANNER } : {}),
      minify,
      outfile,
      logLevel: 'silent',
    });
    t.strictSame(
      warnings.map(({ id }) => id).filter((id) => id !== 'empty-import-meta'),
      [],
    );
    const { code, stdout, stderr } = await runProgram(folder, [
      outfile,
      join(ROOT, 'fixtures/demo.ndjson.gz'),
    ]);
    t.equal(stderr, '');
    t.equal(code, 0);
    const [answers = '', ...origins] = stdout.trimEnd().split('\n');
    t.strictSame(JSON.parse(answers), {
      events: 10_000,
      found: 136,
      conflicts: true,
      title: 'Bündel',
      statuses: [401, 404, 401, 404],
      msgpack: [200, 'application/vnd.msgpack'],
      personal: 200,
      http: 'Bündel',
    });
    t.equal(origins[0], 'disk', 'the image that was written is read at the next start');
  });
}

test('docs/embedding.md names the settings that esbuild needs', async (t) => {
  t.ok((await readFile(join(ROOT, 'docs/embedding.md'), 'utf8')).includes(`--banner:js="${ESM_BANNER.js}"`));
});

test('a file beside the bundle that has the name of a thread script is ignored', async (t) => {
  const folder = await temporaryFolder(t);
  const outfile = join(folder, 'program.mjs');
  await writeFile(join(folder, 'task-worker.js'), 'process.exit(7)');
  await writeFile(join(folder, 'spawn-task.js'), 'process.exit(7)');
  await build({
    stdin: {
      contents: `import { openTimetable } from 'lectern';
        const timetable = openTimetable({ source: process.argv[2] });
        console.log((await timetable.ready).events);`,
      resolveDir: ROOT,
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: ESM_BANNER,
    outfile,
    logLevel: 'silent',
  });
  const { code, stdout } = await runProgram(folder, [outfile, join(ROOT, 'fixtures/demo.ndjson.gz')]);
  t.equal(stdout, '10000\n');
  t.equal(code, 0);
});

test('a TypeScript program runs through tsx', async (t) => {
  const folder = await temporaryFolder(t);
  const program = join(folder, 'program.ts');
  await writeFile(
    program,
    `import { openTimetable, type Timetable } from ${JSON.stringify(join(ROOT, 'dist/index.js'))};
    const timetable: Timetable = openTimetable({ source: process.argv[2] as string });
    await timetable.ready;
    console.log(timetable.find({ studyGroup: 'BIO-1D' }).total);
    await timetable.close();`,
  );
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const tsx = join(ROOT, 'node_modules/tsx/dist/cli.mjs');
  const { code, stdout, stderr } = await runProgram(folder, [
    tsx,
    program,
    join(ROOT, 'fixtures/demo.ndjson.gz'),
  ]);
  t.equal(stderr, '');
  t.equal(stdout, '136\n');
  t.equal(code, 0);
});

test('thread scripts in bundles are small and include the licences of their contents', async (t) => {
  const { size } = await stat(join(ROOT, 'dist/refresh/thread/worker-text.js'));
  t.ok(size > 50_000 && size < 580_000, `${size} bytes`);
  const serving = await stat(join(ROOT, 'dist/app/serving-text.js'));
  t.ok(serving.size > 100_000 && serving.size < 480_000, `${serving.size} bytes`);
  for (const [file, names] of [
    ['refresh/thread/worker-text', ['fast-json-stringify', 'interval-tree-1d', 'msgpackr']],
    ['refresh/thread/client-worker-text', ['pg', '@nats-io/transport-node']],
    ['app/serving-text', ['find-my-way', 'interval-tree-1d', 'jose', 'negotiator']],
  ] as const) {
    const licences = await readFile(join(ROOT, `dist/${file}-licences.txt`), 'utf8');
    for (const name of names) t.match(licences, new RegExp(`^${name} \\d`, 'm'), name);
  }
  const ofLoads = await readFile(join(ROOT, 'dist/refresh/thread/worker-text-licences.txt'), 'utf8');
  t.notMatch(ofLoads, /^(?:pg|@nats-io\/\S+) \d/m, 'threads without a database or store get no client');
});
