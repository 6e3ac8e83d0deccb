/** Query strings, and their faults. Inside, because thousands of odd ones are read in one go. */
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'tap';
import { PARAMETER_FAULTS_MAX } from '../../../src/base/limits.js';
import { formatQueryString, parseQueryString } from '../../../src/http/request/target.js';

test('a query is decoded into pairs, in order and with repeated names', async (t) => {
  const cases: [query: string, pairs: [string, string][]][] = [
    ['', []],
    ['&', []],
    ['&&a=1&&', [['a', '1']]],
    [
      'a=1&b=2&a=3',
      [
        ['a', '1'],
        ['b', '2'],
        ['a', '3'],
      ],
    ],
    ['a', [['a', '']]],
    ['a=', [['a', '']]],
    ['=a', [['', 'a']]],
    ['a=b=c', [['a', 'b=c']]],
    [
      'a&b=1',
      [
        ['a', ''],
        ['b', '1'],
      ],
    ],
    ['a=1+2', [['a', '1 2']]],
    ['a=1%2B2', [['a', '1+2']]],
    ['a=%c3%9c', [['a', 'Ü']]],
    ['%61=1', [['a', '1']]],
    ['a=Doe%2C+John', [['a', 'Doe, John']]],
    ['a=1%262', [['a', '1&2']]],
    ['a=x?y', [['a', 'x?y']]],
    ['a=%00', [['a', '\0']]],
  ];
  for (const [query, pairs] of cases) t.same(parseQueryString(query), { pairs, faults: [] }, query);
});

test('broken percent-encoding and bytes that are not UTF-8 are faults that name the parameter', async (t) => {
  const cases: [query: string, parameter: string][] = [
    ['a=%', 'a'],
    ['a=%4', 'a'],
    ['a=%zz', 'a'],
    ['a=%ff', 'a'],
    ['a=%c3', 'a'],
    ['a=%ed%a0%80', 'a'],
    ['a=%c0%80', 'a'],
    ['%zz=1', '%zz'],
  ];
  for (const [query, parameter] of cases) {
    const { pairs, faults } = parseQueryString(`x=1&${query}&y=+`);
    t.same(
      pairs,
      [
        ['x', '1'],
        ['y', ' '],
      ],
      `${query}: the others are read`,
    );
    t.match(faults, [{ parameter, code: 'malformed-encoding' }], query);
  }
});

test('reading stops at the last broken pair that is reported', async (t) => {
  const count = PARAMETER_FAULTS_MAX + 1;
  const { pairs, faults } = parseQueryString(`x=1&${'a=%&'.repeat(count)}y=2`);
  t.same(pairs, [['x', '1']]);
  t.equal(faults.length, PARAMETER_FAULTS_MAX);
});

test('a formatted query parses to the same pairs, and is safe in a header field', async (t) => {
  const text = fc.string({ unit: 'binary' }).filter((s) => s.isWellFormed());
  const pairs = fc.array(
    fc.tuple(
      text.filter((s) => s !== ''),
      text,
    ),
  );
  fc.assert(
    fc.property(pairs, (given) => {
      const query = formatQueryString(given);
      assert.deepEqual(parseQueryString(query), { pairs: given, faults: [] });
      t.match(query, /^[A-Za-z0-9\-._~!'()*%:=&]*$/);
    }),
    { seed: 7, numRuns: 300 },
  );
  t.pass('every generated case');
});

test('parsing never throws', async (t) => {
  const ascii = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((c) => String.fromCharCode(c)) });
  fc.assert(
    fc.property(ascii, (query) => {
      const { pairs, faults } = parseQueryString(query);
      assert.ok(pairs.length + faults.length <= query.length);
    }),
    { seed: 8, numRuns: 500 },
  );
  t.pass('every generated case');
});
