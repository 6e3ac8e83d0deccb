import fc from 'fast-check';
import { test } from 'tap';
import { VALUE_MEMO_ENTRIES_MAX } from '../../src/base/limits.js';
import type { IdentifierMode, NormalisedEvent, Rejection } from '../../src/base/model/event.js';
import { runs } from '../hard/size.js';
import { fastTest } from '../hard/slow-test.js';
import { createNormaliser, isRejection } from './objects.js';

const ID = '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417';
const ROOM = '9f6f0c1e-0d3b-4f60-9c7a-3f2f6f4f2a11';
const MINIMAL = { id: ID, time: '2024-09-02T08:00:00Z', endTime: '2024-09-02T09:30:00Z' };
const AT = { record: 7, line: 9 };
/** The fields without which a record is refused, and the others, in the order of an event. */
const REQUIRED = ['id', 'time', 'endTime'];
const OPTIONAL = [
  ...['title', 'roomId', 'courseId', 'studyGroup', 'lecturer', 'type', 'groupId', 'lecturerId'],
  ...['roomName', 'courseName', 'groupName', 'lessonId', 'modified'],
];

function run(value: unknown, mode: IdentifierMode = 'uuid'): NormalisedEvent | Rejection {
  return createNormaliser(mode)(value, AT);
}

function accepted(value: unknown, mode: IdentifierMode = 'uuid'): NormalisedEvent {
  const result = run(value, mode);
  if (isRejection(result)) throw new Error(`rejected: ${result.detail}`);
  return result;
}

fastTest('missing optional fields become null', async (t) => {
  const event = accepted(MINIMAL);
  t.same(Object.keys(event), [...REQUIRED, ...OPTIONAL], 'every field, in the order of the table');
  t.equal(event.time, Date.UTC(2024, 8, 2, 8));
  t.equal(event.endTime, Date.UTC(2024, 8, 2, 9, 30));
  for (const [name, value] of Object.entries(event)) if (OPTIONAL.includes(name)) t.equal(value, null, name);
});

fastTest('null and absent optional fields become null, and unknown fields are dropped', async (t) => {
  const nulls = Object.fromEntries(OPTIONAL.map((name) => [name, null]));
  const undefineds = Object.fromEntries(OPTIONAL.map((name) => [name, undefined]));
  t.same(accepted({ ...MINIMAL, ...nulls }), accepted(MINIMAL));
  t.same(accepted({ ...MINIMAL, ...undefineds }), accepted(MINIMAL));
  t.same(accepted({ ...MINIMAL, colour: 'red', nested: { deep: [1] }, position: 3 }), accepted(MINIMAL));
});

fastTest('values become canonical', async (t) => {
  const event = accepted({
    ...MINIMAL,
    id: ID.toUpperCase(),
    roomId: ROOM.toUpperCase(),
    time: '2024-09-02T10:00:00.1239+02:00',
    title: 'Cafe\u0301',
    studyGroup: '',
    lecturer: ' Doe,  John ',
  });
  t.equal(event.id, ID, 'identifiers are lower-cased');
  t.equal(event.roomId, ROOM);
  t.equal(event.time, Date.UTC(2024, 8, 2, 8, 0, 0, 123), 'offsets are applied, fractions cut');
  t.equal(event.title, 'Caf\u00e9', 'texts are in NFC');
  t.equal(event.studyGroup, '', 'an empty text is a text');
  t.equal(event.lecturer, ' Doe,  John ', 'texts are otherwise untouched');
});

fastTest('with identifiers "any", identifiers are compared exactly', async (t) => {
  const event = accepted({ ...MINIMAL, id: 'Event 1', roomId: 'Aula Magna' }, 'any');
  t.equal(event.id, 'Event 1');
  t.equal(event.roomId, 'Aula Magna');
  t.equal(accepted({ ...MINIMAL, id: ID.toUpperCase() }, 'any').id, ID.toUpperCase());
});

fastTest('an event may have a length of zero', async (t) => {
  const event = accepted({ ...MINIMAL, endTime: '2024-09-02T10:00:00+02:00' });
  t.equal(event.endTime, event.time);
});

