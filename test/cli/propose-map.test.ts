/**
 * The meaning that inspect finds in names and values of columns. Inside, because many names and values are
 * tried without a file for each.
 */

import { readFileSync } from 'node:fs';
import { test } from 'tap';
import { ColumnLook, type LookedColumn } from '../../src/cli/column-look.js';
import { plainName } from '../../src/cli/column-names.js';
import { shellQuoted } from '../../src/cli/printable.js';
import { type MapProposal, proposedOptions, proposeMap } from '../../src/cli/propose-map.js';

function look(...records: readonly Readonly<Record<string, unknown>>[]): readonly LookedColumn[] {
  const columns = new ColumnLook();
  for (const record of records) columns.record(record);
  return columns.columns;
}

function propose(...records: readonly Readonly<Record<string, unknown>>[]): MapProposal {
  return proposeMap(look(...records));
}

const ID = '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417';

test('a column of ids and one of names give the id and the name of one thing', (t) => {
  const times = { id: ID, time: '2026-10-05T08:00:00Z', endTime: '2026-10-05T09:00:00Z' };
  for (const [columns, map] of [
    [
      { teacher_id: '12', teacher_name: 'A' },
      { lecturer: 'teacher_name', lecturerId: 'teacher_id' },
    ],
    [
      { lecturer_name: 'A', lecturer_id: 12 },
      { lecturer: 'lecturer_name', lecturerId: 'lecturer_id' },
    ],
    [{ teacher: { id: 12, name: 'A' } }, { lecturer: 'teacher.name', lecturerId: 'teacher.id' }],
    [{ lecturerId: '12', lecturerName: 'A' }, { lecturer: 'lecturerName' }],
    [
      { room_id: '5', room_name: 'Aula' },
      { roomId: 'room_id', roomName: 'room_name' },
    ],
    [
      { group_id: '5', group_name: 'MB1' },
      { groupId: 'group_id', studyGroup: 'group_name' },
    ],
    [
      { course_id: '7', course_name: 'Law' },
      { courseId: 'course_id', courseName: 'course_name', title: 'course_name' },
    ],
    [{ teacher_id: '12' }, { lecturer: 'teacher_id', lecturerId: 'teacher_id' }],
  ] as const)
    t.strictSame(propose({ ...times, ...columns }).map, map, JSON.stringify(columns));
  t.end();
});

test('columns are recognised by their names in several languages', (t) => {
  for (const [language, record, map] of [
    [
      'German',
      {
        Datum: '31.08.2024',
        Von: '08:00',
        Bis: '09:30',
        Fach: 'Algebra',
        Dozentin: 'A',
        Raum: 'H1',
        Klasse: '1a',
        Art: 'VL',
      },
      {
        time: '{Datum} {Von}',
        endTime: '{Datum} {Bis}',
        title: 'Fach',
        courseId: 'Fach',
        roomId: 'Raum',
        studyGroup: 'Klasse',
        lecturer: 'Dozentin',
        lecturerId: 'Dozentin',
        type: 'Art',
      },
    ],
    [
      'German compounds',
      {
        Kursnummer: 'M-1',
        Veranstaltungstitel: 'Algebra',
        Unterrichtsbeginn: '31.08.2024 08:00',
        Unterrichtsende: '31.08.2024 09:30',
        Hörsaal: 'H1',
      },
      {
        time: 'Unterrichtsbeginn',
        endTime: 'Unterrichtsende',
        title: 'Veranstaltungstitel',
        courseId: 'Kursnummer',
        roomId: 'Hörsaal',
      },
    ],
    [
      'German, of a university',
      { Datum: '31.08.2024', Beginn: '08:00', Ende: '09:30', Studiengang: 'INF' },
      { time: '{Datum} {Beginn}', endTime: '{Datum} {Ende}', studyGroup: 'Studiengang' },
    ],
    [
      'English',
      {
        Subject: 'Algebra',
        'Start Date': '08/31/2024',
        'Start Time': '8:00 AM',
        'End Date': '08/31/2024',
        'End Time': '9:30 AM',
        Location: 'H1',
        Instructor: 'A',
      },
      {
        time: '{Start Date} {Start Time}',
        endTime: '{End Date} {End Time}',
        title: 'Subject',
        courseId: 'Subject',
        roomId: 'Location',
        lecturer: 'Instructor',
        lecturerId: 'Instructor',
      },
    ],
    [
      'French',
      {
        Date: '2024-08-31',
        'Heure de début': '08:00',
        'Heure de fin': '09:30',
        Matière: 'Algèbre',
        Salle: 'H1',
        Enseignant: 'A',
        Groupe: 'G1',
      },
      {
        time: '{Date} {Heure de début}',
        endTime: '{Date} {Heure de fin}',
        title: 'Matière',
        courseId: 'Matière',
        roomId: 'Salle',
        studyGroup: 'Groupe',
        lecturer: 'Enseignant',
        lecturerId: 'Enseignant',
      },
    ],
    [
      'Spanish',
      {
        Fecha: '31/08/2024',
        'Hora inicio': '08:00',
        'Hora fin': '09:30',
        Asignatura: 'Álgebra',
        Aula: 'A1',
        Profesor: 'A',
        Grupo: 'G1',
      },
      {
        time: '{Fecha} {Hora inicio}',
        endTime: '{Fecha} {Hora fin}',
        title: 'Asignatura',
        courseId: 'Asignatura',
        roomId: 'Aula',
        studyGroup: 'Grupo',
        lecturer: 'Profesor',
        lecturerId: 'Profesor',
      },
    ],
    [
      'nested JSON',
      {
        uid: 'x1',
        slot: { start: '2024-08-31T08:00:00Z', end: '2024-08-31T09:30:00Z' },
        room: { name: 'H1' },
        course_name: 'Algebra',
      },
      {
        time: 'slot.start',
        endTime: 'slot.end',
        id: 'uid',
        roomId: 'room.name',
        title: 'course_name',
        courseId: 'course_name',
      },
    ],
    [
      'the names of the fields',
      { id: ID, time: '2024-08-31T08:00:00Z', endTime: '2024-08-31T09:30:00Z', lecturrer: 'A', roomId: ID },
      {},
    ],
  ] as const) {
    const proposal = propose(record);
    t.strictSame(proposal.map, map, language);
    t.ok(proposal.isComplete, `${language}: complete`);
  }
  t.end();
});

