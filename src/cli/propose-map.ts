import type { IdentifierMode } from '../model/event.js';
import type { FieldName } from '../model/fields.js';
import { IDENTIFIER_CHARACTERS_MAX } from '../model/identifier.js';
import type { ReadRules } from '../model/read-rules.js';
import { columnsOf, parseTemplate } from '../source/map-template.js';
import type { ColumnForm, LookedColumn } from './column-look.js';

/** Proposes options for a source, and says what the source lacks. */
export interface MapProposal {
  /** A column or a template for each event field. */
  readonly map: Readonly<Record<string, string>>;
  readonly dateOrder: 'ymd' | 'dmy' | 'mdy' | null;
  readonly timeZone: string | null;
  readonly identifiers: 'any' | 'derived' | null;
  /** Sentences on what is missing or uncertain. */
  readonly notes: readonly string[];
  /** Whether the map has a start and an end, which every event needs. */
  readonly isComplete: boolean;
}

const DATE_AND_TIME: readonly ColumnForm[] = ['instant', 'local'];
const TEXT_FIELDS = ['title', 'courseId', 'roomId', 'studyGroup', 'lecturer', 'type'] as const;
const IDENTIFIER_FIELDS: readonly FieldName[] = ['id', 'roomId', 'courseId', 'groupId', 'lecturerId'];
/** The zone of a proposal if the machine's zone is UTC. */
const ZONE_EXAMPLE = 'Europe/Berlin';

/** Facts for a proposal, besides the values of the columns. */
export interface ProposalGround {
  /** The rules that the user gave. */
  readonly rules: ReadRules;
  /** The part of the user's field map that is kept. Its fields get no other column. */
  readonly given?: Readonly<Record<string, string>>;
  /** The columns of the primary key of a database. */
  readonly key?: readonly string[];
  /** Whether records were rejected because an earlier record had the same id. */
  readonly hasDuplicates?: boolean;
}

/** Infers the meaning of columns from their names, from their values, and from the key of a database. */
export function proposeMap(
  columns: readonly LookedColumn[],
  { rules, given = {}, key = [], hasDuplicates = false }: ProposalGround = {
    rules: { identifiers: 'uuid' },
  },
): MapProposal {
  // A map cannot name columns with these characters.
  const filled = columns.filter(({ name, records }) => records > 0 && !/[{}\n]/.test(name));
  const named = (template: string): LookedColumn[] => {
    const names = namesIn(template);
    return filled.filter(({ name }) => names.includes(name));
  };
  const times = timesOf(filled, given, named);
  const map: Record<string, string> = {};
  const add = (field: FieldName, template: string): void => {
    if (template !== field && given[field] === undefined) map[field] = template;
  };
  if (times.time !== null) add('time', times.time);
  if (times.endTime !== null) add('endTime', times.endTime);
  const used = new Set<LookedColumn>([...times.columns, ...Object.values(given).flatMap(named)]);
  const own = (field: FieldName): LookedColumn | undefined => filled.find(({ name }) => name === field);
  const id = given.id ?? idOf(filled, key, used, hasDuplicates);
  if (id !== undefined) {
    add('id', id);
    for (const column of named(id)) used.add(column);
  }
  for (const field of TEXT_FIELDS) {
    if (given[field] !== undefined) continue;
    // One column may be both title and course.
    const taken =
      field === 'courseId' ? new Set([...used].filter((column) => column.name !== map.title)) : used;
    const isFit = IDENTIFIER_FIELDS.includes(field) ? isNameColumn : isTextColumn;
    const column = own(field) ?? best(filled, field, isFit, taken);
    if (column === undefined) continue;
    add(field, column.name);
    used.add(column);
  }
  // Without an identifier, the lecturer's name serves as identifier, as the name of a room does.
  if (given.lecturerId === undefined && own('lecturerId') === undefined && map.lecturer !== undefined) {
    map.lecturerId = map.lecturer;
  }
  const identifiers = identifiersFor(rules.identifiers, id, { ...map, ...given }, named, key.length > 0);
  const needsZone = times.columns.length > 0 && times.columns.some(({ form }) => form !== 'instant');
  const order = orderOf(times.columns, filled, rules.dateOrder);
  const zone = needsZone ? zoneOf(rules.timeZone) : { timeZone: null, notes: [] };
  return {
    map,
    dateOrder: order.dateOrder,
    timeZone: zone.timeZone,
    identifiers: identifiers.mode,
    notes: [...times.notes, ...order.notes, ...zone.notes, ...identifiers.notes],
    isComplete: times.time !== null && times.endTime !== null && order.isKnown,
  };
}