const HINT =
  "; for a source with other identifiers set identifiers: 'derived' or 'any' (on the command line --identifiers derived)";
const UUID = 'a UUID such as 2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417';
const TIME = 'an RFC 3339 date-time with an offset, such as 2024-09-02T08:00:00Z';
const LONG = 'x'.repeat(100);

const REJECTED: readonly [
  name: string,
  value: unknown,
  code: string,
  field: string | null,
  detail: string,
  mode?: IdentifierMode,
][] = [
  [
    'null',
    null,
    'malformed-record',
    null,
    'the record is null; expected an object with the fields of an event',
  ],
  [
    'an array',
    [MINIMAL],
    'malformed-record',
    null,
    'the record is an array; expected an object with the fields of an event',
  ],
  [
    'a string',
    'x',
    'malformed-record',
    null,
    'the record is the string "x"; expected an object with the fields of an event',
  ],
  [
    'a number',
    4.5,
    'malformed-record',
    null,
    'the record is a number (4.5); expected an object with the fields of an event',
  ],
  [
    'undefined',
    undefined,
    'malformed-record',
    null,
    'the record is undefined; expected an object with the fields of an event',
  ],
  ['an empty object', {}, 'missing-field', 'id', `id is missing; expected ${UUID}`],
  ['no time', { ...MINIMAL, time: undefined }, 'missing-field', 'time', `time is missing; expected ${TIME}`],
  [
    'endTime null',
    { ...MINIMAL, endTime: null },
    'missing-field',
    'endTime',
    `endTime is null; expected ${TIME}`,
  ],
  ['id a number', { ...MINIMAL, id: 17 }, 'wrong-type', 'id', `id is a number (17); expected ${UUID}${HINT}`],
  [
    'id a large integer',
    { ...MINIMAL, id: 2n ** 60n },
    'wrong-type',
    'id',
    `id is a number (1152921504606846976); expected ${UUID}${HINT}`,
  ],
  [
    'id a fraction',
    { ...MINIMAL, id: 4.5 },
    'wrong-type',
    'id',
    'id is a number (4.5); expected a string of 1 to 64 characters or a whole number',
    'any',
  ],
  [
    'roomId a number that has lost digits',
    { ...MINIMAL, roomId: 2 ** 53 },
    'wrong-type',
    'roomId',
    'roomId is a number (9007199254740992); expected a string, a whole number or null',
    'any',
  ],
  [
    'title a number',
    { ...MINIMAL, title: 17 },
    'wrong-type',
    'title',
    'title is a number (17); expected a string or null',
    'any',
  ],
  [
    'time epoch seconds',
    { ...MINIMAL, time: 1725264000 },
    'wrong-type',
    'time',
    `time is a number (1725264000); expected ${TIME}`,
  ],
  [
    'time a Date',
    { ...MINIMAL, time: new Date(0) },
    'wrong-type',
    'time',
    `time is a timestamp instead of text; expected ${TIME}`,
  ],
  [
    'roomId a number',
    { ...MINIMAL, roomId: 17 },
    'wrong-type',
    'roomId',
    `roomId is a number (17); expected a string or null${HINT}`,
  ],
  [
    'title an object',
    { ...MINIMAL, title: { en: 'x' } },
    'wrong-type',
    'title',
    'title is an object; expected a string or null',
  ],
  [
    'type a boolean',
    { ...MINIMAL, type: false },
    'wrong-type',
    'type',
    'type is a boolean (false); expected a string or null',
  ],
  [
    'lecturer bytes',
    { ...MINIMAL, lecturer: Buffer.from('x') },
    'wrong-type',
    'lecturer',
    'lecturer is binary data; expected a string or null',
  ],
  [
    'id no UUID',
    { ...MINIMAL, id: 'event-1' },
    'malformed-identifier',
    'id',
    `id is "event-1"; expected ${UUID}${HINT}`,
  ],
  [
    'roomId empty',
    { ...MINIMAL, roomId: '' },
    'malformed-identifier',
    'roomId',
    `roomId is ""; expected ${UUID}${HINT}`,
  ],
  [
    'lecturerId no UUID',
    { ...MINIMAL, lecturerId: LONG },
    'malformed-identifier',
    'lecturerId',
    `lecturerId is "${LONG.slice(0, 40)}"…; expected ${UUID}${HINT}`,
  ],
  [
    'id of 65 characters',
    { ...MINIMAL, id: 'x'.repeat(65) },
    'malformed-identifier',
    'id',
    `id is "${LONG.slice(0, 40)}"…; expected a string of 1 to 64 characters`,
    'any',
  ],
  [
    '30 February',
    { ...MINIMAL, time: '2024-02-30T08:00:00Z' },
    'malformed-time',
    'time',
    'time "2024-02-30T08:00:00Z" cannot be read: 2024-02 has no day 30',
  ],
  [
    'no offset',
    { ...MINIMAL, endTime: '2024-09-02T08:00:00' },
    'malformed-time',
    'endTime',
    'endTime "2024-09-02T08:00:00" cannot be read: it has no offset: end it with "Z" or "+hh:mm", or set timeZone (on the command line --time-zone Europe/Berlin)',
  ],
  [
    'a date',
    { ...MINIMAL, time: '2024-09-02' },
    'malformed-time',
    'time',
    'time "2024-09-02" cannot be read: it is a date: add a time of day and an offset, such as T08:00:00Z',
  ],
  [
    'time empty',
    { ...MINIMAL, time: '' },
    'malformed-time',
    'time',
    'time "" cannot be read: it is not an RFC 3339 date-time such as 2024-09-02T08:00:00Z',
  ],
  [
    'a lone surrogate',
    { ...MINIMAL, title: 'a\ud83d' },
    'malformed-text',
    'title',
    'title "a\\ud83d" holds half of a surrogate pair and so has no UTF-8 form; expected well-formed Unicode',
  ],
  [
    'a run of combining marks, which would take quadratic time to normalise',
    { ...MINIMAL, title: `a${'\u0301\u0323'.repeat(16)}` },
    'malformed-text',
    'title',
    `title "a${'\u0301\u0323'.repeat(16)}" has more than 30 combining marks in a row`,
  ],
  [
    'a run of combining marks from which an identifier would be made',
    { ...MINIMAL, roomId: '\u0301'.repeat(31) },
    'malformed-text',
    'roomId',
    `roomId "${'\u0301'.repeat(31)}" has more than 30 combining marks in a row`,
    'derived',
  ],
  [
    'a text other than the title that is too long',
    { ...MINIMAL, title: 'a'.repeat(1025), lecturer: 'a'.repeat(1025) },
    'malformed-text',
    'lecturer',
    `lecturer "${'a'.repeat(40)}"… has 1025 characters; expected at most 1024`,
  ],
  [
    'a text that is too long in NFC',
    { ...MINIMAL, roomName: '\u0958'.repeat(513) },
    'malformed-text',
    'roomName',
    `roomName "${'\u0958'.repeat(40)}"… has 1026 characters; expected at most 1024`,
  ],
  [
    'end before start',
    { ...MINIMAL, endTime: '2024-09-02T07:59:59.999Z' },
    'end-before-start',
    'endTime',
    'endTime 2024-09-02T07:59:59.999Z is before time 2024-09-02T08:00:00.000Z; expected it to be equal or later',
  ],
];