test('the order of day and month is found from the dates', (t) => {
  const withDates = (...dates: readonly string[]): MapProposal =>
    propose(...dates.map((date) => ({ date, start: '08:00', end: '09:00' })));
  for (const [dates, order, isSure] of [
    [['2024-08-31'], null, true],
    [['2024/08/31'], 'ymd', true],
    [['01.02.2024', '31.08.2024'], 'dmy', true],
    [['01/02/2024', '08/31/2024'], 'mdy', true],
    [['01.02.2024'], 'dmy', false],
    [['12/12/2024'], 'dmy', false],
  ] as const) {
    const { dateOrder, notes } = withDates(...dates);
    t.equal(dateOrder, order, dates.join(' '));
    t.equal(
      notes.some((note) => note.includes('--date-order')),
      !isSure,
      'a guess is called one',
    );
  }
  const both = withDates('31/01/2024', '01/31/2024');
  t.match(both, { dateOrder: null, isComplete: false, notes: [/others with the month/, /is a guess/] });
  t.equal(propose({ date: '01/02/2024', start: '8:00 AM', end: '9:00 AM' }).dateOrder, 'mdy', 'AM and PM');
  t.end();
});

test('a zone and identifiers are proposed only where they are needed', (t) => {
  const times = { time: '2024-08-31T08:00:00Z', endTime: '2024-08-31T09:30:00Z' };
  t.match(propose({ ...times, id: ID, roomId: ID }), { timeZone: null, identifiers: null });
  t.match(propose({ ...times, id: ID, Raum: 'H1' }), { timeZone: null, identifiers: 'derived' });
  t.match(propose(times), { identifiers: 'derived' }, 'no id');
  t.match(propose({ time: '2024-08-31T08:00:00', endTime: '2024-08-31T09:30:00', id: ID }), {
    timeZone: /./,
    notes: [/^the times have no offset, and --time-zone \S+ is a guess \(.*\): check it/],
  });
  const local = look({ time: '2024-08-31T08:00:00', endTime: '2024-08-31T09:30:00', id: ID });
  t.match(proposeMap(local, { rules: { identifiers: 'uuid', timeZone: 'Asia/Tokyo' } }), {
    timeZone: 'Asia/Tokyo',
    notes: [],
  });
  const same = { ...times, 'Event ID': '7' };
  t.notOk('id' in propose(same, same).map, 'values that come twice identify nothing');
  t.end();
});

