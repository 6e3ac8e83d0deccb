import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'tap';
import { LIST_ENTRIES_MAX } from '../../../src/base/limits.js';
import { FORMATS, LIST_FORMATS } from '../../../src/base/model/format.js';
import { negotiateCoding } from '../../../src/http/answer/compression.js';
import { matchedEntityTag } from '../../../src/http/answer/conditional.js';
import {
  contentTypeOf,
  dispositionOf,
  negotiateFormat,
  prefersEventStream,
} from '../../../src/http/answer/negotiate.js';

test('Accept decides by quality, then specificity, then order', async (t) => {
  const cases: [accept: string | undefined, format: string | null][] = [
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
  for (const [accept, format] of cases) {
    for (const formats of [LIST_FORMATS, FORMATS]) {
      t.equal(negotiateFormat(accept, formats), format, String(accept));
      t.equal(negotiateFormat(accept, formats), format, `${accept}, remembered`);
    }
  }
});

test('only lists of events have formats besides JSON and MessagePack', async (t) => {
  const cases: [accept: string, ofEvents: string, ofOthers: string | null][] = [
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
  ];
  for (const [accept, ofEvents, ofOthers] of cases) {
    t.equal(negotiateFormat(accept, FORMATS), ofEvents, accept);
    t.equal(negotiateFormat(accept, LIST_FORMATS), ofOthers, `${accept}, of other lists`);
  }
});

test('the content type has its canonical form', async (t) => {
  t.equal(contentTypeOf('json'), 'application/json; charset=utf-8');
  t.equal(contentTypeOf('msgpack'), 'application/vnd.msgpack');
  t.equal(contentTypeOf('ndjson'), 'application/x-ndjson');
  t.equal(contentTypeOf('csv'), 'text/csv; header=present');
  t.equal(dispositionOf('json'), null);
  t.equal(dispositionOf('csv'), 'inline; filename="timetable.csv"');
});

test('every Accept header gives a result without an error', async (t) => {
  const part = fc.constantFrom(
    'application',
    '/',
    'json',
    '*',
    ';',
    'q=',
    '0',
    '.5',
    ',',
    ' ',
    '"',
    '\\',
    '=',
    'x',
  );
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const format = negotiateFormat(parts.join(''), LIST_FORMATS);
      assert.ok(format === null || format === 'json' || format === 'msgpack');
    }),
    { seed: 9, numRuns: 1000 },
  );
  t.pass('every generated case');
});

test('only the first entries of a long list count, so that no list is expensive', async (t) => {
  const others = (entry: string, more = 0): string => `${entry},`.repeat(LIST_ENTRIES_MAX - 1 + more);
  t.equal(negotiateFormat(`${others('a/b')}text/csv`, FORMATS), 'csv');
  t.equal(negotiateFormat(`${others('a/b', 1)}text/csv`, FORMATS), null);
  t.equal(prefersEventStream(`${others('a/b')}text/event-stream`), true);
  t.equal(prefersEventStream(`${others('a/b', 1)}text/event-stream`), false);
  t.equal(negotiateCoding(`${others('a')}br`), 'br');
  t.equal(negotiateCoding(`${others('a', 1)}br`), null);
  t.equal(matchedEntityTag(`${others('"x"')}"y"`, 'W/"y"'), 'W/"y"');
  t.equal(matchedEntityTag(`${others('"x"', 1)}"y"`, 'W/"y"'), null);
});
