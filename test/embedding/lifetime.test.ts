import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'tap';
import { BUILT_MODULE, type ProgramOutcome, ROOT, runProgram, temporaryFolder } from './built.js';

type TestContext = { teardown(end: () => void): void };

/** Pauses in these programs are the slowness of sources. */

/** Runs a module with `openTimetable`, `MemorySource` and `RECORDS` in scope, in a folder with `events.ndjson.gz`. */
async function run(
  t: TestContext,
  body: string,
): Promise<ProgramOutcome & { readonly sinceLastLineMs: number }> {
  const folder = await temporaryFolder(t);
  await copyFile(join(ROOT, 'fixtures/demo.ndjson.gz'), join(folder, 'events.ndjson.gz'));
  const program = join(folder, 'program.mjs');
  await writeFile(
    program,
    `import { MemorySource, openTimetable } from ${JSON.stringify(BUILT_MODULE)};
    const RECORDS = [{ id: '00000000-0000-4000-8000-000000000001', time: '2024-09-02T08:00:00Z', endTime: '2024-09-02T10:00:00Z' }];
    const never = () => new Promise(() => {});
    let lastLineMs = 0;
    const print = (text) => { lastLineMs = Date.now(); console.log(text); };
    ${body}
    process.on('exit', () => console.log('idle for ' + (Date.now() - lastLineMs)));`,
  );
  const outcome = await runProgram(folder, [program]);
  const [idle = '', idleMs = 'NaN'] = /idle for (\d+)\n/.exec(outcome.stdout) ?? [];
  return { ...outcome, stdout: outcome.stdout.replace(idle, ''), sinceLastLineMs: Number(idleMs) };
}

const EVERYTHING =
  "{ source: 'events.ndjson.gz', refreshSeconds: 3600, watch: true, snapshotFile: 'snapshot.image', staleSecondsMax: 7200 }";

test('a program ends soon after close(), without process.exit()', async (t) => {
  const outcome = await run(
    t,
    `const file = openTimetable(${EVERYTHING});
    const memory = openTimetable({ source: new MemorySource(RECORDS), refreshSeconds: 3600 });
    console.log((await file.ready).events, (await memory.ready).events);
    await Promise.all([file.close(), memory.close()]);
    print('closed');`,
  );
  t.match(outcome, { code: 0, stdout: '10000 1\nclosed\n', stderr: '' });
  t.ok(outcome.sinceLastLineMs < 10_000, `${outcome.sinceLastLineMs} ms`);
});

test('a timetable that is never closed keeps no process alive once it is ready', async (t) => {
  const outcome = await run(
    t,
    `const file = openTimetable(${EVERYTHING});
    const memory = openTimetable({ source: new MemorySource(RECORDS), refreshSeconds: 3600 });
    await Promise.all([file.ready, memory.ready]);
    print('ready');`,
  );
  t.match(outcome, { code: 0, stdout: 'ready\n', stderr: '' });
  t.ok(
    outcome.sinceLastLineMs < 5000,
    `${outcome.sinceLastLineMs} ms, in which the snapshot file is written`,
  );
});

test('a background refresh does not keep the process alive, but an awaited one does', async (t) => {
  const slow = `let loads = 0;
    const timetable = openTimetable({ source: {
      name: 'slow at the second load',
      async load() {
        if (loads++ > 0) await new Promise((resolve) => setTimeout(resolve, 300).unref());
        return { records: RECORDS, version: null };
      },
    } });
    await timetable.ready;`;
  const background = await run(
    t,
    `${slow} timetable.refresh().then(() => print('refreshed')); print('asked');`,
  );
  t.match(
    background,
    { code: 0, stdout: 'asked\nrefreshed\n' },
    'the program asked for it and may be waiting',
  );
  const awaited = await run(t, `${slow} await timetable.refresh(); print('refreshed ' + loads);`);
  t.match(awaited, { code: 0, stdout: 'refreshed 2\n' });
  const regular = await run(
    t,
    `const timetable = openTimetable({ refreshSeconds: 0.05, source: {
      name: 'hangs at the second load',
      load: () => (print('load'), timetable.view === null ? { records: RECORDS, version: null } : never()),
    } });
    await timetable.ready;
    await new Promise((resolve) => setTimeout(resolve, 400));`,
  );
  t.match(regular, { code: 0, stdout: 'load\nload\n' });
});

test('awaiting ready keeps the process alive, even between attempts at a broken source', async (t) => {
  const outcome = await run(
    t,
    `let loads = 0;
    const timetable = openTimetable({ refreshSeconds: 0.1, source: {
      name: 'works at the third load',
      async load() {
        await new Promise((resolve) => setTimeout(resolve, 50).unref());
        if (++loads < 3) throw new Error('not yet');
        return { records: RECORDS, version: null };
      },
    } });
    print((await timetable.ready).events + ' after ' + loads);`,
  );
  t.match(outcome, { code: 0, stdout: '1 after 3\n', stderr: '' });
});

