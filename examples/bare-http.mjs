// A timetable in a node:http server. Lectern verifies the tokens.
//
//   TIMETABLE_SECRET="a secret of at least 32 bytes, please" node examples/bare-http.mjs
//
// The issuer of your tokens signs them with the same secret (HS256). For asymmetric keys, pass `jwks`.
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { openTimetable } from 'lectern';

const secret = process.env.TIMETABLE_SECRET;
if (secret === undefined) {
  console.error('TIMETABLE_SECRET is not set: it is the secret that tokens are signed with');
  process.exit(1);
}

const timetable = openTimetable({
  source: fileURLToPath(new URL('../fixtures/demo.ndjson.gz', import.meta.url)),
});
const readTimetable = timetable.handler({ auth: { hs256Secret: secret } });

const server = createServer((req, res) => {
  if (req.url?.startsWith('/api/v1/')) readTimetable(req, res);
  else if (req.url === '/') res.end('The timetable is at /api/v1/schedule.\n');
  else res.writeHead(404).end('Not found\n');
});

await timetable.ready;
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/api/v1/schedule`);
});

process.once('SIGTERM', async () => {
  // Answers under way are finished before the process ends.
  server.close();
  await timetable.close();
});
