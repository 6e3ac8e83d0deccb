import fc from 'fast-check';
import { test } from 'tap';
import { FIELDS } from '../../src/base/model/fields.js';
import type { FieldMap, ReadRules } from '../../src/base/model/read-rules.js';
import { FieldTable, fieldMapFault } from '../../src/source/field-map.js';
import { LoadNotes } from '../../src/source/load-notes.js';
import { preparePatterns } from '../../src/source/map-value.js';
import type { RowSink } from '../../src/source/source.js';
import { valuesOf } from './collect.js';

interface Collected {
  readonly rows: Record<string, unknown>[];
  readonly faults: string[];
  readonly sink: RowSink;
  readonly notes: LoadNotes;
}

function collect(): Collected {
  const rows: Record<string, unknown>[] = [];
  const faults: string[] = [];
  const notes = new LoadNotes();
  const sink: RowSink = {
    row: (row) => rows.push(valuesOf(row)),
    fault: ({ detail }) => faults.push(detail),
  };
  return { rows, faults, sink, notes };
}

/** The row of a record; undefined if it is a fault. */
function mapped(
  record: unknown,
  fieldMap: FieldMap,
  format = 'ndjson',
  more: Partial<ReadRules> = {},
): Record<string, unknown> | undefined {
  const { rows, sink } = collect();
  new FieldTable(sink, format, { identifiers: 'uuid', fieldMap, ...more }, 'a source').object(record);
  return rows[0];
}

test('a pair of quotes in CSV is an empty text, but no identifier and no time', async (t) => {
  const record = { id: '', time: '', title: '', roomId: '', lecturerId: '', Note: '', studyGroup: null };
  const expected = { id: null, time: null, title: '', roomId: null, lecturerId: null };
  for (const more of [{}, { identifiers: 'derived' }, { identifiers: 'any' }] as const) {
    t.match(mapped({ ...record }, {}, 'csv', more), { ...expected, studyGroup: null });
    const map = { type: 'Note', groupId: 'Note', lecturer: '{Note}, {Note}' };
    t.match(mapped({ ...record }, map, 'csv', more), {
      ...expected,
      type: '',
      groupId: null,
      lecturer: null,
    });
  }
  t.match(mapped({ ...record }, { type: 'Note' }, 'icalendar'), { title: null, type: null });
});

const RECORD = {
  date: '31.08.2024',
  start: '8:00',
  none: null,
  empty: '',
  number: 17,
  yes: true,
  title: 'Algebra',
  'a.b': 'dotted',
  '': 'nameless',
  '{x}': 'braces',
  room: { name: 'A 101', floor: { number: 1 } },
  groups: [{ name: 'CS-1' }, { name: 'CS-2' }],
};

const ENTRIES: readonly [text: string, value: unknown][] = [
  ['date', '31.08.2024'],
  ['{date}', '31.08.2024'],
  ['{date}T{start}', '31.08.2024T8:00'],
  ['at {date}', 'at 31.08.2024'],
  ['{date} {none}', null],
  ['{date} {empty}', null],
  ['{date} {absent}', null],
  ['{none}', null],
  ['absent', undefined],
  ['number', 17],
  ['{number}-{yes}', '17-true'],
  ['room.name', 'A 101'],
  ['room.floor.number', 1],
  ['room.floor', 'an object'],
  ['{room.name}/{groups.1.name}', 'A 101/CS-2'],
  ['{date} {room}', 'an object'],
  ['groups.0.name', 'CS-1'],
  ['groups.7.name', undefined],
  ['date.length', undefined],
  ['room.toString', undefined],
  ['a.b', 'dotted'],
  ['{{{date}}}', '{31.08.2024}'],
  ['{date}{{', '31.08.2024{'],
];

for (const [text, value] of ENTRIES) {
  test(`courseId is found in ${JSON.stringify(text)}`, async (t) => {
    const event = mapped(RECORD, { courseId: text });
    t.strictSame(event?.courseId, value);
    t.equal(event?.title, 'Algebra', 'a field outside of the map keeps its own name');
  });
}

test('columns that a map does not use are listed as not served', async (t) => {
  const event = mapped(RECORD, { courseId: 'room.name', studyGroup: 'title' }) as Record<string, unknown>;
  t.equal(event.title, 'Algebra', 'a field that another one is mapped from keeps its value');
  t.notOk('room' in event, 'used');
  t.ok('groups' in event, 'not used');
  t.strictSame(mapped({ title: 'own', name: 'other' }, { title: 'name' }), { title: 'other' });
  const hostile = JSON.parse('{"__proto__":{"title":"x"},"name":"y"}');
  t.notOk((mapped(hostile, { type: 'name' }) as { title?: string }).title, '__proto__ is a name like others');
});

