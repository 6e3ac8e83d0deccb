/** Compressed answers. Inside for the codings, sizes and tags that a server cannot be made to choose. */
import { randomBytes } from 'node:crypto';
import * as zlib from 'node:zlib';
import { type Test, test } from 'tap';
import { LIST_ENTRIES_MAX } from '../../../src/base/limits.js';
import type { NormalisedEvent } from '../../../src/base/model/event.js';
import { AnswerCache } from '../../../src/http/answer/answer-cache.js';
import {
  type Coding,
  CompressedAnswers,
  compress,
  negotiateCoding,
  tagWithCoding,
  tagWithoutCoding,
} from '../../../src/http/answer/compression.js';
import { viewOfEvents } from '../../answer/reading.js';
import { timeForAFault, until } from '../../waiting/until.js';
import { bearer, EVENTS, type Reply, serve, setUp, viewsOf } from '../harness.js';

const MANY = Array.from({ length: 400 }, (_, n) => ({
  ...(EVENTS[n % 4] as NormalisedEvent),
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
}));

const { brotliDecompressSync, gunzipSync } = zlib;
/** Node has zstd from 22.15 on. */
const { zstdDecompressSync } = zlib as unknown as { zstdDecompressSync?: typeof gunzipSync };
const UNPACK = new Map<Coding, typeof gunzipSync>([
  ['br', brotliDecompressSync],
  ['gzip', gunzipSync],
  ...(zstdDecompressSync === undefined ? [] : [['zstd', zstdDecompressSync] as const]),
]);

