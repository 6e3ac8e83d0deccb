/**
 * Usual names of timetable columns by language. To add a language, add a block. Case, accents and punctuation do not
 * count; earlier names of a list are more certain.
 */

/**
 * What a column means. Some roles are not fields of events: they are parts of a time, such as `period`, the number of a
 * lesson in the day, or `other`, which stands for what
 * is easily mistaken for a field, such as the room that was requested or its capacity.
 */
export type ColumnRole =
  | 'id'
  | 'startDate'
  | 'endDate'
  | 'start'
  | 'end'
  | 'duration'
  | 'weekday'
  | 'weeks'
  | 'period'
  | 'title'
  | 'courseId'
  | 'roomId'
  | 'studyGroup'
  | 'lecturer'
  | 'type'
  | 'other';

const LANGUAGES: readonly Readonly<Partial<Record<ColumnRole, string>>>[] = [
  {
    // English
    id: 'id, uid, uuid, event id, lesson id, identifier',
    startDate: 'start date, date, day, date from, valid from, first day',
    endDate: 'end date, date to, valid until, valid to, last day',
    start: 'start time, start, begin, begins, from, dtstart, time, hours, hour',
    end: 'end time, end, ends, to, until, dtend, finish',
    duration: 'duration, minutes, length',
    weekday: 'weekday, week day, day of week, days of the week, day of the week, days, day',
    weeks: 'weeks, week pattern, week numbers, week number, week, teaching weeks, wks',
    period: 'period, periods, lesson number, lesson no, slot, block',
    title:
      'title, summary, subject, course name, course title, module name, module title, name, module, course, lesson, class name',
    courseId: 'course id, course code, course number, module code, crn, course, module, subject, code',
    roomId: 'room, room id, room name, location, venue, place',
    studyGroup: 'study group, student group, group, groups, class, cohort, section, class no',
    lecturer:
      'lecturer, lecturers, teacher, teachers, instructor, professor, prof, staff, tutor, employee, employees',
    type: 'type, lesson type, activity, activity type, category, form, kind, format, component, method',
    other:
      'requested, capacity, seats, features, equipment, size, enrolled, students, building, campus, email, phone, url, semester, year, department, faculty, programme, program',
  },
  {
    // German
    id: 'kennung',
    startDate: 'startdatum, datum, tag, beginndatum, von datum, gultig ab',
    endDate: 'enddatum, bis datum, gultig bis',
    start: 'startzeit, beginn, von, anfang, anfangszeit, ab, zeit von, uhrzeit von, uhrzeit, zeit',
    end: 'endzeit, ende, bis, zeit bis, uhrzeit bis',
    duration: 'dauer, minuten',
    weekday: 'wochentag, tag',
    weeks: 'wochen, unterrichtswochen, semesterwochen, woche',
    period: 'stunde, stunden, std, unterrichtsstunde, block',
    title: 'titel, veranstaltung, lehrveranstaltung, bezeichnung, betreff, fach, modul, kurs, thema',
    courseId: 'kursnummer, kurs nr, lv nummer, lv nr, modulnummer, kurs, modul, fach',
    roomId: 'raum, ort, saal, hörsaal, hoersaal, zimmer',
    studyGroup:
      'gruppe, klasse, seminargruppe, studiengruppe, studiengang, kohorte, semestergruppe, jahrgang, zug',
    lecturer: 'dozent, dozentin, dozenten, lehrer, lehrerin, lehrkraft, lehrperson, leitung, referent',
    type: 'typ, art, veranstaltungsart, kategorie, lehrform',
    other: 'wunschraum, gewünscht, kapazität, plätze, ausstattung, teilnehmer, gebäude, fakultät',
  },
  {
    // French
    id: 'identifiant',
    startDate: 'date de debut, date debut, jour',
    endDate: 'date de fin, date fin',
    start: 'heure de debut, heure debut, debut, heure, horaire, de',
    end: 'heure de fin, heure fin, fin',
    duration: 'duree',
    weekday: 'jour de la semaine, jour',
    weeks: 'semaines, semaine',
    period: 'seance, creneau, numero de seance',
    title: 'intitule, titre, matiere, cours, enseignement, nom du cours',
    courseId: 'code du cours, code matiere, matiere, cours',
    roomId: 'salle, lieu, local',
    studyGroup: 'groupe, groupes, classe, promotion',
    lecturer: 'enseignant, enseignants, professeur, intervenant',
    type: 'type de cours, nature, categorie',
    other: 'demandee, souhaitee, capacite, places, equipement, effectif, batiment, filiere',
  },
  {
    // Spanish
    id: 'identificador',
    startDate: 'fecha, fecha inicio, fecha de inicio, dia',
    endDate: 'fecha fin, fecha de fin',
    start: 'hora inicio, hora de inicio, inicio, desde, hora, horario',
    end: 'hora fin, hora de fin, hasta, fin',
    duration: 'duracion',
    weekday: 'dia de la semana, dia',
    weeks: 'semanas, semana',
    period: 'hora lectiva, sesion, franja',
    title: 'asignatura, materia, titulo, nombre de la asignatura, curso',
    courseId: 'codigo de asignatura, codigo, asignatura, materia, curso',
    roomId: 'aula, salon, lugar, ubicacion',
    studyGroup: 'grupo, grupos, clase',
    lecturer: 'profesor, profesora, profesores, docente',
    type: 'tipo, categoria',
    other: 'solicitada, capacidad, plazas, alumnos, edificio, titulacion, carrera',
  },
  {
    // Portuguese
    startDate: 'data, data de inicio, dia',
    endDate: 'data de fim, data fim',
    start: 'hora de inicio, hora inicio, inicio, hora',
    end: 'hora de fim, hora fim, fim, termino',
    duration: 'duracao',
    weekday: 'dia da semana, dia de semana, dia',
    weeks: 'semanas, semana',
    period: 'tempo letivo, tempo, bloco',
    title: 'unidade curricular, unidade de execucao, disciplina, cadeira, uc, curso',
    courseId: 'codigo da disciplina, codigo, unidade curricular, unidade de execucao, disciplina',
    roomId: 'sala, sala da aula, local',
    studyGroup: 'turma, turmas, turno',
    lecturer: 'docente, docentes, professor',
    type: 'tipo de aula, tipologia, tipo',
    other: 'pedida, caracteristicas, capacidade, lotacao, inscritos, edificio, curso',
  },
  {
    // Italian
    startDate: 'data, data inizio, giorno',
    endDate: 'data fine',
    start: 'ora inizio, ora di inizio, inizio, dalle, orario, ora',
    end: 'ora fine, ora di fine, fine, alle',
    duration: 'durata',
    weekday: 'giorno della settimana, giorno',
    weeks: 'settimane, settimana',
    period: 'ora di lezione, numero ora',
    title: 'insegnamento, titolo, materia, corso',
    courseId: 'codice insegnamento, codice, insegnamento, materia',
    roomId: 'aula, sala, luogo',
    studyGroup: 'gruppo, gruppi, classe, canale',
    lecturer: 'docente, docenti, professore',
    type: 'tipo, tipologia',
    other: 'richiesta, capienza, posti, studenti, edificio, corso di laurea',
  },
  {
    // Dutch
    startDate: 'datum, begindatum, startdatum',
    endDate: 'einddatum',
    start: 'starttijd, begintijd, aanvang, begin, van, tijd',
    end: 'eindtijd, einde, tot',
    duration: 'duur',
    weekday: 'weekdag, dag van de week, dag',
    weeks: 'weken, lesweken',
    period: 'lesuur, uur, blok',
    title: 'vak, onderwerp, naam, cursus, omschrijving',
    courseId: 'vakcode, cursuscode, vak',
    roomId: 'lokaal, zaal, ruimte, locatie',
    studyGroup: 'groep, groepen, klas',
    lecturer: 'docent, docenten, leraar',
    type: 'soort, werkvorm',
    other: 'gewenst, capaciteit, plaatsen, studenten, gebouw, opleiding',
  },
  {
    // Polish
    id: 'identyfikator',
    startDate: 'data, data rozpoczecia, od dnia',
    endDate: 'data zakonczenia, do dnia',
    start: 'godzina rozpoczecia, poczatek, rozpoczecie, godzina od, od, godzina, godziny',
    end: 'godzina zakonczenia, koniec, zakonczenie, godzina do, do',
    duration: 'czas trwania',
    weekday: 'dzien tygodnia, dzien',
    weeks: 'tygodnie, tydzien',
    period: 'godzina lekcyjna, numer lekcji, lekcja, nr lekcji',
    title: 'przedmiot, nazwa przedmiotu, zajecia, nazwa, temat, kurs',
    courseId: 'kod przedmiotu, kod kursu, kod, przedmiot',
    roomId: 'sala, pomieszczenie, miejsce',
    studyGroup: 'grupa, grupy, klasa',
    lecturer: 'prowadzacy, wykladowca, nauczyciel',
    type: 'typ, rodzaj, rodzaj zajec, forma, forma zajec',
    other: 'pojemnosc, liczba miejsc, budynek, wydzial, kierunek',
  },
  {
    // Czech
    startDate: 'datum, datum od',
    endDate: 'datum do',
    start: 'zacatek, cas od, od, cas',
    end: 'konec, cas do, do',
    duration: 'delka, trvani',
    weekday: 'den v tydnu, den tydne, den',
    weeks: 'tydny, tyden',
    period: 'vyucovaci hodina, hodina',
    title: 'predmet, nazev predmetu, nazev, kurz',
    courseId: 'kod predmetu, zkratka predmetu, kod, predmet',
    roomId: 'mistnost, ucebna, misto',
    studyGroup: 'skupina, skupiny, trida, krouzek',
    lecturer: 'vyucujici, ucitel, prednasejici',
    type: 'typ, druh, typ akce',
    other: 'kapacita, pozadovana, budova, fakulta, obor',
  },
  {
    // Ukrainian
    startDate: 'дата, дата початку',
    endDate: 'дата закінчення, дата завершення',
    start: 'початок, час початку, час, з',
    end: 'кінець, час закінчення, закінчення, до',
    duration: 'тривалість',
    weekday: 'день тижня, день',
    weeks: 'тижні, тиждень, номер тижня',
    period: 'пара, номер пари, урок, номер уроку',
    title: 'дисципліна, предмет, назва дисципліни, назва',
    courseId: 'код дисципліни, код, дисципліна, предмет',
    roomId: 'аудиторія, кабінет, приміщення, місце',
    studyGroup: 'група, групи, клас',
    lecturer: 'викладач, викладачі, вчитель',
    type: 'тип заняття, вид заняття, тип, вид',
    other: 'місткість, корпус, факультет, кафедра',
  },
  {
    // Russian
    startDate: 'дата, дата начала',
    endDate: 'дата окончания, дата конца',
    start: 'начало, время начала, время, с',
    end: 'конец, окончание, время окончания, до, по',
    duration: 'длительность, продолжительность',
    weekday: 'день недели, день',
    weeks: 'недели, неделя, номер недели',
    period: 'пара, номер пары, урок, номер урока',
    title: 'дисциплина, предмет, название дисциплины, название',
    courseId: 'код дисциплины, код, дисциплина, предмет',
    roomId: 'аудитория, кабинет, помещение, место',
    studyGroup: 'группа, группы, класс',
    lecturer: 'преподаватель, преподаватели, учитель',
    type: 'тип занятия, вид занятия, тип, вид',
    other: 'вместимость, корпус, факультет, кафедра, специальность',
  },
  {
    // Swedish
    startDate: 'datum, startdatum',
    endDate: 'slutdatum',
    start: 'starttid, borjar, start, fran, tid',
    end: 'sluttid, slutar, slut, till',
    duration: 'langd, varaktighet',
    weekday: 'veckodag, dag',
    weeks: 'veckor, vecka',
    period: 'lektion, lektionspass, pass',
    title: 'kurs, kursnamn, amne, benamning, rubrik, titel',
    courseId: 'kurskod, kurs, amne',
    roomId: 'sal, lokal, rum, plats',
    studyGroup: 'grupp, grupper, klass, studentgrupp',
    lecturer: 'larare, forelasare, undervisare',
    type: 'moment, undervisningstyp, typ',
    other: 'onskad, kapacitet, platser, byggnad, institution',
  },
  {
    // Turkish
    startDate: 'tarih, baslangic tarihi',
    endDate: 'bitis tarihi',
    start: 'baslangic saati, baslangic, saat, ders saati',
    end: 'bitis saati, bitis',
    duration: 'sure',
    weekday: 'haftanin gunu, gun, gunler',
    weeks: 'haftalar, hafta',
    period: 'ders no, ders saati no',
    title: 'ders adi, ders, dersin adi, konu',
    courseId: 'ders kodu, kod, crn',
    roomId: 'derslik, sinif no, oda, salon, yer',
    studyGroup: 'grup, sube, sinif',
    lecturer: 'ogretim uyesi, ogretim elemani, egitmen, ogretmen, hoca',
    type: 'ders turu, tur, ogretim yontemi',
    other: 'kapasite, kontenjan, yazilan, bina, bolum',
  },
  {
    // Hebrew
    startDate: 'תאריך, תאריך התחלה',
    endDate: 'תאריך סיום',
    start: 'שעת התחלה, התחלה, משעה, שעה, שעות',
    end: 'שעת סיום, סיום, עד שעה',
    duration: 'משך',
    weekday: 'יום בשבוע, יום',
    weeks: 'שבועות, שבוע',
    period: 'מספר שיעור, שיעור',
    title: 'שם הקורס, שם קורס, קורס, נושא, מקצוע',
    courseId: 'מספר קורס, קוד קורס, קורס',
    roomId: 'חדר, כיתת לימוד, מיקום, אולם',
    studyGroup: 'קבוצה, קבוצות, כיתה',
    lecturer: 'מרצה, מורה, מרצים',
    type: 'סוג, אופן הוראה, סוג שיעור',
    other: 'קיבולת, מקומות, בניין, פקולטה, חוג',
  },
  {
    // Chinese, simplified and traditional
    startDate: '日期, 开始日期, 開始日期, 上课日期',
    endDate: '结束日期, 結束日期',
    start: '开始时间, 開始時間, 上课时间, 上課時間, 时间, 時間',
    end: '结束时间, 結束時間, 下课时间',
    duration: '时长, 時長',
    weekday: '星期, 星期几, 周几, 星期幾',
    weeks: '周次, 周数, 週次, 上课周',
    period: '节次, 節次, 节, 課節',
    title: '课程名称, 課程名稱, 课程, 課程, 科目',
    courseId: '课程代码, 课程编号, 课程号, 課程代碼, 课号',
    roomId: '教室, 上课地点, 地点, 地點',
    studyGroup: '班级, 班級, 教学班, 班',
    lecturer: '教师, 任课教师, 老师, 教師, 老師, 授课教师',
    type: '课程类型, 类型, 類型, 课程性质',
    other: '容量, 人数, 人數, 学分, 學分, 校区, 学院',
  },
  {
    // Japanese
    startDate: '日付, 年月日, 開始日',
    endDate: '終了日',
    start: '開始時刻, 開始時間, 開始, 時刻, 時間',
    end: '終了時刻, 終了時間, 終了',
    duration: '所要時間',
    weekday: '曜日',
    weeks: '授業回, 週',
    period: '時限, 限, 講時',
    title: '科目名, 授業科目名, 授業科目, 授業名, 講義名, 科目',
    courseId: '科目コード, 授業コード, 科目番号',
    roomId: '教室, 教室名, 講義室, 場所',
    studyGroup: 'クラス, 組, グループ',
    lecturer: '担当教員, 教員, 担当者, 講師, 教員名',
    type: '授業形態, 種別, 区分',
    other: '定員, 単位数, 学部, 学科, 棟',
  },
];

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
    .replaceAll('ı', 'i')
    .replaceAll('ł', 'l')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