test('values that are no records are faults; bytes are a record without fields', async (t) => {
  const { rows, faults, sink } = collect();
  const table = new FieldTable(sink, 'ndjson', { identifiers: 'uuid', fieldMap: { title: 'x' } }, '');
  for (const value of [null, 7, 'text', ['a'], new Uint8Array(2)]) table.object(value);
  const expected = 'expected an object with the fields of an event';
  t.strictSame(faults, [
    `the record is null; ${expected}`,
    `the record is a number (7); ${expected}`,
    `the record is the string "text"; ${expected}`,
    `the record is an array; ${expected}`,
  ]);
  t.strictSame(rows, [{}]);
});

test('the map of one format overrides the general map for that format only', async (t) => {
  const map = { title: 'a', csv: { title: 'b' }, json: { type: 'c' } };
  const record = { a: 'A', b: 'B', c: 'C' };
  t.match(mapped(record, map, 'csv'), { title: 'B' });
  t.match(mapped(record, map, 'ndjson'), { title: 'A', type: 'C' });
  t.match(mapped(record, map, 'memory'), { title: 'A', type: 'C' });
  t.match(mapped(record, map, 'messagepack'), { title: 'A' });
});

test('in tables a dot is part of the name, and an empty identifier is no value', async (t) => {
  const record = { 'Std.-Nr': '3', Nr: '', title: null };
  t.strictSame(mapped(record, { courseId: 'Std.-Nr', groupId: 'Nr' }, 'csv'), {
    courseId: '3',
    groupId: null,
    title: null,
  });
});

test('accents in column names may be separate characters', async (t) => {
  const [composed, decomposed] = ['Pr\u00fcfung', 'Pru\u0308fung'] as const;
  for (const [column, inFile] of [
    [composed, decomposed],
    [decomposed, composed],
  ] as const) {
    for (const format of ['csv', 'ndjson']) {
      t.strictSame(mapped({ [inFile]: 'x', Ort: 'y' }, { title: column }, format), { title: 'x', Ort: null });
    }
    t.strictSame(mapped({ room: { [inFile]: 'x' } }, { title: `room.${column}` }), { title: 'x' });
  }
});

test('the text of an identifier becomes the name', async (t) => {
  const uuid = '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417';
  const derived = (record: object): unknown => mapped(record, {}, 'ndjson', { identifiers: 'derived' });
  t.strictSame(derived({ roomId: 'A 1', courseId: uuid, groupId: 'G', groupName: 'Group' }), {
    roomId: 'A 1',
    roomName: 'A 1',
    courseId: uuid,
    groupId: 'G',
    groupName: 'Group',
  });
});

