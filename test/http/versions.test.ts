/** Lectern-Version on every list, and requests that wait for a version. */
import { type Test, test } from 'tap';
import { VERSION_WAIT_MS_MAX, VERSION_WAITS_MAX } from '../../src/base/limits.js';
import { timeForAFault } from '../waiting/until.js';
import { bearer, EVENTS, serve, setUp } from './harness.js';
import { PublishedViews } from './live-views.js';

const LISTS = [
  '/schedule',
  '/schedule/personal',
  '/schedule/all',
  '/schedule/all?limit=2',
  '/schedule/all?format=csv',
  '/schedule/types',
  '/schedule/conflicts',
  '/schedule/rooms',
  '/schedule/free?by=room&date=2024-09-02',
  `/schedule/events/${EVENTS[0]?.id}`,
].map((path) => `/api/v1${path}`);

const OTHERS = EVENTS.slice(1);
const USER = bearer({ studyGroup: 'A' });

async function versioned(t: Test) {
  const views = new PublishedViews(EVENTS);
  return { views, ...(await serve(t, setUp({ views }).handler)) };
}

test('every list names its version: new, cached, as 304, as HEAD, and after each publication', async (t) => {
  const { views, send } = await versioned(t);
  // The third has the content of the first, which the caches may still hold.
  for (const events of [EVENTS, OTHERS, EVENTS]) {
    if (views.summary?.events !== events.length) views.publishEvents(events);
    const { version = '' } = views.view ?? {};
    t.match(version, /^[1-3]\.[\w-]{22}$/);
    t.equal(version.split('.')[1], views.summary?.id);
    for (const path of LISTS) {
      if (path.endsWith(EVENTS[0]?.id ?? '') && events === OTHERS) continue;
      for (let n = 0; n < 4; n++) {
        const { status, headers } = await send(path, { headers: USER });
        t.equal(status, 200, path);
        t.equal(headers['lectern-version'], version, `${path}, time ${n}`);
        const again = { ...USER, 'If-None-Match': String(headers.etag) };
        const unchanged = await send(path, { headers: again });
        t.equal(unchanged.status, 304, path);
        t.equal(unchanged.headers['lectern-version'], version);
      }
      const head = await send(path, { method: 'HEAD', headers: USER });
      t.equal(head.headers['lectern-version'], version);
    }
  }
  const { headers } = await send('/api/v1/schedule/all', { headers: { ...USER, 'Accept-Encoding': 'gzip' } });
  t.equal(headers['lectern-version'], views.view?.version);
});

test('a request waits for a version, and gets it or a later one', async (t) => {
  const { views, send } = await versioned(t);
  const first = views.view?.version ?? '';
  const ask = (minVersion: string) =>
    send('/api/v1/schedule/all', { headers: { ...USER, 'Lectern-Min-Version': minVersion } });
  t.equal((await ask(first)).status, 200, 'the present one');
  const other = new PublishedViews(EVENTS);
  const second = other.publishEvents(OTHERS);
  const waiting = [ask(second), ask(`2.${'x'.repeat(22)}`)];
  await timeForAFault(50);
  t.equal(views.publishEvents(OTHERS), second);
  const [reached, missed] = await Promise.all(waiting);
  t.equal(reached?.status, 200);
  t.equal(reached?.headers['lectern-version'], second);
  t.equal(missed?.status, 503, 'of one number, but other content');
  t.match(missed?.json(), { code: 'version-not-yet' });
  t.equal(missed?.headers['retry-after'], '1');
  t.equal((await ask(first)).status, 200, 'an earlier one');
  t.equal((await ask(`1.${'x'.repeat(22)}`)).status, 200, 'an earlier one of other content');
  t.equal(
    (await ask(`9.${first.split('.')[1]}`)).status,
    200,
    'a snapshot of the past, however it was numbered',
  );
  t.equal(
    (await ask(`9.${second.split('.')[1]}`)).status,
    200,
    'the present snapshot, however it was numbered',
  );
});

test('a replica compares sequences, although its history knows the content', async (t) => {
  const { views, send } = await versioned(t);
  views.hasSharedSequence = true;
  views.publishEvents(OTHERS);
  const third = views.publishEvents(EVENTS);
  const id = third.split('.')[1];
  const statusOf = async (version: string): Promise<number> =>
    (await send('/api/v1/schedule/all', { headers: { ...USER, 'Lectern-Min-Version': version } })).status;
  for (const version of [third, `1.${id}`, `2.${'x'.repeat(22)}`])
    t.equal(await statusOf(version), 200, version);
  for (const version of [`4.${id}`, `3.${'x'.repeat(22)}`]) t.equal(await statusOf(version), 503, version);
});

test('waits are bounded in time and in number', async (t) => {
  const { send } = await versioned(t);
  const headers = { ...USER, 'Lectern-Min-Version': `2.${'x'.repeat(22)}` };
  const began = performance.now();
  const one = send('/api/v1/schedule', { headers });
  const others: ReturnType<typeof send>[] = [];
  while (others.length < VERSION_WAITS_MAX - 1) {
    others.push(send('/api/v1/schedule', { headers }));
    // The kernel accepts at most 511 connections ahead of the server, and may reset others.
    if (others.length % 256 !== 0 && others.length < VERSION_WAITS_MAX - 1) continue;
    t.equal((await send('/api/v1/schedule', { headers: USER })).status, 200, 'a bystander');
  }
  t.equal((await one).status, 503);
  t.ok(performance.now() - began >= VERSION_WAIT_MS_MAX - 50);
  for (const { status } of await Promise.all(others)) if (status !== 503) t.fail(`${status}`);
  for (const bad of [
    '',
    '1',
    'x'.repeat(22),
    `0.${'x'.repeat(22)}`,
    `1.${'x'.repeat(22)}, 2.${'x'.repeat(22)}`,
  ]) {
    const { status, text } = await send('/api/v1/schedule', {
      headers: { ...USER, 'Lectern-Min-Version': bad },
    });
    t.equal(status, 400, bad);
    t.match(text, 'invalid-request');
  }
});

test('pages of other origins may read and request versions', async (t) => {
  const origin = 'https://app.example.org';
  const { handler } = setUp({ corsOrigins: [origin] });
  const { send } = await serve(t, handler, { corsOrigins: [origin] });
  const { headers } = await send('/api/v1/schedule', { headers: { ...USER, Origin: origin } });
  t.match(headers['access-control-expose-headers'], /\bLectern-Version\b/);
  const preflight = await send('/api/v1/schedule', {
    method: 'OPTIONS',
    headers: { Origin: origin, 'Access-Control-Request-Method': 'GET' },
  });
  t.match(preflight.headers['access-control-allow-headers'], /\bLectern-Min-Version\b/);
  t.match(preflight.headers['access-control-allow-headers'], /\bLast-Event-ID\b/);
});
