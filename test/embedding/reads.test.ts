import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'tap';
import type { FormatName, TimetableOptions } from '../../src/index.js';

import { idOf, MemorySource, openTimetable, ROOT, record, temporaryFolder } from './built.js';

const DEMO = join(ROOT, 'fixtures/demo.ndjson.gz');

test('findBytes gives the bytes of the events of find', async (t) => {
  const timetable = openTimetable({ source: DEMO });
  await timetable.ready;
  const queries = [
    {},
    { studyGroup: 'BIO-1D' },
    { studyGroup: ['BIO-1D', 'INF-2B'], type: 'LEC' },
    { startTime: '2026-09-21T00:00:00Z', endTime: new Date('2026-09-22T00:00:00Z') },
    { date: '2026-09-21', days: 2, timeZone: 'Europe/Berlin' },
    { limit: 7 },
    { type: 'no such type' },
  ];
  for (const query of queries) {
    const { events } = timetable.find(query);
    const bytes = timetable.findBytes(query);
    t.equal(Buffer.from(bytes).toString('utf8'), JSON.stringify(events), JSON.stringify(query));
  }
  await timetable.close();
});

test('local days use the zone of the query, otherwise that of the timetable', async (t) => {
  const timetable = openTimetable({ source: DEMO, timeZone: 'Europe/Berlin' });
  await timetable.ready;
  const window = { startTime: '2026-10-25T00:00:00+02:00', endTime: '2026-10-27T00:00:00+01:00' };
  const { events, total } = timetable.find(window);
  t.ok(total > 0);
  t.same(timetable.find({ date: '2026-10-25', days: 2 }).events, events);
  t.same(timetable.find({ date: '2026-10-25', days: 2, timeZone: 'Europe/Rome' }).events, events);
  t.same(timetable.conflicts({ date: '2026-10-25', days: 2 }), timetable.conflicts(window));
  t.equal(timetable.explain({ date: '2026-10-25', days: 2 }).plan, timetable.explain(window).plan);
  const told = (query: object): unknown => {
    try {
      return timetable.find(query);
    } catch (error) {
      return (error as { readonly message: string }).message;
    }
  };
  t.match(told({ date: new Date() }), /^date must be a text such as 2026-10-25, not a Date$/);
  t.match(
    told({ date: '2026-10-25', days: '2 days' }),
    /^days: "2 days" is not a whole number from 1 to 366$/,
  );
  t.match(told({ date: '2026-10-25', timeZone: 2 }), /^timeZone must be a text such as Europe\/Berlin, not/);
  await timetable.close();
  t.throws(() => openTimetable({ source: DEMO, timeZone: 'Berlin' }), {
    code: 'option-invalid',
    message: /^timeZone is "Berlin": .* did you mean Europe\/Berlin\?/,
  });
});

