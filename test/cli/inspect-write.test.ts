/** Made-up files in the form of systems that publish timetables: `inspect --write` leads from each to right answers. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { runHere } from './run-here.js';

/** The lines of a written file that a person changes, because the source does not tell them. */
interface Known {
  readonly firstDay?: string;
  readonly weeks?: number;
  readonly timeZone?: string;
}

/** Proposes a timetable file for a source, completes it as its comments ask, and gives its path and its text. */
async function written(
  t: Test,
  name: string,
  content: string | Uint8Array,
  { firstDay = '2026-09-28', weeks, timeZone = 'UTC' }: Known = {},
): Promise<{ readonly path: string; readonly text: string }> {
  const folder = t.testdir({ [name]: Buffer.from(content) });
  const path = join(folder, 'timetable.yaml');
  const seen = await runHere(t, ['inspect', join(folder, name), '--write', path]);
  t.equal(seen.stderr, '');
  t.match(seen.stdout, /wrote .*: with it the source has [\d,]+ events?; 0 records left out/);
  const text = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    text
      .replace(/firstDay: \S+,/, `firstDay: ${firstDay},`)
      .replace(/weeks: \d+,/, (given) => (weeks === undefined ? given : `weeks: ${weeks},`))
      .replace(/^timeZone: .*$/m, `timeZone: ${timeZone}`),
  );
  return { path, text };
}

/** The events of a timetable file as `day start room`, in order of time. */
async function eventsOf(t: Test, path: string, query: string): Promise<string[]> {
  const { stdout, stderr } = await runHere(t, ['export', path, query, '--format', 'ndjson']);
  t.notMatch(stderr, /error/);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines
    .map((line) => JSON.parse(line) as Record<string, string | null>)
    .map(({ time, title }) => `${time?.slice(5, 16)} ${title}`);
}