test("the proposal keeps the user's --identifiers, unless a value does not fit", (t) => {
  const times = { time: '2024-08-31T08:00:00Z', endTime: '2024-08-31T09:30:00Z' };
  const any = { rules: { identifiers: 'any' } } as const;
  t.match(proposeMap(look({ ...times, uid: 'M-1', room: 7 }), any), {
    map: { id: 'uid', roomId: 'room' },
    identifiers: 'any',
    notes: [],
  });
  for (const [record, reason] of [
    [{ ...times, uid: 'M-1', room: 'x'.repeat(65) }, /cannot be used: room has values that are neither/],
    [{ ...times, uid: 'M-1', room: 1.5 }, /cannot be used: room has values/],
    [{ ...times, subject: 'Algebra' }, /cannot be used: no column identifies the records/],
  ] as const)
    t.match(proposeMap(look(record), any), { identifiers: 'derived', notes: [reason] });
  t.end();
});

test('the keys of a database identify its rows', (t) => {
  const times = { time: '2024-08-31T08:00:00Z', endTime: '2024-08-31T09:30:00Z' };
  const rules = { identifiers: 'uuid' } as const;
  for (const [keys, id, identifiers] of [
    [[['team']], 'team', 'any'],
    [[['lesson', 'team']], '{lesson}/{team}', 'any'],
    [[['lesson'], ['team']], 'team', 'any'],
    [[['lesson'], ['lesson', 'team']], '{lesson}/{team}', 'any'],
    [[['lesson'], ['room']], '{lesson}/{room}', 'any'],
    [[['lesson']], undefined, 'derived'],
    [[], undefined, 'derived'],
  ] as const) {
    const rows = new ColumnLook();
    rows.describe({ forms: new Map(), keys });
    for (const n of [1, 2, 3, 4]) rows.record({ ...times, lesson: n % 2, room: n > 2 ? 2 : 1, team: n });
    const { map, ...rest } = proposeMap(rows.columns, { rules, key: rows.key });
    t.strictSame([map.id, rest.identifiers], [id, identifiers], JSON.stringify(keys));
  }
  const own = look({ ...times, id: ID, lesson: 1 });
  t.strictSame(proposeMap(own, { rules, key: ['lesson'] }).map, {}, 'a unique column id is kept');
  t.match(proposeMap(own, { rules, key: ['lesson'], hasDuplicates: true }).map, { id: 'lesson' });
  const numbers = look({ ...times, id: ID, group: 7, title: 8 });
  t.notOk('studyGroup' in proposeMap(numbers, { rules }).map, 'a field of text takes no numbers');
  t.end();
});

test('the report says what is missing', (t) => {
  for (const [record, note] of [
    [
      { Wochentag: 'Mo', Fach: 'Algebra' },
      /the start of lessons is missing: Wochentag holds days of the week/,
    ],
    [{ Wochentag: 'Mo', Von: '08:00' }, /the end of lessons is missing/],
    [{ Fach: 'Algebra', Raum: 'H1' }, /no column holds dates/],
    [{ Datum: '31.08.2024', Fach: 'Algebra' }, /no column holds times of day/],
    [
      { Datum: '31.08.2024', Beginn: '08:00', Dauer: '90' },
      /the end of lessons is missing; Dauer looks like a duration/,
    ],
  ] as const) {
    const proposal = propose(record);
    t.notOk(proposal.isComplete);
    t.match(proposal.notes.join('\n'), note);
  }
  t.end();
});

test('records with weekdays become a weekly pattern, whose term is a guess', (t) => {
  const german = propose(
    { Wochentag: 'Mo', Von: '08:00', Bis: '09:30', Wochen: '1-6, 8', Fach: 'Algebra' },
    { Wochentag: 'Di', Von: '10:00', Bis: '11:30', Wochen: '2-12', Fach: 'Logik' },
  );
  t.ok(german.isComplete);
  t.strictSame(german.when, { day: 'Wochentag', start: 'Von', end: 'Bis', weeks: 'Wochen' });
  t.equal(german.terms.term?.weeks, 12, 'as many weeks as the records name');
  t.match(german.terms.term?.firstDay, /^\d{4}-\d\d-\d\d$/);
  t.match(
    german.notes.join(),
    /Wochentag holds days of the week instead of dates: the first day of the term/,
  );
  t.strictSame(german.map, { title: 'Fach', courseId: 'Fach' });
  const range = propose({
    days: 'MWF',
    start_time: '8:00AM',
    end_time: '9:00AM',
    start_date: '2024-08-28',
    end_date: '2024-12-20',
  });
  t.match(range.when, { day: 'days', validFrom: 'start_date', validUntil: 'end_date' });
  t.strictSame(range.terms, { term: { firstDay: '2024-08-26', weeks: 17 } });
  const numbers = propose(
    { day: 1, start: '0800', duration: 50, Name: 'A' },
    { day: 5, start: '1330', duration: 90, Name: 'B' },
  );
  t.strictSame(numbers.when, { day: 'day', dayOne: 'monday', start: 'start', minutes: 'duration' });
  t.match(numbers.notes.join(), /dayOne: monday is a guess/);
  const dated = propose({ Datum: '31.08.2024', Wochentag: 'Sa', Von: '08:00', Bis: '09:30' });
  t.equal(dated.when, null, 'dates count more than weekdays');
  t.end();
});

