/** The format of an answer, by its Accept header. */
import * as fc from 'fast-check';
import { test } from 'tap';
import { LIST_ENTRIES_MAX } from '../../../src/base/limits.js';
import { bearer, serve, setUp } from '../harness.js';

const EVENTS = '/api/v1/schedule';
const OTHERS = '/api/v1/schedule/types';
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  json: 'application/json; charset=utf-8',
  msgpack: 'application/vnd.msgpack',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; header=present',
  ics: 'text/calendar; charset=utf-8',
};

test('Accept decides by quality, then specificity, then order', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const assertFormat = async (path: string, accept: string | undefined, format: string | null) => {
    const headers = accept === undefined ? bearer() : { ...bearer(), Accept: accept };
    const reply = await send(path, { headers });
    t.equal(reply.status, format === null ? 406 : 200, `${accept} of ${path}`);
    if (format === null) return;
    t.equal(reply.headers['content-type'], CONTENT_TYPES[format], `${accept} of ${path}`);
    const isFile = format !== 'json' && format !== 'msgpack';
    const disposition = isFile ? `inline; filename="timetable.${format}"` : undefined;
    t.equal(reply.headers['content-disposition'], disposition, `${accept} of ${path}`);
  };
  const ofAll: [accept: string | undefined, format: string | null][] = [
    [undefined, 'json'],
    ['', 'json'],
    ['*/*', 'json'],
    ['application/json', 'json'],
    ['APPLICATION/JSON', 'json'],
    ['application/json; charset=utf-8', 'json'],
    ['application/json;charset=UTF-8', 'json'],
    ['application/*', 'json'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'json'],
    ['application/vnd.msgpack', 'msgpack'],
    ['application/msgpack', 'msgpack'],
    ['application/x-msgpack', 'msgpack'],
    ['application/msgpack, application/json', 'msgpack'],
    ['application/json, application/msgpack', 'json'],
    ['application/json;q=0.5, application/msgpack;q=0.6', 'msgpack'],
    ['application/msgpack;q=0.5, */*', 'json'],
    ['*/*, application/json;q=0', 'msgpack'],
    ['application/json;q=0', null],
    ['*/*;q=0', null],
    ['text/html', null],
    ['application/xml, text/plain', null],
    ['application/json;version=2', null],
    ['json', null],
    [';;;,,,', null],
  ];
  // The second time the header is remembered.
  for (const [accept, format] of [...ofAll, ...ofAll]) {
    await assertFormat(EVENTS, accept, format);
    await assertFormat(OTHERS, accept, format);
  }
  // Only lists of events have formats besides JSON and MessagePack.
  const many = (entry: string, entries: number): string => `${entry},`.repeat(entries);
  const ofEvents: [accept: string, ofEvents: string | null, ofOthers: string | null][] = [
    ['application/x-ndjson', 'ndjson', null],
    ['application/ndjson', 'ndjson', null],
    ['application/jsonl', 'ndjson', null],
    ['text/csv', 'csv', null],
    ['Text/CSV', 'csv', null],
    ['text/csv; header=present', 'csv', null],
    ['text/csv; charset=utf-8', 'csv', null],
    ['text/csv, application/json;q=0.9', 'csv', 'json'],
    ['text/html, text/csv;q=0.9, */*;q=0.8', 'csv', 'json'],
    ['application/json, text/plain, */*', 'json', 'json'],
    ['application/json, text/csv', 'json', 'json'],
    ['text/*', 'csv', null],
    ['text/calendar', 'ics', null],
    ['text/calendar; charset=UTF-8', 'ics', null],
    ['application/x-ndjson;q=0.1', 'ndjson', null],
    // Only the first entries of a long list count, so that no list is expensive.
    [`${many('a/b', LIST_ENTRIES_MAX - 1)}text/csv`, 'csv', null],
    [`${many('a/b', LIST_ENTRIES_MAX)}text/csv`, null, null],
  ];
  for (const [accept, format, ofOthers] of ofEvents) {
    await assertFormat(EVENTS, accept, format);
    await assertFormat(OTHERS, accept, ofOthers);
  }
});

test('every Accept header gives an answer', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const parts = ['application', '/', 'json', '*', ';', 'q=', '0', '.5', ',', ' ', '"', '\\', '=', 'x'];
  const headers = fc.sample(fc.array(fc.constantFrom(...parts)), { seed: 9, numRuns: 200 });
  const ask = (Accept: string) => send(OTHERS, { headers: { ...bearer(), Accept } });
  const replies = await Promise.all(headers.map((each) => ask(each.join(''))));
  t.strictSame([...new Set(replies.map(({ status }) => status))].sort(), [200, 406]);
});
