/** The page of a feed, as browsers get it. */
import { randomBytes } from 'node:crypto';
import { type Test, test } from 'tap';
import type { TimetableEvent } from '../../src/base/model/event.js';
import { pageRowsOf } from '../oracle/representations.js';
import { bearer, EVENTS, PAGE_POLICY, type SetUpOptions, serve, setUp, viewsOf } from './harness.js';

const SECRET = randomBytes(32);

/** @returns a client, and the address of the page of a feed without its origin */
async function start(t: Test, query = '?studyGroup=A', options: SetUpOptions = {}) {
  const now = (): number => Date.UTC(2026, 0, 1);
  const client = await serve(t, setUp({ feedSecrets: [SECRET], feeds: { now }, ...options }).handler);
  const issued = await client.send(`/api/v1/schedule/feed${query}`, { headers: bearer({ studyGroup: 'A' }) });
  const path = new URL((issued.json() as { page: string }).page).pathname;
  return { ...client, path };
}

const PAGE_FIELDS = {
  'content-security-policy': PAGE_POLICY,
  'cache-control': 'private, max-age=300',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex',
  'x-content-type-options': 'nosniff',
};

test('a page has the rows of its feed, and its name', async (t) => {
  const { send, path } = await start(t, '?for=personal&type=Lab&type=Lecture');
  const page = await send(path);
  t.equal(page.status, 200);
  t.equal(page.headers['content-type'], 'text/html; charset=utf-8');
  t.equal(page.headers['content-disposition'], 'inline; filename="timetable.html"');
  t.match(page.headers, PAGE_FIELDS);
  const events = (await send(path.replace('.html', '.json'))).json() as TimetableEvent[];
  t.ok(events.length > 4);
  t.ok(page.text.includes(`<tbody>${pageRowsOf(events)}</tbody>`));
  t.match(page.text, '<title>Timetable: Lab, Lecture</title>');
  const odd = await start(t, '?studyGroup=B+%26+%3CC%3E,+%22D%22');
  const { text } = await odd.send(odd.path);
  t.match(text, '<h1><bdi>Timetable: B &amp; &lt;C&gt;, &quot;D&quot;</bdi></h1>');
});

test('links lead to the other formats of the feed, also with a slash at the end', async (t) => {
  const { send, path } = await start(t);
  for (const place of [path, `${path}/`]) {
    const { text } = await send(place);
    const links = [...text.matchAll(/href="([^"]*)"/g)].map((match) => match[1] ?? '');
    const targets = links.map((link) => new URL(link, `http://x${place}`).pathname);
    const isFile = (target: string): boolean => target.startsWith('/api/v1/view/');
    t.equal(targets.filter(isFile).length, 3, 'icon, manifest, style');
    const others = targets.filter((target) => !isFile(target));
    t.same(others, [path.replace('.html', '.ics'), path.replace('.html', '.csv')], place);
    for (const target of others) t.equal((await send(target)).status, 200);
    t.ok(
      links.every((link) => /^(\.\.\/)*[\w./-]+$/.test(link)),
      'relative',
    );
  }
});

test('a page has 304, HEAD and 412, each with its policy, and is not compressed', async (t) => {
  const { send, path } = await start(t);
  const page = await send(path);
  const tag = page.headers.etag as string;
  for (const time of ['first', 'second']) {
    const same = await send(path, { headers: { 'If-None-Match': tag } });
    t.equal(same.status, 304, time);
    t.equal(same.text, '');
    // A browser replaces the fields of its copy by these.
    t.match(same.headers, { ...PAGE_FIELDS, etag: tag });
  }
  const head = await send(path, { method: 'HEAD' });
  t.equal(head.headers['content-length'], String(page.body.length));
  t.match(head.headers, PAGE_FIELDS);
  t.equal(head.text, '');
  const failed = await send(path, { headers: { 'If-Match': '"x"' } });
  t.equal(failed.status, 412);
  t.equal(failed.headers['content-security-policy'], PAGE_POLICY);
  t.equal((await send(path, { method: 'OPTIONS' })).status, 204);
  t.equal((await send(path, { method: 'POST' })).status, 405);
  for (let time = 0; time < 3; time++) {
    const asked = await send(path, { headers: { 'Accept-Encoding': 'br, gzip' } });
    t.equal(asked.headers['content-encoding'], undefined);
    t.equal(asked.text, page.text);
  }
  for (const other of ['ics', 'json', 'csv']) {
    const { headers } = await send(path.replace('html', other));
    t.equal(headers['content-security-policy'], "default-src 'none'; frame-ancestors 'none'", other);
    t.not(headers.etag, tag);
  }
});

test('the policy comes once, also if pages of other origins may read', async (t) => {
  const { raw, path } = await start(t, '?studyGroup=A', { corsOrigins: ['https://portal.example'] });
  const answer = await raw(
    `GET ${path} HTTP/1.1\r\nHost: x\r\nOrigin: https://portal.example\r\nConnection: close\r\n\r\n`,
  );
  t.match(answer, /^HTTP\/1\.1 200 /);
  t.equal(answer.match(/^content-security-policy:/gim)?.length, 1);
  t.match(answer, `Content-Security-Policy: ${PAGE_POLICY}\r\n`);
  t.match(answer, 'Access-Control-Allow-Origin: https://portal.example\r\n');
});

test('every replica sends the same page', async (t) => {
  const [one, other] = [await start(t), await start(t, undefined, { views: viewsOf(EVENTS.toReversed()) })];
  t.equal(one.path, other.path, 'the same secret and time of issue');
  const [page, again] = [await one.send(one.path), await other.send(other.path)];
  t.equal(page.text, again.text);
  t.equal(page.headers.etag, again.headers.etag);
});

test('lists have no page: the name is unknown, and Accept is as before', async (t) => {
  const { send } = await start(t);
  const headers = bearer({ studyGroup: 'A' });
  const named = await send('/api/v1/schedule?format=html', { headers });
  t.equal(named.status, 400);
  t.match(named.json(), { errors: [{ detail: '"html" is not one of json, msgpack, ndjson, csv, ics' }] });
  t.equal((await send('/api/v1/schedule', { headers: { ...headers, Accept: 'text/html' } })).status, 406);
});
