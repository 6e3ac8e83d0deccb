/** Identities from claims and enrolments. Inside, because each case would need a token and a service of its own. */
import { test } from 'tap';
import {
  createClaimTable,
  type Enrolments,
  mapIdentities,
  parseEnrolments,
} from '../../src/auth/identity.js';
import { IDENTITY_VALUES_MAX } from '../../src/base/limits.js';
import { derivedIdentifier } from '../../src/base/model/derived-identifier.js';
import { resolveOptions } from '../../src/options/resolve.js';

const UUID_A = '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417';
const UUID_B = '7f2c0a52-8f4b-4d53-9f0e-0d8f6f0b6c11';

function map(claims: object, more: { overrides?: Record<string, string[]>; enrolments?: Enrolments } = {}) {
  return mapIdentities(claims as Record<string, unknown>, 'alice', {
    table: createClaimTable(more.overrides),
    enrolments: more.enrolments ?? null,
    mode: 'uuid',
  });
}

test('claims become filters in the order of the descriptor table', async (t) => {
  const cases: [name: string, claims: object, identities: unknown][] = [
    ['a string', { studyGroup: 'CS-1' }, [{ field: 'studyGroup', values: ['CS-1'] }]],
    [
      'two claims of one field: sorted by code point, no repeats',
      { studyGroups: ['B', '\u{1f600}', '\uffee', 'A', 'B'], studyGroup: 'B' },
      [{ field: 'studyGroup', values: ['A', 'B', '\uffee', '\u{1f600}'] }],
    ],
    [
      'several fields',
      { lecturerId: UUID_A, groupIds: [UUID_B], studyGroup: 'X' },
      [
        { field: 'studyGroup', values: ['X'] },
        { field: 'groupId', values: [UUID_B] },
        { field: 'lecturerId', values: [UUID_A] },
      ],
    ],
    [
      'identifiers in lower case',
      { groupId: UUID_A.toUpperCase() },
      [{ field: 'groupId', values: [UUID_A] }],
    ],
    ['text in NFC', { studyGroup: 'U\u0308' }, [{ field: 'studyGroup', values: ['\u00dc'] }]],
    [
      'what is no identifier is dropped',
      { groupId: ['x', UUID_A] },
      [{ field: 'groupId', values: [UUID_A] }],
    ],
    ['a mapped claim that selects nothing', { groupId: 'x' }, []],
    ['an empty array', { studyGroups: [] }, []],
    ['an empty string', { studyGroup: '' }, []],
    [
      'members that are not strings are skipped',
      { studyGroups: [1, 'A', null] },
      [{ field: 'studyGroup', values: ['A'] }],
    ],
    [
      'a claim of another type counts as absent',
      { studyGroup: 7, groupId: UUID_A },
      [{ field: 'groupId', values: [UUID_A] }],
    ],
    ['only claims of another type', { studyGroup: 7, groupId: { id: UUID_A }, lecturerId: null }, null],
    ['an array of nothing but other types', { studyGroups: [1, 2] }, null],
    ['no claim', { sub: 'alice', courseId: UUID_A }, null],
    ['claims in the prototype do not count', Object.create({ studyGroup: 'X' }), null],
  ];
  for (const [name, claims, identities] of cases) t.same(map(claims), identities, name);
});

test('claim names can be replaced for any field with an index', async (t) => {
  const overrides = { studyGroup: ['groups', 'cohort'], courseId: ['courses'] };
  t.same(map({ groups: ['A'], cohort: 'B', courses: UUID_A }, { overrides }), [
    { field: 'courseId', values: [UUID_A] },
    { field: 'studyGroup', values: ['A', 'B'] },
  ]);
  t.equal(map({ studyGroup: 'A' }, { overrides }), null, 'the default names count no more');
  for (const [claims, fault] of [
    [{ title: ['x'] }, /auth\.claims is invalid: .*"title".*studyGroup/],
    [{ studyGroup: [''] }, /studyGroup must have a list of names/],
    [{ studyGroup: [] }, /studyGroup must have a list of names/],
    [{ studyGroup: 'groups' }, /studyGroup must have a list of names/],
  ] as const) {
    const expected = { code: 'option-invalid', message: fault } as const;
    t.throws(() => resolveOptions('auth', { claims }), expected);
  }
});

