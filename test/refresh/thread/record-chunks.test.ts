/** Records of a program as chunks of text. Inside, because chunks end by time. */
import { test } from 'tap';
import { recordChunks } from '../../../src/refresh/thread/record-chunks.js';
import type { Records } from '../../../src/source/memory-source.js';

/** The chunks as texts. Each must hold whole lines in its own buffer, which can be transferred. */
async function chunksOf(records: Records): Promise<string[]> {
  const chunks: string[] = [];
  for await (const chunk of recordChunks(records)) {
    if (chunk.byteLength !== chunk.buffer.byteLength) throw new Error('a part of a larger buffer');
    chunks.push(new TextDecoder().decode(chunk));
  }
  return chunks;
}

test('records become lines in order', async (t) => {
  const lines = (await chunksOf([{ id: 'a' }, { id: 'ü"\n' }, 3, 'text', null, [1]])).join('');
  t.equal(lines, '{"id":"a"}\n{"id":"ü\\"\\n"}\n3\n"text"\nnull\n[1]\n');
});

test('no records give no chunk', async (t) => {
  t.strictSame(await chunksOf([]), []);
  t.strictSame(await chunksOf((async function* () {})()), []);
});

test('values are written as JSON.stringify writes them', async (t) => {
  const time = new Date(Date.UTC(2024, 8, 2, 8));
  t.strictSame(await chunksOf([{ time, title: undefined, n: Number.NaN, toJSON: undefined }]), [
    '{"time":"2024-09-02T08:00:00.000Z","n":null}\n',
  ]);
});

test('a record that cannot be read becomes a text that says so', async (t) => {
  const broken = {
    get id(): string {
      throw new Error('the getter failed');
    },
  };
  const refusing = {
    toJSON() {
      throw new Error('it refuses');
    },
  };
  // They may come in several chunks if making them takes long.
  const chunks = await chunksOf([undefined, () => {}, broken, refusing, { id: 'good' }]);
  const values = chunks
    .join('')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  t.equal(values.length, 5, 'a line each');
  for (const value of values.slice(0, 4)) t.match(value, /^a record that JSON cannot represent/);
  t.match(values[2], /the getter failed/);
  t.match(values[3], /it refuses/);
  t.strictSame(values[4], { id: 'good' });
});

test('if JSON cannot represent a value, the other values of the record stay', async (t) => {
  const circle: Record<string, unknown> = { id: 'a"', title: undefined };
  circle.self = circle;
  const lines = (await chunksOf([circle, { id: 12345678901234567890n, title: 'x' }])).join('');
  t.equal(lines, '{"id":"a\\"","self":{}}\n{"id":12345678901234567890,"title":"x"}\n');
});

test('a chunk ends after a few milliseconds', async (t) => {
  function* slow(): Generator<object> {
    for (let n = 0; n < 5; n++) {
      const untilMs = performance.now() + 5;
      while (performance.now() < untilMs);
      yield { n };
    }
  }
  const chunks = await chunksOf(slow());
  t.ok(chunks.length >= 2, `${chunks.length} chunks`);
  t.equal(chunks.join(''), '{"n":0}\n{"n":1}\n{"n":2}\n{"n":3}\n{"n":4}\n');
});

test('records of an async iterable are read, and a failure is passed on', async (t) => {
  async function* failing(): AsyncGenerator<object> {
    yield { n: 1 };
    throw new Error('the cursor was closed');
  }
  await t.rejects(chunksOf(failing()), { message: 'the cursor was closed' });
  async function* good(): AsyncGenerator<object> {
    yield { n: 1 };
    yield { n: 2 };
  }
  t.equal((await chunksOf(good())).join(''), '{"n":1}\n{"n":2}\n');
});
