/** Requests whose client left before the answer leave nothing behind. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { test } from 'tap';
import { until } from '../../waiting/until.js';
import { collectGarbage } from '../collect-garbage.js';
import { serve } from '../harness.js';

test('unfinished answers end with their connection, even queued ones', async (t) => {
  const begun: WeakRef<ServerResponse>[] = [];
  const { port } = await serve(t, (_req, res) => {
    // The answer waits, as for a token that is being verified.
    begun.push(new WeakRef(res));
  });
  for (let n = 0; n < 5; n++) {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(6));
    await until(
      () => begun.length,
      (seen) => seen >= 6 * (n + 1),
    );
    socket.resetAndDestroy();
  }
  const left = await until(
    () => {
      collectGarbage();
      return begun.filter((response) => response.deref() !== undefined).length;
    },
    (seen) => seen === 0,
  );
  t.equal(begun.length, 30);
  t.equal(left, 0, `${left} of ${begun.length} responses are still held`);
});
