/** Whole answers that are kept. Inside, because no answer shows whether it was kept. */
import { test } from 'tap';
import { keptBody } from '../../../src/answer/body.js';
import { ANSWER_CACHE_ENTRY_BYTES_MAX } from '../../../src/base/limits.js';
import { AnswerCache } from '../../../src/http/answer/answer-cache.js';
import { viewOfEvents } from '../../answer/reading.js';
import { bearer, EVENTS, type Reply, ROOM, serve, setUp, viewsOf } from '../harness.js';

const TARGETS = [
  '/api/v1/schedule',
  `/api/v1/schedule?roomId=${ROOM}&startTime=2024-09-02T09:00:00Z&endTime=2024-09-02T12:00:00Z`,
  '/api/v1/schedule?studyGroup=nobody',
  '/api/v1/schedule?limit=3',
  '/api/v1/schedule?format=msgpack',
  '/api/v1/schedule/all',
  '/api/v1/schedule/types',
  '/api/v1/schedule/conflicts?by=room',
  '/api/v1/schedule/personal',
];

/** The answer that a client sees, without its date. */
function visible({ status, headers, body }: Reply): object {
  const { date, ...others } = headers;
  return { status, others, body: body.toString('latin1'), dated: date !== undefined };
}

test('a kept answer equals the original, in every format and method', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const headers = bearer({ studyGroup: 'A' });
  for (const target of TARGETS) {
    for (const accept of ['*/*', 'application/vnd.msgpack', 'application/json']) {
      for (const method of ['GET', 'HEAD']) {
        const replies: Reply[] = [];
        for (let n = 0; n < 4; n++)
          replies.push(await send(target, { method, headers: { ...headers, accept } }));
        const [first, ...others] = replies.map(visible);
        t.equal(replies[0]?.status, 200, `${method} ${target} as ${accept}`);
        for (const other of others) t.strictSame(other, first);
        if (method === 'HEAD') t.equal(replies[3]?.body.length, 0);
      }
    }
    const tag = String((await send(target, { headers })).headers.etag);
    const again = await send(target, { headers: { ...headers, 'If-None-Match': tag } });
    t.strictSame([again.status, again.headers.etag, again.body.length], [304, tag, 0], target);
    const other = await send(target, { headers: { ...headers, 'If-None-Match': '"other"' } });
    t.equal(other.status, 200);
    const refused = await send(target, { headers: { ...headers, accept: 'text/html' } });
    t.equal(refused.status, target.includes('format=') ? 200 : 406, target);
  }
});

test('a publication ends the use of kept answers from earlier snapshots', async (t) => {
  const views = viewsOf();
  const { send } = await serve(t, setUp({ views }).handler);
  const headers = bearer();
  const ask = async () => (await send('/api/v1/schedule', { headers })).json() as { title: string }[];
  for (let n = 0; n < 3; n++) t.equal((await ask()).length, EVENTS.length);
  const changed = EVENTS.slice(0, 4).map((event) => ({ ...event, title: 'Moved' }));
  views.view = viewOfEvents(changed, 'uuid');
  for (let n = 0; n < 3; n++)
    t.strictSame(
      (await ask()).map(({ title }) => title),
      Array(4).fill('Moved'),
    );
  views.view = null;
  t.equal((await send('/api/v1/schedule', { headers })).status, 503);
});

test('kept answers reach only their own user, and only with a token', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const groupOf = async (studyGroup: string) => {
    const reply = await send('/api/v1/schedule/personal', { headers: bearer({ studyGroup }) });
    return [...new Set((reply.json() as { studyGroup: string }[]).map((event) => event.studyGroup))];
  };
  for (let n = 0; n < 3; n++) {
    t.strictSame(await groupOf('A'), ['A']);
    t.strictSame(await groupOf('nobody'), []);
    for (let again = 0; again < 3; again++) await send('/api/v1/schedule', { headers: bearer() });
    t.equal((await send('/api/v1/schedule')).status, 401);
    t.equal((await send('/api/v1/schedule', { headers: { Authorization: 'Bearer a.b.c' } })).status, 401);
    t.equal((await send('/api/v1/schedule/personal', { headers: bearer() })).status, 403);
  }
});

