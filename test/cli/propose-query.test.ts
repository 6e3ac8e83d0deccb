/**
 * The query that `inspect` proposes for the tables of a database. Inside, because the tables are told without
 * a server.
 */
import { test } from 'tap';
import { type CataloguedTable, proposeQuery } from '../../src/cli/propose-query.js';

interface Given {
  readonly columns: Readonly<Record<string, string>>;
  readonly key?: readonly string[];
  /** Columns with the tables that they refer to. */
  readonly refers?: Readonly<Record<string, string>>;
}

/** A catalogue; each reference is to the first column of the other table's key. */
function catalogueOf(given: Readonly<Record<string, Given>>): CataloguedTable[] {
  const names = Object.keys(given);
  return Object.entries(given).map(([name, { columns, key = [], refers = {} }], n) => ({
    oid: n,
    name,
    relation: name,
    rows: 10,
    columns: Object.entries(columns).map(([column, type]) => ({ name: column, type })),
    key,
    foreignKeys: Object.entries(refers).map(([column, other]) => ({
      columns: [column],
      table: names.indexOf(other),
      refers: [given[other]?.key?.[0] ?? ''],
    })),
  }));
}

test('keys and names of tables become a query', (t) => {
  const proposal = proposeQuery(
    catalogueOf({
      gebaeude: { columns: { id: 'uuid', name: 'text' }, key: ['id'] },
      raum: {
        columns: { id: 'uuid', bezeichnung: 'text', haus: 'uuid' },
        key: ['id'],
        refers: { haus: 'gebaeude' },
      },
      kurs: { columns: { id: 'uuid', name: 'varchar' }, key: ['id'] },
      dozent: { columns: { id: 'int4', name: 'text' }, key: ['id'] },
      termin: {
        columns: {
          id: 'uuid',
          raum: 'uuid',
          kurs: 'uuid',
          datum: 'date',
          beginn: 'time',
          ende: 'time',
          Typ: 'text',
        },
        key: ['id'],
        refers: { raum: 'raum', kurs: 'kurs' },
      },
      termin_dozent: {
        columns: { nr: 'int4', termin: 'uuid', dozent: 'int4' },
        key: ['nr'],
        refers: { termin: 'termin', dozent: 'dozent' },
      },
    }),
  );
  t.equal(
    proposal?.query,
    `SELECT l.id AS id,
    l.datum + l.beginn AS time,
    l.datum + l.ende AS "endTime",
    l.raum AS "roomId",
    t1.bezeichnung AS "roomName",
    l.kurs AS "courseId",
    t2.name AS "courseName",
    t2.name AS title,
    (SELECT array_agg(y.name ORDER BY y.name) FROM termin_dozent x JOIN dozent y ON y.id = x.dozent WHERE l.id = x.termin) AS lecturer,
    l."Typ" AS type
  FROM termin l
  LEFT JOIN raum t1 ON t1.id = l.raum
  LEFT JOIN kurs t2 ON t2.id = l.kurs`,
  );
  t.equal(proposal?.identifiers, 'uuid');
  t.strictSame(proposal?.statements, [
    'ALTER TABLE termin_dozent REPLICA IDENTITY FULL;',
    'CREATE PUBLICATION lectern FOR TABLE termin, raum, kurs, termin_dozent, dozent;',
  ]);
  t.strictSame(proposal?.notes, ['it does not read gebaeude']);
  t.end();
});

test('several groups without a table of their own, and a table that no name tells, are proposed', (t) => {
  const lessons: Given = { columns: { nr: 'int4', starts: 'timestamptz', ends: 'timestamptz' }, key: ['nr'] };
  const own = proposeQuery(
    catalogueOf({
      lessons,
      lesson_classes: {
        columns: { lesson: 'int4', class: 'text' },
        key: ['lesson', 'class'],
        refers: { lesson: 'lessons' },
      },
    }),
  );
  t.match(
    own?.query,
    `(SELECT array_agg(x.class ORDER BY x.class) FROM lesson_classes x WHERE l.nr = x.lesson) AS "studyGroup"`,
  );
  t.equal(own?.identifiers, 'derived');
  const unknown = proposeQuery(
    catalogueOf({
      lessons,
      squads: { columns: { nr: 'int4', label: 'text' }, key: ['nr'] },
      who: { columns: { l: 'int4', s: 'int4' }, key: ['l', 's'], refers: { l: 'lessons', s: 'squads' } },
    }),
  );
  t.match(unknown?.query, 'FROM who x JOIN squads y ON y.nr = x.s WHERE l.nr = x.l) AS "studyGroup"');
  t.strictSame(unknown?.notes, ['studyGroup is a guess: it comes from squads']);
  t.equal(proposeQuery(catalogueOf({ a: { columns: { day: 'date' }, key: ['day'] } })), null);
  t.end();
});
