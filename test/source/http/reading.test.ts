import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { pack } from 'msgpackr';
import Negotiator from 'negotiator';
import { test } from 'tap';
import { HEAD_BYTES } from '../../../src/base/limits.js';
import type { LoadProgress } from '../../../src/source/source.js';
import { collect, failureOf, sourceOf } from '../collect.js';
import { allClosed, ndjson, records, startUpstream } from './upstream.js';

const VALUES = records(500);

test('every format is recognised by its content, with any media type, plain or gzipped', async (t) => {
  const bodies: [format: string, body: Buffer][] = [
    ['ndjson', Buffer.from(ndjson(VALUES))],
    ['json-array', Buffer.from(JSON.stringify(VALUES))],
    ['messagepack', Buffer.from(pack(VALUES))],
  ];
  for (const [format, body] of bodies) {
    const packed = gzipSync(body);
    const ways: [way: string, sent: Buffer, headers: Record<string, string>][] = [
      ['plain', body, { 'content-type': 'text/html' }],
      ['a gzipped file', packed, { 'content-type': 'application/json' }],
      ['gzip on the way', packed, { 'content-encoding': 'gzip' }],
      ['gzip on the way by its old name', packed, { 'content-encoding': 'X-GZip' }],
      ['both', gzipSync(packed), { 'content-encoding': 'gzip' }],
      ['said to be as it is', body, { 'content-encoding': 'identity' }],
    ];
    for (const [way, sent, headers] of ways) {
      for (const framing of ['content-length', 'chunked']) {
        const upstream = await startUpstream(t, (_, response) => {
          response.writeHead(
            200,
            framing === 'chunked' ? headers : { ...headers, 'content-length': sent.length },
          );
          response.write(sent.subarray(0, 100));
          setImmediate(() => response.end(sent.subarray(100)));
        });
        const source = sourceOf({ kind: 'http', url: `${upstream.origin}/all` });
        const read = await collect(source);
        const about = `${format}, ${way}, ${framing}`;
        t.strictSame(
          read.records.map(({ value }) => value),
          VALUES,
          about,
        );
        const gzipped = sent !== body;
        t.strictSame(read.summary, { format, gzipped, bytesRead: sent.length, version: null }, about);
        await allClosed(upstream);
      }
    }
  }
});

test('the name of a source is its address without possible secrets', (t) => {
  const name = (url: string): string => sourceOf({ kind: 'http', url }).name;
  t.equal(name('https://example.org/schedule/all'), 'https://example.org/schedule/all');
  t.equal(name('HTTPS://Example.org:443'), 'https://example.org/');
  t.equal(
    name('http://user:pass@example.org:8080/a?token=secret&term=fall#part'),
    'http://example.org:8080/a?token=…&term=…',
  );
  for (const [path, shown] of [
    ['ical/ada%40example.org/private-0123456789abcdef/basic.ics', 'ical/ada%40example.org/…/basic.ics'],
    ['owa/0123456789abcdef0123456789abcdef@x.org/calendar.ics', 'owa/….org/calendar.ics'],
    ['public/ri627Q5Y0123456789abcdef.ics', 'public/….ics'],
    ['a?0123456789abcdef', 'a?…'],
    ['a?0123456789abcdef&term=fall', 'a?…&term=…'],
    ['department-of-mathematics/all.ics', 'department-of-mathematics/all.ics'],
    ['2024-09-02/term-1.ics', '2024-09-02/term-1.ics'],
  ]) {
    t.equal(name(`https://example.org/${path}`), `https://example.org/${shown}`);
  }
  t.end();
});

test('an upstream that negotiates sends the format with the most fields, and a calendar rather than a page', async (t) => {
  const bodies = {
    'text/html': '<p>timetable</p>',
    'text/calendar': 'BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n',
    'text/csv': 'id,time\r\n',
    'application/json': '[]',
  };
  const read: string[] = [];
  for (const offered of [
    Object.keys(bodies).slice(0, 2),
    Object.keys(bodies).slice(0, 3),
    Object.keys(bodies),
  ]) {
    const upstream = await startUpstream(t, ({ headers }, response) => {
      const [type = ''] = new Negotiator({ headers }).mediaTypes(offered);
      response.setHeader('Content-Type', type).end(bodies[type as keyof typeof bodies]);
    });
    const { summary } = await collect(sourceOf({ kind: 'http', url: `${upstream.origin}/` }));
    read.push(summary.format);
  }
  t.strictSame(read, ['icalendar', 'csv', 'json-array']);
});

test('configured header fields are sent, and Accept lists the readable formats', async (t) => {
  const upstream = await startUpstream(t, (_, response) => response.end('[]'));
  const url = `${upstream.origin}/all?term=fall%20term#part`;
  await collect(sourceOf({ kind: 'http', url, headers: { Authorization: 'Bearer abc', 'X-Tenant': 'one' } }));
  const [request] = upstream.requests;
  t.equal(request?.method, 'GET');
  t.equal(request?.url, '/all?term=fall%20term');
  t.match(request?.headers, { authorization: 'Bearer abc', 'x-tenant': 'one', 'accept-encoding': 'gzip' });
  t.match(
    request?.headers.accept,
    /^application\/x-ndjson, application\/json;q=0.9, application\/vnd.msgpack;q=0.8, text\/csv;q=0.7, text\/calendar;q=0.6, /,
  );
  t.notOk(request?.headers['if-none-match']);

  await collect(sourceOf({ kind: 'http', url, headers: { accept: 'application/vnd.timetable+json' } }));
  t.equal(upstream.requests[1]?.headers.accept, 'application/vnd.timetable+json', 'and can be set');
});

