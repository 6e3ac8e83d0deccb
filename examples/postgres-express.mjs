// An Express application serves a PostgreSQL table from memory: a change appears a moment after its commit.
//
//   createdb school
//   psql school -c 'CREATE TABLE events (id uuid PRIMARY KEY, "time" timestamptz, "endTime" timestamptz, title text, "studyGroup" text)'
//   psql school -c 'CREATE PUBLICATION lectern FOR TABLE events'
//   DATABASE_URL=postgres://localhost/school node examples/postgres-express.mjs
//   curl 'http://127.0.0.1:3000/timetable/schedule?studyGroup=CS-1'
//
// PostgreSQL needs wal_level = logical. Without this level, remove `follow`: the table is then read every `refreshSeconds`.
import express from 'express';
import { openTimetable } from 'lectern';

const url = process.env.DATABASE_URL;
if (url === undefined) throw new Error('DATABASE_URL is not set, such as postgres://localhost/school');

const timetable = openTimetable({
  source: { kind: 'postgres', url, table: 'events', follow: true },
  // The database may start later, and may have no events yet.
  refreshSeconds: 60,
  gate: { shrinkPercentMax: 100 },
});
timetable.on('error', (error) => console.error(error.message));

const app = express();
app.use('/timetable', timetable.handler({ basePath: '/' }));

await timetable.ready;
const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`http://127.0.0.1:${server.address().port}/timetable/schedule`);
});

process.once('SIGTERM', async () => {
  server.close();
  await timetable.close();
});