for (const [name, value, code, field, detail, mode = 'uuid'] of REJECTED) {
  fastTest(`rejected, identifiers ${mode}: ${name}`, async (t) => {
    const { more: _, id: _id, ...first } = run(value, mode) as Rejection;
    t.same(first, { position: AT, code, field, detail });
  });
}

fastTest('a rejection lists all faults of its record, in the order of the fields', async (t) => {
  const bad = { id: 'x', time: '2024-02-30T08:00:00Z', title: 7, roomId: 'A1', lecturer: 'a\ud83d' };
  const { code, field, more } = run(bad) as Rejection;
  t.match({ code, field }, { code: 'malformed-identifier', field: 'id' }, 'it counts under the first');
  t.strictSame(
    more?.map((fault) => [fault.field, fault.code]),
    [
      ['time', 'malformed-time'],
      ['endTime', 'missing-field'],
      ['title', 'wrong-type'],
      ['roomId', 'malformed-identifier'],
      ['lecturer', 'malformed-text'],
    ],
  );
  t.notOk('more' in run({ ...MINIMAL, title: 7 }), 'one fault has no list of others');
  const reversed = { ...MINIMAL, title: 7, endTime: '2024-09-02T07:00:00Z' };
  t.match(run(reversed), { field: 'title', more: [{ code: 'end-before-start', field: 'endTime' }] });
  const late = { ...MINIMAL, time: '9', endTime: '1969-09-02T07:00:00Z' };
  t.notOk('more' in run(late), 'times are compared only if both are good');
  t.equal(accepted(MINIMAL).id, ID, 'faults of one record are not kept for the next');
});

