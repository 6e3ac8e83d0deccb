/** Fastify and SQLite in memory. Arguments: source file, secret. */
import Fastify from 'fastify';
import { answerUsage } from '../../servers/measured.mjs';
import { ANSWER_SCHEMA, FILTERS, filterValue, PATH, QUERY_SCHEMA } from '../schedule.mjs';
import { requireToken } from '../tokens.mjs';
import { Store } from './store.mjs';

const [source, secret] = process.argv.slice(2);
const store = new Store(source);
const app = Fastify();
app.get(
  PATH,
  {
    schema: { querystring: QUERY_SCHEMA, response: { 200: ANSWER_SCHEMA } },
    onRequest: requireToken(secret),
  },
  (request, reply) => {
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
    reply.send(store.find(filters, values, startMs, endMs));
  },
);
await app.listen({ port: 0, host: '127.0.0.1' });
process.send({ kind: 'ready', port: app.server.address().port });
answerUsage();