/** The columns of a template; none if the template is wrong. */
export function namesIn(template: string): string[] {
  const parsed = parseTemplate(template);
  return typeof parsed === 'string' ? [] : columnsOf(parsed);
}

/** The id of the events: a column `id`, the primary key, or a column with a usual name. */
function idOf(
  filled: readonly LookedColumn[],
  key: readonly string[],
  used: ReadonlySet<LookedColumn>,
  hasDuplicates: boolean,
): string | undefined {
  const own = filled.find(({ name }) => name === 'id');
  if (own?.isUnique && !hasDuplicates) return 'id';
  if (key.length > 0) return key.length === 1 ? key[0] : key.map((name) => `{${name}}`).join('/');
  return own?.name ?? best(filled, 'id', (column) => column.isUnique, used)?.name;
}

/** The setting `identifiers` that the columns need. The user's setting is kept, unless a value does not fit. */
function identifiersFor(
  given: IdentifierMode,
  id: string | undefined,
  map: Readonly<Record<string, string>>,
  named: (template: string) => readonly LookedColumn[],
  hasKey: boolean,
): { readonly mode: MapProposal['identifiers']; readonly notes: readonly string[] } {
  if (given === 'derived') return { mode: given, notes: [] };
  const all = IDENTIFIER_FIELDS.flatMap((field) => {
    const template = field === 'id' ? id : (map[field] ?? field);
    return template === undefined ? [] : [named(template)];
  });
  const long = all.find((columns) => !areIdentifiers(columns));
  if (given === 'any') {
    if (id !== undefined && long === undefined) return { mode: given, notes: [] };
    const reason =
      long === undefined
        ? 'no column identifies the records'
        : `${long.map(({ name }) => name).join(' and ')} has values that are neither whole numbers nor texts of at most ${IDENTIFIER_CHARACTERS_MAX} characters`;
    return { mode: 'derived', notes: [`--identifiers any cannot be used: ${reason}`] };
  }
  const isUuid = all.every((columns) => columns.length < 2 && columns.every(({ form }) => form === 'uuid'));
  if (id !== undefined && isUuid) return { mode: null, notes: [] };
  // Whole numbers that identify the rows of a database are kept unchanged.
  const areNumbers = all.flat().every(({ form }) => form === 'number' || form === 'uuid');
  const isKept = hasKey && id !== undefined && long === undefined && areNumbers;
  return { mode: isKept ? 'any' : 'derived', notes: [] };
}

/** Whether `--identifiers any` accepts the values of these columns, joined by a character. */
function areIdentifiers(columns: readonly LookedColumn[]): boolean {
  const units = columns.reduce((sum, { unitsMax }) => sum + unitsMax, columns.length - 1);
  if (columns.length > 1) return units <= IDENTIFIER_CHARACTERS_MAX;
  return columns.every(({ isIdentifier }) => isIdentifier);
}

/** For calendars: maps non-standard properties to fields without a value. Other fields have a property by default. */
export function proposeCalendarMap(
  columns: readonly LookedColumn[],
  isEmpty: (field: FieldName) => boolean,
): MapProposal {
  const own = columns.filter(({ name, records }) => records > 0 && /^X-\p{L}+$/u.test(name));
  const used = new Set<LookedColumn>();
  const map: Record<string, string> = {};
  for (const field of TEXT_FIELDS.filter(isEmpty)) {
    const column = best(own, field, isNameColumn, used);
    if (column === undefined) continue;
    map[field] = column.name;
    used.add(column);
  }
  return { map, dateOrder: null, timeZone: null, identifiers: null, notes: [], isComplete: true };
}

interface Times {
  readonly time: string | null;
  readonly endTime: string | null;
  readonly columns: readonly LookedColumn[];
  readonly notes: readonly string[];
}