test('enrolments add to the claims, and are enough without claims', async (t) => {
  const enrolments = parseEnrolments(
    { alice: { studyGroup: ['A'], courseId: [UUID_A.toUpperCase()] }, bob: {} },
    'uuid',
    'map',
  );
  t.same(map({ studyGroup: 'B' }, { enrolments }), [
    { field: 'courseId', values: [UUID_A] },
    { field: 'studyGroup', values: ['A', 'B'] },
  ]);
  t.same(map({}, { enrolments }), [
    { field: 'courseId', values: [UUID_A] },
    { field: 'studyGroup', values: ['A'] },
  ]);
  const options = { table: createClaimTable(), enrolments, mode: 'uuid' } as const;
  t.same(mapIdentities({}, 'bob', options), [], 'known, enrolled in nothing');
  t.equal(mapIdentities({}, 'carol', options), null);
  t.equal(mapIdentities({}, '__proto__', options), null);
});

test('the number of values is bounded over all fields together', async (t) => {
  const studyGroups = Array.from({ length: IDENTITY_VALUES_MAX + 5 }, (_, i) => `group ${i}`);
  const identities = map({ studyGroups, groupId: UUID_A }) ?? [];
  t.equal(
    identities.reduce((sum, filter) => sum + filter.values.length, 0),
    IDENTITY_VALUES_MAX,
  );
});

test("an invalid enrolment map is refused; the error names the entry's number and field, not the user", async (t) => {
  const cases: [name: string, json: unknown, message: RegExp][] = [
    ['an array', [], /map is not an object/],
    ['an entry that is an array', { alice: [] }, /^map, entry 1: not an object/],
    [
      'an unknown field',
      { alice: { group: ['A'] } },
      /^map, entry 1: the field "group" does not exist.*studyGroup/,
    ],
    ['a string for an array', { alice: { studyGroup: 'A' } }, /studyGroup is not an array/],
    [
      'a number for a string',
      { alice: { studyGroup: ['A', 1] } },
      /value 2 of studyGroup is not a non-empty/,
    ],
    ['an empty string', { alice: { studyGroup: [''] } }, /value 1 of studyGroup/],
    ['no identifier', { alice: { groupId: ['A'] } }, /value 1 of groupId is not a UUID/],
    [
      'too many values',
      { alice: { studyGroup: Array.from({ length: IDENTITY_VALUES_MAX + 1 }, String) } },
      /1001 values; at most 1000/,
    ],
  ];
  for (const [name, json, message] of cases) {
    t.throws(() => parseEnrolments(json, 'uuid', 'map'), { code: 'option-invalid', message }, name);
  }
  t.ok(
    parseEnrolments({ alice: { groupId: ['A'] } }, 'any', 'map').get('alice'),
    'any identifier in that mode',
  );
});

test("with derived identifiers, claims and enrolments may hold the source's text or the UUID", async (t) => {
  const enrolments = parseEnrolments(
    { alice: { courseId: ['Algebra', UUID_A.toUpperCase()] } },
    'derived',
    'map',
  );
  const options = { table: createClaimTable(), enrolments, mode: 'derived' } as const;
  t.strictSame(mapIdentities({ groupId: 'Group 1' }, 'alice', options), [
    { field: 'courseId', values: [derivedIdentifier('courseId', 'Algebra'), UUID_A].sort() },
    { field: 'groupId', values: [derivedIdentifier('groupId', 'Group 1')] },
  ]);
  t.throws(() => parseEnrolments({ alice: { courseId: [''] } }, 'derived', 'map'), {
    message: /value 1 of courseId is not well-formed text of at least one character$/,
  });
});