const FAULTS: readonly [map: object, fault: RegExp][] = [
  [{ titlle: 'x' }, /^there is no field "titlle": did you mean title\?$/],
  [{ xyzzy: 'x' }, /^there is no field "xyzzy": the fields are id, time, /],
  [{ csv: { titel: 'x' } }, /^for csv, there is no field "titel"/],
  [
    { ndjson: { title: 'x' } },
    /^there is no format "ndjson": the formats are csv, icalendar, json, messagepack$/,
  ],
  [{ csv: 'x' }, /^there is no field "csv"/],
  [
    { title: 7 },
    /^the column of title must be a text, or an object with from, split, each, match, values, otherwise$/,
  ],
  [{ titlle: { from: 'x' } }, /^there is no field "titlle": did you mean title\?$/],
  [{ title: { form: 'x' } }, /^title has no member "form": did you mean from\?$/],
  [{ title: { from: 'x', xyzzy: 1 } }, /^title has no member "xyzzy": the members are from, split, each, /],
  [{ title: {} }, /^from of title must be a column, a path or a template$/],
  [{ json: { title: { from: '{' } } }, /^for json, from of title is "\{": "\{" has no partner/],
  [{ title: { from: 'x', split: '' } }, /^split of title must be a text that is not empty$/],
  [{ endTime: { from: 'x', split: ',' } }, /^an event has one endTime: split is for other fields$/],
  [{ id: { from: 'x', each: 'a' } }, /^an event has one id: each is for other fields$/],
  [
    { title: { from: '{a} {b}', each: 'c' } },
    /^each of title needs one column or path in from, not a template$/,
  ],
  [{ title: { from: 'x', match: 'a'.repeat(1001) } }, /has 1001 characters; expected at most 1000$/],
  [{ title: { from: 'x', values: ['a'] } }, /^values of title must be an object from texts to texts$/],
  [
    { title: { from: 'x', values: { a: 1 } } },
    /^values of title has no text for "a": expected a text, or null/,
  ],
  [
    { title: { from: 'x', values: {}, otherwise: 'drop' } },
    /^otherwise of title must be keep, reject or null$/,
  ],
  [{ title: { from: 'x', otherwise: 'keep' } }, /^otherwise of title needs values, which it completes$/],
  [{ title: '' }, /^title is "": it names no column$/],
  [{ title: '{}' }, /^title is "\{\}": \{\} names no column$/],
  [{ title: '{a' }, /"\{" has no partner: write \{column\}, or \{\{ for a brace$/],
  [{ title: 'a}' }, /"\}" has no partner/],
  [{ title: '{a{b}}' }, /has no partner/],
  [{ title: '{{a}}' }, /it names no column: write \{column\}$/],
];

for (const [map, fault] of FAULTS) {
  test(`an invalid map is refused: ${JSON.stringify(map).slice(0, 80)}`, async (t) => {
    t.match(fieldMapFault(map as FieldMap), fault);
  });
}

const PATTERN_FAULTS: readonly [pattern: string, fault: RegExp][] = [
  [
    '(?=a)',
    /^match of title is "\(\?=a\)": it is no pattern of RE2, which has neither look-around nor references back: invalid/,
  ],
  ['(a)\\1', /invalid escape sequence: `\\1`$/],
  ['[', /missing closing \]: `\[`$/],
];

for (const [match, fault] of PATTERN_FAULTS) {
  test(`a pattern that the engine refuses is a fault: ${match}`, async (t) => {
    const fieldMap = { title: { from: 'x', match } };
    await preparePatterns({ fieldMap });
    t.match(fieldMapFault(fieldMap), fault);
    t.throws(() => mapped({ x: 'a' }, fieldMap), { code: 'option-invalid', message: fault });
  });
}

test('a pattern finds the value in a text; a text without a match has none', async (t) => {
  const fieldMap: FieldMap = {
    roomId: { from: 'room', match: '^(?<value>[A-Z]\\d+)' },
    title: { from: '{title} ({kind})', match: '\\w+ \\(' },
    type: { from: 'kind', match: '(?i)^lec' },
  };
  await preparePatterns({ fieldMap });
  t.match(mapped({ room: 'B12 Hall', title: 'Law', kind: 'LECTURE' }, fieldMap), {
    roomId: 'B12',
    title: 'Law (',
    type: 'LEC',
  });
  t.match(mapped({ room: 'Hall', title: 'Law', kind: 'Lab' }, fieldMap, 'csv'), { roomId: null, type: null });
  t.match(mapped({ room: 17, kind: { a: 1 } }, fieldMap), { roomId: null, type: 'an object' });
});

test('a pattern that would backtrack takes time linear in the text', async (t) => {
  const fieldMap: FieldMap = { title: { from: 'x', match: '^(a+)+$' } };
  await preparePatterns({ fieldMap });
  t.match(mapped({ x: `${'a'.repeat(4000)}b` }, fieldMap), { title: null });
});

test('values names the value of each text; otherwise keeps, refuses or drops the other texts', async (t) => {
  const values = { T: 'Lecture', TP: 'Lab', '7': 'Seven', '-': null };
  const typeOf = (kind: unknown, otherwise?: 'keep' | 'reject' | 'null'): unknown =>
    mapped({ kind }, { type: { from: 'kind', values, ...(otherwise && { otherwise }) } })?.type;
  for (const otherwise of [undefined, 'keep', 'reject', 'null'] as const) {
    t.equal(typeOf('T', otherwise), 'Lecture');
    t.equal(typeOf(' TP ', otherwise), 'Lab', 'white space around a text does not count');
    t.equal(typeOf(7, otherwise), 'Seven', 'numbers are known by their digits');
    t.equal(typeOf('-', otherwise), null);
    t.equal(typeOf(null, otherwise), null, 'no value stays none');
  }
  t.equal(typeOf('X'), 'X');
  t.equal(typeOf(8, 'keep'), 8);
  t.equal(typeOf('X', 'null'), null);
  const { faults, rows, sink } = collect();
  const fieldMap: FieldMap = {
    type: { from: 'kind', values: { T: 'Lecture', P: 'Lab' }, otherwise: 'reject' },
  };
  new FieldTable(sink, 'ndjson', { identifiers: 'uuid', fieldMap }).object({ kind: 'X' });
  t.strictSame([faults, rows], [['type is "X"; expected one of "T", "P", which the field map names'], []]);
});

test('every field and the three names can be mapped', async (t) => {
  const names = [...FIELDS.map(({ name }) => name), 'roomName', 'courseName', 'groupName'];
  t.equal(fieldMapFault(Object.fromEntries(names.map((name) => [name, 'x']))), null);
});

test('a CSV file without a mapped column is refused at its first record', async (t) => {
  const { sink } = collect();
  const file = new FieldTable(
    sink,
    'csv',
    { identifiers: 'uuid', fieldMap: { title: '{Fach}: {Raun}' } },
    'a.csv',
  );
  t.throws(() => file.object({ Fach: 'x', Raum: 'y' }), {
    code: 'source-malformed',
    message:
      'a.csv: the field map names a column that does not exist: "Raun" (for title; did you mean "Raum"?). The columns are "Fach", "Raum"',
  });
});

test('a mapped column that no JSON record has is refused at the end; a column of times after 1,000 records', async (t) => {
  const optional = collect();
  const rules: ReadRules = { identifiers: 'uuid', fieldMap: { title: 'room.nam', type: 'kind' } };
  const pages = [1, 2].map(() => new FieldTable(optional.sink, 'ndjson', rules, 'a.json', optional));
  optional.notes.checkColumns();
  for (let n = 0; n < 2000; n++) pages[0]?.object({ room: { name: 'x' } });
  pages[1]?.object({ kind: null });
  t.throws(() => optional.notes.checkColumns(), {
    message: /: "room\.nam" \(for title; did you mean "room\.name"\?\)\. The columns are "room\.name"/,
  });
  pages[1]?.object({ room: { nam: 'y' } });
  optional.notes.checkColumns();

  const needed = new FieldTable(
    collect().sink,
    'ndjson',
    { identifiers: 'uuid', fieldMap: { time: 'begin' } },
    'a',
  );
  for (let n = 1; n < 1000; n++) needed.object({ start: n });
  t.throws(() => needed.object({ start: 1000 }), { message: /"begin" \(for time\)/ });
});

test('columns of separately loaded parts are checked together', async (t) => {
  const rules: ReadRules = { identifiers: 'uuid', fieldMap: { title: 'a', type: 'b' } };
  const partOf = (record: object | null) => {
    const { sink, notes } = collect();
    const mapped = new FieldTable(sink, 'ndjson', rules, 'part', { notes });
    if (record !== null) mapped.object(record);
    notes.ambiguousTimes.gaps++;
    return structuredClone(notes.report());
  };
  const whole = new LoadNotes();
  for (const record of [null, { a: 1, x: 2 }, { a: 3 }]) whole.add(partOf(record));
  t.throws(() => whole.checkColumns(), { message: /not exist: "b" \(for type.*The columns are "a", "x"$/ });
  whole.add(partOf({ b: 1 }));
  whole.checkColumns();
  t.strictSame(whole.ambiguousTimes, { gaps: 4, overlaps: 0 });
});

test('a map gives records with renamed columns their original form', async (t) => {
  const names: readonly string[] = FIELDS.map(({ name }) => name);
  const value = fc.oneof(fc.string(), fc.constant(null), fc.integer());
  const record = fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] });
  const columns = fc.uniqueArray(fc.string({ minLength: 1 }), {
    minLength: names.length,
    maxLength: names.length,
  });
  fc.assert(
    fc.property(record, columns, (plain, renamed) => {
      const column = new Map(names.map((name, n) => [name, `x-${renamed[n]}`]));
      const given = Object.fromEntries(
        names.flatMap((name) => (name in plain ? [[column.get(name), plain[name]]] : [])),
      );
      const escaped = (name: string): string => `{${column.get(name)}}`;
      const hasBraces = (name: string): boolean => /[{}]/.test(column.get(name) as string);
      const map = Object.fromEntries(
        names.filter((name) => !hasBraces(name)).map((name) => [name, escaped(name)]),
      );
      const event = mapped(given, map) as Record<string, unknown>;
      // A lesson is a text that is not empty.
      for (const name of Object.keys(map).filter((each) => each !== 'lessonId'))
        t.strictSame(event[name], (plain as Record<string, unknown>)[name]);
    }),
    { seed: 18, numRuns: 200 },
  );
});
