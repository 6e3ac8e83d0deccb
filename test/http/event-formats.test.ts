/** The representations that only lists of events have, as clients see them. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'tap';
import { BYTES_AT, routeNumber } from '../../src/base/metrics/cells.js';
import { Meter } from '../../src/base/metrics/meter.js';
import type { TimetableEvent } from '../../src/base/model/event.js';
import { csvOf, icsOf, ndjsonOf } from '../oracle/representations.js';
import { bearer, EVENTS, type Reply, serve, setUp, viewsOf } from './harness.js';

const GOOD = bearer({ studyGroup: 'A' });
const EVENT_LISTS = ['', '/personal', '/all'].map((path) => `/api/v1/schedule${path}`);
const OTHER_LISTS = ['/types', '/conflicts', '/changes?since=0123456789abcdefghijkl'].map(
  (path) => `/api/v1/schedule${path}`,
);
const FORMATS = [
  ['ndjson', 'application/x-ndjson', 'application/x-ndjson', ndjsonOf],
  ['csv', 'text/csv', 'text/csv; header=present', csvOf],
  ['ics', 'text/calendar', 'text/calendar; charset=utf-8', icsOf],
] as const;

const eventsOf = (reply: Reply): TimetableEvent[] => reply.json() as TimetableEvent[];
const withFormat = (path: string, format: string): string =>
  `${path}${path.includes('?') ? '&' : '?'}format=${format}`;

const MANY = Array.from({ length: 6000 }, (_, n) => ({
  ...(EVENTS[n % EVENTS.length] as (typeof EVENTS)[number]),
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  time: n * 60_000,
  endTime: n * 60_000 + 3_600_000,
}));

test('Accept and format= give the same list, with its own tag and file name', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const tags = new Set<unknown>();
  for (const path of [...EVENT_LISTS, `${EVENT_LISTS[0]}?limit=3`, `${EVENT_LISTS[0]}?type=none`]) {
    const json = await send(path, { headers: GOOD });
    tags.add(json.headers.etag);
    for (const [name, accept, contentType, oracle] of FORMATS) {
      const expected = oracle(eventsOf(json));
      const [byAccept, byName] = [
        await send(path, { headers: { ...GOOD, Accept: accept } }),
        await send(withFormat(path, name), { headers: GOOD }),
      ];
      for (const reply of [byAccept, byName]) {
        t.equal(reply.status, 200, `${path} ${name}`);
        t.equal(reply.body.toString(), expected);
        t.match(reply.headers, {
          'content-type': contentType,
          'content-disposition': `inline; filename="timetable.${name}"`,
          'content-length': String(Buffer.byteLength(expected)),
          'x-total-count': json.headers['x-total-count'],
          vary: 'Accept, Accept-Encoding, Authorization',
        });
        t.equal(reply.headers.etag, byAccept.headers.etag);
        t.equal(reply.headers.link === undefined, json.headers.link === undefined);
      }
      tags.add(byAccept.headers.etag);
      const head = await send(withFormat(path, name), { method: 'HEAD', headers: GOOD });
      const { date: _, ...wanted } = byName.headers;
      const { date: __, ...found } = head.headers;
      t.same(found, wanted, 'HEAD');
      t.equal(head.body.length, 0);
      const conditional = { ...GOOD, Accept: accept, 'If-None-Match': byAccept.headers.etag as string };
      t.equal((await send(path, { headers: conditional })).status, 304);
      t.equal((await send(path, { headers: { ...conditional, Accept: '*/*' } })).status, 200);
    }
  }
  t.equal(tags.size, 5 * (1 + FORMATS.length), 'every tag is another');
});

test('pages of every representation are linked to the last', async (t) => {
  const { send } = await serve(t, setUp().handler);
  for (const [name, , , oracle] of FORMATS) {
    let path: string | undefined = `/api/v1/schedule/all?limit=4&format=${name}`;
    let pages = 0;
    while (path !== undefined) {
      const reply: Reply = await send(path, { headers: GOOD });
      const json: Reply = await send(path.replace(`format=${name}`, 'format=json'), { headers: GOOD });
      t.equal(reply.body.toString(), oracle(eventsOf(json)));
      const link = reply.headers.link as string | undefined;
      path = link?.slice(1, link.indexOf('>'));
      pages++;
    }
    t.equal(pages, 3, name);
  }
});