const NAMES: ReadonlyMap<ColumnRole, readonly (readonly string[])[]> = new Map(
  [...new Set(LANGUAGES.flatMap((language) => Object.keys(language) as ColumnRole[]))].map((role) => [
    role,
    LANGUAGES.flatMap(({ [role]: names }) => (names === undefined ? [] : [names.split(', ').map(plainName)])),
  ]),
);

const CERTAINTY_EXACT = 1000;
const CERTAINTY_WITHIN = 500;
const CERTAINTY_PART = 100;
/** Chinese and Japanese write no spaces between words. */
const WITHOUT_SPACES = /^[\p{Script=Han}\p{Script=Katakana}]{2,}$/u;

/** How certain it is that a name has the role: 0 for not at all. */
export function certaintyOf(name: string, role: ColumnRole): number {
  const plain = plainName(name);
  let best = 0;
  for (const names of NAMES.get(role) ?? []) {
    for (const [rank, word] of names.entries()) {
      let certainty = 0;
      if (plain === word) certainty = CERTAINTY_EXACT - rank;
      else if (` ${plain} `.includes(` ${word} `)) {
        // A short word within a long name says little.
        certainty = CERTAINTY_WITHIN - rank - 10 * (plain.split(' ').length - word.split(' ').length);
      } else if (WITHOUT_SPACES.test(word) && plain.includes(word)) certainty = CERTAINTY_PART + 100 - rank;
      // Compounds such as Unterrichtsbeginn.
      else if (word.length >= 4 && (plain.endsWith(word) || plain.startsWith(word)))
        certainty = CERTAINTY_PART - rank;
      best = Math.max(best, certainty);
    }
  }
  return best;
}
