import { test } from 'tap';
import type { ReadResult } from '../../src/answer/answer.js';
import type { ParameterPairs, View } from '../../src/answer/view.js';
import { PARAMETER_FAULTS, type ParameterFaultCode } from '../../src/base/errors.js';
import { PARAMETER_FAULTS_MAX, PARAMETER_VALUES_MAX } from '../../src/base/limits.js';
import type { IdentifierMode, NormalisedEvent } from '../../src/base/model/event.js';
import { listOf, readOf, viewOfEvents } from './reading.js';

const ROOM = '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417';
const COURSE = 'febb45ec-2e65-568c-b6e6-55ca917a9ff3';

/** Two events and two clashes; no event has a lecturerId. Only the ids differ between the modes. */
function eventsOf(mode: IdentifierMode): NormalisedEvent[] {
  const base: Omit<NormalisedEvent, 'id'> = {
    time: Date.UTC(2024, 8, 2, 8),
    endTime: Date.UTC(2024, 8, 2, 10),
    title: 'Analysis',
    roomId: ROOM,
    courseId: COURSE,
    studyGroup: 'G1',
    lecturer: 'Doe, John',
    type: 'LEC',
    groupId: null,
    lecturerId: null,
  };
  const ids = mode === 'any' ? ['a', 'b'] : [ROOM.replace('2c', '2a'), ROOM.replace('2c', '2b')];
  return ids.map((id, i) => ({ ...base, id, courseId: i === 0 ? COURSE : null }));
}

const view = viewOfEvents(eventsOf('uuid'), 'uuid');
const anyView = viewOfEvents(eventsOf('any'), 'any');

type Endpoint = 'schedule' | 'personal' | 'all' | 'types' | 'conflicts';
const ENDPOINTS: readonly Endpoint[] = ['schedule', 'personal', 'all', 'types', 'conflicts'];

function ask(
  endpoint: Endpoint,
  pairs: ParameterPairs,
  of: View = view,
  unknownParameters: 'reject' | 'ignore' = 'reject',
): ReadResult {
  if (endpoint !== 'personal') return of[endpoint](pairs, { unknownParameters });
  return of.personal(pairs, { unknownParameters }, [{ field: 'studyGroup', values: ['G1'] }]);
}

/** Faults as `parameter code`, sorted; an empty list if the query is valid. */
function toldBy(result: ReadResult): string[] {
  return 'faults' in result ? result.faults.map((fault) => `${fault.parameter} ${fault.code}`).sort() : [];
}

const cursorOf = (endpoint: 'all' | 'conflicts'): string => {
  const pairs: [string, string][] = [['limit', '1']];
  if (endpoint === 'conflicts') pairs.push(['merge', 'false']);
  return readOf(ask(endpoint, pairs)).execute('json').nextCursor ?? '';
};

const values = (name: string, count: number): [string, string][] =>
  Array.from({ length: count }, (_, i) => [name, `value ${i}`]);

