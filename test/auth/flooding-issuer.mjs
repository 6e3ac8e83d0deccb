/**
 * An issuer with an endless answer, in its own process, because it keeps its thread busy. It tells its port, and then how
 * much it sent until the connection was closed.
 */
import { createServer } from 'node:net';

const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
/** The beginning of the answer, and the repeated part. */
const FLOODS = {
  chunks: [CHUNKED, '1\r\n \r\n'.repeat(10_000)],
  'interim answers': ['', 'HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n'.repeat(2000)],
  'header field': ['HTTP/1.1 200 OK\r\nA: ', 'x'.repeat(65_536)],
  'header fields': ['HTTP/1.1 200 OK\r\n', 'A: b\r\n'.repeat(10_000)],
  'chunk extension': [`${CHUNKED}1;`, 'x'.repeat(65_536)],
  trailers: [`${CHUNKED}1\r\n \r\n0\r\n`, 'A: b\r\n'.repeat(10_000)],
};

const [beginning, repeated] = FLOODS[process.argv[2]];
const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.on('close', () => process.send({ sentBytes: socket.bytesWritten }));
  socket.once('data', () => {
    socket.write(beginning);
    const more = () => {
      while (!socket.destroyed && socket.write(repeated));
    };
    socket.on('drain', more);
    more();
  });
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
process.on('disconnect', () => process.exit());
// The process ends even if its parent does not end it.
setTimeout(() => process.exit(), 60_000);
