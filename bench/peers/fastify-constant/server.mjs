/**
 * Fastify with one constant answer. Arguments: JSON of { status, headers, bodyFile }, as for the floor; a
 * secret if tokens are verified.
 */
import { readFileSync } from 'node:fs';
import { createVerifier } from 'fast-jwt';
import Fastify from 'fastify';
import { answerUsage } from '../../servers/measured.mjs';
import { requireToken } from '../tokens.mjs';

const [answer, secret] = process.argv.slice(2);
const { status, headers, bodyFile } = JSON.parse(answer);
const fields = {};
for (let i = 0; i < headers.length; i += 2) fields[headers[i]] = headers[i + 1];
const body = readFileSync(bodyFile);

const app = Fastify();
const options = {};
if (secret !== undefined) {
  options.onRequest = requireToken(
    createVerifier({ key: secret, algorithms: ['HS256'], requiredClaims: ['sub', 'exp'], cache: true }),
  );
}
app.get('/*', options, (_request, reply) => {
  reply.code(status).headers(fields);
  if (status === 304) reply.send();
  else reply.send(body);
});
await app.listen({ port: 0, host: '127.0.0.1' });
process.send({ kind: 'ready', port: app.server.address().port });
answerUsage();
