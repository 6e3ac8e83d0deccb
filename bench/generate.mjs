/**
 * node bench/generate.mjs --events 20000 [--seed 7] [--names] [--distinct-slots] [--rooms]
 *
 * Prints a synthetic timetable as NDJSON, or with --rooms the rooms of these events as a rooms file. An institution has
 * cohorts of groups with courses, and stays the same from term to term. Each term places the weekly lessons of the courses
 * without clashes; each day then cancels some lessons, and lets a few clash. A seed gives the same bytes on every version of
 * Node. generate.d.mts has the options.
 */
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/**
 * What is in one place at a time; rooms have more.
 * @typedef {{ id: string, name: string, busy: Uint16Array }} Entity `busy` has for each weekday a bit for each half period
 *   that is taken in the present term
 *
 * A lesson or an examination, in minutes after midnight UTC. It has one row for each group; without groups, one row.
 * @typedef {{ startMinute: number, endMinute: number, title: string | null, room: Entity | null, courseId: string | null,
 *   type: string | null, lecturer: Entity | null, groups: Entity[] }} Lesson
 */

const DAY_MS = 86_400_000;

/** Most events of a term; more events make more terms. An institution has about 9,000 events a week in 340 rooms. */
const ROWS_PER_TERM_MAX = 120_000;
/** Extra lessons, because some find no place. Surplus lessons are cancelled. */
const SURPLUS = 1.03;
/** Extra events, so that the last day reaches the number of events asked for. */
const RESERVE = 8;
/** Clashes per 1,000 lessons of a day. */
const ROOM_CLASH_PER_MILLE = 5;
const LECTURER_CLASH_PER_MILLE = 4;
const GROUP_CLASH_PER_MILLE = 3;

const FIRST_YEAR = 2026;
const TEACHING_WEEKS = 14;
const EXAM_WEEKS = 2;
const DAYS_PER_WEEK = 5;
/** Seven periods of 90 minutes from 08:00, with breaks of 15. Lessons take a whole number of half periods. */
const HALVES_PER_DAY = 14;
const HALVES = { LEC: 2, SEM: 2, LAB: 4, TUT: 1 };
const EXAM_MINUTES = 120;
const EXAM_START_MINUTES = [540, 690, 840];
/** Random tries before the whole week is searched. */
const RANDOM_TRIES = 24;

const YEARS = 3;
const GROUP_LETTERS = 'ABCDE';
const ROOMS_MIN = 200;
const ROOMS_MAX = 340;
/** About nine lessons a week for each lecturer. */
const COURSES_PER_LECTURER = 2;
const LECTURERS_MIN = 24;
const FLOORS = 4;

/** Independent sequences of a seed: of the institution, and two of each term. */
const INSTITUTION_STREAM = 1;
const PLAN_STREAM_FIRST = 16;
const CHANGES_STREAM_FIRST = 17;

/** Events come in the order of the service: time, endTime, id. Only one term is held in memory. */
export function* generateEvents(options) {
  const { events, seed } = options;
  const terms = termsOf(events);
  const institution = institutionOf(options);
  const nextId = uuids(seed, 'event');
  let made = 0;
  for (let term = 0; made < events; term++) {
    const days = planTerm(seed, term, institution);
    const random = new Random(seed, CHANGES_STREAM_FIRST + 2 * term);
    // Some lessons of each day are cancelled, so that the term has its share of the events.
    let wanted = Math.ceil((events - made) / Math.max(1, terms - term)) + RESERVE;
    let planned = days.reduce((sum, { lessons }) => sum + rowsOf(lessons), 0);
    for (const { midnightMs, lessons } of days) {
      const held = changeDay(random, lessons, wanted / planned);
      const batch = dateLessons(midnightMs, held, options, nextId).sort(inOrder);
      const taken = batch.slice(0, events - made);
      yield* taken;
      made += taken.length;
      if (made === events) return;
      wanted -= batch.length;
      planned -= rowsOf(lessons);
    }
  }
}