test('close() during a load ends it at once: ready rejects, and nothing is left', async (t) => {
  const outcome = await run(
    t,
    `const hanging = async function* () { yield RECORDS[0]; await new Promise((resolve) => setTimeout(resolve, 60_000).unref()); };
    const sources = {
      file: 'events.ndjson.gz',
      records: hanging(),
      deaf: { name: 'does not heed its signal', load: never },
      standardInput: '-',
    };
    for (const refreshSeconds of [0, 3600]) {
        for (const [name, source] of Object.entries(sources)) {
          const timetable = openTimetable({ source, refreshSeconds });
          await new Promise((resolve) => setTimeout(resolve, 20));
          await timetable.close();
          const how = await timetable.ready.then(() => 'ready', (error) => error?.code);
          if (how !== 'closed') print(name + ' ' + refreshSeconds + ' ' + how);
        }
    }
    const closedAtOnce = openTimetable({ source: 'events.ndjson.gz', snapshotFile: 'snapshot.image', refreshSeconds: 3600 });
    await closedAtOnce.close();
    await closedAtOnce.close();
    await closedAtOnce.ready.catch((error) => print(error.code));`,
  );
  t.match(outcome, { code: 0, stdout: 'closed\n', stderr: '' });
  t.ok(outcome.sinceLastLineMs < 10_000, `${outcome.sinceLastLineMs} ms`);
});

test('errors of callbacks do not end the program', async (t) => {
  const outcome = await run(
    t,
    `const fail = (where) => { throw new Error('a mistake in ' + where); };
    const failing = openTimetable({ source: 'events.ndjson.gz', onProgress: () => fail('onProgress') });
    await failing.ready.catch((error) => print('ready: ' + error.message));
    await failing.close();
    const source = new MemorySource(RECORDS);
    const timetable = openTimetable({ source, watch: false });
    timetable.on('published', () => fail('published')).on('published', async () => fail('an async listener'));
    timetable.on('error', (error) => { print('error: ' + error.message); fail('error'); });
    await timetable.ready;
    source.apply({ upsert: [{ ...RECORDS[0], title: 'another' }] });
    await timetable.refresh();
    print(timetable.find().events[0].title + ', ' + timetable.status);
    await timetable.close();`,
  );
  const told =
    "error: a listener of 'published' threw: a mistake in published\n" +
    "error: a listener of 'published' threw: a mistake in an async listener\n";
  t.match(outcome, {
    code: 0,
    stdout: `ready: a mistake in onProgress\n${told}${told}another, ok\n`,
    stderr: /LecternWarning: a listener of 'error' threw: a mistake in error/,
  });
});

test('an asynchronous onProgress that rejects ends neither the process nor the load', async (t) => {
  const outcome = await run(
    t,
    `const told = new Set();
    const onProgress = async () => { throw new Error('the terminal is gone'); };
      const timetable = openTimetable({ source: 'events.ndjson.gz', onProgress });
      timetable.on('error', (error) => told.add(error.message));
      print((await timetable.ready).events);
      await timetable.close();
      for (const message of told) print(message);
    const silent = openTimetable({ source: 'events.ndjson.gz', onProgress });
    print((await silent.ready).events);
    await silent.close();`,
  );
  t.match(outcome, {
    code: 0,
    stdout: /^10000\nonProgress failed: the terminal is gone\n10000\n$/,
    stderr: /LecternWarning: onProgress failed: the terminal is gone/,
  });
});

test('after standard input failed, every later load fails', async (t) => {
  const outcome = await run(
    t,
    `const timetable = openTimetable({ source: '-', refreshSeconds: 0.05 });
    const errors = [];
    const failed = new Promise((resolve) => timetable.on('error', (error) => errors.push(error.message) === 3 && resolve()));
    await failed;
    print(timetable.status + ' ' + timetable.source.state + ' ' + timetable.source.lastSuccessMs);
    print([...new Set(errors)].join());
    await timetable.close();`,
  );
  t.match(outcome, {
    code: 0,
    stdout: /^starting failed null\nstandard input: the source is empty; expected [^\n]*\n$/,
    stderr: '',
  });
});

test('close() waits until a snapshot file is complete', async (t) => {
  const outcome = await run(
    t,
    `const first = openTimetable({ source: 'events.ndjson.gz', snapshotFile: 'snapshot.image' });
    await first.ready;
    await first.close();
    const second = openTimetable({ source: 'no-longer-there.ndjson', pin: 'snapshot.image' });
    print((await second.ready).events + ' ' + second.publication.origin);
    await second.close();`,
  );
  t.match(outcome, { code: 0, stdout: '10000 pin\n', stderr: '' });
});
