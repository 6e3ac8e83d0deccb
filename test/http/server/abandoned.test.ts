/** Requests whose client left before the answer leave nothing behind. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'tap';
import { collectGarbage } from '../collect-garbage.js';
import { serve } from '../harness.js';

test('unfinished answers end with their connection, even queued ones', async (t) => {
  const begun: WeakRef<ServerResponse>[] = [];
  const { port } = await serve(t, (_req, res) => {
    // Like a token that is being verified.
    begun.push(new WeakRef(res));
  });
  for (let n = 0; n < 5; n++) {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(6));
    while (begun.length < 6 * (n + 1)) await delay(5);
    socket.resetAndDestroy();
  }
  let left = begun.length;
  for (let n = 0; n < 100 && left > 0; n++) {
    await delay(20);
    collectGarbage();
    left = begun.filter((response) => response.deref() !== undefined).length;
  }
  t.equal(begun.length, 30);
  t.equal(left, 0, `${left} of ${begun.length} responses are still held`);
});
