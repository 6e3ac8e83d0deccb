/** The example of nginx in front of Lectern, run by the nginx of the system. */
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { test } from 'tap';
import { EVENT_STREAM_HEARTBEAT_MS } from '../../src/base/limits.js';
import { changeTitles } from '../hard/changed-service.js';
import { recordFigure } from '../hard/figures.mjs';
import { AUTHORIZATION, startServiceProcess, timetableFile } from '../hard/http-service.js';
import { HARD, size } from '../hard/size.js';
import { StreamClient } from '../http/live-views.js';
import { askNginx, NGINX_MISSING, replaceOnce, startNginx } from './nginx.js';

const CONFIG = readFileSync(fileURLToPath(new URL('../../deploy/nginx.conf', import.meta.url)), 'utf8');

/** The example, with this port of Lectern. */
function exampleFor(port: number): string {
  return replaceOnce(CONFIG, 'server 127.0.0.1:3000', `server 127.0.0.1:${port}`);
}

test('behind nginx with keep-alive connections there is no 502', {
  timeout: 600_000,
  skip: NGINX_MISSING,
}, async (t) => {
  const teardown = (end: () => unknown) => t.teardown(async () => void (await end()));
  const service = await startServiceProcess(teardown, await timetableFile(teardown, 5000));
  const nginx = await startNginx(t, exampleFor(service.port));
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  t.teardown(() => agent.destroy());

  const direct = await askNginx(service.port, '/api/v1/schedule?type=LEC', agent);
  const proxied = await askNginx(nginx.port, '/api/v1/schedule?type=LEC', agent, {
    'accept-encoding': 'gzip',
  });
  t.equal(proxied.headers['content-encoding'], 'gzip');
  t.ok(gunzipSync(proxied.body).equals(direct.body), 'compressed on its way, and the same');
  t.equal(proxied.headers.etag, direct.headers.etag);
  const again = { 'if-none-match': String(proxied.headers.etag), 'accept-encoding': 'gzip' };
  t.equal((await askNginx(nginx.port, '/api/v1/schedule?type=LEC', agent, again)).status, 304);
  t.equal((await askNginx(nginx.port, '/api/v1/schedule?nonsense=1', agent)).status, 400);
  for (const [method, headers, status, code] of [
    ['POST', { 'content-length': '2' }, 405, 'method-not-allowed'],
    ['POST', { 'content-length': '100000000' }, 405, 'method-not-allowed'],
    ['PUT', { 'transfer-encoding': 'chunked' }, 405, 'method-not-allowed'],
    ['DELETE', {}, 405, 'method-not-allowed'],
    ['GET', { 'content-length': '2' }, 400, 'invalid-request'],
  ] as const) {
    const reply = await askNginx(nginx.port, '/api/v1/schedule', new Agent(), headers, method);
    const name = `${method} ${JSON.stringify(headers)}`;
    t.match(reply, { status, headers: { 'content-type': 'application/problem+json' } }, name);
    t.match(JSON.parse(reply.body.toString()), { type: `urn:lectern:problem:${code}`, status, code }, name);
    t.equal(reply.headers.allow, status === 405 ? 'GET, HEAD, OPTIONS' : undefined, name);
  }
  const feed = await askNginx(nginx.port, '/api/v1/feeds/x.json', agent);
  t.match(
    feed,
    { status: 404, headers: { 'content-type': 'application/problem+json' } },
    'feeds have a place of their own',
  );
  const query = `/api/v1/schedule?${'roomId=x&'.repeat(1200)}`;
  t.equal((await askNginx(nginx.port, query, agent)).status, 414);

  const statuses = new Map<number, number>();
  let asked = 0;
  const burst = async (milliseconds: number) => {
    const until = Date.now() + milliseconds;
    const one = async () => {
      while (Date.now() < until) {
        const { status } = await askNginx(nginx.port, `/api/v1/schedule?limit=${1 + (asked++ % 50)}`, agent);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 32 }, one));
  };
  // Pauses around the idle timeouts of nginx and of Lectern.
  const pausesSeconds = size(0, 1) === 1 ? [59, 60, 61, 75] : [0.2, 0.5];
  for (const pause of pausesSeconds) {
    await burst(size(1500, 11_000));
    // The clients pause between two bursts.
    await delay(pause * 1000);
  }
  await burst(1000);
  t.strictSame([...statuses.keys()], [200], `${asked} requests: ${JSON.stringify([...statuses])}`);
  const connections = service.sockets();
  t.ok(connections < 80, `${connections} sockets of the service: connections are used again`);
  const complaints = nginx.errors().split('\n');
  const others = complaints.filter(
    (line) => !/^$|client intended to send too large (?:chunked )?body/.test(line),
  );
  t.strictSame(others, [], 'nginx had nothing else to complain of');
  const failed = asked - (statuses.get(200) ?? 0);
  if (HARD)
    recordFigure(
      'nginx',
      `${failed === 0 ? 'none' : failed} in ${asked} requests`,
      Object.fromEntries(statuses),
    );
});

test('nginx passes event streams on without delay', { skip: NGINX_MISSING, timeout: 60_000 }, async (t) => {
  const source = await timetableFile((end) => t.teardown(end), 100);
  const service = await startServiceProcess((end) => t.teardown(end), source);
  const { port } = await startNginx(t, exampleFor(service.port));
  const headers = { Authorization: AUTHORIZATION, 'Accept-Encoding': 'gzip' };
  const stream = new StreamClient(port, '/api/v1/schedule/changes', headers);
  t.teardown(() => stream.req.destroy());
  const { statusCode, headers: fields } = await stream.head;
  t.equal(statusCode, 200);
  t.equal(fields['content-encoding'], undefined);
  await stream.count(1, 'version');
  await changeTitles(source, 1, 50);
  const [message] = await stream.count(1);
  t.match(message?.data, { changed: { length: 2 } });
  // A silent stream must not look like a server that hangs.
  const [, seconds] = /proxy_read_timeout (\d+)s;/.exec(CONFIG) ?? [];
  t.ok(Number(seconds) * 1000 > 1.5 * EVENT_STREAM_HEARTBEAT_MS);
});