test('findBytes gives every format that GET /schedule gives', async (t) => {
  const timetable = openTimetable({ source: DEMO });
  await timetable.ready;
  const query = { studyGroup: 'BIO-1D', limit: 3 };
  const { events } = timetable.find(query);
  const textAs = (format: FormatName): string => Buffer.from(timetable.findBytes(query, format)).toString();
  t.equal(textAs('json'), JSON.stringify(events));
  t.equal(textAs('ndjson'), events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  t.equal(textAs('csv').split('\r\n').length, 5);
  t.match(textAs('ics'), /^BEGIN:VCALENDAR\r\n/);
  t.match(Buffer.from(timetable.findBytes({ clashes: 'mark' }, 'ics')).toString(), 'CLASH');
  t.equal(timetable.findBytes(query, 'msgpack')[0], 0x93, 'an array of three');
  for (const format of ['xlsx', '', null, 7]) {
    t.throws(() => timetable.findBytes(query, format as FormatName), {
      code: 'parameters-invalid',
      faults: [{ parameter: 'format', code: 'unknown-value' }],
    });
  }
  await timetable.close();
});

test('get() ignores the case of an id', async (t) => {
  const id = 'abcdef00-0000-4000-8000-00000000000a';
  const timetable = openTimetable({ source: [record(1, { id, title: 'Ärger' }), record(2)] });
  await timetable.ready;
  for (const spelling of [id, id.toUpperCase(), 'ABCDEF00-0000-4000-8000-00000000000a']) {
    t.match(timetable.get(spelling), { id, title: 'Ärger' }, spelling);
  }
  for (const nothing of [idOf(3), '', 'no id at all', `${id} `, '\u0000'])
    t.equal(timetable.get(nothing), null);
  await timetable.close();

  const exact = openTimetable({ source: [record(1, { id: 'Raum-1' })], identifiers: 'any' });
  await exact.ready;
  t.match(exact.get('Raum-1'), { id: 'Raum-1' });
  t.equal(exact.get('raum-1'), null, 'identifiers of other kinds are compared exactly');
  await exact.close();
});

test('changes() gives the difference from every snapshot still kept', async (t) => {
  const memory = new MemorySource([record(1), record(2), record(3)]);
  const timetable = openTimetable({ source: memory, gate: false });
  const first = (await timetable.ready).id;
  const change = async (what: Parameters<typeof memory.apply>[0]): Promise<string> => {
    memory.apply(what);
    await timetable.refresh();
    return timetable.summary?.id ?? '';
  };
  const second = await change({ upsert: [record(1, { title: 'a' }), record(4)] });
  const third = await change({ remove: [idOf(2)], upsert: [record(3, { time: '2024-09-02T07:00:00Z' })] });
  const fourth = await change({ remove: [idOf(4)], upsert: [record(1)] });
  t.equal(new Set([first, second, third, fourth]).size, 4);

  const short = (since: string): unknown => {
    const changes = timetable.changes(since);
    if (changes === null) return null;
    const { from, to, added, changed, removed } = changes;
    t.strictSame([from, to], [since, fourth]);
    return [added.map((event) => event.id), changed.map((event) => event.id), removed];
  };
  t.strictSame(
    short(first),
    [[], [idOf(3)], [idOf(2)]],
    'what was changed back, and what came and went, is not among them',
  );
  t.strictSame(short(second), [[], [idOf(3), idOf(1)], [idOf(2), idOf(4)]], 'in order of time');
  t.strictSame(short(third), [[], [idOf(1)], [idOf(4)]]);
  t.strictSame(short(fourth), [[], [], []]);
  t.match(
    timetable.changes(first)?.changed,
    [{ id: idOf(3), time: '2024-09-02T07:00:00.000Z' }],
    'as it is now',
  );
  t.equal(timetable.changes('0123456789abcdef'), null);
  t.equal(timetable.changes(`${first}x`), null);

  const back = await change({ upsert: [record(2), record(3)] });
  t.equal(back, first, 'the same content is the same snapshot');
  t.strictSame(timetable.changes(first), { from: first, to: first, added: [], changed: [], removed: [] });
  t.match(timetable.changes(fourth), { added: [{ id: idOf(2) }], changed: [{ id: idOf(3) }], removed: [] });
  await timetable.close();
  t.throws(() => timetable.changes(first), { code: 'closed' });
});

test('only the last 256 snapshots are kept', async (t) => {
  const memory = new MemorySource([record(1)]);
  const timetable = openTimetable({ source: memory });
  const ids = [(await timetable.ready).id];
  for (let n = 2; n <= 260; n++) {
    memory.apply({ upsert: [record(n)] });
    await timetable.refresh();
    ids.push(timetable.summary?.id ?? '');
  }
  const known = ids.filter((id) => timetable.changes(id) !== null);
  t.strictSame(known, ids.slice(-257), 'the present one and 256 before it');
  t.equal(timetable.changes(known[0] ?? '')?.added.length, 256);
  await timetable.close();
});

test('listeners can be added and removed', async (t) => {
  const memory = new MemorySource([record(1)]);
  const timetable = openTimetable({ source: memory, watch: false });
  const heard: string[] = [];
  const listener = (): void => void heard.push('one');
  timetable.on('published', listener).on('published', ({ changes }) => heard.push(`two ${changes?.added}`));
  await timetable.ready;
  timetable.off('published', listener);
  memory.apply({ upsert: [record(2)] });
  await timetable.refresh();
  t.strictSame(heard, ['one', 'two undefined', 'two 1']);
  await timetable.close();
});

test('timetables in one process are independent, and can be disposed of', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(
    join(folder, 'two.ndjson'),
    [record(1), record(2)].map((each) => JSON.stringify(each)).join('\n'),
  );
  const opened = [];
  {
    await using one = openTimetable({ source: [record(1)] });
    await using two = openTimetable({ source: join(folder, 'two.ndjson'), unknownParameters: 'ignore' });
    await using demo = openTimetable({ source: DEMO });
    opened.push(one, two, demo);
    await Promise.all([one.ready, two.ready, demo.ready]);
    t.strictSame(
      opened.map((timetable) => timetable.all().total),
      [1, 2, 10_000],
    );
    t.equal(two.find({ room: 'x' } as object).total, 2);
    t.throws(() => one.find({ room: 'x' } as object), { code: 'parameters-invalid' });
    await one.close();
    t.equal(demo.find({ studyGroup: 'BIO-1D' }).total, 136, 'one is closed, the others go on');
  }
  for (const timetable of opened) t.throws(() => timetable.find(), { code: 'closed' });
});

test('a handler answers from its own timetable, and with 503 after close', async (t) => {
  const timetable = openTimetable({ source: [record(1)] });
  const handler = timetable.handler();
  await timetable.ready;
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const schedule = `http://127.0.0.1:${port}/api/v1/schedule`;
  t.equal((await fetch(schedule)).status, 200);
  t.equal((await fetch(`${schedule}/personal`)).status, 403, 'nothing says whose events to select');
  await timetable.close();
  t.equal((await fetch(schedule)).status, 503);
});

