import { gunzipSync } from 'node:zlib';
import { decode } from '@msgpack/msgpack';
import { test } from 'tap';
import { viewOfEvents } from '../answer/reading.js';
import { until } from '../waiting/until.js';
import { bearer, EVENTS, ROOM, serve, setUp, viewsOf } from './harness.js';

/** Lessons 0 to 10 are in one room from 08:00 to 19:00 on 2 September 2024. */
const NIGHT = 'by=room&startTime=2024-09-02T20:00:00Z&endTime=2024-09-02T21:00:00Z';
const UNUSED = 'aaaaaaaa-0000-4000-8000-000000000001';

const ENTRY = { id: ROOM, name: null, freeFrom: '2024-09-02T19:00:00.000Z', freeUntil: null };

test('free time over HTTP: list, HEAD, MessagePack and 304', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const path = `/api/v1/schedule/free?${NIGHT}`;
  const reply = await send(path, { headers: bearer() });
  t.equal(reply.status, 200);
  t.equal(reply.text, JSON.stringify([ENTRY]));
  t.equal(reply.headers['x-total-count'], '1');
  t.equal(reply.headers['cache-control'], 'private, no-cache');
  const head = await send(path, { method: 'HEAD', headers: bearer() });
  t.equal(head.headers['content-length'], reply.headers['content-length']);
  t.equal(head.body.length, 0);
  t.equal(head.headers.etag, reply.headers.etag);
  const packed = await send(`${path}&format=msgpack`, { headers: bearer() });
  t.same(decode(packed.body), [ENTRY]);
  t.not(packed.headers.etag, reply.headers.etag);
  const again = await send(path, { headers: { ...bearer(), 'If-None-Match': String(reply.headers.etag) } });
  t.equal(again.status, 304);
  const busy = await send(`/api/v1/schedule/free?by=room&date=2024-09-02`, { headers: bearer() });
  t.equal(busy.text, '[]');
});

/** query, status, code of the problem, code of the first fault */
const REFUSED: readonly [path: string, status: number, code: string, fault?: string][] = [
  [`free?${NIGHT}&limit=x`, 400, 'parameters-invalid', 'malformed-limit'],
  ['free', 400, 'parameters-invalid', 'missing-parameter'],
  [`free?${NIGHT}&among=A101`, 400, 'parameters-invalid', 'malformed-identifier'],
  [`free?${NIGHT}&rooms=1`, 400, 'parameters-invalid', 'unknown-parameter'],
  [`free/${ROOM}`, 404, 'not-found'],
];

test('free time over HTTP refuses invalid requests', async (t) => {
  const { send } = await serve(t, setUp().handler);
  for (const [path, status, code, fault] of REFUSED) {
    const reply = await send(`/api/v1/schedule/${path}`, { headers: bearer() });
    t.equal(reply.status, status, path);
    t.match(reply.json(), { code, ...(fault === undefined ? {} : { errors: [{ code: fault }] }) }, path);
  }
  t.equal((await send(`/api/v1/schedule/free?${NIGHT}`)).status, 401);
  t.equal((await send(`/api/v1/schedule/free?${NIGHT}`, { method: 'POST', headers: bearer() })).status, 405);
  const text = await send(`/api/v1/schedule/free?${NIGHT}`, {
    headers: { ...bearer(), Accept: 'text/html' },
  });
  t.equal(text.status, 406);
});

test('pages of free time are linked, and the links still work when the rooms change', async (t) => {
  const ids = ['1', '2', '3', '4', '5'].map((n) => UNUSED.replace(/1$/, n));
  const views = viewsOf();
  const show = (some: readonly string[], digest: string): void => {
    const rooms = some.map((id, n) => ({ id, name: `Room ${n % 2}`, building: null, capacity: null }));
    const table = { rooms, digest };
    views.view = viewOfEvents(EVENTS, 'uuid', table);
  };
  show(ids, 'one');
  const { send } = await serve(t, setUp({ views }).handler);
  let path = `/api/v1/schedule/free?${NIGHT}&limit=2`;
  const tag = (await send(path, { headers: bearer() })).headers.etag;
  const seen: string[] = [];
  for (let page = 0; page < 5; page++) {
    const reply = await send(path, { headers: bearer() });
    t.equal(reply.headers['x-total-count'], '6');
    for (const { id } of reply.json() as { id: string }[]) seen.push(id);
    const link = reply.headers.link as string | undefined;
    if (link === undefined) break;
    path = link.slice(1, link.indexOf('>'));
    // Equal rooms again: a publication between two pages.
    show(ids, 'one');
  }
  t.same(seen, [ids[0], ids[2], ids[4], ids[1], ids[3], ROOM], 'by name, then id, without a name last');
  show(ids.slice(1), 'two');
  const other = await send(`/api/v1/schedule/free?${NIGHT}&limit=2`, {
    headers: { ...bearer(), 'If-None-Match': String(tag) },
  });
  t.equal(other.status, 200, 'other rooms have another tag');
  t.same((other.json() as { id: string }[])[0]?.id, ids[1]);
});

test('a repeated answer is compressed, and changes when the rooms change', async (t) => {
  const views = viewsOf();
  const show = (count: number): void => {
    const rooms = Array.from({ length: count }, (_, n) => ({
      id: UNUSED.replace(/001$/, String(n + 100)),
      name: `Room ${n}`,
      building: null,
      capacity: null,
    }));
    const table = { rooms, digest: `of ${count}` };
    views.view = viewOfEvents(EVENTS, 'uuid', table);
  };
  const { send } = await serve(t, setUp({ views }).handler);
  const ask = (): ReturnType<typeof send> =>
    send(`/api/v1/schedule/free?${NIGHT}`, { headers: { ...bearer(), 'Accept-Encoding': 'gzip' } });
  const tags = new Set<unknown>();
  for (const count of [40, 41, 40]) {
    show(count);
    const plain = (await ask()).text;
    // The first requests are answered before compression is finished.
    const reply = await until(ask, ({ headers, text }) => {
      if (headers['content-encoding'] === 'gzip') return true;
      t.equal(text, plain);
      return false;
    });
    t.equal(gunzipSync(reply.body).toString(), plain);
    t.equal((JSON.parse(plain) as unknown[]).length, count + 1);
    tags.add(reply.headers.etag);
  }
  t.equal(tags.size, 2);
});
