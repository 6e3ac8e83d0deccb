/**
 * One process: measures the cost of reading a PostgreSQL table, and how soon a committed change is served.
 *
 *     node database.mjs <address of a database> <table> fill|json|binary|load|read|follow [<file of NDJSON>]
 *
 * `json` and `binary` are COPY alone: the client takes the bytes and drops them. `binary` has the statement of `load`.
 * `read` is a load that drops the events.
 */
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import copy from 'pg-copy-streams';
import { openTimetable } from '../../dist/index.js';
import { postgresSource } from '../../dist/source/postgres/postgres.js';
import { residentBytes } from '../reload/process-status.mjs';

const [url = '', table = '', scenario = '', file = ''] = process.argv.slice(2);
const CHANGES = 60;
const CHANGE_EVERY_MS = 800;
/** JSON holds neither of these bytes. */
const AS_CSV = `(FORMAT csv, QUOTE e'\\x01', DELIMITER e'\\x02')`;
const COLUMNS = `id, "time", "endTime", title, "roomId", "courseId", "studyGroup", lecturer, type, "groupId", "lecturerId"`;

async function connected(use) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** Milliseconds until the last byte, connecting included, and the processor time of this process meanwhile. */
async function measured(act) {
  const beganMs = performance.now();
  const beganCpu = process.cpuUsage();
  const more = await act();
  const { user, system } = process.cpuUsage(beganCpu);
  return { ms: performance.now() - beganMs, cpuMs: (user + system) / 1000, ...more };
}

const copyAlone = (statement) =>
  measured(() =>
    connected(async (client) => {
      let bytes = 0;
      for await (const piece of client.query(copy.to(statement))) bytes += piece.length;
      return { bytes };
    }),
  );

const SCENARIOS = {
  fill: () =>
    connected(async (client) => {
      await client.query(
        `DROP TABLE IF EXISTS ${table}; CREATE TABLE ${table} (id uuid PRIMARY KEY, "time" timestamptz NOT NULL, "endTime" timestamptz NOT NULL,
           title text, "roomId" uuid, "courseId" uuid, "studyGroup" text, lecturer text, type text, "groupId" uuid, "lecturerId" uuid);
         CREATE TEMPORARY TABLE lines (line json)`,
      );
      await pipeline(createReadStream(file), client.query(copy.from(`COPY lines FROM STDIN ${AS_CSV}`)));
      await client.query(
        `INSERT INTO ${table} SELECT e.* FROM lines, json_populate_record(null::${table}, line) e; DROP PUBLICATION IF EXISTS ${table};
         CREATE PUBLICATION ${table} FOR TABLE ${table}`,
      );
      await client.query(`VACUUM ANALYZE ${table}`);
      return {};
    }),
  json: () => copyAlone(`COPY (SELECT row_to_json(t.*)::text FROM ${table} t) TO STDOUT ${AS_CSV}`),
  binary: () => copyAlone(`COPY (SELECT ${COLUMNS} FROM ${table}) TO STDOUT (FORMAT binary)`),
  load: () =>
    measured(async () => {
      const timetable = openTimetable({ source: { kind: 'postgres', url, table }, watch: false });
      const { events, bytes } = await timetable.ready;
      const { peak } = residentBytes();
      await timetable.close();
      return { events, imageBytes: bytes, peakBytes: peak };
    }),
  read: () =>
    measured(async () => {
      let events = 0;
      await postgresSource({ kind: 'postgres', url, table }).load({ row: () => events++, fault() {} });
      return { events, peakBytes: residentBytes().peak };
    }),
  follow: () =>
    connected(async (client) => {
      const timetable = openTimetable({ source: { kind: 'postgres', url, table, follow: true } });
      await timetable.ready;
      const { rows } = await client.query(`SELECT id FROM ${table} ORDER BY md5(id::text) LIMIT ${CHANGES}`);
      const lagsMs = [];
      for (const [n, { id }] of rows.entries()) {
        const title = `changed ${n} at ${Date.now()}`;
        await client.query(`UPDATE ${table} SET title = $1 WHERE id = $2`, [title, id]);
        const beganMs = performance.now();
        while (timetable.get(id)?.title !== title) await delay(1);
        lagsMs.push(performance.now() - beganMs);
        await delay(CHANGE_EVERY_MS);
      }
      await timetable.close();
      return { lagsMs };
    }),
};

const run = SCENARIOS[scenario];
if (run === undefined) throw new Error(`there is no ${scenario}`);
process.stdout.write(`${JSON.stringify(await run())}\n`);