test('the coding with the highest preference in Accept-Encoding is used', (t) => {
  const zstd = negotiateCoding('zstd') === null ? 'gzip' : 'zstd';
  for (const [header, coding] of [
    ['gzip, deflate, br', 'br'],
    ['gzip, deflate', 'gzip'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['GZIP', 'gzip'],
    ['br;q=0, gzip;q=0.1', 'gzip'],
    ['gzip, zstd', zstd],
    ['*', 'br'],
    ['*;q=0', null],
    ['identity', null],
    ['identity;q=1, br;q=0.5', null],
    ['deflate', null],
    ['', null],
    [';;,,=', null],
    ['gzip;q=nonsense', null],
    ['x'.repeat(5000), null],
    // Only the first entries of a long list count.
    [`${'a,'.repeat(LIST_ENTRIES_MAX - 1)}br`, 'br'],
    [`${'a,'.repeat(LIST_ENTRIES_MAX)}br`, null],
  ] as const) {
    t.equal(negotiateCoding(header), coding, header.slice(0, 40));
  }
  t.end();
});

test('entity tags name their coding', (t) => {
  t.equal(tagWithCoding('W/"a-b"', 'br'), 'W/"a-b.br"');
  for (const tag of ['W/"a-b"', 'W/"a-b.br"', 'W/"a-b.gzip"', 'W/"a-b.zstd"'])
    t.equal(tagWithoutCoding(tag), 'W/"a-b"');
  t.equal(tagWithoutCoding('W/"a-br"'), 'W/"a-br"');
  t.end();
});

test('bodies in pieces of any size, even in shared memory, decompress to the original', async (t) => {
  const shared = new Uint8Array(new SharedArrayBuffer(700_000)).map((_, n) => n % 251);
  for (const chunks of [
    [],
    [Buffer.from('x')],
    [shared],
    [shared.subarray(3), Buffer.alloc(0), shared.subarray(0, 9)],
  ]) {
    const whole = Buffer.concat(chunks);
    for (const [coding, unpack] of UNPACK)
      t.ok(unpack(await compress(chunks, whole.length, coding)).equals(whole), coding);
  }
});

/** Repeats a request until the answer has the coding. */
function compressed(t: Test, ask: () => Promise<Reply>, coding: Coding): Promise<Reply> {
  return until(ask, ({ headers }) => {
    const given = headers['content-encoding'];
    if (given !== coding) t.equal(given, undefined);
    return given === coding;
  });
}

test('a repeated answer is compressed, and has the same content', async (t) => {
  const views = viewsOf();
  views.view = viewOfEvents(MANY, 'uuid');
  const { send } = await serve(t, setUp({ views }).handler);
  for (const [coding, unpack] of UNPACK) {
    for (const target of [
      '/api/v1/schedule',
      '/api/v1/schedule/all',
      '/api/v1/schedule/all?format=msgpack',
      '/api/v1/schedule/conflicts',
    ]) {
      const plain = await send(target, { headers: bearer() });
      const headers = { ...bearer(), 'Accept-Encoding': `${coding}, deflate` };
      const packed = await compressed(t, () => send(target, { headers }), coding);
      t.ok(unpack(packed.body).equals(plain.body), `${target} as ${coding}`);
      t.ok(packed.body.length < plain.body.length / 3, `${packed.body.length} of ${plain.body.length} bytes`);
      t.equal(packed.headers['content-length'], String(packed.body.length));
      t.equal(packed.headers.etag, tagWithCoding(String(plain.headers.etag), coding));
      for (const name of ['content-type', 'vary', 'x-total-count', 'cache-control'])
        t.equal(packed.headers[name], plain.headers[name], name);
      t.match(packed.headers.vary, /Accept-Encoding/);
      const head = await send(target, { method: 'HEAD', headers });
      t.strictSame(
        [head.headers['content-length'], head.headers['content-encoding'], head.body.length],
        [String(packed.body.length), coding, 0],
      );
      for (const asked of [headers, bearer()]) {
        for (const tag of [plain.headers.etag, packed.headers.etag]) {
          const again = await send(target, { headers: { ...asked, 'If-None-Match': String(tag) } });
          t.strictSame([again.status, again.headers.etag, again.body.length], [304, tag, 0]);
        }
      }
      t.equal((await send(target, { headers: bearer() })).headers['content-encoding'], undefined);
    }
  }
});

test('a publication ends the use of compressed answers from earlier snapshots', async (t) => {
  const views = viewsOf();
  views.view = viewOfEvents(MANY, 'uuid');
  const { send } = await serve(t, setUp({ views }).handler);
  const headers = { ...bearer(), 'Accept-Encoding': 'gzip' };
  const ask = () => send('/api/v1/schedule/all', { headers });
  const before = await compressed(t, ask, 'gzip');
  views.view = viewOfEvents(
    MANY.map((event) => ({ ...event, title: 'Moved' })),
    'uuid',
  );
  const first = await ask();
  t.equal(first.headers['content-encoding'], undefined);
  t.match(first.body.toString(), /Moved/);
  const after = await compressed(t, ask, 'gzip');
  t.match(gunzipSync(after.body).toString(), /Moved/);
  t.not(after.headers.etag, before.headers.etag);
});

test('lists of unknown length are compressed, too', async (t) => {
  const views = viewsOf();
  // Rows of all events are kept, and then have a known length.
  const events = Array.from({ length: 4000 }, (_, n) => ({
    ...(EVENTS[n % 4] as NormalisedEvent),
    type: n === 0 ? 'EXAM' : 'LEC',
    id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  }));
  views.view = viewOfEvents(events, 'uuid');
  const { send } = await serve(t, setUp({ views }).handler);
  for (const format of ['ics', 'csv']) {
    const target = `/api/v1/schedule?type=LEC&format=${format}`;
    const plain = await send(target, { headers: bearer() });
    t.equal(plain.headers['content-length'], undefined);
    const headers = { ...bearer(), 'Accept-Encoding': 'gzip' };
    const packed = await compressed(t, () => send(target, { headers }), 'gzip');
    t.ok(gunzipSync(packed.body).equals(plain.body), format);
    t.equal(packed.headers['content-length'], String(packed.body.length));
    t.equal(packed.headers['content-type'], plain.headers['content-type']);
  }
});

/** Offers an answer several times. Resolves to the number of compressions. */
async function compressions(cacheBytes: number, byteLength: number | null): Promise<number> {
  const answers = new CompressedAnswers(new AnswerCache(cacheBytes), true);
  const body = randomBytes(50_000);
  let count = 0;
  const answer = {
    ...({
      target: '/x',
      named: null,
      format: 'json',
      entityTag: 'W/"a-b"',
      byteLength,
      modifiedMs: null,
    } as const),
    headers: ['ETag', 'W/"a-b"'],
    makeChunks: () => {
      count++;
      return [body];
    },
  };
  for (let n = 0; n < 6; n++) {
    const coding = answers.codingFor('br');
    if (coding !== null) answers.offer(answer, coding);
    await timeForAFault(20);
  }
  return count;
}

test('an answer that no cache can keep is compressed at most once', async (t) => {
  t.equal(await compressions(0, 50_000), 0, 'no cache');
  t.equal(await compressions(5000, 50_000), 1, 'a cache that is too small');
  t.equal(await compressions(5000, null), 1, 'the same without a known length');
  t.equal(await compressions(1_000_000, 50_000), 1, 'a cache that is large enough');
});

test('short or personal answers and pages with a next link are never compressed', async (t) => {
  const views = viewsOf();
  views.view = viewOfEvents(MANY, 'uuid');
  const headers = { ...bearer({ studyGroup: 'A' }), 'Accept-Encoding': 'gzip, br' };
  for (const [compression, targets] of [
    [true, ['/api/v1/schedule/types', '/api/v1/schedule/personal', '/api/v1/schedule?limit=200']],
    [false, ['/api/v1/schedule', '/api/v1/schedule/all']],
  ] as const) {
    const { send } = await serve(t, setUp({ views, compression }).handler);
    for (const target of targets) {
      for (let n = 0; n < 10; n++) {
        const reply = await send(target, { headers });
        t.strictSame([reply.status, reply.headers['content-encoding']], [200, undefined], target);
        await timeForAFault(2);
      }
    }
  }
});