test('a column is no weekday if more than one in five of its values is none', (t) => {
  const table = (name: string, ...days: readonly string[]): MapProposal =>
    propose(...days.map((day) => ({ [name]: day, Von: '08:00', Bis: '09:00', Fach: 'Algebra' })));
  for (const [name, days, isWeekly] of [
    ['Tag', 'Montag Dienstag Mittwoch Donnerstag Ruhetag', true],
    ['Tag', 'Montag Dienstag Mittwoch Ruhetag', false],
    ['Tag', 'Montag Mo Mo. Dienstag Ruhetag', false],
    ['Tag', 'Montag Dienstag Mittwoch jeudi', false],
    ['Art', 'Montag Dienstag Mittwoch Donnerstag Ruhetag', false],
  ] as const)
    t.equal(table(name, ...days.split(' ')).when !== null, isWeekly, `${name}: ${days}`);
  t.end();
});

test('a length that looks like a time of day is no end', (t) => {
  const lengths = [
    { start: '9:00', duration: '1h30' },
    { start: '13:00', duration: '2 h' },
  ] as const;
  const dated = propose(...lengths.map((each) => ({ date: '2026-10-05', ...each })));
  t.equal(dated.map.endTime, undefined);
  t.match(dated.notes.join(), /the end of lessons is missing/);
  const weekly = propose(...lengths.map((each) => ({ day: 'Monday', ...each })));
  t.equal(weekly.when, null);
  t.match(weekly.notes.join(), /the end of lessons is missing/);
  t.end();
});

test('what values look like counts more than the name of a column', (t) => {
  const records = Array.from({ length: 200 }, (_, n) => ({
    Datum: '31.08.2024',
    Von: '08:00',
    Bis: '09:30',
    Veranstaltung: `Course in ${['Algebra', 'Logic', 'Physics'][n % 3]} of year ${['one', 'two'][n % 2]}`,
    'Gewünschter Raum': ['Lecture hall', 'Laboratory'][n % 2],
    Zuteilung: `B${200 + (n % 90)}`,
    'Anzahl Plätze': `${20 + n}`,
    Verantwortlich: ['Ada Byron', 'Dr. Emil Post', 'Turing, A.', 'Kurt Gödel'][n % 4],
  }));
  t.match(propose(...records).map, {
    roomId: 'Zuteilung',
    lecturer: 'Verantwortlich',
    title: 'Veranstaltung',
  });
  t.end();
});

test('several values in one cell are split, and lists are taken apart', (t) => {
  const base = { Datum: '31.08.2024', Von: '08:00', Bis: '09:30', Fach: 'Algebra' };
  const records = [
    { Klasse: 'G1, G2', Raum: 'A 1', Lehrer: 'Byron, Ada' },
    { Klasse: 'G2', Raum: 'A 1; A 2', Lehrer: 'Post, Emil' },
    { Klasse: 'G1, G3', Raum: 'A 2', Lehrer: 'Turing, Alan' },
  ].map((record) => ({ ...base, ...record }));
  t.match(propose(...records).map, {
    studyGroup: { from: 'Klasse', split: ',' },
    roomId: { from: 'Raum', split: ';' },
    lecturer: 'Lehrer',
  });
  const nested = {
    ...base,
    groups: ['G1', 'G2'],
    employees: [{ fullName: 'Ada Byron', id: 7 }],
    room: { name: 'A 1' },
  };
  t.match(propose(nested).map, {
    studyGroup: 'groups',
    lecturer: { from: 'employees', each: 'fullName' },
    roomId: 'room.name',
  });
  t.end();
});