/** endpoint, parameters as alternating names and values, the parameter at fault, the code */
const FAULTS: readonly [Endpoint, readonly string[], string, ParameterFaultCode][] = [
  ['schedule', ['studygroup', 'G1'], 'studygroup', 'unknown-parameter'],
  ['schedule', ['groupId', ROOM], 'groupId', 'unknown-parameter'],
  ['schedule', ['id', ROOM], 'id', 'unknown-parameter'],
  ['schedule', ['by', 'room'], 'by', 'unknown-parameter'],
  ['schedule', ['merge', 'false'], 'merge', 'unknown-parameter'],
  ['schedule', ['', 'x'], '', 'unknown-parameter'],
  ['schedule', ['__proto__', 'x'], '__proto__', 'unknown-parameter'],
  ['schedule', ['constructor', 'x'], 'constructor', 'unknown-parameter'],
  ['schedule', ['unknown', ''], 'unknown', 'unknown-parameter'],
  ['personal', ['groupId', ROOM], 'groupId', 'unknown-parameter'],
  ['all', ['roomId', ROOM], 'roomId', 'unknown-parameter'],
  ['all', ['startTime', '2024-09-02T08:00:00Z'], 'startTime', 'unknown-parameter'],
  ['types', ['limit', '1'], 'limit', 'unknown-parameter'],
  ['types', ['cursor', 'x'], 'cursor', 'unknown-parameter'],
  ['types', ['type', 'LEC'], 'type', 'unknown-parameter'],

  ['schedule', ['roomId', ''], 'roomId', 'empty-value'],
  ['schedule', ['studyGroup', ''], 'studyGroup', 'empty-value'],
  ['schedule', ['type', 'LEC', 'type', ''], 'type', 'empty-value'],
  ['schedule', ['startTime', ''], 'startTime', 'empty-value'],
  ['schedule', ['limit', ''], 'limit', 'empty-value'],
  ['schedule', ['cursor', ''], 'cursor', 'empty-value'],
  ['types', ['format', ''], 'format', 'empty-value'],
  ['conflicts', ['by', ''], 'by', 'empty-value'],
  ['conflicts', ['merge', ''], 'merge', 'empty-value'],

  [
    'schedule',
    ['startTime', '2024-09-02T08:00:00Z', 'startTime', '2024-09-02T08:00:00Z'],
    'startTime',
    'repeated-parameter',
  ],
  [
    'schedule',
    ['endTime', '2024-09-02T08:00:00Z', 'endTime', '2024-09-03T08:00:00Z'],
    'endTime',
    'repeated-parameter',
  ],
  ['schedule', ['limit', '1', 'limit', '2'], 'limit', 'repeated-parameter'],
  ['all', ['cursor', cursorOf('all'), 'cursor', cursorOf('all')], 'cursor', 'repeated-parameter'],
  ['all', ['format', 'json', 'format', 'json'], 'format', 'repeated-parameter'],
  ['conflicts', ['merge', 'true', 'merge', 'false'], 'merge', 'repeated-parameter'],

  ['schedule', values('type', PARAMETER_VALUES_MAX + 1).flat(), 'type', 'too-many-values'],
  ['conflicts', values('studyGroup', PARAMETER_VALUES_MAX + 1).flat(), 'studyGroup', 'too-many-values'],

  ['schedule', ['roomId', 'A101'], 'roomId', 'malformed-identifier'],
  ['schedule', ['roomId', `${ROOM},${ROOM}`], 'roomId', 'malformed-identifier'],
  ['schedule', ['roomId', `{${ROOM}}`], 'roomId', 'malformed-identifier'],
  ['schedule', ['courseId', ` ${COURSE}`], 'courseId', 'malformed-identifier'],
  ['personal', ['courseId', COURSE.slice(1)], 'courseId', 'malformed-identifier'],

  ['schedule', ['type', 'half a pair \uD800'], 'type', 'malformed-text'],
  ['schedule', ['studyGroup', '\uDC00'], 'studyGroup', 'malformed-text'],

  ['schedule', ['startTime', '2024-02-30T08:00:00Z'], 'startTime', 'malformed-time'],
  ['schedule', ['startTime', '2023-02-29T08:00:00Z'], 'startTime', 'malformed-time'],
  ['schedule', ['startTime', '2024-09-02'], 'startTime', 'malformed-time'],
  ['schedule', ['endTime', '2024-09-02T08:00:00'], 'endTime', 'malformed-time'],
  ['schedule', ['endTime', '2024-09-02T08:00Z'], 'endTime', 'malformed-time'],
  ['schedule', ['endTime', '2024-09-02 08:00:00Z'], 'endTime', 'malformed-time'],
  ['schedule', ['endTime', '2024-09-02T24:00:00Z'], 'endTime', 'malformed-time'],
  ['schedule', ['endTime', '2024-09-02T08:00:00 0200'], 'endTime', 'malformed-time'],
  ['schedule', ['endTime', '2024-09-02T08:00:00  02:00'], 'endTime', 'malformed-time'],
  ['schedule', ['endTime', '2024-09-02T08:00:00Z '], 'endTime', 'malformed-time'],
  ['schedule', ['endTime', '1725264000000'], 'endTime', 'malformed-time'],
  ['conflicts', ['startTime', 'yesterday'], 'startTime', 'malformed-time'],

  ['schedule', ['date', '2026-02-30'], 'date', 'malformed-date'],
  ['schedule', ['date', '2026-10-25', 'days', '367'], 'days', 'malformed-number'],
  ['schedule', ['date', '2026-10-25', 'timeZone', 'Europe/Atlantis'], 'timeZone', 'unknown-time-zone'],
  ['schedule', ['days', '2'], 'days', 'wrong-combination'],

  ['schedule', ['limit', '0'], 'limit', 'malformed-limit'],
  ['schedule', ['limit', '10001'], 'limit', 'malformed-limit'],
  ['schedule', ['limit', '1.5'], 'limit', 'malformed-limit'],
  ['schedule', ['limit', 'abc'], 'limit', 'malformed-limit'],
  ['schedule', ['limit', '-1'], 'limit', 'malformed-limit'],
  ['all', ['limit', '1e3'], 'limit', 'malformed-limit'],
  ['all', ['limit', '0x10'], 'limit', 'malformed-limit'],
  ['all', ['limit', ' 5'], 'limit', 'malformed-limit'],
  ['conflicts', ['limit', '\uFF15'], 'limit', 'malformed-limit'],
  ['conflicts', ['limit', '9'.repeat(400)], 'limit', 'malformed-limit'],

  ['schedule', ['cursor', 'garbage'], 'cursor', 'malformed-cursor'],
  ['all', ['cursor', '!!!'], 'cursor', 'malformed-cursor'],
  ['all', ['cursor', Buffer.from('[]').toString('base64url')], 'cursor', 'malformed-cursor'],
  ['all', ['cursor', Buffer.from('null').toString('base64url')], 'cursor', 'malformed-cursor'],
  ['all', ['cursor', Buffer.from('{"a":1}').toString('base64url')], 'cursor', 'malformed-cursor'],
  ['all', ['cursor', 'A'.repeat(5000)], 'cursor', 'malformed-cursor'],
  ['all', ['cursor', `${cursorOf('all')}A`], 'cursor', 'malformed-cursor'],
  ['all', ['cursor', cursorOf('all').slice(0, -6)], 'cursor', 'malformed-cursor'],
  ['all', ['cursor', cursorOf('conflicts')], 'cursor', 'malformed-cursor'],
  ['schedule', ['cursor', cursorOf('conflicts')], 'cursor', 'malformed-cursor'],
  ['personal', ['cursor', cursorOf('conflicts')], 'cursor', 'malformed-cursor'],
  ['conflicts', ['cursor', cursorOf('all')], 'cursor', 'malformed-cursor'],

  ['schedule', ['format', 'xml'], 'format', 'unknown-value'],
  ['types', ['format', 'constructor'], 'format', 'unknown-value'],
  ['conflicts', ['by', 'teacher'], 'by', 'unknown-value'],
  ['conflicts', ['by', 'room', 'by', 'Room'], 'by', 'unknown-value'],
  ['conflicts', ['merge', 'maybe'], 'merge', 'unknown-value'],
];