test('user and password of the address are sent as Basic credentials', async (t) => {
  const upstream = await startUpstream(t, (_, response) => response.end('[]'));
  const url = `${upstream.origin.replace('://', '://us%C3%A9r:p%40ss@')}/`;
  await collect(sourceOf({ kind: 'http', url }));
  const expected = `Basic ${Buffer.from('usér:p@ss').toString('base64')}`;
  t.equal(upstream.requests[0]?.headers.authorization, expected);
});

test('invalid addresses and header fields are refused at once, without showing them', (t) => {
  const good = 'http://localhost/';
  const cases: [url: string, headers: Record<string, string>, problem: RegExp][] = [
    ['http://sec ret@', {}, /cannot be parsed; expected http/],
    ['ftp://secret@localhost/', {}, /its scheme is ftp/],
    [
      good,
      { 'bad name': 'secret' },
      /header field 1 of the source is not valid: its name is not valid as the name of a header field/,
    ],
    [good, { 'X-Key': 'a', 'Bearer secret': '' }, /header field 2 of the source .* expected a name such as/],
    [good, { 'X-Key': 'secret\nvalue' }, /header X-Key .* its value is not valid in a header/],
    [good, { Host: 'secret' }, /header Host/],
    [good, { Range: 'bytes=0-1' }, /header Range/],
    [good, { 'IF-NONE-MATCH': '"secret"' }, /header IF-NONE-MATCH/],
    [good, { 'x-a': 'secret', 'X-A': 'secret' }, /header X-A .* twice/],
    [
      'http://user:secret@localhost/',
      { authorization: 'Bearer secret' },
      /header Authorization .* one of the two/,
    ],
    ['http://user:secret%zz@localhost/', {}, /percent-encoding/],
  ];
  for (const [url, headers, message] of cases) {
    try {
      sourceOf({ kind: 'http', url, headers });
      t.fail(`${url} was accepted`);
    } catch (error) {
      t.match(error, { name: 'LecternError', code: 'option-invalid', message });
      t.notMatch(String((error as Error).stack), /secret|sec ret/);
    }
  }
  t.end();
});

test('progress counts the transferred bytes', async (t) => {
  const packed = gzipSync(ndjson(records(50_000)));
  const upstream = await startUpstream(t, (_, response) => {
    response.writeHead(200, { 'content-length': packed.length, 'content-encoding': 'gzip' }).end(packed);
  });
  const progress: LoadProgress[] = [];
  await collect(sourceOf({ kind: 'http', url: upstream.origin }), { onProgress: (p) => progress.push(p) });
  t.ok(progress.length > 1);
  t.match(progress.at(-1), { bytesRead: packed.length, bytesTotal: packed.length });
  t.ok(progress.every((p, i) => i === 0 || p.records >= (progress[i - 1]?.records ?? 0)));
});

test('records that cannot be decoded are rejected one by one, as in a file', async (t) => {
  const upstream = await startUpstream(t, (_, response) => response.end('{"n":1}\n{"n":\n{"n":3}\n'));
  const read = await collect(sourceOf({ kind: 'http', url: upstream.origin }));
  t.equal(read.records.length, 2);
  t.match(read.rejections, [{ position: { record: 2, line: 2 }, code: 'malformed-record' }]);
});

test('an abort ends the load with its reason, at every stage', async (t) => {
  const stages: [stage: string, answer: (request: IncomingMessage, response: ServerResponse) => void][] = [
    ['before the answer', () => {}],
    [
      'in the middle of the body',
      (_, response) => {
        response.write('{"n":1}\n');
      },
    ],
    [
      'in the middle of gzip data',
      (_, response) => {
        response
          .writeHead(200, { 'content-encoding': 'gzip' })
          .write(gzipSync(ndjson(VALUES)).subarray(0, 200));
      },
    ],
  ];
  for (const [stage, answer] of stages) {
    const controller = new AbortController();
    const reason = new Error('enough');
    const upstream = await startUpstream(t, (request, response) => {
      // Time for the first bytes to arrive.
      setTimeout(() => controller.abort(reason), 50);
      answer(request, response);
    });
    const source = sourceOf({ kind: 'http', url: upstream.origin });
    t.equal(await failureOf(collect(source, { signal: controller.signal })), reason, stage);
    await allClosed(upstream);
    t.equal(await failureOf(collect(source, { signal: controller.signal })), reason, 'and before it begins');
    t.equal(upstream.requests.length, 1);
  }
});

test('errors of the sink come through unchanged, and the connection is closed', async (t) => {
  // Records are read once the format is known: from the first HEAD_BYTES, if the answer has not ended before.
  const upstream = await startUpstream(t, (_, response) => {
    response.write('{"n":1}\n'.repeat(HEAD_BYTES / 8));
  });
  const mistake = new TypeError('a mistake');
  const source = sourceOf({ kind: 'http', url: upstream.origin });
  const failure = await failureOf(
    source.load({
      row() {
        throw mistake;
      },
      fault() {},
    }),
  );
  t.equal(failure, mistake);
  await allClosed(upstream);
});