let tags = 0;

function answerOf(
  bodyBytes: number,
  entityTag = `W/"x-${String(tags++).padStart(11, '0')}"`,
): Parameters<AnswerCache['offer']>[3] {
  return { entityTag, modifiedMs: null, headers: [], body: keptBody(Buffer.alloc(bodyBytes, 'x')) };
}

test('an answer is kept from its second request on, within the bound, for the present snapshot', (t) => {
  const cache = new AnswerCache(1_000_000);
  cache.keepOnly('first');
  const [once, packed] = [answerOf(10), answerOf(7)];
  cache.offer('/once', null, 'json', once);
  t.equal(cache.find('/once'), undefined);
  cache.offer('/once', null, 'json', once);
  t.equal(cache.find('/once')?.answers.json?.body?.length, 10);
  for (let n = 0; n < 2; n++) cache.offer('/once', null, 'msgpack', packed);
  t.equal(cache.find('/once')?.answers.json?.body?.length, 10, 'the other format stays');
  t.equal(cache.find('/once')?.answers.msgpack?.body?.length, 7);
  for (let n = 0; n < 2000; n++) {
    const answer = answerOf(5000);
    for (let again = 0; again < 3; again++) cache.offer(`/target/${n}`, null, 'json', answer);
    if (cache.bytes > 1_000_000) t.fail(`${cache.bytes} bytes`);
  }
  t.ok(cache.bytes > 400_000, 'and it is used');
  const large = answerOf(ANSWER_CACHE_ENTRY_BYTES_MAX + 1);
  for (let again = 0; again < 3; again++) cache.offer('/large', null, 'json', large);
  t.equal(cache.find('/large'), undefined);
  cache.keepOnly('first');
  t.ok(cache.find('/target/1999'));
  cache.keepOnly('second');
  t.equal(cache.find('/target/1999'), undefined);
  t.equal(cache.bytes, 0);
  t.end();
});

test('if only the tag of an answer is kept, 304 needs no new body', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const headers = bearer();
  const first = await send('/api/v1/schedule', { headers });
  const having = { ...headers, 'If-None-Match': String(first.headers.etag) };
  for (let n = 0; n < 4; n++) t.equal((await send('/api/v1/schedule', { headers: having })).status, 304);
  for (let n = 0; n < 4; n++) {
    t.strictSame(visible(await send('/api/v1/schedule', { headers })), visible(first));
    t.equal((await send('/api/v1/schedule', { headers: having })).status, 304);
  }
  const cache = new AnswerCache(1_000_000);
  cache.keepOnly('first');
  const known = answerOf(10);
  const tagOnly = { ...known, headers: [], body: null };
  for (let n = 0; n < 2; n++) cache.offer('/target', null, 'json', tagOnly);
  t.equal(cache.find('/target')?.answers.json?.entityTag, known.entityTag);
  t.equal(cache.find('/target')?.answers.json?.body, null);
  cache.offer('/target', null, 'json', known);
  t.equal(cache.find('/target')?.answers.json?.body?.length, 10, 'a body takes the place of none');
});

test('kept answers are copies', (t) => {
  const cache = new AnswerCache(1_000_000);
  cache.keepOnly('first');
  const bytes = Buffer.alloc(10, 'x');
  const answer = { ...answerOf(0), body: keptBody(bytes) };
  for (let n = 0; n < 2; n++) cache.offer('/target', null, 'json', answer);
  bytes.fill(0);
  t.equal(Buffer.from(cache.find('/target')?.answers.json?.body ?? []).toString(), 'xxxxxxxxxx');
  t.end();
});

test('the cache counts the header fields of an answer, also a link that repeats a long query', async (t) => {
  const cache = new AnswerCache(40_000);
  const answer = { entityTag: 'W/"x"', modifiedMs: null, body: Buffer.alloc(10) };
  t.equal(cache.keep('/x', null, 'json', { ...answer, headers: ['Link', 'x'.repeat(15_000)] }), true);
  t.ok(cache.bytes > 15_000);
  t.equal(cache.keep('/y', null, 'json', { ...answer, headers: ['Link', 'x'.repeat(20_000)] }), false);
});
