// A timetable under a prefix of a Fastify application, behind the application's own authentication.
//
//   node examples/fastify.mjs
//   curl -H 'X-API-Key: key-of-anna' 'http://127.0.0.1:3000/timetable/schedule/personal?limit=2'
import { fileURLToPath } from 'node:url';
import Fastify from 'fastify';
import { openTimetable } from 'lectern';

// A stand-in for the user data of the application.
const USERS = new Map([
  ['key-of-anna', { name: 'Anna', studyGroups: ['BIO-1D'] }],
  ['key-of-the-janitor', { name: 'Janitor', studyGroups: null }],
]);
// The handler gets Node's request. This map gives the user of each request.
const userOf = new WeakMap();

const timetable = openTimetable({
  source: fileURLToPath(new URL('../fixtures/demo.ndjson.gz', import.meta.url)),
});

const app = Fastify();
app.register(
  async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      const user = USERS.get(request.headers['x-api-key'] ?? '');
      if (user === undefined) return reply.code(401).send({ error: 'send a known X-API-Key' });
      userOf.set(request.raw, user);
    });

    const readTimetable = timetable.handler({
      // Fastify leaves the prefix in the URL.
      basePath: scope.prefix,
      // Selects the events of /schedule/personal; null if the user has none.
      identify: (req) => {
        const { studyGroups } = userOf.get(req);
        return studyGroups === null ? null : { studyGroup: studyGroups };
      },
    });
    scope.all('/*', (request, reply) => {
      // From here on the handler owns the response.
      reply.hijack();
      readTimetable(request.raw, reply.raw);
    });
  },
  { prefix: '/timetable' },
);
app.get('/', async () => 'The timetable is at /timetable/schedule.\n');

await timetable.ready;
const origin = await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' });
console.log(`${origin}/timetable/schedule`);

process.once('SIGTERM', async () => {
  await app.close();
  await timetable.close();
});