function pairsOf(flat: readonly string[]): [string, string][] {
  return Array.from({ length: flat.length / 2 }, (_, i) => [
    flat[2 * i] as string,
    flat[2 * i + 1] as string,
  ]);
}

test('each fault has its code, its parameter and a sentence', (t) => {
  for (const [endpoint, flat, parameter, code] of FAULTS) {
    const result = ask(endpoint, pairsOf(flat));
    const name = `${endpoint}?${JSON.stringify(flat.slice(0, 4))}`.slice(0, 150);
    t.same(toldBy(result), [`${parameter} ${code}`], name);
    const details = 'faults' in result ? result.faults.map((fault) => fault.detail) : [];
    t.ok(
      details.every((detail) => detail.length > 10 && detail.length < 500),
      `${name}: ${details.join(' | ').slice(0, 200)}`,
    );
  }
  t.end();
});

test('every fault code occurs, except for a broken request target', (t) => {
  const reached = new Set<string>(FAULTS.map(([, , , code]) => code));
  const emptyWindow = ask('schedule', [
    ['startTime', '2024-09-02T08:00:00Z'],
    ['endTime', '2024-09-02T10:00:00+02:00'],
  ]);
  if ('faults' in emptyWindow) for (const fault of emptyWindow.faults) reached.add(fault.code);
  const noSnapshot = view.changes([], { unknownParameters: 'reject' });
  t.match(noSnapshot, { faults: [{ parameter: 'since', code: 'missing-parameter' }] });
  if ('faults' in noSnapshot) for (const fault of noSnapshot.faults) reached.add(fault.code);
  const noId = view.changes([['since', 'yesterday']], { unknownParameters: 'reject' });
  if ('faults' in noId) for (const fault of noId.faults) reached.add(fault.code);
  const longSearch = view.directory('rooms', [['q', 'a'.repeat(201)]], { unknownParameters: 'reject' });
  if ('faults' in longSearch) for (const fault of longSearch.faults) reached.add(fault.code);
  const unreached = Object.keys(PARAMETER_FAULTS).filter((code) => !reached.has(code));
  t.same(unreached, ['malformed-encoding']);
  t.end();
});