test('a table of weekdays and weeks becomes a timetable file', async (t) => {
  const csv = `course;kind;weekday;from;to;weeks;place;class
Algebra;Lecture;Mon;09:00;11:00;1-3,5;Hall 1;A
Algebra;Lab;Tue;14:00;16:00;odd;Lab 2;A1
Algebra;Lab;Tue;14:00;16:00;even;Lab 2;A2
`;
  const { path, text } = await written(t, 'lessons.csv', csv, { timeZone: 'Europe/London' });
  t.match(text, /^# yaml-language-server: \$schema=.*timetable\.schema\.json\n/, 'editors find the schema');
  t.match(text, /# .*first day of the term .* are guesses.*\nterms:\n {2}term: \{ firstDay: /);
  t.match(text, /# .*timeZone is a guess.*\ntimeZone: /);
  t.match(text, / {6}studyGroup: class # A, A1, A2\n/, 'columns have samples');
  t.strictSame(await eventsOf(t, path, 'studyGroup=A2'), ['10-06T13:00 Algebra', '10-20T13:00 Algebra']);
  const again = await runHere(t, ['inspect', join(path, '../lessons.csv'), '--write', path]);
  t.match(again, { code: 2, stderr: /cannot write .*timetable\.yaml: it exists; add --force to replace it/ });
  for (const [argv, fault] of [
    [['--write', join(path, '../timetable.txt')], /a timetable file ends in \.yaml or \.yml/],
    [['--write', join(path, '../none/x.yaml')], /cannot write .*x\.yaml: there is no folder \S+none\n$/],
    [
      [join(path, '../lessons.csv'), '--write', path],
      /--write takes one source, because each is read in its own way/,
    ],
  ] as const) {
    const refused = await runHere(t, ['inspect', join(path, '../lessons.csv'), ...argv]);
    t.match(refused, { code: 2, stderr: fault });
  }
  const forced = await runHere(t, ['inspect', join(path, '../lessons.csv'), '--write', path, '--force']);
  t.match(forced, { code: 0, stderr: '' });
});

test('marks such as -- and n/a in a plain column become null', async (t) => {
  const csv = `id,time,endTime,title,roomId,lecturer,type
1,2026-10-05T08:00:00Z,2026-10-05T09:00:00Z,Algebra,A201,Ada Byron,LEC
2,2026-10-05T09:00:00Z,2026-10-05T10:00:00Z,Analysis,--,n/a,LEC
3,2026-10-05T10:00:00Z,2026-10-05T11:00:00Z,Analysis,-,Emmy Noether,LEC
`;
  const { path, text } = await written(t, 'lessons.csv', csv);
  t.match(text, /roomId: \{ from: roomId, values: \{ "--": null, "-": null \} \} # A201, --, -\n/);
  t.match(text, /lecturer: \{ from: lecturer, values: \{ n\/a: null \} \} #/);
  t.notMatch(text, /title: .*values/);
  t.strictSame(await eventsOf(t, path, 'roomId=--'), []);
  t.strictSame(await eventsOf(t, path, 'lecturerId!=Ada%20Byron'), [
    '10-05T09:00 Analysis',
    '10-05T10:00 Analysis',
  ]);
  const { stdout } = await runHere(t, ['inspect', join(path, '../lessons.csv'), '--identifiers', 'any']);
  t.match(stdout, /lectern inspect \S+ --write timetable\.yaml/, 'also for a source that options can serve');
});

test('in the form of ISCTE: requested and assigned rooms, several groups in one cell', async (t) => {
  const rows = Array.from({ length: 120 }, (_, n) => {
    const day = `${String(1 + (n % 28)).padStart(2, '0')}/10/2026`;
    const groups = n % 3 === 0 ? `"G${n % 7}, G${(n % 7) + 1}"`.replaceAll('"', '') : `G${n % 7}`;
    const kind = ['Sala de aulas normal', 'Laboratório'][n % 2];
    return `LG;Cálculo ${['I', 'II', 'III'][n % 3]};T${n};${groups};30;Seg;09:30:00;11:00:00;${day};${kind};B${200 + n};40;${kind}`;
  });
  const header =
    'Curso;Unidade de execução;Turno;Turma;Inscritos no turno;Dia da Semana;Início;Fim;Dia;Características da sala pedida para a aula;Sala da aula;Lotação;Características reais da sala';
  const { path, text } = await written(t, 'aulas.csv', `${header}\n${rows.join('\r\n')}\r\n`);
  t.match(text, /roomId: Sala da aula #/);
  t.match(text, /# not used: Lotação # 40/);
  t.match(text, /title: Unidade de execução #/);
  t.match(text, /studyGroup: \{ from: Turma, split: "," \} #/);
  t.match(text, /dateOrder: dmy/);
  t.strictSame(
    await eventsOf(t, path, 'roomId=B203'),
    Array(2).fill('10-04T09:30 Cálculo I'),
    'for each group',
  );
  t.equal((await eventsOf(t, path, 'studyGroup=G1')).length, 23, 'alone, or with another group');
});

test('in the form of ITU: no header, several meetings in one cell, hours as 11:30/13:29', async (t) => {
  const lines = [
    '20001|BLG 101E|Introduction to Computing|Ada Lovelace|Monday Wednesday|11:30/13:29 08:30/10:29|A201 B101|60',
    '20002|MAT 103|Mathematics for Engineers|Emmy Noether|Tuesday|13:30/16:29|A202|90',
    '20003|FIZ 101|Physics for Engineers|Lise Meitner|Friday|08:30/11:29|A203|90',
    '20004|KIM 101|General Chemistry|Marie Curie|--|--|--|90',
  ];
  const folder = t.testdir({ 'dersler.txt': `${lines.join('\n')}\n` });
  const path = join(folder, 'timetable.yaml');
  const seen = await runHere(t, ['inspect', join(folder, 'dersler.txt'), '--write', path]);
  t.match(seen.stdout, /1 record left out/, 'a course without hours has no events');
  const text = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    text
      .replace(/firstDay: \S+, weeks: \d+/, 'firstDay: 2026-09-28, weeks: 1')
      .replace(/^timeZone: .*$/m, 'timeZone: UTC'),
  );
  t.strictSame(await eventsOf(t, path, 'lecturerId=Ada%20Lovelace'), [
    '09-28T11:30 Introduction to Computing',
    '09-30T08:30 Introduction to Computing',
  ]);
  t.strictSame(
    await eventsOf(t, path, 'roomId=B101'),
    ['09-30T08:30 Introduction to Computing'],
    'each meeting has its room',
  );
});

test('in the form of BSUIR: lessons by weekday, in Russian, weeks of a cycle of four, lists', async (t) => {
  const lesson = (subject: string, start: string, weekNumber: number[], more: object = {}): object => ({
    subject,
    startLessonTime: start,
    endLessonTime: `${Number(start.slice(0, 2)) + 1}:20`,
    weekNumber,
    auditories: ['514-5'],
    employees: [{ fio: 'Иванов И. И.', urlId: 'i' }],
    studentGroups: [{ name: '353501' }, { name: '353502' }],
    lessonTypeAbbrev: 'ЛК',
    startLessonDate: '31.08.2026',
    endLessonDate: '18.12.2026',
    ...more,
  });
  const document = {
    employeeDto: null,
    schedules: {
      Понедельник: [lesson('Алгебра', '09:00', [1, 3]), lesson('Физика', '11:00', [2])],
      Вторник: [lesson('Химия', '09:00', [1, 2, 3, 4], { employees: [{ fio: 'Петров П. П.', urlId: 'p' }] })],
    },
    exams: [],
  };
  const { path, text } = await written(t, 'schedule.json', JSON.stringify(document, null, 1), {
    firstDay: '2026-08-31',
  });
  t.match(text, /cycle: 4/);
  t.match(text, /studyGroup: \{ from: studentGroups, each: name \}/);
  const days = await eventsOf(t, path, 'studyGroup=353502&date=2026-08-31&days=29');
  t.strictSame(
    days.filter((each) => !each.endsWith('Химия')),
    ['08-31T09:00 Алгебра', '09-07T11:00 Физика', '09-14T09:00 Алгебра', '09-28T09:00 Алгебра'],
  );
  t.equal((await eventsOf(t, path, 'lecturerId=Петров П. П.&studyGroup=353501')).length, 16);
});

test('in the form of ANU: classes by course, days from 0, weeks with a dash that does not break', async (t) => {
  const classes = (code: string, room: string): object => ({
    id: 1,
    title: `${code} Computing`,
    classes: [
      {
        activity: 'Lec',
        occurrence: '01',
        day: '0',
        start: '9:00',
        finish: '11:00',
        duration: 2,
        weeks: '1,3\u20114',
        location: room,
      },
      {
        activity: 'Tut',
        occurrence: '02',
        day: '4',
        start: '14:00',
        finish: '15:00',
        duration: 1,
        weeks: '2',
        location: `${room}a`,
      },
    ],
  });
  const document = {
    COMP1100_S1: classes('COMP1100', 'HN 1.23'),
    MATH1013_S1: classes('MATH1013', 'CB 2.1'),
  };
  const { path } = await written(t, 'classes.json', JSON.stringify(document), {
    firstDay: '2025-12-29',
    weeks: 5,
  });
  t.strictSame(await eventsOf(t, path, 'roomId=HN 1.23'), [
    '12-29T09:00 COMP1100 Computing',
    '01-12T09:00 COMP1100 Computing',
    '01-19T09:00 COMP1100 Computing',
  ]);
  t.strictSame(
    await eventsOf(t, path, 'roomId=CB 2.1a'),
    ['01-09T14:00 MATH1013 Computing'],
    'day 4 is Friday',
  );
});

test('in the form of NUSMods: lessons within modules and semesters, weeks as numbers or a span', async (t) => {
  const lesson = (classNo: string, day: string, weeks: unknown, venue: string): object => ({
    ...{ classNo, day, weeks, venue, startTime: '1200', endTime: '1400', lessonType: 'Lecture', size: 50 },
  });
  const document = [
    {
      moduleCode: 'CS1010',
      title: 'Programming Methodology',
      semesterData: [
        {
          semester: 1,
          timetable: [
            lesson('1', 'Monday', [1, 2, 3], 'COM1-0120'),
            lesson('2', 'Friday', [1, 13], 'COM1-0203'),
          ],
        },
      ],
    },
    {
      moduleCode: 'MA1521',
      title: 'Calculus for Computing',
      semesterData: [
        {
          semester: 1,
          timetable: [
            lesson('1', 'Tuesday', { start: '2026-09-29', end: '2026-10-20', weekInterval: 2 }, 'LT27'),
          ],
        },
      ],
    },
  ];
  const { path } = await written(t, 'modules.json', JSON.stringify(document), {
    timeZone: 'Asia/Singapore',
    weeks: 13,
  });
  t.strictSame(await eventsOf(t, path, 'roomId=COM1-0120'), [
    '09-28T04:00 Programming Methodology',
    '10-05T04:00 Programming Methodology',
    '10-12T04:00 Programming Methodology',
  ]);
  t.strictSame(await eventsOf(t, path, 'roomId=LT27'), [
    '09-29T04:00 Calculus for Computing',
    '10-13T04:00 Calculus for Computing',
  ]);
});

test('in the form of HSR: lessons within slots within days, start and end in one text', async (t) => {
  const slot = (Time: string, ...Lessons: object[]): object => ({ Time, Lessons });
  const lesson = (Name: string, Room: string, Week: string): object => ({
    Name,
    Room,
    Week,
    Teachers: 'Keller',
  });
  const document = {
    Semester: 'HS',
    Days: [
      {
        Weekday: 'Montag',
        Slots: [slot('8:10 - 8:55', lesson('Analysis', '1.206', '')), slot('9:05 - 9:50')],
      },
      {
        Weekday: 'Dienstag',
        Slots: [slot('8:10 - 8:55', lesson('Physik', '5.002', 'even'), lesson('Chemie', '4.112', 'odd'))],
      },
    ],
  };
  const { path } = await written(t, 'plan.json', JSON.stringify(document), {
    timeZone: 'Europe/Zurich',
    weeks: 4,
  });
  t.strictSame(await eventsOf(t, path, 'date=2026-09-28&days=14'), [
    '09-28T06:10 Analysis',
    '09-29T06:10 Chemie',
    '10-05T06:10 Analysis',
    '10-06T06:10 Physik',
  ]);
});

test('in the form of a German school: a title above the header, windows-1252, ranges, weeks A and B', async (t) => {
  const lines = [
    'Stundenplan 2026/27;;;;;;',
    '',
    'Wochentag;Std.;Uhrzeit;Fach;Lehrkraft;Raum;Woche',
    'Montag;1-2;8:00-9:30;Übungen;Müller, Jörg;A101;A',
    'Montag;1-2;8:00-9:30;Geschichte;Weiß, Käthe;A102;B',
    'Dienstag;3-4;9:50-11:20;Geschichte;Weiß, Käthe;A102;',
  ];
  const { path, text } = await written(t, 'plan.csv', Buffer.from(lines.join('\r\n'), 'latin1'), {
    weeks: 3,
  });
  t.match(text, / {4}encoding: windows-1252\n {4}header: 3\n/);
  t.match(text, /# .* which values of Woche are the odd weeks .* is a guess\n {4}when:/);
  t.match(
    text,
    / {6}weeks: \{ from: Woche, values: \{ A: odd, B: even \} \} # A, B\n/,
    'and not the lesson numbers',
  );
  t.strictSame(await eventsOf(t, path, 'date=2026-09-28&days=14'), [
    '09-28T08:00 Übungen',
    '09-29T09:50 Geschichte',
    '10-05T08:00 Geschichte',
    '10-06T09:50 Geschichte',
  ]);
});

test('in the form of an Excel export: two header lines, weekday and name of the month, start and end in one cell', async (t) => {
  const csv = `Course,,Time,,Where
Code,Title,Date,Hours,Room
CS101,Operating systems,Mon 05-Oct-2026,8:00-9:30,A100
CS102,Networks and security,Tue 06-Oct-2026,10:00 - 11:30,B101
`;
  const { path, text } = await written(t, 'export.csv', csv);
  t.match(text, / {4}header: 2\n/);
  t.match(text, / {6}endTime: "\{Date\} \{Hours\}" # Mon 05-Oct-2026 8:00-9:30\n/);
  const { stdout } = await runHere(t, ['export', path, '--format', 'csv']);
  t.match(stdout, /,2026-10-05T08:00:00\.000Z,2026-10-05T09:30:00\.000Z,Operating systems,/);
  t.match(stdout, /,2026-10-06T10:00:00\.000Z,2026-10-06T11:30:00\.000Z,Networks and security,/);
});

test('in the form of a French export: 8h30, semaine A/B, several teachers', async (t) => {
  const csv = `Jour;Heure de début;Heure de fin;Semaine;Matière;Enseignant(s);Salle
lundi;8h00;9h30;semaine A;Chimie organique;DUPONT Marie;S. 204
mardi;10h;11h45;semaine B;Histoire de l’art;MARTIN Jean / DUPONT Marie;S. 205
jeudi;8h30;10h00;semaine A/B;Chimie organique;DUPONT Marie;S. 204
`;
  const { path } = await written(t, 'edt.csv', csv, { weeks: 2 });
  t.strictSame(await eventsOf(t, path, 'lecturerId=DUPONT Marie'), [
    '09-28T08:00 Chimie organique',
    '10-01T08:30 Chimie organique',
    '10-06T10:00 Histoire de l’art',
    '10-08T08:30 Chimie organique',
  ]);
});

test('in the form of a Spanish faculty: days and their times in one cell', async (t) => {
  const csv = `Asignatura,Horario,Aula
Cálculo,"Lunes 10:00-12:00, Miércoles 9:00-10:00",Aula 1.2
Física,Jueves 16:00-18:00 y Viernes 8:00-10:00,Lab 3
`;
  const { path } = await written(t, 'horario.csv', csv, { weeks: 1 });
  t.strictSame(await eventsOf(t, path, 'date=2026-09-28&days=7'), [
    '09-28T10:00 Cálculo',
    '09-30T09:00 Cálculo',
    '10-01T16:00 Física',
    '10-02T08:00 Física',
  ]);
});

test('in the form of a Ukrainian faculty: numbers of lessons in place of times', async (t) => {
  const csv = `День,Пара,Тиждень,Дисципліна,Аудиторія
Понеділок,1,чисельник,Вища математика,201
Понеділок,2,знаменник,Програмування,305
Вівторок,2,,Фізика твердого тіла,201
`;
  const { path, text } = await written(t, 'rozklad.csv', csv, { weeks: 2 });
  t.match(text, /# Пара holds numbers of lessons in the day, and the times of day in `start` are guesses\n/);
  const times =
    'start: { from: Пара, values: { "1": "08:00-09:30", "2": "09:40-11:10" }, otherwise: reject }';
  t.ok(text.includes(times));
  writeFileSync(path, readFileSync(path, 'utf8').replace('09:40-11:10', '10:05-11:40'));
  t.strictSame(await eventsOf(t, path, 'roomId!=x'), [
    '09-28T08:00 Вища математика',
    '09-29T10:05 Фізика твердого тіла',
    '10-05T10:05 Програмування',
    '10-06T10:05 Фізика твердого тіла',
  ]);
});

test('in the form of Banner: MWF beside Tu, 12 hours, dates of a term, TBA', async (t) => {
  const csv = `CRN,Title,Days,Time,Begin Date,End Date,Location
10001,University Physics,MWF,01:00 pm-01:50 pm,09/28/2026,10/09/2026,Hall 101
10002,Intro to Proofs,Tu,11:30 am-12:45 pm,09/28/2026,10/09/2026,TBA
10003,Independent Study,TBA,TBA,09/28/2026,10/09/2026,TBA
`;
  const folder = t.testdir({ 'banner.csv': csv });
  const path = join(folder, 'timetable.yaml');
  const seen = await runHere(t, ['inspect', join(folder, 'banner.csv'), '--write', path]);
  t.match(seen.stdout, /1 record left out/, 'a course without hours has no events');
  const text = readFileSync(path, 'utf8');
  t.match(text, /firstDay: 2026-09-28, weeks: 2,/, 'the dates tell the term');
  t.match(text, /roomId: \{ from: Location, values: \{ TBA: null \} \}/);
  writeFileSync(path, text.replace(/^timeZone: .*$/m, 'timeZone: UTC'));
  t.strictSame(await eventsOf(t, path, 'date=2026-09-28&days=3'), [
    '09-28T13:00 University Physics',
    '09-29T11:30 Intro to Proofs',
    '09-30T13:00 University Physics',
  ]);
});

test('weeks of the calendar, and weeks of unknown meaning', async (t) => {
  const csv = (weeks: string): string => `Vak;Dag;Tijd;Weken;Locatie
Natuurkunde;ma;9.00-10.45;${weeks};H0.01
Wiskunde A;wo;11.00 - 12.45;${weeks};H1.12
`;
  const { path, text } = await written(t, 'rooster.csv', csv('40 t/m 41'), { firstDay: '2025-12-29' });
  t.match(text, /# .*Weken looks like weeks of the calendar \(ISO 8601\).* is that of week 1; /);
  t.strictSame(await eventsOf(t, path, 'roomId=H0.01'), [
    '09-28T09:00 Natuurkunde',
    '10-05T09:00 Natuurkunde',
  ]);
  const unknown = await written(t, 'onbekend.csv', csv('blok 2'));
  t.match(
    unknown.text,
    /# Weken may hold weeks, but "blok 2" names none, so each lesson is in all weeks: say .*\n/,
  );
});