/** The rooms of the events with these options, for a rooms file. */
export function generateRooms(options) {
  return institutionOf(options).rooms.map(({ busy: _, ...room }) => room);
}

/** Writes a timetable to a file. */
export function generateFile(file, options) {
  return writeNdjson(generateEvents(options), createWriteStream(file));
}

export async function writeNdjson(records, stream) {
  await pipeline(Readable.from(linesOf(records), { objectMode: false }), stream);
}

/** Pieces of about 64 KiB. */
function* linesOf(records) {
  let piece = '';
  for (const record of records) {
    piece += `${JSON.stringify(record)}\n`;
    if (piece.length < 64 * 1024) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

function termsOf(events) {
  return Math.max(1, Math.ceil(events / ROWS_PER_TERM_MAX));
}

function rowsOf(lessons) {
  return lessons.reduce((sum, { groups }) => sum + Math.max(1, groups.length), 0);
}

function haveSameSlot(a, b) {
  return a?.startMinute === b.startMinute && a.endMinute === b.endMinute;
}

/** Cancels some lessons, and makes others clash. */
function changeDay(random, lessons, heldShare) {
  const changed = [];
  let slotStart = 0;
  for (const lesson of lessons) {
    if (random.fraction() >= heldShare) continue;
    if (!haveSameSlot(changed[slotStart], lesson)) slotStart = changed.length;
    changed.push(slotStart < changed.length ? clash(random, lesson, changed, slotStart) : lesson);
  }
  return changed;
}

/** Gives some lessons the room, lecturer or group of an earlier lesson in their slot. */
function clash(random, lesson, changed, slotStart) {
  const draw = random.below(1000);
  if (draw >= ROOM_CLASH_PER_MILLE + LECTURER_CLASH_PER_MILLE + GROUP_CLASH_PER_MILLE) return lesson;
  const other = changed[slotStart + random.below(changed.length - slotStart)];
  if (other.courseId === lesson.courseId) return lesson;
  if (draw < ROOM_CLASH_PER_MILLE) return { ...lesson, room: other.room };
  if (draw < ROOM_CLASH_PER_MILLE + LECTURER_CLASH_PER_MILLE) return { ...lesson, lecturer: other.lecturer };
  const guest = other.groups[0];
  if (guest === undefined || lesson.groups.includes(guest)) return lesson;
  return { ...lesson, groups: [...lesson.groups.slice(1), guest] };
}

function dateLessons(midnightMs, lessons, { distinctSlots = false, names = false }, nextId) {
  const instant = (minute) => new Date(midnightMs + minute * 60_000).toISOString();
  let before;
  let rowOfSlot = 0;
  let time = '';
  let endTime = '';
  return lessons.flatMap((lesson) => {
    if (!haveSameSlot(before, lesson)) {
      before = lesson;
      rowOfSlot = 0;
      time = instant(lesson.startMinute);
      endTime = instant(lesson.endMinute);
    }
    const { title, room, courseId, lecturer, type } = lesson;
    return (lesson.groups.length === 0 ? [null] : lesson.groups).map((group) => {
      // Starts move by less than the shortest lesson, so that no new overlaps arise.
      if (distinctSlots) time = instant(lesson.startMinute + rowOfSlot++ / 60);
      return {
        id: nextId(),
        time,
        endTime,
        title,
        roomId: room?.id ?? null,
        courseId,
        studyGroup: group?.name ?? null,
        lecturer: lecturer?.name ?? null,
        lecturerId: lecturer?.id ?? null,
        type,
        groupId: group?.id ?? null,
        ...(names && room !== null ? { roomName: room.name } : {}),
        ...(names && title !== null && courseId !== null ? { courseName: title } : {}),
      };
    });
  });
}

/** Sorts in the order of the service. All times have the same form, so they are compared as text. */
function inOrder(a, b) {
  if (a.time !== b.time) return a.time < b.time ? -1 : 1;
  if (a.endTime !== b.endTime) return a.endTime < b.endTime ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

/** Gives each lesson a day, a time, a room and a lecturer without clashes. Lessons without a free place are dropped. */
function planTerm(seed, term, { rooms, lecturers, cohorts }) {
  const random = new Random(seed, PLAN_STREAM_FIRST + 2 * term);
  const everyone = [rooms, lecturers, cohorts.flatMap(({ groups }) => groups)].flat();
  for (const { busy } of everyone) busy.fill(0);
  const days = termDaysOf(term);
  const examDays = days.slice(-DAYS_PER_WEEK * EXAM_WEEKS);
  for (const { groups, courses } of cohorts) {
    for (const [n, course] of courses.entries()) {
      for (const plan of course.plans) {
        for (const attending of plan.type === 'LEC' ? [groups] : groups.map((group) => [group]))
          placeLesson(random, course, plan, attending, rooms, days);
      }
      // Each course has its own day, so no group has two examinations at once. Rooms may clash.
      const examDay = examDays[(n + random.below(2) * courses.length) % examDays.length];
      const startMinute = random.pick(EXAM_START_MINUTES);
      examDay?.lessons.push({
        startMinute,
        endMinute: startMinute + EXAM_MINUTES,
        title: course.title,
        room: random.pick(rooms),
        courseId: course.id,
        type: 'EXAM',
        lecturer: course.staff[0],
        groups,
      });
    }
  }
  for (const { lessons } of days)
    lessons.sort((a, b) => a.startMinute - b.startMinute || a.endMinute - b.endMinute);
  return days;
}

function placeLesson(random, course, { type, fortnightly }, groups, rooms, days) {
  const firstWeek = fortnightly && !random.chance(500) ? 1 : 0;
  // The lecturer is chosen first, because trying all lecturers at every time would take long.
  const hasLecturer = !random.chance(40);
  const lecturer = hasLecturer ? (type === 'LEC' ? course.staff[0] : random.pick(course.staff)) : null;
  const attending = lecturer === null ? groups : [lecturer, ...groups];
  const online = random.chance(30);
  const halves = HALVES[type];
  const step = halves === 1 ? 1 : 2;
  const places = DAYS_PER_WEEK * (Math.floor((HALVES_PER_DAY - halves) / step) + 1);
  const offset = random.below(places);
  for (let attempt = 0; attempt < RANDOM_TRIES + places; attempt++) {
    const at = attempt < RANDOM_TRIES ? random.below(places) : (offset + attempt) % places;
    const day = at % DAYS_PER_WEEK;
    const half = Math.floor(at / DAYS_PER_WEEK) * step;
    const mask = ((1 << halves) - 1) << half;
    const isFree = ({ busy }) => (busy[day] & mask) === 0;
    if (!attending.every(isFree)) continue;
    const first = online ? 0 : random.below(rooms.length);
    const room = online ? null : (rooms.slice(first).find(isFree) ?? rooms.slice(0, first).find(isFree));
    if (room === undefined) continue;
    for (const { busy } of room === null ? attending : [room, ...attending]) busy[day] |= mask;
    // Shared lessons keep their course and groups.
    const single = groups.length === 1;
    const lesson = {
      startMinute: halfStartMinute(half),
      endMinute: halfStartMinute(half + halves - 1) + 45,
      title: random.chance(5) ? null : course.title,
      room,
      courseId: single && random.chance(15) ? null : course.id,
      type: random.chance(10) ? null : type,
      lecturer,
      groups: single && random.chance(10) ? [] : groups,
    };
    for (let week = firstWeek; week < TEACHING_WEEKS; week += fortnightly ? 2 : 1)
      days[week * DAYS_PER_WEEK + day]?.lessons.push(lesson);
    return;
  }
}

function halfStartMinute(half) {
  return 480 + 105 * (half >> 1) + 45 * (half & 1);
}

/** Terms count from 0 and alternate autumn and spring. */
function termDaysOf(term) {
  const year = FIRST_YEAR + (term >> 1);
  const isSpring = term % 2 === 1;
  const teachingMs = isSpring ? firstMondayMs(year + 1, 1, 8) : firstMondayMs(year, 8, 10);
  // Autumn examinations come after the holidays.
  const examsMs = isSpring ? teachingMs + TEACHING_WEEKS * 7 * DAY_MS : firstMondayMs(year + 1, 0, 4);
  return [...daysFrom(teachingMs, TEACHING_WEEKS), ...daysFrom(examsMs, EXAM_WEEKS)];
}

function daysFrom(mondayMs, weeks) {
  return Array.from({ length: weeks * DAYS_PER_WEEK }, (_, n) => {
    const days = 7 * Math.floor(n / DAYS_PER_WEEK) + (n % DAYS_PER_WEEK);
    return { midnightMs: mondayMs + days * DAY_MS, lessons: [] };
  });
}

/** The first Monday on or after a date; months count from 0. */
function firstMondayMs(year, month, day) {
  const fromMs = Date.UTC(year, month, day);
  return fromMs + ((8 - new Date(fromMs).getUTCDay()) % 7) * DAY_MS;
}

/** Has cohorts with about the events of a term. If slots are shared, cohorts have several groups, and lectures several rows. */
function institutionOf({ events, seed, distinctSlots = false }) {
  const rowsPerTerm = Math.ceil((events / termsOf(events)) * SURPLUS);
  const random = new Random(seed, INSTITUTION_STREAM);
  const nextGroup = entities(seed, 'group');
  const drafts = [];
  for (let rows = 0; rows < rowsPerTerm || drafts.length === 0; ) {
    const size = distinctSlots ? 1 : 2 + random.below(4);
    const prefix = cohortPrefix(drafts.length);
    const groups = Array.from({ length: size }, (_, i) => nextGroup(prefix + GROUP_LETTERS.charAt(i)));
    const plans = Array.from({ length: 5 + random.below(3) }, () => planCourse(random));
    drafts.push({ groups, plans });
    rows += size * plans.reduce((sum, each) => sum + rowsPerGroupAndTerm(each), 0);
  }
  const courseCount = drafts.reduce((sum, { plans }) => sum + plans.length, 0);
  const groupCount = drafts.reduce((sum, { groups }) => sum + groups.length, 0);
  const nextLecturer = entities(seed, 'lecturer');
  const lecturers = Array.from(
    { length: Math.max(LECTURERS_MIN, Math.ceil(courseCount / COURSES_PER_LECTURER)) },
    () => nextLecturer(personName(random)),
  );
  const nextRoom = entities(seed, 'room');
  const nextCourseId = uuids(seed, 'course');
  let course = 0;
  const foundCourse = (plans) => ({
    id: nextCourseId(),
    title: `${random.pick(SUBJECTS)} ${random.pick(COURSE_LEVELS)}`,
    // Each lecturer is first in turn, which spreads lectures evenly.
    staff: [lecturers[course++ % lecturers.length], random.pick(lecturers), random.pick(lecturers)],
    plans,
  });
  return {
    rooms: Array.from({ length: Math.min(ROOMS_MAX, ROOMS_MIN + (groupCount >> 2)) }, (_, n) => {
      const building = BUILDINGS[n % BUILDINGS.length];
      const place = Math.floor(n / BUILDINGS.length);
      const door = String(1 + Math.floor(place / FLOORS)).padStart(2, '0');
      const entity = nextRoom(`${building.charAt(0)} ${place % FLOORS}.${door}`);
      return { ...entity, building, capacity: SEATS[(n * 7) % SEATS.length] };
    }),
    lecturers,
    cohorts: drafts.map(({ groups, plans }) => ({ groups, courses: plans.map(foundCourse) })),
  };
}

/** `INF-1`, `INF-2`, `INF-3`, `BIO-1`, …; from the second round on `INF2-1`, …. */
function cohortPrefix(cohort) {
  const programme = Math.floor(cohort / YEARS);
  const round = Math.floor(programme / PROGRAMMES.length);
  const code = PROGRAMMES[programme % PROGRAMMES.length];
  return `${code}${round === 0 ? '' : round + 1}-${1 + (cohort % YEARS)}`;
}

function planCourse(random) {
  const lecture = { type: 'LEC', fortnightly: false };
  const lectures = random.chance(300) ? [lecture, lecture] : [lecture];
  const kind = random.below(100);
  const type = kind < 50 ? 'SEM' : kind < 80 ? 'LAB' : 'TUT';
  return [...lectures, { type, fortnightly: type === 'LAB' && random.chance(400) }];
}

/** The sum starts at 1, for the examination. */
function rowsPerGroupAndTerm(plans) {
  return plans.reduce((sum, plan) => sum + TEACHING_WEEKS / (plan.fortnightly ? 2 : 1), 1);
}

function personName(random) {
  const [givenNames, familyNames, order] = random.pick(PEOPLE);
  const given = random.pick(givenNames.split(' '));
  const family = random.pick(familyNames.split(' '));
  return order === 'family first' ? family + given : `${given} ${family}`;
}

// All names are in NFC, so that answers show them unchanged.

const BUILDINGS = ['Curie', 'Darwin', 'Lovelace', 'Noether', 'Turing'];
const SEATS = [16, 24, 24, 32, 48, 64, 90, 140, 240];
const COURSE_LEVELS = ['I', 'II', 'III', 'IV'];
/** The first part of study group codes. */
const PROGRAMMES = 'INF BIO ÉCO MAT PHY CHE LAW MED ARC ČES HIS ΦΙΛ ELE MEC GEO MUS ART PSY'.split(' ');

/** Course titles in scripts that occur at European universities, and one character outside the BMP. */
const SUBJECTS = `
  Algorithms and Data Structures; Lineární algebra; Mécanique des fluides; Operating Systems;
  Αρχαία Ελληνικά; Matematická analýza; 高等数学; Databases; Économie générale; Computer Networks;
  Úvod do programování; Organic Chemistry; Thermodynamik und Strömungslehre; Robotics Workshop 🤖;
  Dějiny umění; Génie logiciel; Microeconomics; Διαφορικές εξισώσεις; Teorie pravděpodobnosti; 数据结构;
  Statistics; Résistance des matériaux; Cell Biology; Řízení projektů; Introduction to Law;
  Größen, Maße und Messgeräte; Philosophy of Science; Φιλοσοφία της επιστήμης; Traitement du signal;
  Základy účetnictví; 汉语入门; Machine Learning; Histoire de l'Europe; Životní prostředí a společnost;
  Compilers: "Theory" & Practice; مقدمة في القانون; Geometria różniczkowa; 線形代数; Digital Electronics;
  Human Anatomy; Literatura española del siglo XX; Urban Planning; Ηλεκτρομαγνητισμός;
  Fyzika pevných látek; Музыкальная акустика; Control Engineering; Marketing; Poétique et théâtre
`
  .trim()
  .split(/;\s+/);

/** Given names and family names that go together. */
const PEOPLE = [
  ['Jana Eliška Kateřina Zdeňka Lucie', 'Nováková Dvořáková Černá Říhová Šťastná Kučerová'],
  ['Jiří Ondřej Tomáš Luděk Václav', 'Svoboda Procházka Němec Žák Růžička Hájek'],
  ['Élodie François Hélène Gaël Zoé', "Lefèvre Garçon d'Aubigné Besançon Müller Noël"],
  ['Ελένη Γιώργος Νίκος Αθηνά', 'Παπαδοπούλου Οικονόμου Αγγελής Καζαντζάκης'],
  ['伟 芳 秀英 明', '王 李 张 陈 欧阳', 'family first'],
  ['Alice John Priya Samuel Grace Ahmed', "O'Connor Smith Ramanujan Okafor Hopper Clarke"],
  ['Łukasz Agnieszka Jürgen Åsa Íñigo', 'Wójcik Kowalska Größ Ångström Núñez Bjørnsen'],
];

/** sfc32 of PractRand. */
class Random {
  #a;
  #b;
  #c;
  #counter = 1;

  /** @param stream the number of an independent sequence of this seed, an unsigned 32-bit integer */
  constructor(seed, stream) {
    this.#a = mix32(seed);
    this.#b = mix32(Math.floor(seed / 2 ** 32) + 0x9e3779b9);
    this.#c = mix32(stream + 0x85ebca6b);
    // The first dozen outputs are not random enough, so they are skipped.
    for (let i = 0; i < 12; i++) this.fraction();
  }

  /** A number from 0 to below 1. */
  fraction() {
    const result = (this.#a + this.#b + this.#counter) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + result) | 0;
    this.#counter = (this.#counter + 1) | 0;
    return (result >>> 0) / 2 ** 32;
  }

  below(count) {
    return Math.floor(this.fraction() * count);
  }

  chance(perMille) {
    return this.below(1000) < perMille;
  }

  pick(list) {
    return list[this.below(list.length)];
  }
}

const UUID_KINDS = { event: 1, room: 2, course: 3, group: 4, lecturer: 5 };

function entities(seed, kind) {
  const nextId = uuids(seed, kind);
  return (name) => ({ id: nextId(), name, busy: new Uint16Array(DAYS_PER_WEEK) });
}

/**
 * Makes UUIDs of version 4, one per call. RFC 9562 section 5.4 allows pseudo-random bits. The last 32 bits
 * are a bijection of the call number, so 2^32 UUIDs are distinct.
 */
function uuids(seed, kind) {
  const low = mix32((seed >>> 0) + 0x9e3779b9);
  const high = mix32(Math.floor(seed / 2 ** 32) ^ 0x7f4a7c15);
  const key = mix32(low + high + UUID_KINDS[kind]);
  const [key0, key1, key2] = [mix32(key + 1), mix32(key + 2), mix32(key + 3)];
  const bytes = Buffer.alloc(16);
  let made = 0;
  return () => {
    const word = mix32(made + key0);
    bytes.writeInt32BE(word, 0);
    bytes.writeInt32BE((mix32(word ^ key1) & 0xffff_0fff) | 0x4000, 4);
    bytes.writeInt32BE((mix32(word + key2) & 0x3fff_ffff) | 0x8000_0000, 8);
    bytes.writeInt32BE(mix32(made ^ key), 12);
    made++;
    return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  };
}

/** A bijection on 32-bit integers: the finaliser of MurmurHash3 by Austin Appleby. */
function mix32(word) {
  let x = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return x ^ (x >>> 16);
}

async function main() {
  const { values } = parseArgs({
    options: {
      events: { type: 'string', short: 'n' },
      seed: { type: 'string', short: 's', default: '1' },
      names: { type: 'boolean', default: false },
      'distinct-slots': { type: 'boolean', default: false },
      rooms: { type: 'boolean', default: false },
    },
  });
  const { names, rooms, 'distinct-slots': distinctSlots } = values;
  const [events, seed] = [Number(values.events), Number(values.seed)];
  if (!Number.isSafeInteger(events) || !Number.isSafeInteger(seed) || events < 0)
    throw new Error('--events and --seed must be whole numbers');
  const options = { events, seed, names, distinctSlots };
  try {
    await writeNdjson(rooms ? generateRooms(options) : generateEvents(options), process.stdout);
  } catch (error) {
    // The reader has seen enough.
    if (error.code !== 'EPIPE') throw error;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