test('a window that ends at or before its start is one fault', (t) => {
  for (const endTime of ['2024-09-02T08:00:00Z', '2024-09-02T07:59:59.999Z', '2024-09-02T10:00:00+02:00']) {
    for (const endpoint of ['schedule', 'personal', 'conflicts'] as const) {
      const result = ask(endpoint, [
        ['endTime', endTime],
        ['startTime', '2024-09-02T08:00:00Z'],
      ]);
      t.match(toldBy(result), [/^(start|end)Time empty-window$/], `${endpoint} until ${endTime}`);
      t.equal(toldBy(result).length, 1);
    }
  }
  t.end();
});

test('an unknown parameter is answered with the nearest known name', (t) => {
  const cases: [Endpoint, string, string][] = [
    ['schedule', 'studygroup', 'studyGroup'],
    ['schedule', 'room', 'roomId'],
    ['schedule', 'roomID', 'roomId'],
    ['schedule', 'couresId', 'courseId'],
    ['schedule', 'lecturer', 'lecturerId'],
    ['schedule', 'start_time', 'startTime'],
    ['schedule', 'Type', 'type'],
    ['all', 'limits', 'limit'],
    ['conflicts', 'merged', 'merge'],
  ];
  for (const [endpoint, name, expected] of cases) {
    const result = ask(endpoint, [[name, 'x']]);
    const detail = 'faults' in result ? (result.faults[0]?.detail ?? '') : '';
    t.match(detail, new RegExp(`\\b${expected}\\b`), `${endpoint}?${name}: ${detail}`);
  }
  t.end();
});

test('a filter on an unused field finds nothing, and is still checked', (t) => {
  for (const endpoint of ['schedule', 'personal', 'conflicts'] as const) {
    t.same(listOf(readOf(ask(endpoint, [['lecturerId', ROOM]])).execute('json')), [], endpoint);
    t.same(toldBy(ask(endpoint, [['lecturerId', 'x']])), ['lecturerId malformed-identifier'], endpoint);
    t.same(toldBy(ask(endpoint, [['lecturerId', '']])), ['lecturerId empty-value'], endpoint);
  }
  t.end();
});

test('all faults are reported at once', (t) => {
  const result = ask('conflicts', [
    ['roomId', 'A101'],
    ['type', ''],
    ['startTime', '2024-02-30T08:00:00Z'],
    ['endTime', '2024-09-02'],
    ['limit', '0'],
    ['cursor', 'garbage'],
    ['format', 'xml'],
    ['by', 'teacher'],
    ['merge', 'maybe'],
    ['lecturerId', ROOM],
    ['from', 'now'],
  ]);
  t.same(toldBy(result), [
    'by unknown-value',
    'cursor malformed-cursor',
    'endTime malformed-time',
    'format unknown-value',
    'from unknown-parameter',
    'limit malformed-limit',
    'merge unknown-value',
    'roomId malformed-identifier',
    'startTime malformed-time',
    'type empty-value',
  ]);
  t.end();
});

test('the number of listed faults is bounded', (t) => {
  const many = ask('schedule', values('nonsense', 1).concat(values('type', 2)).concat(unknowns(500)));
  t.ok('faults' in many && many.faults.length >= 1 && many.faults.length <= PARAMETER_FAULTS_MAX);
  t.end();
});