fastTest('inherited properties are ignored', async (t) => {
  t.match(run(Object.create(MINIMAL)), { code: 'missing-field', field: 'id' });
  const inherited = Object.assign(Object.create({ title: 'inherited' }), MINIMAL);
  t.equal(accepted(inherited).title, null);
  t.equal(accepted(JSON.parse(`{"__proto__":{"title":"x"},${JSON.stringify(MINIMAL).slice(1)}`)).title, null);
  t.equal(accepted(Object.assign(Object.create(null), MINIMAL)).id, ID, 'no prototype is needed');
});

fastTest('a record that throws when it is read is rejected', async (t) => {
  const hostile = {
    get id(): string {
      throw new Error('no');
    },
  };
  const expected = { code: 'malformed-record', field: null, detail: 'the record could not be read: "no"' };
  t.match(run(hostile), expected);
  t.match(
    run(
      new Proxy(
        { id: ID },
        {
          get: () => {
            throw new Error('no');
          },
        },
      ),
    ),
    expected,
  );
});

fastTest('remembered values do not change later records', async (t) => {
  const normalise = createNormaliser('any');
  for (let i = 0; i < 2 * VALUE_MEMO_ENTRIES_MAX + 10; i++) {
    const n = i % (VALUE_MEMO_ENTRIES_MAX + 3);
    const time = new Date(n * 1000).toISOString();
    const event = normalise({ id: `e${i}`, time, endTime: time, roomId: `R${n}`, type: 'e\u0301' }, AT);
    if (
      isRejection(event) ||
      event.time !== n * 1000 ||
      event.roomId !== `R${n}` ||
      event.type !== '\u00e9'
    ) {
      t.same(event, null, `record ${i}`);
      break;
    }
  }
  t.match(normalise({ id: 'x', time: 'no', endTime: 'no' }, AT), { code: 'malformed-time' });
  t.match(normalise({ id: 'x', time: 'no', endTime: 'no' }, AT), { code: 'malformed-time' });
});

test('every record becomes an event, or a rejection with its position', async (t) => {
  const value = fc.oneof(
    fc.anything({ withBigInt: true, withDate: true, withTypedArray: true, withSparseArray: true }),
    fc.record(
      Object.fromEntries(
        [...REQUIRED, ...OPTIONAL].map((name) => [
          name,
          fc.oneof(fc.constantFrom(...Object.values(MINIMAL)), fc.anything(), fc.string({ unit: 'binary' })),
        ]),
      ),
      { requiredKeys: [] },
    ),
  );
  const normalisers = [createNormaliser('uuid'), createNormaliser('any')];
  fc.assert(
    fc.property(value, fc.constantFrom(...normalisers), (record, normalise) => {
      const result = normalise(record, AT);
      if (isRejection(result)) return result.position.line === AT.line && result.detail.length < 400;
      return Number.isInteger(result.time) && result.endTime >= result.time && typeof result.id === 'string';
    }),
    { seed: 20240902, numRuns: runs(3000) },
  );
  t.pass('3000 records');
});

fastTest('the mark of rejections is not the name of a field', async (t) => {
  t.notOk('position' in accepted(MINIMAL));
});
