import type { Room } from '../../model/room.js';
import { Random, uuids } from './random.js';

export interface Lecturer {
  readonly index: number;
  readonly id: string;
  readonly name: string;
}

export interface GeneratedGroup {
  readonly index: number;
  readonly id: string;
  readonly code: string;
}

/** A weekly or fortnightly lesson: a lecture for all groups of a course, or a lesson of another type for each group. */
export interface LessonPlan {
  readonly type: 'LEC' | 'LAB' | 'SEM' | 'TUT';
  readonly fortnightly: boolean;
}

export interface Course {
  readonly id: string;
  readonly title: string;
  readonly staff: readonly Lecturer[];
  readonly plans: readonly LessonPlan[];
}

/** Groups of one programme and year, with the same courses. */
interface Cohort {
  readonly groups: readonly GeneratedGroup[];
  readonly courses: readonly Course[];
}

/** An institution stays the same from term to term. */
export interface Institution {
  /** Identifiers of the rooms. */
  readonly rooms: readonly string[];
  readonly lecturers: readonly Lecturer[];
  readonly cohorts: readonly Cohort[];
  readonly groupCount: number;
}

export const TEACHING_WEEKS = 14;

const YEARS = 3;
const GROUP_LETTERS = 'ABCDE';
const ROOMS_MIN = 200;
const ROOMS_MAX = 340;
/** About nine lessons a week for each lecturer. */
const COURSES_PER_LECTURER = 2;
const LECTURERS_MIN = 24;

const RANDOM_STREAM = 1;

/** Adds cohorts up to about `rowsPerTerm` events a term. If `shared`, cohorts have several groups, and lectures several rows. */
export function foundInstitution(seed: number, rowsPerTerm: number, shared: boolean): Institution {
  const random = new Random(seed, RANDOM_STREAM);
  const nextGroupId = uuids(seed, 'group');
  const drafts: { groups: GeneratedGroup[]; plans: LessonPlan[][] }[] = [];
  let rows = 0;
  let groupCount = 0;
  let courseCount = 0;
  while (rows < rowsPerTerm || drafts.length === 0) {
    const size = shared ? 2 + random.below(4) : 1;
    const prefix = cohortPrefix(drafts.length);
    const groups = Array.from({ length: size }, (_, i) => {
      return { index: groupCount++, id: nextGroupId(), code: prefix + GROUP_LETTERS.charAt(i) };
    });
    const plans = Array.from({ length: 5 + random.below(3) }, () => planCourse(random));
    drafts.push({ groups, plans });
    courseCount += plans.length;
    rows += size * plans.reduce((sum, each) => sum + rowsPerGroupAndTerm(each), 0);
  }

  const lecturers = hireLecturers(seed, random, Math.ceil(courseCount / COURSES_PER_LECTURER));
  const roomCount = Math.min(ROOMS_MAX, ROOMS_MIN + (groupCount >> 2));
  const nextCourseId = uuids(seed, 'course');
  let course = 0;
  const foundCourse = (plans: readonly LessonPlan[]): Course => ({
    id: nextCourseId(),
    title: `${random.pick(SUBJECTS)} ${random.pick(COURSE_LEVELS)}`,
    // Each lecturer is first in turn, which spreads lectures evenly.
    staff: [
      lecturers[course++ % lecturers.length] as Lecturer,
      random.pick(lecturers),
      random.pick(lecturers),
    ],
    plans,
  });
  return {
    rooms: Array.from({ length: roomCount }, uuids(seed, 'room')),
    lecturers,
    cohorts: drafts.map(({ groups, plans }) => ({ groups, courses: plans.map(foundCourse) })),
    groupCount,
  };
}

const BUILDINGS = ['Curie', 'Darwin', 'Lovelace', 'Noether', 'Turing'];
const FLOORS = 4;
const SEATS = [16, 24, 24, 32, 48, 64, 90, 140, 240];

