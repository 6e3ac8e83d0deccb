/** The generator of load at a fixed rate. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Test, test } from 'tap';

interface Sending {
  readonly port: number;
  readonly amount: number;
  readonly rate: number;
  readonly connections: number;
}
const generator = '../../bench/open-loop.mjs';
const { sendAtRate } = (await import(generator)) as {
  sendAtRate(
    sending: Sending,
    next: () => { path: string; headers: Record<string, string> },
    onAnswer: (status: number, latencyMs: number) => void,
  ): Promise<number>;
};

async function portOf(t: Test, listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const next = () => ({ path: '/', headers: {} });

test('a pause of the server counts for every request that was due meanwhile', async (t) => {
  let asked = 0;
  const port = await portOf(t, (_req, res) => {
    const answer = () => res.writeHead(200, { 'Content-Length': 2 }).end('{}');
    if (++asked === 20) setTimeout(answer, 200);
    else answer();
  });
  const latencies: number[] = [];
  const sending = { port, amount: 150, rate: 1000, connections: 1 };
  await sendAtRate(sending, next, (_status, latencyMs) => latencies.push(latencyMs));
  t.equal(latencies.length, 150);
  // Request n is due at n ms. The twentieth ends the pause at 219 ms or later, so those due until 119 ms wait 100 ms.
  const late = latencies.filter((latencyMs) => latencyMs > 95).length;
  t.ok(late >= 95, `${late} requests waited for the pause`);
});

test('answers in pieces and without a body are read, with their status', async (t) => {
  let asked = 0;
  const port = await portOf(t, (_req, res) => {
    if (++asked % 2 === 0) {
      res.writeHead(304).end();
      return;
    }
    res.writeHead(200, { 'Content-Length': 4 });
    res.write('ab', () => setImmediate(() => res.end('cd')));
  });
  const statuses: number[] = [];
  const sending = { port, amount: 20, rate: Number.POSITIVE_INFINITY, connections: 2 };
  await sendAtRate(sending, next, (status) => statuses.push(status));
  t.strictSame(
    [200, 304].map((status) => statuses.filter((each) => each === status).length),
    [10, 10],
  );
});

test('an answer of unknown length, and a connection that ends, are faults', async (t) => {
  const sending = { amount: 1, rate: 1000, connections: 1 };
  const unknown = await portOf(t, (_req, res) => {
    res.writeHead(200);
    res.write('x');
    res.end();
  });
  const ended = await portOf(t, (req) => req.socket.end());
  await t.rejects(
    sendAtRate({ ...sending, port: unknown }, next, () => {}),
    /no Content-Length/,
  );
  await t.rejects(
    sendAtRate({ ...sending, port: ended }, next, () => {}),
    /closed a connection/,
  );
});
