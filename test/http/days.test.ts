import { test } from 'tap';
import { bearer, serve, setUp } from './harness.js';

test('local days over HTTP give their events, and links keep the days', async (t) => {
  const client = await serve(t, setUp().handler);
  const get = (query: string) => client.send(`/api/v1/schedule?${query}`, { headers: bearer() });
  // Lessons 0 to 10 begin at 08:00 UTC, which is 22:00 on Kiritimati.
  const first = await get('date=2024-09-02&timeZone=Pacific/Kiritimati');
  t.equal(first.headers['x-total-count'], '2');
  const both = await get('date=2024-09-02&days=2&timeZone=Pacific/Kiritimati&limit=3');
  t.equal(both.headers['x-total-count'], '11');
  const link = String(both.headers.link);
  t.match(link, /\?date=2024-09-02&days=2&timeZone=Pacific%2FKiritimati&limit=3&cursor=/);
  const next = await client.send(link.slice(1, link.indexOf('>')), { headers: bearer() });
  t.equal(next.headers['x-total-count'], '11');
  t.equal((next.json() as { title: string }[])[0]?.title, 'Lesson 3');
  const again = await client.send('/api/v1/schedule?date=2024-09-02&timeZone=pacific/kiritimati', {
    headers: { ...bearer(), 'If-None-Match': String(first.headers.etag) },
  });
  t.equal(again.status, 304);
});

test('faults of local days are listed together', async (t) => {
  const client = await serve(t, setUp().handler);
  const query = 'date=2026-02-30&days=0&timeZone=Berlin&startTime=2026-02-28T00:00:00Z';
  for (const endpoint of ['schedule', 'schedule/personal', 'schedule/conflicts']) {
    const headers = bearer({ studyGroup: 'A' });
    const reply = await client.send(`/api/v1/${endpoint}?${query}`, { headers });
    t.equal(reply.status, 400);
    t.match(reply.json(), {
      errors: [
        { parameter: 'date', code: 'malformed-date' },
        { parameter: 'days', code: 'malformed-number' },
        { parameter: 'timeZone', code: 'unknown-time-zone' },
        { parameter: 'startTime', code: 'wrong-combination' },
      ],
    });
  }
});

test('requests without a zone use the zone of the service', async (t) => {
  const client = await serve(t, setUp({ timeZone: 'Pacific/Kiritimati' }).handler);
  const reply = await client.send('/api/v1/schedule?date=2024-09-02', { headers: bearer() });
  t.equal(reply.headers['x-total-count'], '2');
});

test('now and today are those of the request, and no answer is kept for them', async (t) => {
  const { now } = Date;
  t.teardown(() => {
    Date.now = now;
  });
  const client = await serve(t, setUp().handler);
  const headers = bearer();
  const ask = async (query: string, at: string) => {
    Date.now = () => Date.parse(at);
    const reply = await client.send(`/api/v1/schedule?${query}`, { headers });
    t.equal(reply.status, 200);
    const fixed = query
      .replace('now', at.replace(/\.\d+Z/, 'Z'))
      .replace('today', new Date(Date.parse(at) + 14 * 3_600_000).toISOString().slice(0, 10));
    const same = await client.send(`/api/v1/schedule?${fixed}`, { headers });
    t.same([reply.text, reply.headers.etag], [same.text, same.headers.etag], `${query} at ${at}`);
    return Number(reply.headers['x-total-count']);
  };
  for (const query of ['startTime=now', 'date=today&timeZone=Pacific/Kiritimati']) {
    const before = await ask(query, '2024-09-02T08:00:00.999Z');
    t.equal(await ask(query, '2024-09-02T08:00:00.001Z'), before, 'in the same second');
    t.not(await ask(query, '2024-09-03T23:59:59.999Z'), before);
  }
});
