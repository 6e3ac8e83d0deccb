// A timetable under a path of an Express application, behind the application's own authentication.
//
//   node examples/express.mjs
//   curl -H 'X-API-Key: key-of-anna' 'http://127.0.0.1:3000/timetable/schedule/personal?limit=2'
import { fileURLToPath } from 'node:url';
import express from 'express';
import { openTimetable } from 'lectern';

// A stand-in for the user data of the application.
const USERS = new Map([
  ['key-of-anna', { name: 'Anna', studyGroups: ['BIO-1D'] }],
  ['key-of-the-janitor', { name: 'Janitor', studyGroups: null }],
]);

function authenticate(req, res, next) {
  req.user = USERS.get(req.get('X-API-Key') ?? '');
  if (req.user === undefined) res.status(401).json({ error: 'send a known X-API-Key' });
  else next();
}

const timetable = openTimetable({
  source: fileURLToPath(new URL('../fixtures/demo.ndjson.gz', import.meta.url)),
});

const app = express();
app.use(
  '/timetable',
  authenticate,
  timetable.handler({
    // Express takes the mount path off the URL before it calls the handler.
    basePath: '/',
    // Selects the events of /schedule/personal; null if the user has none.
    identify: ({ user }) => (user.studyGroups === null ? null : { studyGroup: user.studyGroups }),
  }),
);
app.get('/', (_req, res) => res.send('The timetable is at /timetable/schedule.\n'));

await timetable.ready;
const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`http://127.0.0.1:${server.address().port}/timetable/schedule`);
});

process.once('SIGTERM', async () => {
  server.close();
  await timetable.close();
});