test('columns in each language of the table are recognised', (t) => {
  for (const [language, names] of Object.entries({
    Portuguese: ['Unidade de execução', 'Turma', 'Dia da Semana', 'Início', 'Fim', 'Sala da aula', 'Docente'],
    Italian: ['Insegnamento', 'Gruppo', 'Giorno', 'Ora inizio', 'Ora fine', 'Aula', 'Docente'],
    Dutch: ['Vak', 'Groep', 'Dag', 'Begintijd', 'Eindtijd', 'Lokaal', 'Docent'],
    Polish: ['Przedmiot', 'Grupa', 'Dzień tygodnia', 'Od', 'Do', 'Sala', 'Prowadzący'],
    Czech: ['Předmět', 'Skupina', 'Den', 'Od', 'Do', 'Místnost', 'Vyučující'],
    Ukrainian: ['Дисципліна', 'Група', 'День тижня', 'Початок', 'Кінець', 'Аудиторія', 'Викладач'],
    Russian: ['Дисциплина', 'Группа', 'День недели', 'Начало', 'Конец', 'Аудитория', 'Преподаватель'],
    Swedish: ['Kursnamn', 'Grupp', 'Veckodag', 'Starttid', 'Sluttid', 'Sal', 'Lärare'],
    Turkish: ['Ders Adı', 'Şube', 'Gün', 'Başlangıç Saati', 'Bitiş Saati', 'Derslik', 'Öğretim Üyesi'],
    Hebrew: ['שם הקורס', 'קבוצה', 'יום', 'שעת התחלה', 'שעת סיום', 'חדר', 'מרצה'],
    Chinese: ['课程名称', '班级', '星期', '开始时间', '结束时间', '教室', '教师'],
    Japanese: ['科目名', 'クラス', '曜日', '開始時刻', '終了時刻', '教室', '担当教員'],
  })) {
    const [title, studyGroup, day, start, end, roomId, lecturer] = names;
    const record = Object.fromEntries(
      names.map((name, n) => [name, ['Algebra', 'G', 'Monday', '08:00', '09:30', 'H', 'A'][n] as string]),
    );
    const { map, when } = propose(record);
    t.match({ ...map, ...when }, { title, studyGroup, day, start, end, roomId, lecturer }, language);
  }
  t.end();
});

test('options are quoted for a shell', (t) => {
  const { dateOrder: _, ...rest } = propose({ "jour d'été": '2024-08-31', de: '08:00', à: '09:00' });
  t.ok(rest.map);
  const options = proposedOptions({
    map: { time: "{jour d'été} {de}", title: 'Fach' },
    when: null,
    terms: {},
    dateOrder: 'dmy',
    timeZone: 'Europe/Paris',
    identifiers: 'derived',
    notes: [],
    isComplete: true,
  });
  t.strictSame(options, [
    "--map time='{jour d'\\''été} {de}'",
    '--map title=Fach',
    '--date-order dmy',
    '--time-zone Europe/Paris',
    '--identifiers derived',
  ]);
  t.equal(shellQuoted('a b$(c)'), "'a b$(c)'");
  t.equal(plainName('course_startTime (Größe)'), 'course start time grosse');
  t.end();
});

test('records that are not objects, lists, nested columns and many columns are handled', (t) => {
  const look = new ColumnLook();
  for (const value of [null, 7, 'x', [1], { a: [1], b: { c: { d: { e: { f: { g: 1 } } } } }, '': 'x' }])
    look.record(value);
  t.strictSame(
    look.columns.map(({ name }) => name),
    ['a'],
  );
  look.record(Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`c${n}`, 'x'])));
  t.equal(look.columns.length, 1000);
  for (let n = 0; n < 2000; n++) look.record({ a: String(n) });
  t.equal(look.records, 1000);
  t.end();
});

test('each language of column names has only roles that exist, with names', (t) => {
  const roles = [
    ...['id', 'startDate', 'endDate', 'start', 'end', 'duration', 'weekday', 'weeks', 'period', 'title'],
    ...['courseId', 'building', 'roomId', 'studyGroup', 'lecturer', 'type', 'other'],
  ];
  const path = new URL('../../src/cli/column-names.json', import.meta.url);
  const languages = JSON.parse(readFileSync(path, 'utf8')) as Record<string, Record<string, string>>;
  t.ok(Object.keys(languages).length >= 16);
  for (const [language, names] of Object.entries(languages))
    for (const [role, list] of Object.entries(names)) {
      t.ok(roles.includes(role), `${language}: ${role}`);
      t.ok(
        list.split(', ').every((name) => plainName(name) !== ''),
        `${language}: ${role}: ${list}`,
      );
    }
  t.end();
});
