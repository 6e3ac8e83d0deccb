/** The process behind upstream.ts. Behaves as the last message said; answers each message with its port. */
import { createServer } from 'node:http';

let behaviour = { kind: 'serve', body: '[]' };

const server = createServer((req, res) => {
  const { kind, status = 200, body = '', headers = {} } = behaviour;
  const head = { 'content-type': 'application/json', ...headers };
  switch (kind) {
    case 'serve':
    case 'status':
      if (status === 200 && head.etag !== undefined && req.headers['if-none-match'] === head.etag) {
        res.writeHead(304, head).end();
      } else res.writeHead(status, head).end(body);
      return;
    case 'hang':
      return;
    case 'trickle': {
      res.writeHead(200, head);
      let at = 0;
      const timer = setInterval(() => res.write(body.slice(at, ++at)), 20);
      res.on('close', () => clearInterval(timer));
      return;
    }
    case 'cut':
      res.writeHead(200, { ...head, 'content-length': Buffer.byteLength(body) });
      res.write(body.slice(0, body.length >> 1), () => res.socket.destroy());
      return;
    case 'cut-chunked':
      // Whole lines, so that the received part is valid by itself.
      res.writeHead(200, { ...head, 'content-type': 'application/x-ndjson' });
      res.write(body.slice(0, body.indexOf('\n', body.length >> 1) + 1), () => res.socket.destroy());
      return;
  }
});

let port = 0;
const listen = () => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
await listen();
port = server.address().port;
process.send({ port });

process.on('message', async (message) => {
  behaviour = message;
  if (behaviour.kind === 'refuse-connections') {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  } else {
    // Unfinished answers keep the previous behaviour.
    server.closeAllConnections();
    if (!server.listening) await listen();
  }
  process.send({ port });
});
process.on('disconnect', () => process.exit());