/** The rooms with names such as `N 2.07`, spread over the buildings. */
export function roomsOf({ rooms }: Institution): Room[] {
  return rooms.map((id, n) => {
    const building = BUILDINGS[n % BUILDINGS.length] as string;
    const place = Math.floor(n / BUILDINGS.length);
    const door = String(1 + Math.floor(place / FLOORS)).padStart(2, '0');
    const name = `${building.charAt(0)} ${place % FLOORS}.${door}`;
    return { id, name, building, capacity: SEATS[(n * 7) % SEATS.length] as number };
  });
}

/** `INF-1`, `INF-2`, `INF-3`, `BIO-1`, …; from the second round on `INF2-1`, …. */
function cohortPrefix(cohort: number): string {
  const programme = Math.floor(cohort / YEARS);
  const round = Math.floor(programme / PROGRAMMES.length);
  const code = PROGRAMMES[programme % PROGRAMMES.length];
  return `${code}${round === 0 ? '' : round + 1}-${1 + (cohort % YEARS)}`;
}

function planCourse(random: Random): LessonPlan[] {
  const lecture: LessonPlan = { type: 'LEC', fortnightly: false };
  const plans = random.chance(300) ? [lecture, lecture] : [lecture];
  const kind = random.below(100);
  if (kind < 50) plans.push({ type: 'SEM', fortnightly: false });
  else if (kind < 80) plans.push({ type: 'LAB', fortnightly: random.chance(400) });
  else plans.push({ type: 'TUT', fortnightly: false });
  return plans;
}

/** The sum starts at 1, for the examination. */
function rowsPerGroupAndTerm(plans: readonly LessonPlan[]): number {
  return plans.reduce((sum, plan) => sum + TEACHING_WEEKS / (plan.fortnightly ? 2 : 1), 1);
}

function hireLecturers(seed: number, random: Random, count: number): Lecturer[] {
  const nextId = uuids(seed, 'lecturer');
  return Array.from({ length: Math.max(LECTURERS_MIN, count) }, (_, index) => {
    const people = random.pick(PEOPLE);
    const given = random.pick(people.given);
    const family = random.pick(people.family);
    return { index, id: nextId(), name: people.familyFirst ? family + given : `${given} ${family}` };
  });
}

/** All names are in NFC, so that answers show them unchanged. */

/** Course titles in scripts that occur at European universities, and one character outside the BMP. */
const SUBJECTS: readonly string[] = `
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

const COURSE_LEVELS: readonly string[] = ['I', 'II', 'III', 'IV'];

interface People {
  readonly given: readonly string[];
  readonly family: readonly string[];
  readonly familyFirst: boolean;
}

function people(given: string, family: string, familyFirst = false): People {
  return { given: given.split(' '), family: family.split(' '), familyFirst };
}

const PEOPLE: readonly People[] = [
  people('Jana Eliška Kateřina Zdeňka Lucie', 'Nováková Dvořáková Černá Říhová Šťastná Kučerová'),
  people('Jiří Ondřej Tomáš Luděk Václav', 'Svoboda Procházka Němec Žák Růžička Hájek'),
  people('Élodie François Hélène Gaël Zoé', "Lefèvre Garçon d'Aubigné Besançon Müller Noël"),
  people('Ελένη Γιώργος Νίκος Αθηνά', 'Παπαδοπούλου Οικονόμου Αγγελής Καζαντζάκης'),
  people('伟 芳 秀英 明', '王 李 张 陈 欧阳', true),
  people('Alice John Priya Samuel Grace Ahmed', "O'Connor Smith Ramanujan Okafor Hopper Clarke"),
  people('Łukasz Agnieszka Jürgen Åsa Íñigo', 'Wójcik Kowalska Größ Ångström Núñez Bjørnsen'),
];

/** The first part of study group codes. */
const PROGRAMMES: readonly string[] =
  'INF BIO ÉCO MAT PHY CHE LAW MED ARC ČES HIS ΦΙΛ ELE MEC GEO MUS ART PSY'.split(' ');