test('other lists have only JSON and MessagePack: another name gives 400, another media type 406', async (t) => {
  const { send } = await serve(t, setUp().handler);
  for (const path of OTHER_LISTS) {
    for (const [name, accept] of FORMATS) {
      const named = await send(withFormat(path, name), { headers: GOOD });
      t.equal(named.status, 400, `${path} ${name}`);
      t.match(named.json(), {
        errors: [
          { parameter: 'format', code: 'unknown-value', detail: `"${name}" is not one of json, msgpack` },
        ],
      });
      const asked = await send(path, { headers: { ...GOOD, Accept: accept } });
      t.equal(asked.status, 406, `${path} ${accept}`);
      const detail = path.includes('/changes')
        ? 'This is available as application/json, application/vnd.msgpack or text/event-stream.'
        : 'This is available as application/json or application/vnd.msgpack.';
      t.match(asked.json(), { code: 'not-acceptable', detail });
      // 406 comes first.
      t.equal((await send(withFormat(path, name), { headers: { ...GOOD, Accept: accept } })).status, 406);
    }
  }
  const refused = await send('/api/v1/schedule', { headers: { ...GOOD, Accept: 'image/png' } });
  t.equal(refused.status, 406);
  for (const [, accept] of FORMATS) t.match(refused.body.toString(), accept);
  t.match((await send('/api/v1/schedule?format=xlsx', { headers: GOOD })).json(), {
    errors: [{ detail: '"xlsx" is not one of json, msgpack, ndjson, csv, ics' }],
  });
});

test('a browser still gets JSON', async (t) => {
  const { send } = await serve(t, setUp().handler);
  for (const accept of [
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
    'application/json, text/plain, */*',
    '*/*',
  ]) {
    const reply = await send('/api/v1/schedule', { headers: { ...GOOD, Accept: accept } });
    t.equal(reply.headers['content-type'], 'application/json; charset=utf-8', accept);
    t.equal(reply.headers['content-disposition'], undefined);
  }
});

test('large lists without a known length come whole, in chunks', async (t) => {
  const { send, raw } = await serve(t, setUp({ views: viewsOf(MANY) }).handler);
  const json = eventsOf(await send('/api/v1/schedule/all', { headers: GOOD }));
  const expected = csvOf(json);
  const first = await send('/api/v1/schedule/all?format=csv', { headers: GOOD });
  t.equal(first.headers['transfer-encoding'], 'chunked');
  t.equal(first.headers['content-length'], undefined);
  t.ok(first.body.toString() === expected);
  const head = await send('/api/v1/schedule/all?format=csv&limit=6000', { method: 'HEAD', headers: GOOD });
  t.equal(head.status, 200);
  const second = await send('/api/v1/schedule/all?format=csv', { headers: GOOD });
  t.equal(second.headers['content-length'], String(Buffer.byteLength(expected)), 'kept from now on');
  t.ok(second.body.toString() === expected);
  const page = await send('/api/v1/schedule?limit=5000&format=csv', { headers: GOOD });
  t.ok(page.body.toString() === csvOf(json.slice(0, 5000)));
  // RFC 9112 section 7.1: an HTTP/1.0 client knows no chunks, and reads until the connection ends.
  const old = await raw(
    `GET /api/v1/schedule?limit=5000&format=csv HTTP/1.0\r\nHost: a\r\nAuthorization: ${GOOD.Authorization}\r\n\r\n`,
  );
  const [fields = '', body = ''] = old.split(/\r\n\r\n([\s\S]*)/);
  t.notMatch(fields, /transfer-encoding/i);
  t.ok(body === csvOf(json.slice(0, 5000)));
  const lines = await send('/api/v1/schedule/all?format=ndjson', { headers: GOOD });
  t.equal(lines.headers['content-length'], String(lines.body.length));
  t.ok(lines.body.toString() === ndjsonOf(json));
});

test('a reader that leaves in the middle of a list does not affect others', async (t) => {
  const { send, port } = await serve(t, setUp({ views: viewsOf(MANY) }).handler);
  const expected = icsOf(eventsOf(await send('/api/v1/schedule/all', { headers: GOOD })));
  for (const query of ['all?format=ics', 'all?format=csv', '?limit=5000&format=ics']) {
    const socket = connect(port, '127.0.0.1');
    const path = `/api/v1/schedule${query.startsWith('?') ? '' : '/'}${query}`;
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${GOOD.Authorization}\r\n\r\n`);
    await once(socket, 'data');
    socket.destroy();
  }
  t.ok((await send('/api/v1/schedule/all?format=ics', { headers: GOOD })).body.toString() === expected);
  t.ok((await send('/api/v1/schedule/all?format=ics', { headers: GOOD })).body.toString() === expected);
});

test('the metrics count the bytes of a list without a known length', async (t) => {
  const meter = new Meter();
  const { send } = await serve(t, setUp({ views: viewsOf(MANY), meter }).handler);
  const { body } = await send('/api/v1/schedule?limit=5000&format=csv', { headers: GOOD });
  t.ok(body.length > 256 * 1024);
  t.equal(meter.get(BYTES_AT + routeNumber('/schedule')), body.length);
});
