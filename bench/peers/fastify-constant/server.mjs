/** Fastify with one constant answer; it checks no token. Argument: JSON of { status, headers, bodyFile }, as for the floor. */
import { readFileSync } from 'node:fs';
import Fastify from 'fastify';
import { answerUsage } from '../../servers/measured.mjs';

const { status, headers, bodyFile } = JSON.parse(process.argv[2]);
const fields = {};
for (let i = 0; i < headers.length; i += 2) fields[headers[i]] = headers[i + 1];
const body = readFileSync(bodyFile);

const app = Fastify();
app.get('/*', (_request, reply) => reply.code(status).headers(fields).send(body));
await app.listen({ port: 0, host: '127.0.0.1' });
process.send({ kind: 'ready', port: app.server.address().port });
answerUsage();
