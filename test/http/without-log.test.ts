import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'tap';
import { createHandler } from '../../src/http/handler.js';
import { USUAL, viewsOf } from './harness.js';

test('without a log, a fault of the service becomes a process warning', async (t) => {
  const broken = Object.defineProperty(viewsOf(), 'view', {
    get() {
      throw new Error('the view is broken');
    },
  });
  const handler = createHandler(broken, { ...USUAL, identify: () => null });
  const server = createServer(handler).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const warned = once(process, 'warning');
  const { port } = server.address() as AddressInfo;
  const [res] = (await once(get({ port, path: '/api/v1/schedule', agent: false }), 'response')) as [
    IncomingMessage,
  ];
  res.resume();
  t.equal(res.statusCode, 500);
  const [warning] = (await warned) as [Error];
  t.equal(warning.name, 'LecternWarning');
  t.match(warning.message, /^a request failed: Error: the view is broken/);
});
