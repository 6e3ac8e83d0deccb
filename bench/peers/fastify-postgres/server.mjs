/** Fastify and PostgreSQL on the same machine, through a Unix socket. Arguments: source file, secret. */
import Fastify from 'fastify';
import { answerUsage } from '../../servers/measured.mjs';
import { ANSWER_SCHEMA, FILTERS, filterValue, PATH, QUERY_SCHEMA } from '../schedule.mjs';
import { requireToken } from '../tokens.mjs';
import { Cluster } from './cluster.mjs';
import { Store } from './store.mjs';

const [source, secret] = process.argv.slice(2);
const cluster = new Cluster();

async function end(code) {
  await cluster.stop();
  process.exit(code);
}
// An interrupt reaches the parent, too. This process notices the end of its parent by the closed channel, and
// removes its files.
process.on('disconnect', () => end(0));
process.on('SIGINT', () => {});
process.on('SIGTERM', () => end(143));

try {
  await cluster.start();
  const store = await Store.load(cluster.connection, source);
  const app = Fastify();
  app.get(
    PATH,
    {
      schema: { querystring: QUERY_SCHEMA, response: { 200: ANSWER_SCHEMA } },
      onRequest: requireToken(secret),
    },
    (request) => {
      const { query } = request;
      const filters = [];
      const values = [];
      for (const name of FILTERS) {
        if (query[name] === undefined) continue;
        filters.push(name);
        values.push(filterValue(name, query[name]));
      }
      const startMs = query.startTime === undefined ? undefined : Date.parse(query.startTime);
      const endMs = query.endTime === undefined ? undefined : Date.parse(query.endTime);
      return store.find(filters, values, startMs, endMs);
    },
  );
  await app.listen({ port: 0, host: '127.0.0.1' });
  answerUsage(() => cluster.usage());
  process.send({ kind: 'ready', port: app.server.address().port });
} catch (error) {
  console.error(error);
  await end(1);
}