test('ready rejects with a readable reason', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'page.ndjson'), '<!doctype html><title>Login</title>');
  const cases: [source: TimetableOptions['source'], code: string, message: RegExp][] = [
    [join(folder, 'none.ndjson'), 'source-unreadable', /none\.ndjson/],
    [join(folder, 'none/'), 'source-unreadable', /none\/: there is no such file/],
    [join(folder, 'page.ndjson'), 'source-malformed', /page\.ndjson/],
    [[], 'snapshot-refused', /no events/],
    [[{ id: 'x' }], 'snapshot-refused', /its only record was rejected, at record with id "x": id is "x"/],
  ];
  for (const [source, code, message] of cases) {
    const timetable = openTimetable({ source });
    const errors: Error[] = [];
    timetable.on('error', (error) => errors.push(error));
    await t.rejects(timetable.ready, { code, message });
    t.throws(() => timetable.find(), { code: 'not-ready', message });
    t.equal(errors.length, code === 'snapshot-refused' ? 0 : 1);
    await timetable.close();
  }
});

test('impossible options are refused at once', (t) => {
  const source = [record(1)];
  const cases: [options: object, message: RegExp][] = [
    [{}, /openTimetable\(\) takes source or timetable/],
    [{ source: null }, /source must be a path/],
    [{ source: 7 }, /source must be a path/],
    [{ source: {} }, /source must be a path/],
    [{ source: '' }, /source is empty/],
    [{ source: 'ftp://example.org/x' }, /scheme ftp/],
    [{ source: { kind: 'carrier-pigeon' } }, /kind.*carrier-pigeon/],
    [{ source: { kind: 'file' } }, /path/],
    [{ source: { kind: 'merged', specs: [] } }, /source/],
    [{ source: { name: 'x', load: 7 } }, /load/],
    [{ source, refreshSeconds: -1 }, /refreshSeconds/],
    [{ source, refreshSeconds: Number.NaN }, /refreshSeconds/],
    [{ source, refreshSeconds: '60' }, /refreshSeconds/],
    [{ source, staleSecondsMax: -1 }, /staleSecondsMax/],
    [{ source, identifiers: 'UUID' }, /identifiers.*uuid.*any/],
    [{ source, unknownParameters: 'skip' }, /unknownParameters.*reject.*ignore/],
    [{ source, gate: { shrinkPercentMax: 130 } }, /shrinkPercentMax/],
    [{ source, gate: { rejectPercentMax: -1 } }, /rejectPercentMax/],
    [{ source, cacheMb: -1 }, /cacheMb/],
    [{ source, cacheMb: '256' }, /cacheMb/],
    [{ source, snapshotFile: '' }, /snapshotFile/],
    [{ source, snapshotFile: 'no-such-folder/x' }, /cannot be written: there is no folder .*no-such-folder/],
    [{ source: 'package.json', snapshotFile: './package.json' }, /it would replace the source/],
  ];
  for (const [options, message] of cases) {
    t.throws(
      () => openTimetable(options as TimetableOptions),
      { name: 'LecternError', code: 'option-invalid', message },
      JSON.stringify(options),
    );
  }
  t.end();
});

test('identify() must answer synchronously; a promise does not count as a user without events', async (t) => {
  const timetable = openTimetable({ source: [record(1, { studyGroup: 'A' }), record(2)] });
  await timetable.ready;
  const lines: { readonly err: Error }[] = [];
  const log = { info() {}, warn() {}, error: (fields: object) => void lines.push(fields as { err: Error }) };
  const cases: [identify: () => unknown, status: number, total?: number][] = [
    [() => ({ studyGroup: 'A' }), 200, 1],
    [() => ({}), 200, 0],
    [() => null, 403],
    [() => undefined, 403],
    [async () => ({ studyGroup: 'A' }), 500],
    [() => Promise.reject(new Error('the session store is gone')), 500],
    [() => 'A', 500],
    [() => ['A'], 500],
    [() => ({ studyGroup: 7 }), 500],
  ];
  for (const [identify, status, total] of cases) {
    lines.length = 0;
    const server = createServer(timetable.handler({ identify: identify as () => null, log, basePath: '/' }));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${port}/schedule/personal`);
    t.equal(answer.status, status, String(identify));
    const body = (await answer.json()) as unknown[];
    if (total !== undefined) t.equal(body.length, total);
    if (status === 403) t.notMatch(JSON.stringify(body), /token/i, 'there is none');
    t.equal(lines.length, status === 500 ? 1 : 0);
    if (status === 500) t.match(lines[0]?.err, { code: 'option-invalid', message: /identi/ });
    server.close();
    server.closeAllConnections();
  }
  await timetable.close();
});

test('a handler refuses an invalid base path', async (t) => {
  const timetable = openTimetable({ source: [record(1)] });
  for (const basePath of ['api', '/a//b', '/a b', '/:id', '/*', '/a/..', '//', '/ü']) {
    t.throws(
      () => timetable.handler({ basePath }),
      { code: 'option-invalid', message: /basePath/ },
      basePath,
    );
  }
  await timetable.close();
});
