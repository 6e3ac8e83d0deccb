/** Addresses that serve calendars, as universities do. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Test, test } from 'tap';
import { collect, failureOf, sourceOf } from '../collect.js';
import { calendarOf } from './calendars.js';

const CALENDAR = calendarOf(
  ...['BEGIN:VEVENT', 'UID:1', 'DTSTART:20260914T080000', 'SUMMARY:Algebra', 'LOCATION:Hall 1', 'END:VEVENT'],
);

/** Sends a body that ends with the connection (RFC 9112 section 6.3), or one with its length. */
async function serve(t: Test, body: string, hasLength: boolean): Promise<string> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/calendar; charset=utf-8');
    if (hasLength) response.setHeader('content-length', Buffer.byteLength(body));
    else {
      response.useChunkedEncodingByDefault = false;
      response.setHeader('connection', 'close');
    }
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/calendar.ics`;
}

const RULES = { identifiers: 'uuid', timeZone: 'Europe/Berlin' } as const;

test('a calendar is read from an address, even without a length', async (t) => {
  for (const hasLength of [true, false]) {
    const url = await serve(t, CALENDAR, hasLength);
    const { records, rejections, summary } = await collect(sourceOf({ kind: 'http', url }), {
      rules: RULES,
    });
    t.strictSame(rejections, []);
    t.match(records, [
      { value: { SUMMARY: 'Algebra', LOCATION: 'Hall 1', DTSTART: '2026-09-14T06:00:00.000Z' } },
    ]);
    t.equal(summary.format, 'icalendar');
  }
});

test('cut calendars are refused, and so are several without a length', async (t) => {
  const cut = await serve(t, CALENDAR.slice(0, -20), false);
  t.match(await failureOf(collect(sourceOf({ kind: 'http', url: cut }), { rules: RULES })), {
    code: 'source-malformed',
    message: /expected END:VCALENDAR/,
  });
  const several = await serve(t, CALENDAR + CALENDAR.replace('UID:1', 'UID:2'), false);
  t.match(await failureOf(collect(sourceOf({ kind: 'http', url: several }), { rules: RULES })), {
    message: /it may be cut: the transfer has no length, and icalendar does not mark its end/,
  });
});

test('an expansion reports progress, and ends when its load is aborted', async (t) => {
  const daily = Array.from({ length: 200 }, (_, n) => [
    ...['BEGIN:VEVENT', `UID:${n}`, 'DTSTART:20260914T060000Z', 'RRULE:FREQ=DAILY;COUNT=100', 'END:VEVENT'],
  ]);
  const url = await serve(t, calendarOf(...daily.flat()), true);
  const abort = new AbortController();
  const told: number[] = [];
  let records = 0;
  const sink = { row: () => records++, fault() {} };
  const loading = sourceOf({ kind: 'http', url }).load(sink, {
    rules: { ...RULES, from: '2026-01-01', to: '2027-01-01' },
    signal: abort.signal,
    onProgress: (progress) => {
      told.push(progress.records);
      if (progress.records > 2000) abort.abort(new Error('no longer wanted'));
    },
  });
  await t.rejects(loading, { message: 'no longer wanted' });
  t.ok(records > 1000 && records < 10_000, `${records} records`);
  t.ok(new Set(told).size > 2, told.join());
});
