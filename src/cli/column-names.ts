/** Usual names of timetable columns, in lower case and without accents. Earlier names are more certain. */

/**
 * What a column means. Some roles are not fields of events: they are parts of a time, or show that a field is
 * missing.
 */
export type ColumnRole =
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

/** A longer name means nothing, and a long run of marks would take quadratic time. */
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
export function scoreOf(name: string, role: ColumnRole): number {
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
