/** /schedule/changes as an event stream. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { type Test, test } from 'tap';
import { CHANGE_MESSAGE_BYTES_MAX, CONNECTION_IDLE_MS_MAX, LIST_ENTRIES_MAX } from '../../src/base/limits.js';
import { CELL } from '../../src/base/metrics/cells.js';
import { Meter } from '../../src/base/metrics/meter.js';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import type { StreamTimes } from '../../src/http/event-streams.js';
import { CONNECTION_BOUNDS } from '../../src/http/server/connections.js';
import { eventOf } from '../snapshot/images.js';
import { timeForAFault, until } from '../waiting/until.js';
import { bearer, EVENTS, ROOM, type SetUpOptions, serve, setUp, token } from './harness.js';
import { PublishedViews, StreamClient } from './live-views.js';

const PATH = '/api/v1/schedule/changes';
const TIMES: StreamTimes = { heartbeatMs: 10_000, lookMs: 50, readerMs: 30_000, lifeMsMax: 3_600_000 };

const titled = (title: string, events = EVENTS): NormalisedEvent[] =>
  events.map((event, n) => (n === 0 ? { ...event, title } : event));

async function streaming(t: Test, options: SetUpOptions = {}) {
  const views = new PublishedViews(EVENTS);
  const { handler } = setUp({ streamTimes: TIMES, ...options, views });
  const client = await serve(t, handler);
  const clients: StreamClient[] = [];
  t.teardown(() => {
    for (const each of clients) each.req.destroy();
  });
  const open = (path = PATH, headers: Record<string, string> = {}): StreamClient => {
    const opened = new StreamClient(client.port, path, { ...bearer(), ...headers });
    clients.push(opened);
    return opened;
  };
  return { views, handler, open, ...client };
}

test('each publication is one message with the content of the JSON form', async (t) => {
  const { views, open, send } = await streaming(t);
  const first = views.view?.version ?? '';
  const stream = open();
  const { statusCode, headers } = await stream.head;
  t.equal(statusCode, 200);
  t.equal(headers['content-type'], 'text/event-stream');
  t.equal(headers['cache-control'], 'no-cache');
  t.equal(headers['x-accel-buffering'], 'no');
  t.equal(headers['lectern-version'], first);
  t.equal(headers['content-encoding'], undefined);
  const [began] = await stream.count(1, 'version');
  t.strictSame(began, { event: 'version', id: first, data: { version: first } });
  t.ok(stream.retryMs >= 1000 && stream.retryMs <= 3000);
  for (const title of ['one', 'two', 'three']) {
    views.publishEvents(titled(title));
    // Each publication has its own turn.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const messages = await stream.count(3);
  let from = first.split('.')[1];
  for (const [n, { id, data }] of messages.entries()) {
    t.match(data, { from, to: id.split('.')[1], changed: [{ title: ['one', 'two', 'three'][n] }] });
    from = id.split('.')[1];
  }
  const { body } = await send(`${PATH}?since=${first}`, { headers: bearer() });
  const again = open(`${PATH}?since=${first}`);
  const [net] = await again.count(1);
  t.strictSame(net?.data, JSON.parse(body.toString()));
  t.equal(messages.length, 3);
});

test('a publication that shows no change is a new version without changes', async (t) => {
  const { views, open } = await streaming(t);
  const stream = open();
  await stream.count(1, 'version');
  // As after a load that only rejects other records.
  const second = views.publishEvents(EVENTS);
  t.strictSame((await stream.count(2, 'version'))[1], {
    event: 'version',
    id: second,
    data: { version: second },
  });
  await new Promise((resolve) => setImmediate(resolve));
  const from = views.view?.summary.id;
  const third = views.publishEvents(titled('shown'));
  const [message] = await stream.count(1);
  t.match(message, { id: third, data: { from, changed: [{ title: 'shown' }] } });
  const hidden = titled('shown').map((event) => ({ ...event, lecturerId: ROOM }));
  const fourth = views.publishEvents(hidden);
  const empty = { added: [], changed: [], removed: [] };
  t.match((await stream.count(2))[1], { id: fourth, data: empty }, 'a field that no event shows');
  t.equal(stream.messages.length, 4);
  const resumed = open(PATH, { 'Last-Event-ID': second });
  t.match((await resumed.count(1))[0], { id: fourth, data: { changed: [{ title: 'shown' }] } });
});

test('Last-Event-ID resumes the stream; an unknown id tells the reader to read everything again', async (t) => {
  const { views, open } = await streaming(t);
  const stream = open();
  await stream.count(1, 'version');
  const known = stream.lastEventId;
  stream.req.destroy();
  views.publishEvents(titled('one'));
  const last = views.publishEvents(titled('two'));
  const resumed = open(PATH, { 'Last-Event-ID': known });
  const [message] = await resumed.count(1);
  t.equal(message?.id, last);
  t.match(message?.data, { from: known.split('.')[1], to: last.split('.')[1], changed: [{ title: 'two' }] });
  for (const unknown of [`7.${'x'.repeat(22)}`, 'nonsense']) {
    // It contains more than was requested with since.
    const anew = open(`${PATH}?since=${known}`, { 'Last-Event-ID': unknown });
    const [told] = await anew.count(1);
    t.equal(told?.id, last);
    t.strictSame(told?.data, { from: null, to: last.split('.')[1], readAnew: true, counts: null });
  }
  const present = open(PATH, { 'Last-Event-ID': last });
  await present.count(1, 'version');
  const newest = views.publishEvents(titled('three'));
  t.equal((await present.count(1))[0]?.id, newest);
  t.equal(present.messages.length, 2);
});

test('a difference too large for a message tells the reader to read everything again, with counts', async (t) => {
  const events = Array.from({ length: 1000 }, (_, n) => eventOf(n));
  const { views, open } = await streaming(t);
  views.publishEvents(events);
  const stream = open();
  await stream.count(1, 'version');
  const changed = events.map((event) => ({ ...event, title: 'x'.repeat(CHANGE_MESSAGE_BYTES_MAX / 1000) }));
  views.publishEvents(changed);
  await stream.count(1);
  // More than a history keeps.
  views.publishEvents([...events, eventOf(5000)], 10);
  const [large, forgotten] = await stream.count(2);
  t.match(large?.data, { readAnew: true, counts: { added: 0, changed: 1000, removed: 0 } });
  t.match(forgotten?.data, { readAnew: true, counts: { added: 1, changed: 1000, removed: 0 } });
});

test('methods, formats and faults of event streams are answered as documented', async (t) => {
  const { send, open, views } = await streaming(t);
  const accept = { ...bearer(), Accept: 'text/event-stream' };
  const head = await send(PATH, { method: 'HEAD', headers: accept });
  t.equal(head.status, 200);
  t.equal(head.headers['content-type'], 'text/event-stream');
  t.equal(head.body.length, 0);
  // Only the first entries of a long list count.
  for (const [others, status] of [
    [LIST_ENTRIES_MAX - 1, 200],
    [LIST_ENTRIES_MAX, 406],
  ] as const) {
    const headers = { ...bearer(), Accept: `${'a/b,'.repeat(others)}text/event-stream` };
    t.equal((await send(PATH, { method: 'HEAD', headers })).status, status, `after ${others} others`);
  }
  t.equal((await send(PATH, { headers: { Accept: 'text/event-stream' } })).status, 401);
  t.equal((await send('/api/v1/schedule', { headers: accept })).status, 406);
  const png = await send(PATH, { headers: { ...bearer(), Accept: 'image/png' } });
  t.equal(png.status, 406);
  t.match(png.text, 'or text/event-stream.');
  t.equal((await send(`${PATH}?nonsense=1`, { headers: accept })).status, 400);
  t.equal((await send(`${PATH}?since=nonsense`, { headers: accept })).status, 400);
  t.equal((await send(`${PATH}?since=%zz`, { headers: accept })).status, 400);
  const { id } = views.view?.summary ?? { id: '' };
  const json = await send(`${PATH}?since=${id}&format=json`, { headers: accept });
  t.match(json.headers['content-type'], /^application\/json/);
  const preferred = { ...bearer(), Accept: 'application/json, text/event-stream;q=0.5' };
  t.match((await send(`${PATH}?since=${id}`, { headers: preferred })).headers['content-type'], /json/);
  const other = open(PATH, { Accept: 'application/json;q=0.5, text/event-stream' });
  t.equal((await other.head).headers['content-type'], 'text/event-stream');
  const version = await send(`${PATH}?since=${views.view?.version}`, { headers: bearer() });
  t.match(version.json(), { from: id, to: id }, 'since takes a version, too');
});

test('the number of streams is bounded, and the gauge counts them', async (t) => {
  const meter = new Meter();
  const { open, send } = await streaming(t, { streamsMax: 2, meter });
  const gauge = (): number => {
    meter.sample();
    return meter.get(CELL.streamsOpen);
  };
  const [one, two] = [open(), open()];
  await Promise.all([one.head, two.head]);
  t.equal(gauge(), 2);
  const headers = { ...bearer(), Accept: 'text/event-stream' };
  const refused = await send(PATH, { headers });
  t.equal(refused.status, 503);
  t.match(refused.json(), { code: 'streams-full' });
  t.equal(refused.headers['retry-after'], '10');
  one.req.destroy();
  await one.ended;
  await until(gauge, (seen) => seen !== 2);
  await open().count(1, 'version');
  t.equal(gauge(), 2);
});

test('a stream ends when its token expires, and after the longest time allowed', async (t) => {
  const { open } = await streaming(t);
  // Expired, but within the clock tolerance of 5 s.
  const exp = Math.floor(Date.now() / 1000) - 3;
  const short = open(PATH, { Authorization: `Bearer ${token({ exp })}` });
  const long = open();
  await Promise.all([short.count(1, 'version'), long.count(1, 'version')]);
  await short.ended;
  t.equal((await short.head).complete, true, 'it ends as an answer does');
  t.equal(long.req.closed, false);
  const { open: openBrief } = await streaming(t, { streamTimes: { ...TIMES, lifeMsMax: 100 } });
  const brief = openBrief();
  await brief.ended;
  t.equal((await brief.head).complete, true);
});

test('a silent stream has a heartbeat, and does not count as an idle connection', async (t) => {
  const views = new PublishedViews(EVENTS);
  const { handler } = setUp({ views, streamTimes: { ...TIMES, heartbeatMs: 200 } });
  const bounds = { ...CONNECTION_BOUNDS, lookMs: 10, idleMsMax: 50 };
  t.ok(CONNECTION_IDLE_MS_MAX > bounds.idleMsMax);
  const { port } = await serve(t, handler, { bounds });
  const stream = new StreamClient(port, PATH, bearer());
  await until(
    () => stream.comments,
    (seen) => seen >= 3,
  );
  views.publishEvents(titled('after a while'));
  t.match((await stream.count(1))[0]?.data, { changed: [{ title: 'after a while' }] });
  stream.req.destroy();
});

test('closing and draining end all streams at once', async (t) => {
  const { open, server } = await streaming(t);
  const drained = open();
  await drained.count(1, 'version');
  server.drain();
  await drained.ended;
  t.equal((await drained.head).complete, true);
  const { open: openOther, server: other } = await streaming(t);
  const closed = openOther();
  await closed.count(1, 'version');
  await Promise.all([other.close({ deadlineMs: 600_000 }), closed.ended]);
  t.equal((await closed.head).complete, true);
});

test('a stream that is not read holds one message and is cut off', async (t) => {
  const meter = new Meter();
  const { views, port } = await streaming(t, { meter, streamTimes: { ...TIMES, readerMs: 300 } });
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  const fields = `Host: x\r\nAuthorization: Bearer ${token()}\r\nAccept: text/event-stream\r\n`;
  socket.write(`GET ${PATH} HTTP/1.1\r\n${fields}\r\n`);
  await once(socket, 'data');
  socket.pause();
  // Newer versions of Node report the reset first, and once() would reject.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const events = Array.from({ length: 400 }, (_, n) => eventOf(n));
  let sentMax = 0;
  for (let n = 0; meter.get(CELL.slowReaders) === 0; n++) {
    views.publishEvents(events.map((event) => ({ ...event, title: `${n}`.padEnd(60, 'x') })));
    sentMax = n;
    // Publications with pauses, until the slow reader is cut off.
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  t.equal(meter.get(CELL.slowReaders), 1);
  t.ok(sentMax > 0);
  socket.resume();
  await closed;
});

test('a slow stream gets everything it missed in one message', async (t) => {
  // A busy machine may take longer than a stream may stay unread.
  const { views, open } = await streaming(t, { streamTimes: { ...TIMES, readerMs: 3_600_000 } });
  const stream = open();
  const res = await stream.head;
  await stream.count(1, 'version');
  const events = Array.from({ length: 280 }, (_, n) => eventOf(n));
  res.pause();
  let last = '';
  for (let n = 0; n < 100; n++) {
    last = views.publishEvents(events.map((event) => ({ ...event, title: `${n}`.padEnd(300, 'x') })));
    await new Promise((resolve) => setImmediate(resolve));
  }
  res.resume();
  await until(
    () => stream.lastEventId,
    (seen) => seen === last,
  );
  t.ok(stream.messages.length < 101, `${stream.messages.length} messages for 100 publications`);
  let known = stream.messages[0]?.id.split('.')[1];
  for (const { data, id } of stream.messages.slice(1)) {
    const { from } = data as { from: string | null };
    t.ok(from === null || from === known, 'each message goes on where the one before ended');
    known = id.split('.')[1];
  }
});

test('streams do not count in the durations of other answers', async (t) => {
  const meter = new Meter();
  const { open } = await streaming(t, { meter });
  const beganMs = performance.now();
  const stream = open();
  await stream.count(1, 'version');
  await timeForAFault(300);
  stream.req.destroy();
  await stream.ended;
  const tookMs = performance.now() - beganMs;
  const { DURATION_SUMS_AT, ROUTE_LABELS } = await import('../../src/base/metrics/cells.js');
  const ms = meter.get(DURATION_SUMS_AT + ROUTE_LABELS.indexOf('/schedule/changes'));
  t.ok(ms < tookMs - 250, `${ms} of ${tookMs} ms: the time to its head`);
});
