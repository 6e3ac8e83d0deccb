/** Large bodies are produced while they are sent. */
import { once } from 'node:events';
import { get } from 'node:http';
import { connect } from 'node:net';
import { test } from 'tap';
import type { Read } from '../../../src/answer/answer.js';
import type { Body } from '../../../src/answer/body.js';
import type { View } from '../../../src/answer/view.js';
import { timeForAFault } from '../../waiting/until.js';
import { bearer, serve, setUp, viewsOf } from '../harness.js';

const SLICES = 300;
const SLICE_BYTES = 256 * 1024;

/** A view whose `/schedule` is one large body; it counts the slices made so far. */
function largeAnswer(failAt = Number.POSITIVE_INFINITY): {
  readonly views: ReturnType<typeof viewsOf>;
  made: number;
} {
  const views = viewsOf();
  const counter = { views, made: 0 };
  const body: Body = {
    byteLength: SLICES * SLICE_BYTES,
    makeChunks: () => ({
      *[Symbol.iterator]() {
        for (let n = 0; n < SLICES; n++) {
          counter.made++;
          if (n === failAt) throw new Error('broken');
          yield Buffer.alloc(SLICE_BYTES, 65 + (n % 26));
        }
      },
    }),
  };
  const read: Read = {
    format: null,
    isRelative: false,
    modifiedMs: null,
    entityTag: () => 'W/"x"',
    execute: () => ({ total: 1, count: 1, nextCursor: null, body }),
  };
  const { view } = views;
  if (view === null) throw new Error('the test views have a view');
  const types: View['types'] = (pairs, options) => view.types(pairs, options);
  views.view = Object.assign(Object.create(view), { schedule: () => ({ read }), types });
  return counter;
}

test('a large body arrives whole and in order, and others are answered meanwhile', async (t) => {
  const large = largeAnswer();
  const { send } = await serve(t, setUp({ views: large.views }).handler);
  const reply = send('/api/v1/schedule', { headers: bearer() });
  let answeredBefore = 0;
  let isOver = false;
  void reply.then(() => {
    isOver = true;
  });
  while (!isOver) {
    const { status } = await send('/api/v1/schedule/types', { headers: bearer() });
    if (!isOver && status === 200) answeredBefore++;
  }
  const { body, headers } = await reply;
  t.equal(headers['content-length'], String(SLICES * SLICE_BYTES));
  t.equal(body.length, SLICES * SLICE_BYTES);
  const wrong = Array.from({ length: SLICES }, (_, n) => n).filter(
    (n) => body[n * SLICE_BYTES] !== 65 + (n % 26) || body[(n + 1) * SLICE_BYTES - 1] !== 65 + (n % 26),
  );
  t.same(wrong, []);
  t.ok(answeredBefore > 5, `${answeredBefore} other requests were answered before the last byte`);
});

test('HEAD makes no body', async (t) => {
  const large = largeAnswer();
  const { send } = await serve(t, setUp({ views: large.views }).handler);
  const reply = await send('/api/v1/schedule', { method: 'HEAD', headers: bearer() });
  t.equal(reply.headers['content-length'], String(SLICES * SLICE_BYTES));
  t.equal(large.made, 0);
});

test('no further slice is made while a reader takes none, or after it has left', async (t) => {
  const large = largeAnswer();
  const { port } = await serve(t, setUp({ views: large.views }).handler);
  const req = get({ port, host: '127.0.0.1', path: '/api/v1/schedule', headers: bearer() });
  const [res] = await once(req, 'response');
  res.pause();
  let before = -1;
  // Terminates: the kernel's buffers are smaller than the body.
  while (before !== large.made) {
    before = large.made;
    // No event tells that the kernel's buffers are full.
    await timeForAFault(100);
  }
  t.ok(large.made < SLICES / 2, `${large.made} of ${SLICES} slices made`);
  req.destroy();
  await timeForAFault(100);
  t.ok(large.made <= before + 1, 'nothing for a connection that is gone');
});

test('large answers to pipelined requests follow one another whole', async (t) => {
  const large = largeAnswer();
  const { port } = await serve(t, setUp({ views: large.views }).handler);
  const head = `GET /api/v1/schedule HTTP/1.1\r\nHost: a\r\nAuthorization: ${bearer().Authorization}\r\n`;
  const socket = connect(port, '127.0.0.1');
  socket.write(`${head}\r\n${head}\r\n${head}Connection: close\r\n\r\n`);
  let bytes = 0;
  for await (const chunk of socket) bytes += (chunk as Buffer).length;
  t.ok(bytes > 3 * SLICES * SLICE_BYTES, `${bytes} bytes`);
  t.ok(bytes < 3 * SLICES * SLICE_BYTES + 3000, 'and nothing but three heads beside them');
});

test('a fault during sending cuts off only that answer', async (t) => {
  const large = largeAnswer(100);
  const { send } = await serve(t, setUp({ views: large.views }).handler);
  const warned = once(process, 'warning');
  await t.rejects(send('/api/v1/schedule', { headers: bearer() }), { code: 'ECONNRESET' });
  t.match(await warned, [{ name: 'LecternWarning', message: 'an answer was cut off: broken' }]);
  t.equal((await send('/api/v1/schedule/types', { headers: bearer() })).status, 200);
});
