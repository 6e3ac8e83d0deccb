import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'tap';
import type { ReadRules } from '../../src/base/model/read-rules.js';
import type { Source } from '../../src/source/source.js';
import { calendarOf, eventOf } from './calendar/calendars.js';
import { collect, sourceOf } from './collect.js';

const DAILY = eventOf('DTSTART:20200101T060000Z', 'RRULE:FREQ=DAILY');
const SINGLE = eventOf('DTSTART:20200101T060000Z');
const RULES: ReadRules = { identifiers: 'uuid' };

const today = (): string => new Date().toISOString().slice(0, 10);

async function versionOf(source: Source, rules: ReadRules = RULES): Promise<string> {
  return (await collect(source, { rules })).summary.version ?? '';
}

async function isUnchanged(source: Source, previous: string, rules: ReadRules = RULES): Promise<boolean> {
  const answer = await source.load({ row() {}, fault() {} }, { rules, previous });
  return answer === 'not-modified';
}

/** Another day than that of the load. */
const onAnotherDay = (version: string): string => version.replace(/@.*$/, '@2020-02-29');

test('a file with recurring events counts as changed on another day', async (t) => {
  const folder = t.testdir({ daily: DAILY, single: SINGLE, none: calendarOf() });
  const daily = sourceOf({ kind: 'file', path: join(folder, 'daily') });
  const version = await versionOf(daily);
  t.ok(version.endsWith(`@${today()}`), version);
  t.ok(await isUnchanged(daily, version));
  t.notOk(await isUnchanged(daily, onAnotherDay(version)));
  for (const name of ['single', 'none']) {
    const other = sourceOf({ kind: 'file', path: join(folder, name) });
    const known = await versionOf(other);
    t.notMatch(known, /@/, 'nothing depends on the day');
    t.ok(await isUnchanged(other, known));
  }
});

test('with `from` and `to`, the version does not depend on the day', async (t) => {
  const daily = sourceOf({ kind: 'file', path: join(t.testdir({ daily: DAILY }), 'daily') });
  const fixed = { ...RULES, from: '2026-01-01', to: '2026-02-01' };
  const version = await versionOf(daily, fixed);
  t.notMatch(version, /@/);
  t.ok(await isUnchanged(daily, version, fixed));
  t.match(await versionOf(daily, { ...RULES, from: '2026-01-01' }), /@/, 'the other end moves');
});

test('an address with recurring events is downloaded again on another day', async (t) => {
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.headers['if-none-match']);
    if (request.headers['if-none-match'] === '"1"') response.writeHead(304).end();
    else response.writeHead(200, { etag: '"1"', 'content-length': DAILY.length }).end(DAILY);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/calendar.ics`;
  const source = sourceOf({ kind: 'http', url });
  const version = await versionOf(source);
  t.ok(await isUnchanged(source, version));
  t.notOk(await isUnchanged(source, onAnotherDay(version)));
  t.strictSame(asked, [undefined, '"1"', undefined]);
});