function unknowns(count: number): [string, string][] {
  return Array.from({ length: count }, (_, i) => [`p${i}`, 'x']);
}

test('unknown parameters are skipped on request; known ones are still checked', (t) => {
  for (const endpoint of ENDPOINTS) {
    const result = ask(endpoint, [['colour', 'red']], view, 'ignore');
    t.equal(
      readOf(result).entityTag('json'),
      readOf(ask(endpoint, [])).entityTag('json'),
      `${endpoint} as without it`,
    );
    t.same(toldBy(ask(endpoint, [['colour', 'red']])), ['colour unknown-parameter']);
  }
  const faulty = ask(
    'schedule',
    [
      ['colour', 'red'],
      ['roomId', 'A101'],
    ],
    view,
    'ignore',
  );
  t.same(toldBy(faulty), ['roomId malformed-identifier']);
  t.end();
});

test('values are accepted up to their limits', (t) => {
  const cases: [Endpoint, readonly string[], number][] = [
    ['schedule', ['limit', '10000'], 2],
    ['schedule', ['limit', '1'], 1],
    ['schedule', [...values('type', PARAMETER_VALUES_MAX - 1).flat(), 'type', 'LEC'], 2],
    ['schedule', ['roomId', ROOM.toUpperCase()], 2],
    ['schedule', ['studyGroup', 'nowhere'], 0],
    ['schedule', ['type', 'LEC,LAB'], 0],
    ['schedule', ['type', 'lec'], 0],
    ['schedule', ['type', ' LEC'], 0],
    ['schedule', ['startTime', '2024-02-29T08:00:00Z'], 2],
    ['schedule', ['startTime', '2024-09-02T11:59:59.999 02:00'], 2],
    ['schedule', ['startTime', '2024-09-02T12:00:00 02:00'], 0],
    ['schedule', ['startTime', '2024-09-02T12:00:00+02:00'], 0],
    ['schedule', ['endTime', '2024-09-02t08:00:00.001z'], 2],
    ['schedule', ['endTime', '2024-09-02T08:00:00-00:00'], 0],
    ['schedule', ['startTime', '0000-01-01T00:00:00Z', 'endTime', '9999-12-31T23:59:59.999Z'], 2],
    ['personal', ['type', 'LEC', 'format', 'msgpack'], 2],
    ['personal', ['cursor', cursorOf('all')], 1],
    ['all', ['format', 'json'], 2],
    ['types', ['format', 'json'], 1],
    ['conflicts', ['by', 'room', 'by', 'room', 'merge', 'true'], 1],
  ];
  for (const [endpoint, flat, count] of cases) {
    const name = `${endpoint}?${JSON.stringify(flat.slice(0, 4))}`;
    const result = ask(endpoint, pairsOf(flat));
    t.same(toldBy(result), [], name);
    t.equal(readOf(result).execute('json').count, count, name);
  }
  t.end();
});

test('the caller gets the format, or null', (t) => {
  for (const endpoint of ENDPOINTS) {
    t.equal(readOf(ask(endpoint, [])).format, null);
    t.equal(readOf(ask(endpoint, [['format', 'msgpack']])).format, 'msgpack');
    t.equal(readOf(ask(endpoint, [['format', 'json']])).format, 'json');
  }
  t.end();
});

test("with identifiers: 'any' an identifier has 1 to 64 characters and is compared exactly", (t) => {
  const longest = '\u{1F600}'.repeat(64);
  t.same(toldBy(ask('schedule', [['roomId', longest]], anyView)), []);
  t.same(toldBy(ask('schedule', [['roomId', `${longest}x`]], anyView)), ['roomId malformed-identifier']);
  t.same(toldBy(ask('schedule', [['roomId', '']], anyView)), ['roomId empty-value']);
  const count = (roomId: string): number =>
    listOf(readOf(ask('schedule', [['roomId', roomId]], anyView)).execute('json')).length;
  t.equal(count(ROOM), 2);
  t.equal(count(ROOM.toUpperCase()), 0);
  t.end();
});
