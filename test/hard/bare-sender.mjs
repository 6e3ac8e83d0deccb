/**
 * A bare server that sends a large body in slices of 64 KiB, made one by one with a turn in between. It shows
 * how long others wait because of the machine.
 *
 *     node bare-sender.mjs <bytes of the large body>
 */
import { createServer } from 'node:http';

const SLICE_BYTES = 65_536;
const large = Buffer.alloc(Number(process.argv[2]), 'x');
const small = Buffer.alloc(3000, 'x');

const server = createServer((req, res) => {
  const body = req.url.includes('limit=') ? small : large;
  res.writeHead(200, { 'Content-Length': body.length });
  if (req.method === 'HEAD' || body === small) {
    res.end(req.method === 'HEAD' ? undefined : body);
    return;
  }
  let at = 0;
  const next = () => {
    if (res.destroyed) return;
    if (at === body.length) {
      res.end();
      return;
    }
    const slice = Buffer.from(body.subarray(at, at + SLICE_BYTES));
    at += slice.length;
    if (res.write(slice)) setImmediate(next);
    else res.once('drain', () => setImmediate(next));
  };
  next();
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
process.once('disconnect', () => process.exit());
