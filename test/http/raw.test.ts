/** Raw bytes and their answers; the long run repeats this on other versions of Node. */
import { connect } from 'node:net';
import { test } from 'tap';
import { serve, setUp, token } from './harness.js';
import { rawCases, sendRaw } from './raw-cases.js';

test('every raw request gets exactly the expected answer, and the connection closes or stays as expected', async (t) => {
  const { port } = await serve(t, setUp().handler);
  const cases = rawCases(`Authorization: Bearer ${token()}\r\n`);
  t.ok(cases.length >= 80, `${cases.length} cases`);
  const outcomes = await Promise.all(cases.map((each) => sendRaw(port, each)));
  for (const [n, { name, statuses, code, closes }] of cases.entries()) {
    t.same(outcomes[n], { statuses, code, closes, saysClose: closes, areProblems: true }, name);
  }
});

test('a client that closes its sending side gets its answer', async (t) => {
  const { port } = await serve(t, setUp().handler);
  // A new token is verified after the end of the input.
  const head = `GET /api/v1/schedule/types HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token({ jti: 'new' })}\r\n\r\n`;
  const reply = await new Promise<string>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
    socket.end(head + head);
  });
  t.equal(reply.split('HTTP/1.1 200 OK').length, 3, 'both of its answers');
});

test('the error of a later request is not written into an earlier answer', async (t) => {
  const { raw } = await serve(t, setUp().handler);
  const head = `GET /api/v1/schedule/types HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token({ jti: 'later' })}\r\n\r\n`;
  for (const [rest, status] of [
    ['GARBAGE\r\n\r\n', 400],
    ['CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 405],
  ]) {
    const reply = await raw(head + rest);
    t.same(
      [...reply.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => Number(match[1])),
      [200, status],
      'first the answer, which had to wait for the token',
    );
  }
});

test('connections reset at any point do not harm the server', async (t) => {
  const { port, send } = await serve(t, setUp().handler);
  const pieces = [
    'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n',
    'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\nmore',
    'GARBAGE\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nxxx',
    'GET / HTTP/1.1\r\n',
  ];
  for (let round = 0; round < 20; round++) {
    await Promise.all(
      pieces.map(
        (bytes) =>
          new Promise<void>((resolve) => {
            const socket = connect(port, '127.0.0.1', () => {
              socket.write(bytes, () => {
                if (round % 2 === 0) socket.resetAndDestroy();
                else setImmediate(() => socket.resetAndDestroy());
              });
            });
            socket.on('error', () => {});
            socket.on('close', () => resolve());
          }),
      ),
    );
  }
  t.equal((await send('/nowhere')).status, 404);
});
