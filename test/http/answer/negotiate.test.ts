import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'tap';
import { contentTypeOf, negotiateFormat } from '../../../src/http/answer/negotiate.js';

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
    ['application/xml, text/csv', null],
    ['application/json;version=2', null],
    ['json', null],
    [';;;,,,', null],
  ];
  for (const [accept, format] of cases) {
    t.equal(negotiateFormat(accept), format, String(accept));
    t.equal(negotiateFormat(accept), format, `${accept}, remembered`);
  }
});

test('the content type is the canonical one', async (t) => {
  t.equal(contentTypeOf('json'), 'application/json; charset=utf-8');
  t.equal(contentTypeOf('msgpack'), 'application/vnd.msgpack');
});

test('any header negotiates to something and never throws', async (t) => {
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
      const format = negotiateFormat(parts.join(''));
      assert.ok(format === null || format === 'json' || format === 'msgpack');
    }),
    { seed: 9, numRuns: 1000 },
  );
  t.pass('every generated case');
});