/** The times of the user's map, completed by those that are found. */
function timesOf(
  filled: readonly LookedColumn[],
  given: Readonly<Record<string, string>>,
  named: (template: string) => readonly LookedColumn[],
): Times {
  const { time, endTime } = given;
  if (time === undefined && endTime === undefined) return findTimes(filled);
  const found = findTimes(filled);
  const isWhole = time !== undefined && endTime !== undefined;
  return {
    time: time ?? found.time,
    endTime: endTime ?? found.endTime,
    columns: [time, endTime].flatMap((template) => (template === undefined ? [] : named(template))),
    notes: isWhole ? [] : found.notes,
  };
}

function findTimes(columns: readonly LookedColumn[]): Times {
  const isMoment = ({ form }: LookedColumn): boolean => DATE_AND_TIME.includes(form);
  const isDate = ({ form }: LookedColumn): boolean => form === 'date';
  const isClock = ({ form }: LookedColumn): boolean => form === 'clock';
  const named = (name: string): LookedColumn | undefined =>
    columns.find((column) => column.name === name && isMoment(column));
  const moments = columns.filter(isMoment);
  const start = named('time') ?? best(moments, 'start') ?? best(moments, 'startDate') ?? moments[0];
  const end =
    named('endTime') ??
    best(moments, 'end', undefined, setOf(start)) ??
    best(moments, 'endDate', undefined, setOf(start));
  if (start !== undefined && end !== undefined) {
    return { time: start.name, endTime: end.name, columns: [start, end], notes: [] };
  }
  const dates = columns.filter(isDate);
  const clocks = columns.filter(isClock);
  const date = best(dates, 'startDate') ?? (dates.length === 1 ? dates[0] : undefined);
  const endDate = best(dates, 'endDate', undefined, setOf(date));
  const weekday = best(columns, 'weekday', ({ form }) => form === 'weekdays');
  const from = best(clocks, 'start') ?? (clocks.length === 2 ? clocks[0] : undefined);
  const to =
    best(clocks, 'end', undefined, setOf(from)) ??
    (clocks.length === 2 ? clocks.find((clock) => clock !== from) : undefined);
  const notes: string[] = [];
  if (weekday !== undefined && (date === undefined || endDate !== undefined)) {
    const range =
      date === undefined
        ? ''
        : `, and ${date.name} and ${endDate?.name} look like the first and the last day`;
    notes.push(
      `the dates of lessons are missing: ${weekday.name} holds days of the week${range}. Lectern needs a row for each lesson, with its date`,
    );
    return { time: null, endTime: null, columns: [], notes };
  }
  if (date === undefined && start === undefined)
    notes.push('the dates of lessons are missing: no column holds dates');
  const range = columns.find(({ form }) => form === 'clocks');
  if (range !== undefined && from === undefined) {
    notes.push(`${range.name} holds start and end in one cell; expected two columns`);
  } else if (date !== undefined && from === undefined)
    notes.push('the start of lessons is missing: no column holds times of day');
  const lastNote = endNote(columns, start ?? from, end ?? to);
  if (lastNote !== null) notes.push(lastNote);
  const startTemplate = start !== undefined ? start.name : joined(date, from);
  const endTemplate = end !== undefined ? end.name : joined(endDate ?? date, to);
  const found = [start ?? date, start === undefined ? from : undefined, endDate, to, end];
  return {
    time: startTemplate,
    endTime: endTemplate,
    columns: found.filter((column) => column !== undefined),
    notes,
  };
}

function endNote(
  columns: readonly LookedColumn[],
  start: LookedColumn | undefined,
  end: LookedColumn | undefined,
): string | null {
  if (start === undefined || end !== undefined) return null;
  const duration = best(columns, 'duration');
  const instead =
    duration === undefined ? '' : `; ${duration.name} looks like a duration, which a field map cannot add`;
  return `the end of lessons is missing${instead}`;
}

