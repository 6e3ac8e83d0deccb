/** Large bodies are made while they are sent. */
import { once } from 'node:events';
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'tap';
import type { Body, Read } from '../../src/view/answer.js';
import { bearer, serve, setUp, viewsOf } from './harness.js';

const SLICES = 300;
const SLICE_BYTES = 256 * 1024;

/** A view of which `/schedule` is one large body, and the number of slices that were made of it. */
function largeAnswer(): { readonly views: ReturnType<typeof viewsOf>; made: number } {
  const views = viewsOf();
  const counter = { views, made: 0 };
  const body: Body = {
    byteLength: SLICES * SLICE_BYTES,
    chunks: {
      *[Symbol.iterator]() {
        for (let n = 0; n < SLICES; n++) {
          counter.made++;
          yield Buffer.alloc(SLICE_BYTES, 65 + (n % 26));
        }
      },
    },
  };
  const read: Read = {
    format: null,
    entityTag: () => 'W/"x"',
    execute: () => ({ total: 1, count: 1, nextCursor: null, body }),
  };
  views.view = Object.assign(Object.create(views.view), { schedule: () => ({ read }) });
  return counter;
}

test('a large body arrives in order and whole, and others are answered meanwhile', async (t) => {
  const large = largeAnswer();
  const { send } = await serve(t, setUp({ views: large.views }).handler);
  const reply = send('/api/v1/schedule', { headers: bearer() });
  let answeredBefore = 0;
  let isOver = false;
  void reply.then(() => {
    isOver = true;
  });
  while (!isOver) {
    await send('/api/v1/schedule/types', { headers: bearer() });
    if (!isOver) answeredBefore++;
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

test('HEAD makes nothing of it', async (t) => {
  const large = largeAnswer();
  const { send } = await serve(t, setUp({ views: large.views }).handler);
  const reply = await send('/api/v1/schedule', { method: 'HEAD', headers: bearer() });
  t.equal(reply.headers['content-length'], String(SLICES * SLICE_BYTES));
  t.equal(large.made, 0);
});

test('whoever does not read has no more made for them than fits into the socket, and whoever leaves nothing', async (t) => {
  const large = largeAnswer();
  const { port } = await serve(t, setUp({ views: large.views }).handler);
  const req = get({ port, host: '127.0.0.1', path: '/api/v1/schedule', headers: bearer() });
  const [res] = await once(req, 'response');
  res.pause();
  let before = -1;
  // Terminates: the kernel's buffers are smaller than the body.
  while (before !== large.made) {
    before = large.made;
    await sleep(100);
  }
  t.ok(large.made < SLICES / 2, `${large.made} of ${SLICES} slices made`);
  req.destroy();
  await sleep(100);
  t.ok(large.made <= before + 1, 'nothing for a connection that is gone');
});
