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
  /** Records that become no events. */
  readonly leftOut?: number;
}

/** Proposes a timetable file for a source, completes it as its comments ask, and gives its path and its text. */
async function written(
  t: Test,
  name: string,
  content: string | Uint8Array,
  { firstDay = '2026-09-28', weeks, timeZone = 'UTC', leftOut = 0 }: Known = {},
): Promise<{ readonly path: string; readonly text: string }> {
  const folder = t.testdir({ [name]: Buffer.from(content) });
  const path = join(folder, 'timetable.yaml');
  const seen = await runHere(t, ['inspect', join(folder, name), '--write', path]);
  t.equal(seen.stderr, '');
  t.match(
    seen.stdout,
    new RegExp(`wrote .*: with it the source has [\\d,]+ events?; ${leftOut} records? left out`),
  );
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
  t.match(
    text,
    /# .*first day of the term .* are guesses \(the first day is that of this week, because no column has dates, and weeks has no week above 5\).*\nterms:\n {2}term: \{ firstDay: /,
  );
  t.match(text, /# a guess: the texts that identify .*\n {4}identifiers: derived\n/);
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

test('rooms of equal name in two buildings are two rooms', async (t) => {
  const rowsOf = (second: string): string => `date,start,end,subject,building,room
2026-10-05,08:00,09:30,Algebra,Main,101
2026-10-05,08:00,09:30,Logic,${second},101
2026-10-05,10:00,11:30,Music,East,202
`;
  const { path, text } = await written(t, 'lessons.csv', rowsOf('East'), { timeZone: 'UTC' });
  t.match(
    text,
    /# "101" in room is a room of "Main" and of "East", so it is a guess that a room is known by both\n/,
  );
  t.match(text, /roomId: "\{building\} \{room\}" # Main 101\n/);
  t.strictSame(await eventsOf(t, path, 'roomId=Main%20101'), ['10-05T08:00 Algebra']);
  t.strictSame(await eventsOf(t, path, 'roomId=East%20101'), ['10-05T08:00 Logic']);
  const [one, none] = [
    await written(t, 'lessons.csv', rowsOf('Main'), { timeZone: 'UTC' }),
    await written(t, 'lessons.csv', rowsOf(''), { timeZone: 'UTC' }),
  ];
  for (const each of [one, none]) t.match(each.text, /roomId: room #/, 'one building, or unknown ones');
});

test('sections of equal number in two courses are two groups', async (t) => {
  const rowsOf = (groups: readonly string[]): string => `date,start,end,subject,section
2026-10-05,08:00,09:30,Algebra,${groups[0]}
2026-10-05,08:00,09:30,Logic,${groups[1]}
2026-10-05,10:00,11:30,Logic,${groups[2]}
`;
  const { path, text } = await written(t, 'lessons.csv', rowsOf(['01', '01', '02']), { timeZone: 'UTC' });
  t.match(
    text,
    /# "01" in section is a group of "Algebra" and of "Logic", so it is a guess that a group is known by both\n/,
  );
  t.match(text, /studyGroup: "\{subject\} \{section\}" # Algebra 01\n/);
  t.strictSame(await eventsOf(t, path, 'studyGroup=Logic%2001'), ['10-05T08:00 Logic']);
  const classes = await written(t, 'lessons.csv', rowsOf(['5A', '5A', '5B']), { timeZone: 'UTC' });
  t.match(classes.text, /studyGroup: section #/, 'a class has several courses');
});

test('marks such as -- and n/a in a plain column become null', async (t) => {
  const csv = `id,time,endTime,title,roomId,lecturer,type
1,2026-10-05T08:00:00Z,2026-10-05T09:00:00Z,Algebra,A201,Ada Byron,LEC
2,2026-10-05T09:00:00Z,2026-10-05T10:00:00Z,Analysis,--,n/a,LEC
3,2026-10-05T10:00:00Z,2026-10-05T11:00:00Z,Analysis,-,Emmy Noether,LEC
`;
  const { path, text } = await written(t, 'lessons.csv', csv);
  t.match(
    text,
    /# a guess: "--" and "-" look like no value\n +roomId: \{ from: roomId, values: \{ "--": null, "-": null \} \} # A201, --, -\n/,
  );
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

test('arrays and N of a PostgreSQL export become groups and null', async (t) => {
  const csv = String.raw`id,time,endTime,title,group_ids,room
1,2026-10-05T08:00:00Z,2026-10-05T09:00:00Z,Algebra,"{31,32,33}",A201
2,2026-10-05T09:00:00Z,2026-10-05T10:00:00Z,Analysis,{32},\N
3,2026-10-05T10:00:00Z,2026-10-05T11:00:00Z,Logic,\N,B101
4,2026-10-05T11:00:00Z,2026-10-05T12:00:00Z,Law,{},B101
`;
  const { path, text } = await written(t, 'dump.csv', csv);
  t.match(
    text,
    /studyGroup: \{ from: group_ids, split: ",", match: "\[\^\{\}\]\+", values: \{ "\\\\N": null \} \} #/,
  );
  t.match(text, /roomId: \{ from: room, values: \{ "\\\\N": null \} \} #/);
  t.strictSame(await eventsOf(t, path, 'studyGroup=32'), ['10-05T08:00 Algebra', '10-05T09:00 Analysis']);
  t.strictSame(await eventsOf(t, path, 'roomId=%5CN'), []);
});

test('a weekday that no language knows is told, and the others are proposed', async (t) => {
  const days = ['Montag', 'Dienstag', 'Mittwoch', 'Donnerstag', 'Freitag', 'Ruhetag'];
  const rows = days.map((day, n) => `${day};08:00;09:00;Fach ${n};R${n}\n`);
  const csv = `Wochentag;Von;Bis;Fach;Raum\n${rows.join('')}`;
  const { path, text } = await written(t, 'woche.csv', csv, { weeks: 1, leftOut: 1 });
  t.match(text, /# .*"Ruhetag" in Wochentag .*values: \{ "Ruhetag": … \} \}/);
  t.strictSame(await eventsOf(t, path, 'roomId=R1'), ['09-29T08:00 Fach 1']);
  writeFileSync(
    path,
    readFileSync(path, 'utf8').replace(
      /day: Wochentag\b/,
      'day: { from: Wochentag, values: { Ruhetag: Samstag } }',
    ),
  );
  t.strictSame(await eventsOf(t, path, 'roomId=R5'), ['10-03T08:00 Fach 5']);
});

interface Form {
  readonly form: string;
  readonly file: string;
  readonly content: string | Uint8Array;
  readonly known?: Known;
  /** What the written file says. */
  readonly text?: readonly RegExp[];
  /** A further line that a person changes. */
  readonly changed?: readonly [from: string, to: string];
  /** By query, the events that `eventsOf` gives, or their number. */
  readonly events: Readonly<Record<string, readonly string[] | number>>;
}

const ISCTE_HEADER =
  'Curso;Unidade de execução;Turno;Turma;Inscritos no turno;Dia da Semana;Início;Fim;Dia;Características da sala pedida para a aula;Sala da aula;Lotação;Características reais da sala';
const ISCTE_ROWS = Array.from({ length: 120 }, (_, n) => {
  const day = `${String(1 + (n % 28)).padStart(2, '0')}/10/2026`;
  const groups = n % 3 === 0 ? `G${n % 7}, G${(n % 7) + 1}` : `G${n % 7}`;
  const kind = ['Sala de aulas normal', 'Laboratório'][n % 2];
  return `LG;Cálculo ${['I', 'II', 'III'][n % 3]};T${n};${groups};30;Seg;09:30:00;11:00:00;${day};${kind};B${200 + n};40;${kind}`;
});

const bsuirLesson = (subject: string, start: string, weekNumber: number[], more: object = {}): object => ({
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
const CHEMISTRY = bsuirLesson('Химия', '09:00', [1, 2, 3, 4], {
  employees: [{ fio: 'Петров П. П.', urlId: 'p' }],
});

const anuClasses = (code: string, location: string): object => ({
  id: 1,
  title: `${code} Computing`,
  classes: [
    {
      ...{ activity: 'Lec', occurrence: '01', day: '0', start: '9:00', finish: '11:00', duration: 2 },
      ...{ weeks: '1,3\u20114', location },
    },
    {
      ...{ activity: 'Tut', occurrence: '02', day: '4', start: '14:00', finish: '15:00', duration: 1 },
      ...{ weeks: '2', location: `${location}a` },
    },
  ],
});

const nusLesson = (classNo: string, day: string, weeks: unknown, venue: string): object => ({
  ...{ classNo, day, weeks, venue, startTime: '1200', endTime: '1400', lessonType: 'Lecture', size: 50 },
});
const nusModule = (moduleCode: string, title: string, ...timetable: object[]): object => ({
  ...{ moduleCode, title, semesterData: [{ semester: 1, timetable }] },
});

const hsrSlot = (Time: string, ...Lessons: object[]): object => ({ Time, Lessons });
const hsrLesson = (Name: string, Room: string, Week: string): object => ({
  ...{ Name, Room, Week, Teachers: 'Keller' },
});

const GERMAN_LINES = [
  'Stundenplan 2026/27;;;;;;',
  '',
  'Wochentag;Std.;Uhrzeit;Fach;Lehrkraft;Raum;Woche',
  'Montag;1-2;8:00-9:30;Übungen;Müller, Jörg;A101;A',
  'Montag;1-2;8:00-9:30;Geschichte;Weiß, Käthe;A102;B',
  'Dienstag;3-4;9:50-11:20;Geschichte;Weiß, Käthe;A102;',
];

const FORMS: readonly Form[] = [
  {
    form: 'ISCTE: requested and assigned rooms, several groups in one cell',
    file: 'aulas.csv',
    content: `${ISCTE_HEADER}\n${ISCTE_ROWS.join('\r\n')}\r\n`,
    text: [
      /roomId: Sala da aula #/,
      /# not used: Lotação # 40/,
      /title: Unidade de execução #/,
      /studyGroup: \{ from: Turma, split: "," \} #/,
      /dateOrder: dmy/,
    ],
    events: {
      // One for each group.
      'roomId=B203': ['10-04T09:30 Cálculo I', '10-04T09:30 Cálculo I'],
      // Alone, or with another group.
      'studyGroup=G1': 23,
    },
  },
  {
    form: 'ITU: no header, several meetings in one cell, hours as 11:30/13:29',
    file: 'dersler.txt',
    content: `20001|BLG 101E|Introduction to Computing|Ada Lovelace|Monday Wednesday|11:30/13:29 08:30/10:29|A201 B101|60
20002|MAT 103|Mathematics for Engineers|Emmy Noether|Tuesday|13:30/16:29|A202|90
20003|FIZ 101|Physics for Engineers|Lise Meitner|Friday|08:30/11:29|A203|90
20004|KIM 101|General Chemistry|Marie Curie|--|--|--|90
`,
    // A course without hours has no events.
    known: { weeks: 1, leftOut: 1 },
    events: {
      'lecturerId=Ada%20Lovelace': [
        '09-28T11:30 Introduction to Computing',
        '09-30T08:30 Introduction to Computing',
      ],
      // Each meeting has its room.
      'roomId=B101': ['09-30T08:30 Introduction to Computing'],
    },
  },
  {
    form: 'BSUIR: lessons by weekday, in Russian, weeks of a cycle of four, lists',
    file: 'schedule.json',
    content: JSON.stringify(
      {
        employeeDto: null,
        schedules: {
          Понедельник: [bsuirLesson('Алгебра', '09:00', [1, 3]), bsuirLesson('Физика', '11:00', [2])],
          Вторник: [CHEMISTRY],
        },
        exams: [],
      },
      null,
      1,
    ),
    known: { firstDay: '2026-08-31' },
    text: [/cycle: 4/, /studyGroup: \{ from: studentGroups, each: name \}/],
    events: {
      'studyGroup=353502&lecturerId=Иванов И. И.&date=2026-08-31&days=29': [
        '08-31T09:00 Алгебра',
        '09-07T11:00 Физика',
        '09-14T09:00 Алгебра',
        '09-28T09:00 Алгебра',
      ],
      'lecturerId=Петров П. П.&studyGroup=353501': 16,
    },
  },
  {
    form: 'ANU: classes by course, days from 0, weeks with a dash that does not break',
    file: 'classes.json',
    content: JSON.stringify({
      COMP1100_S1: anuClasses('COMP1100', 'HN 1.23'),
      MATH1013_S1: anuClasses('MATH1013', 'CB 2.1'),
    }),
    known: { firstDay: '2025-12-29', weeks: 5 },
    events: {
      'roomId=HN 1.23': [
        '12-29T09:00 COMP1100 Computing',
        '01-12T09:00 COMP1100 Computing',
        '01-19T09:00 COMP1100 Computing',
      ],
      // Day 4 is Friday.
      'roomId=CB 2.1a': ['01-09T14:00 MATH1013 Computing'],
    },
  },
  {
    form: 'NUSMods: lessons within modules and semesters, weeks as numbers or a span',
    file: 'modules.json',
    content: JSON.stringify([
      nusModule(
        'CS1010',
        'Programming Methodology',
        nusLesson('1', 'Monday', [1, 2, 3], 'COM1-0120'),
        nusLesson('2', 'Friday', [1, 13], 'COM1-0203'),
      ),
      nusModule(
        'MA1521',
        'Calculus for Computing',
        nusLesson('1', 'Tuesday', { start: '2026-09-29', end: '2026-10-20', weekInterval: 2 }, 'LT27'),
      ),
    ]),
    known: { timeZone: 'Asia/Singapore', weeks: 13 },
    events: {
      'roomId=COM1-0120': [
        '09-28T04:00 Programming Methodology',
        '10-05T04:00 Programming Methodology',
        '10-12T04:00 Programming Methodology',
      ],
      'roomId=LT27': ['09-29T04:00 Calculus for Computing', '10-13T04:00 Calculus for Computing'],
    },
  },
  {
    form: 'HSR: lessons within slots within days, start and end in one text',
    file: 'plan.json',
    content: JSON.stringify({
      Semester: 'HS',
      Days: [
        {
          Weekday: 'Montag',
          Slots: [hsrSlot('8:10 - 8:55', hsrLesson('Analysis', '1.206', '')), hsrSlot('9:05 - 9:50')],
        },
        {
          Weekday: 'Dienstag',
          Slots: [
            hsrSlot('8:10 - 8:55', hsrLesson('Physik', '5.002', 'even'), hsrLesson('Chemie', '4.112', 'odd')),
          ],
        },
      ],
    }),
    known: { timeZone: 'Europe/Zurich', weeks: 4 },
    events: {
      'date=2026-09-28&days=14': [
        '09-28T06:10 Analysis',
        '09-29T06:10 Chemie',
        '10-05T06:10 Analysis',
        '10-06T06:10 Physik',
      ],
    },
  },
  {
    form: 'a German school: a title above the header, windows-1252, ranges, weeks A and B',
    file: 'plan.csv',
    content: Buffer.from(GERMAN_LINES.join('\r\n'), 'latin1'),
    known: { weeks: 3 },
    text: [
      / {4}# a guess: the bytes .*\n {4}encoding: windows-1252\n {4}# a guess: .*\n {4}header: 3\n/,
      /# .* which values of Woche are the odd weeks .* is a guess\n {4}when:/,
      // And not the lesson numbers.
      / {6}weeks: \{ from: Woche, values: \{ A: odd, B: even \} \} # A, B\n/,
    ],
    events: {
      'date=2026-09-28&days=14': [
        '09-28T08:00 Übungen',
        '09-29T09:50 Geschichte',
        '10-05T08:00 Geschichte',
        '10-06T09:50 Geschichte',
      ],
    },
  },
  {
    form: 'a French export: 8h30, semaine A/B, several teachers',
    file: 'edt.csv',
    content: `Jour;Heure de début;Heure de fin;Semaine;Matière;Enseignant(s);Salle
lundi;8h00;9h30;semaine A;Chimie organique;DUPONT Marie;S. 204
mardi;10h;11h45;semaine B;Histoire de l’art;MARTIN Jean / DUPONT Marie;S. 205
jeudi;8h30;10h00;semaine A/B;Chimie organique;DUPONT Marie;S. 204
`,
    known: { weeks: 2 },
    events: {
      'lecturerId=DUPONT Marie': [
        '09-28T08:00 Chimie organique',
        '10-01T08:30 Chimie organique',
        '10-06T10:00 Histoire de l’art',
        '10-08T08:30 Chimie organique',
      ],
    },
  },
  {
    form: 'a Spanish faculty: days and their times in one cell',
    file: 'horario.csv',
    content: `Asignatura,Horario,Aula
Cálculo,"Lunes 10:00-12:00, Miércoles 9:00-10:00",Aula 1.2
Física,Jueves 16:00-18:00 y Viernes 8:00-10:00,Lab 3
`,
    known: { weeks: 1 },
    events: {
      'date=2026-09-28&days=7': [
        '09-28T10:00 Cálculo',
        '09-30T09:00 Cálculo',
        '10-01T16:00 Física',
        '10-02T08:00 Física',
      ],
    },
  },
  {
    form: 'a Ukrainian faculty: numbers of lessons in place of times',
    file: 'rozklad.csv',
    content: `День,Пара,Тиждень,Дисципліна,Аудиторія
Понеділок,1,чисельник,Вища математика,201
Понеділок,2,знаменник,Програмування,305
Вівторок,2,,Фізика твердого тіла,201
`,
    known: { weeks: 2 },
    text: [
      /# Пара holds numbers of lessons in the day, and the times of day in `start` are guesses\n/,
      /start: \{ from: Пара, values: \{ "1": "08:00-09:30", "2": "09:40-11:10" \}, otherwise: reject \}/,
    ],
    changed: ['09:40-11:10', '10:05-11:40'],
    events: {
      'roomId!=x': [
        '09-28T08:00 Вища математика',
        '09-29T10:05 Фізика твердого тіла',
        '10-05T10:05 Програмування',
        '10-06T10:05 Фізика твердого тіла',
      ],
    },
  },
  {
    form: 'Banner: MWF beside Tu, 12 hours, dates of a term, TBA',
    file: 'banner.csv',
    content: `CRN,Title,Days,Time,Begin Date,End Date,Location
10001,University Physics,MWF,01:00 pm-01:50 pm,09/28/2026,10/09/2026,Hall 101
10002,Intro to Proofs,Tu,11:30 am-12:45 pm,09/28/2026,10/09/2026,TBA
10003,Independent Study,TBA,TBA,09/28/2026,10/09/2026,TBA
`,
    // A course without hours has no events.
    known: { leftOut: 1 },
    text: [
      // The dates tell the term.
      /firstDay: 2026-09-28, weeks: 2,/,
      /roomId: \{ from: Location, values: \{ TBA: null \} \}/,
    ],
    events: {
      'date=2026-09-28&days=3': [
        '09-28T13:00 University Physics',
        '09-29T11:30 Intro to Proofs',
        '09-30T13:00 University Physics',
      ],
    },
  },
];

const MDY_EVENTS = ['10-01T08:00 Algebra', '10-02T08:00 Logic'];
const DMY_EVENTS = ['01-10T08:00 Algebra', '02-10T08:00 Logic'];

/** Small tables, by what is found in them. */
const FINDINGS: readonly Form[] = [
  {
    form: 'groups in one cell, none of which occurs in another',
    file: 'groups.csv',
    content: `Title,Date,From,To,Group,Room
Algebra,2026-10-05,08:00,09:30,"E1, E2",A101
Logic,2026-10-06,08:00,09:30,,"Building 2, floor 3"
`,
    text: [/ {6}studyGroup: \{ from: Group, split: "," \} # E1, E2\n/, / {6}roomId: Room #/],
    events: { 'studyGroup=E2': ['10-05T08:00 Algebra'], 'studyGroup=E1': ['10-05T08:00 Algebra'] },
  },
  ...(
    [
      // Thursday and Friday as month and day; Sunday and Friday as day and month.
      ['mdy', 'Day,Date', 'Thu,10/01/2026', 'Fri,10/02/2026'],
      ['dmy', 'Jour,Date', 'sam.,10/01/2026', 'mar.,10/02/2026'],
      ['mdy', 'Kind,Date', 'Lecture,Thu 10/01/2026', 'Lab,Fri 10/02/2026'],
    ] as const
  ).map(([order, header, first, second]) => ({
    form: `dates whose weekdays tell the order ${order}: ${first}`,
    file: 'weekdays.csv',
    content: `Title,${header},From,To\nAlgebra,${first},08:00,09:30\nLogic,${second},08:00,09:30\n`,
    text: [new RegExp(`^ *dateOrder: ${order}\\n`, 'm'), /^(?!.*date-?order \w+ is a guess)/is],
    events: { 'roomId!=x': order === 'mdy' ? MDY_EVENTS : DMY_EVENTS },
  })),
  {
    form: 'dates whose order the weekdays do not tell',
    file: 'weekdays.csv',
    content: 'Title,Day,Date,From,To\nAlgebra,Mon,10/01/2026,08:00,09:30\nLogic,Tue,10/02/2026,08:00,09:30\n',
    text: [/dateOrder dmy is a guess/],
    events: {},
  },
  ...['05.10.2026, 8:00-9:30', '5.10.2026 8:00 – 9:30', 'Mo, 05.10.2026, 8:00-9:30'].map((when) => ({
    form: `date, start and end in one cell: ${when}`,
    file: 'spans.csv',
    content: `Title;When;Room\nAlgebra;${when};A101\nLogic;${when.replace('5.', '6.').replace('Mo', 'Di')};A102\n`,
    text: [/ {6}time: When #.*\n {6}endTime: When #/],
    events: {
      'roomId!=x&date=2026-10-05&days=3': ['10-05T08:00 Algebra', '10-06T08:00 Logic'],
      // The end is 9:30.
      'startTime=2026-10-05T09:00:00Z&endTime=2026-10-05T09:29:00Z': ['10-05T08:00 Algebra'],
      'startTime=2026-10-05T09:31:00Z&endTime=2026-10-05T10:00:00Z': [],
    },
  })),
];

for (const { form, file, content, known, text: said = [], changed: [was, is] = ['', ''], events } of [
  ...FORMS,
  ...FINDINGS,
]) {
  test(`in the form of ${form}`, async (t) => {
    const { path, text } = await written(t, file, content, known);
    for (const each of said) t.match(text, each);
    writeFileSync(path, readFileSync(path, 'utf8').replace(was, is));
    for (const [query, expected] of Object.entries(events)) {
      const found = await eventsOf(t, path, query);
      t.strictSame(typeof expected === 'number' ? found.length : found, expected, query);
    }
  });
}

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
  const long = await written(t, 'lang.csv', csv(`blok ${'x'.repeat(900)}`));
  t.match(long.text, /# Weken may hold weeks, but "blok x{35}"… names none, /);
});

test('a calendar of another year without a zone gets its days and a zone', async (t) => {
  const event = (uid: string, ...lines: readonly string[]): string[] => [
    'BEGIN:VEVENT',
    `UID:${uid}`,
    'DTSTAMP:20200101T000000Z',
    ...lines,
    'END:VEVENT',
  ];
  const calendar = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:test',
    ...event('a', 'SUMMARY:Logic', 'DTSTART:20200106T090000', 'DURATION:PT1H', 'RRULE:FREQ=WEEKLY;COUNT=3'),
    ...event('b', 'SUMMARY:Exam', 'DTSTART:20200127T090000', 'DURATION:PT2H'),
    'END:VCALENDAR',
  ].join('\r\n');
  const { path, text } = await written(t, 'lessons.ics', calendar);
  t.match(text, /# the times have no offset, and timeZone is a guess \(.*\ntimeZone: /);
  t.match(
    text,
    /# calendarFrom and calendarTo are guesses: recurring .*\n {4}calendarFrom: 2020-01-06\n {4}calendarTo: 2020-01-21\n/,
  );
  t.equal((await eventsOf(t, path, '')).length, 4);
  const { stdout } = await runHere(t, ['inspect', join(path, '../lessons.ics')]);
  t.match(
    stdout,
    / {2}lectern serve \S+ --calendar-from 2020-01-06 --calendar-to 2020-01-21 --time-zone \S+ --dev\n/,
  );
  t.match(stdout, /"UID" +4 /, 'records are counted in the last reading alone');
  const given = ['--time-zone', 'UTC', '--calendar-from', '2019-12-01', '--calendar-to', '2020-12-01'];
  const known = await runHere(t, ['inspect', join(path, '../lessons.ics'), ...given]);
  t.notMatch(known.stdout, /guess/, 'what the user gives is no guess');
});

test('a calendar needs no map for what it says itself', async (t) => {
  const calendar = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'BEGIN:VEVENT',
    'UID:1',
    'SEQUENCE:2',
    'DTSTART:20260928T090000Z',
    'DTEND:20260928T100000Z',
    'SUMMARY:Algebra',
    'LOCATION:Hall 1',
    'CATEGORIES:Lecture',
    'PRIORITY:5',
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ].join('\r\n');
  const { path, text } = await written(t, 'lessons.ics', calendar);
  t.strictSame(text.match(/(?<=# not used: )\S+/g), ['PRIORITY'], text);
  t.strictSame(await eventsOf(t, path, ''), ['09-28T09:00 Algebra']);
});