/** Day and month are ambiguous if both are at most 12. */
function orderOf(
  used: readonly LookedColumn[],
  all: readonly LookedColumn[],
  given: ReadRules['dateOrder'],
): {
  readonly dateOrder: MapProposal['dateOrder'];
  readonly notes: readonly string[];
  readonly isKnown: boolean;
} {
  const dates = used.flatMap((column) => column.dates ?? []);
  const [first] = dates;
  if (first === undefined || dates.every(({ yearFirst, mark }) => yearFirst && mark === '-')) {
    return { dateOrder: null, notes: [], isKnown: true };
  }
  const known = (dateOrder: MapProposal['dateOrder'], notes: readonly string[] = []) => ({
    dateOrder,
    notes,
    isKnown: true,
  });
  if (first.yearFirst) return known('ymd');
  const isDayFirst = dates.some(({ firstMax }) => firstMax > 12);
  const isMonthFirst = dates.some(({ secondMax }) => secondMax > 12);
  if (isDayFirst && isMonthFirst) {
    return {
      dateOrder: null,
      notes: ['some dates begin with the day, others with the month'],
      isKnown: false,
    };
  }
  if (isDayFirst) return known('dmy');
  if (isMonthFirst) return known('mdy');
  if (given !== undefined) return known(given);
  const guess = first.mark === '.' || !all.some(({ hasAmPm }) => hasAmPm) ? 'dmy' : 'mdy';
  return known(guess, [
    `no date has a day above 12, so --date-order ${guess} is a guess: check it (dmy is day, month, year; mdy is month, day, year)`,
  ]);
}

/** Whether values can be names, unlike times, dates and bare numbers. */
function isNameColumn({ form }: LookedColumn): boolean {
  return form === 'text' || form === 'uuid' || form === 'number' || form === 'weekdays';
}

function isTextColumn(column: LookedColumn): boolean {
  return isNameColumn(column) && column.isText;
}

function best(
  columns: readonly LookedColumn[],
  role: ColumnRole,
  isFit: (column: LookedColumn) => boolean = () => true,
  taken: ReadonlySet<LookedColumn> = new Set(),
): LookedColumn | undefined {
  const scored = columns
    .filter((column) => !taken.has(column) && isFit(column))
    .map((column) => ({ column, score: scoreOf(column.name, role) }))
    .filter(({ score }) => score > 0);
  return scored.sort((a, b) => b.score - a.score)[0]?.column;
}

function setOf(column: LookedColumn | undefined): ReadonlySet<LookedColumn> {
  return new Set(column === undefined ? [] : [column]);
}

function joined(date: LookedColumn | undefined, clock: LookedColumn | undefined): string | null {
  if (date === undefined || clock === undefined) return null;
  return `${inTemplate(date)} ${inTemplate(clock)}`;
}

function inTemplate({ name }: LookedColumn): string {
  return `{${name}}`;
}

/** Times without an offset do not name their zone. Unless a zone is given, it is guessed. */
function zoneOf(given: string | undefined): Pick<MapProposal, 'timeZone' | 'notes'> {
  if (given !== undefined) return { timeZone: given, notes: [] };
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const isUtc = own === 'UTC' || own === 'Etc/UTC';
  const timeZone = isUtc ? ZONE_EXAMPLE : own;
  const origin = isUtc ? 'an example, because this machine uses UTC' : 'the zone of this machine';
  return {
    timeZone,
    notes: [
      `the times have no offset, and --time-zone ${timeZone} is a guess (${origin}): check it, because a wrong zone shifts every time`,
    ],
  };
}

/** The options of a command line, quoted for a shell. */
export function proposedOptions({ map, dateOrder, timeZone, identifiers }: MapProposal): string[] {
  return [
    ...Object.entries(map).map(([field, template]) => `--map ${field}=${shellQuoted(template)}`),
    ...(dateOrder === null ? [] : [`--date-order ${dateOrder}`]),
    ...(timeZone === null ? [] : [`--time-zone ${timeZone}`]),
    ...(identifiers === null ? [] : [`--identifiers ${identifiers}`]),
  ];
}

