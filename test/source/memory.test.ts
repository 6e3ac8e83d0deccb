import { test } from 'tap';
import { memorySource } from '../../src/source/records.js';
import type { LoadProgress } from '../../src/source/source.js';
import { collect, failureOf } from './collect.js';

test('records come in order, numbered from 1', async (t) => {
  const { records, rejections, summary } = await collect(memorySource([{ a: 1 }, null, 'x']));
  t.same(records, [
    { value: { a: 1 }, position: { record: 1 } },
    { value: null, position: { record: 2 } },
    { value: 'x', position: { record: 3 } },
  ]);
  t.same(rejections, []);
  t.same(summary, { format: 'memory', gzipped: false, bytesRead: 0, version: null });
});

test('an array can be loaded again, and no records are a valid set', async (t) => {
  const source = memorySource([1, 2]);
  t.equal((await collect(source)).records.length, 2);
  t.equal((await collect(source)).records.length, 2);
  t.equal((await collect(memorySource([]))).records.length, 0);
});

test('generators of both kinds are read', async (t) => {
  function* plain(): Generator<number> {
    yield 1;
    yield 2;
  }
  async function* asynchronous(): AsyncGenerator<number> {
    yield 1;
    await new Promise((resolve) => setImmediate(resolve));
    yield 2;
  }
  for (const records of [plain(), asynchronous()]) {
    t.same(
      (await collect(memorySource(records))).records.map((r) => r.value),
      [1, 2],
    );
  }
});

test('the event loop turns while many records are loaded, and progress is told', async (t) => {
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  const progress: LoadProgress[] = [];
  function* slowly(): Generator<number> {
    for (let i = 0; i < 10_000; i++) {
      const until = performance.now() + (i % 500 === 0 ? 1 : 0);
      while (performance.now() < until);
      yield i;
    }
  }
  await collect(memorySource(slowly()), { onProgress: (p) => progress.push(p) });
  clearInterval(timer);
  t.ok(turns > 1, `${turns} turns`);
  t.same(progress.at(-1), { bytesRead: 0, bytesTotal: null, records: 10_000 });
  t.equal(progress.length, 5);
});

test('an abort ends the load with its reason and closes the generator', async (t) => {
  const controller = new AbortController();
  let closed = false;
  function* endless(): Generator<number> {
    try {
      for (let i = 0; ; i++) {
        if (i === 5000) controller.abort(new Error('enough'));
        yield i;
      }
    } finally {
      closed = true;
    }
  }
  const failure = await failureOf(collect(memorySource(endless()), { signal: controller.signal }));
  t.equal(failure.message, 'enough');
  t.ok(closed);
});

test('a generator that fails makes the source unreadable, with the cause', async (t) => {
  const cause = new Error('connection lost');
  async function* failing(): AsyncGenerator<number> {
    yield 1;
    throw cause;
  }
  const failure = await failureOf(collect(memorySource(failing(), 'the database')));
  t.match(failure, { code: 'source-unreadable', message: 'cannot read the database: connection lost' });
  t.equal(failure.cause, cause);
});

test('what the sink throws comes through as it is', async (t) => {
  const mistake = new TypeError('a mistake');
  const sink = {
    record(): void {
      throw mistake;
    },
    reject(): void {},
  };
  t.equal(await failureOf(memorySource([1]).load(sink)), mistake);
});