export function shellQuoted(text: string): string {
  return /^[\w@%+:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Usual names of timetable columns, in lower case and without accents. Earlier names are more certain. */

/**
 * What a column means. Some roles are not fields of events: they are parts of a time, or show that a field is
 * missing.
 */
type ColumnRole =
  | 'id'
  | 'startDate'
  | 'endDate'
  | 'start'
  | 'end'
  | 'duration'
  | 'weekday'
  | 'title'
  | 'courseId'
  | 'roomId'
  | 'studyGroup'
  | 'lecturer'
  | 'type';

const COLUMN_NAMES: Readonly<Record<ColumnRole, readonly string[]>> = {
  id: words('id, uid, uuid, event id, lesson id, identifier, kennung, identifiant, identificador'),
  startDate: words(
    'start date, startdatum, date, datum, tag, day, beginndatum, von datum, date from, ' +
      'date de debut, date debut, jour, fecha, fecha inicio, fecha de inicio, dia, data, giorno',
  ),
  endDate: words(
    'end date, enddatum, date to, bis datum, date de fin, date fin, fecha fin, fecha de fin, data ' +
      'fine, einddatum',
  ),
  start: words(
    'start time, start, startzeit, beginn, von, begin, begins, anfang, anfangszeit, from, ab, ' +
      'zeit von, uhrzeit von, dtstart, time, uhrzeit, heure de debut, heure debut, debut, de, hora ' +
      'inicio, hora de inicio, inicio, desde, hora, ora inizio, inizio, dalle, starttijd, aanvang',
  ),
  end: words(
    'end time, end, endzeit, ende, bis, ends, to, until, zeit bis, uhrzeit bis, dtend, finish, ' +
      'heure de fin, heure fin, fin, hora fin, hora de fin, hasta, ora fine, fine, alle, eindtijd, ' +
      'tot',
  ),
  duration: words('duration, dauer, duree, duracion, durata, minuten, minutes'),
  weekday: words(
    'weekday, wochentag, day of week, days of the week, day of the week, days, day, tag, jour, ' +
      'jour de la semaine, dia de la semana, dia, giorno',
  ),
  title: words(
    'title, titel, veranstaltung, lehrveranstaltung, summary, bezeichnung, betreff, fach, ' +
      'subject, course name, course title, name, modul, module, kurs, course, thema, intitule, ' +
      'titre, matiere, cours, asignatura, materia, titulo, curso, titolo, insegnamento, vak, ' +
      'lesson, class name',
  ),
  courseId: words(
    'course id, course code, course number, kursnummer, kurs nr, lv nummer, lv nr, modulnummer, ' +
      'module code, crn, kurs, course, modul, module, fach, subject, matiere, cours, asignatura, ' +
      'materia, curso, vak',
  ),
  roomId: words(
    'room, raum, room id, ort, location, saal, horsaal, hoersaal, zimmer, venue, place, salle, ' +
      'lieu, sala, aula, salon, lugar, ubicacion, luogo, lokaal, zaal',
  ),
  studyGroup: words(
    'study group, group, gruppe, klasse, class, seminargruppe, studiengruppe, studiengang, kohorte, ' +
      'semestergruppe, jahrgang, cohort, zug, groupe, classe, promotion, grupo, clase, gruppo, groep, klas, section',
  ),
  lecturer: words(
    'lecturer, dozent, dozentin, dozenten, lehrer, lehrerin, lehrkraft, lehrperson, teacher, ' +
      'instructor, professor, prof, staff, tutor, leitung, referent, enseignant, professeur, ' +
      'intervenant, profesor, profesora, docente, docent, leraar',
  ),
  type: words(
    'type, typ, art, veranstaltungsart, kategorie, category, lehrform, form, kind, format, ' +
      'component, nature, categorie, tipo, categoria, soort',
  ),
};

function words(list: string): readonly string[] {
  return list.split(', ');
}

/** Longer names are cut: they mean nothing, and a long run of marks would take quadratic time. */
const NAME_UNITS_READ = 256;

/** `course_startTime` becomes `course start time`. */
export function plainName(name: string): string {
  return name
    .slice(0, NAME_UNITS_READ)
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replaceAll('\u00df', 'ss')
    .normalize('NFD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

/** How certain it is that a name has the role: 0 for not at all. */
function scoreOf(name: string, role: ColumnRole): number {
  const plain = plainName(name);
  const names = COLUMN_NAMES[role];
  const exact = names.indexOf(plain);
  if (exact !== -1) return 1000 - exact;
  const within = names.findIndex((word) => ` ${plain} `.includes(` ${word} `));
  if (within !== -1) return 500 - within;
  // Compounds such as Unterrichtsbeginn.
  const part = names.findIndex(
    (word) => word.length >= 4 && (plain.endsWith(word) || plain.startsWith(word)),
  );
  return part === -1 ? 0 : 100 - part;
}
