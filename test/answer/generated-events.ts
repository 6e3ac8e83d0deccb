/**
 * Generated event sets with so few values that collisions are normal: few rooms, groups and lecturers, times
 * on a coarse grid so that events touch, and characters that are hard to encode.
 */
import fc from 'fast-check';
import type { IdentifierMode, NormalisedEvent } from '../../src/base/model/event.js';
import { INSTANT_MS_MAX, INSTANT_MS_MIN } from '../../src/base/model/time.js';

const START_MS = Date.UTC(2024, 8, 2, 8);
const STEP_MS = 15 * 60_000;
const STEPS = 12;

/** Texts in NFC: combining, astral, quoted, control, line separators, the last code points of each UTF-8 length. */
const TEXTS = [
  'LEC',
  'lec',
  'Analyse numérique',
  'Doe, John',
  'q\u0323\u0307', // dot below, dot above: no precomposed form, so NFC keeps both
  '\u{1F600} astral',
  '\uFF5E fullwidth',
  '"quoted" \\back\\slash/',
  'tab\tnewline\nnull\u0000 bell\u0007 del\u007F',
  'line\u2028paragraph\u2029separator',
  '\u07FF\u0800\uFFFF\u{10FFFF}',
  ' spaces ',
  'a+b&c=d%20e#f',
];
const LONG_TEXT = 'é'.repeat(300);

const ROOMS = ['2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417', '00000000-0000-0000-0000-000000000000'];
const COURSES = ['febb45ec-2e65-568c-b6e6-55ca917a9ff3', 'ffffffff-ffff-ffff-ffff-ffffffffffff'];
const LECTURERS = ['7bde0f4d-b479-597f-b617-b31135d64457', '7bde0f4d-b479-597f-b617-b31135d64458'];
const GROUPS = ['0bd61670-a367-53b6-9945-67f852563ccd', '50f0c54d-dfa5-5be7-8774-a1c7cb322252'];
/** With `any`, identifiers are compared exactly: case and normalisation form matter. */
const NAMES = ['R1', 'r1', 'Doe, John', 'caf\u00E9', 'cafe\u0301', '\u{1F600}', '\uFF5E', 'x'.repeat(64)];

function uuidOf(n: number): string {
  // Multiplying by an odd number permutes the 32-bit integers, so the results are distinct and unordered.
  const hex = (Math.imul(n + 1, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0');
  return `${hex}-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
}

/** A name of at most 64 characters. */
function nameOf(n: number): string {
  return `${NAMES[n % NAMES.length]?.slice(0, 48)}${Math.imul(n + 1, 0x9e3779b1) >>> 24}-${n}`;
}

const orNull = <T>(values: readonly T[], nulls: number): fc.Arbitrary<T | null> =>
  fc.oneof(
    { arbitrary: fc.constantFrom(...values), weight: 4 },
    { arbitrary: fc.constant(null), weight: nulls },
  );

/** The distribution of the times of one set. Start and end are steps of the grid. */
const onGrid = fc.tuple(fc.nat(STEPS), fc.constantFrom(0, 0, 1, 1, 2, 3, 5)).map(([from, steps]) => ({
  time: START_MS + from * STEP_MS,
  endTime: START_MS + (from + steps) * STEP_MS,
}));
const spanningEverything = fc.constant({ time: START_MS - STEP_MS, endTime: START_MS + 99 * STEP_MS });
const oneMillisecond = fc.nat(3).map((n) => ({ time: START_MS + n, endTime: START_MS + n + 1 }));
const farAway = fc.constantFrom(
  { time: INSTANT_MS_MIN, endTime: INSTANT_MS_MIN },
  { time: INSTANT_MS_MIN, endTime: INSTANT_MS_MAX },
  { time: INSTANT_MS_MAX, endTime: INSTANT_MS_MAX },
  { time: -1, endTime: 0 },
  { time: -20_000, endTime: -10_000 },
  { time: -15_000, endTime: -5_000 },
  { time: 0, endTime: 1 },
);
const mixedSpan = fc.oneof(
  { arbitrary: onGrid, weight: 20 },
  { arbitrary: spanningEverything, weight: 1 },
  { arbitrary: oneMillisecond, weight: 2 },
  { arbitrary: farAway, weight: 1 },
);

interface Span {
  readonly time: number;
  readonly endTime: number;
}
/** A layout of a set in time: independent spans, or spans computed from the number of the event. */
interface Shape {
  readonly spans: fc.Arbitrary<Span> | ((i: number) => Span);
  readonly weight: number;
  readonly maxLength: number;
}

const SHAPES: readonly Shape[] = [
  { spans: mixedSpan, weight: 6, maxLength: 40 },
  { spans: onGrid, weight: 3, maxLength: 60 },
  // All in one slot.
  { spans: () => ({ time: START_MS, endTime: START_MS + STEP_MS }), weight: 1, maxLength: 30 },
  { spans: () => ({ time: START_MS, endTime: START_MS }), weight: 1, maxLength: 10 },
  // Every event in its own slot: staircases, nests, and chains that only touch.
  { spans: (i) => ({ time: START_MS + i, endTime: START_MS + i + 10 }), weight: 1, maxLength: 40 },
  { spans: (i) => ({ time: START_MS - i, endTime: START_MS + i }), weight: 1, maxLength: 40 },
  {
    spans: (i) => ({ time: START_MS + i * STEP_MS, endTime: START_MS + (i + 1) * STEP_MS }),
    weight: 1,
    maxLength: 40,
  },
];

function fieldsOf(mode: IdentifierMode): fc.Arbitrary<Omit<NormalisedEvent, 'id' | 'time' | 'endTime'>> {
  const [rooms, courses, lecturers, groups] =
    mode === 'uuid' ? [ROOMS, COURSES, LECTURERS, GROUPS] : [NAMES, NAMES, NAMES, NAMES];
  return fc.record({
    title: orNull([...TEXTS, '', LONG_TEXT], 1),
    roomId: orNull(rooms, 1),
    courseId: orNull(courses, 1),
    studyGroup: orNull(TEXTS.slice(0, 7), 2),
    // Names that are also identifiers in `any` mode, and texts that cannot be identifiers.
    lecturer: orNull(mode === 'uuid' ? TEXTS.slice(3, 8) : ['R1', 'Doe, John', 'tab\t', ''], 2),
    type: orNull(TEXTS, 2),
    groupId: orNull(groups, 3),
    lecturerId: orNull(lecturers, 3),
    // Names that disagree or are equally frequent. An empty text is not a name.
    roomName: orNull([...TEXTS.slice(0, 6), ''], 4),
    courseName: orNull(['Analyse', 'analyse', 'ANALYSÉ'], 2),
    groupName: orNull(['', 'Groupe Ω', 'Groupe ω'], 20),
    // Lessons in which rows of any times, rooms and courses meet.
    lessonId: orNull(['Lesson 1', 'LEÇON', '\u{1F600}'], 8),
  });
}

/** Fields that a whole set lacks, so that filters on them find nothing. */
const lacking = fc.oneof(
  { arbitrary: fc.constant([]), weight: 4 },
  {
    arbitrary: fc.subarray([
      'roomId',
      'courseId',
      'studyGroup',
      'type',
      'lecturer',
      'lecturerId',
      'groupId',
      'roomName',
      'courseName',
      'groupName',
      'lessonId',
    ] as const),
    weight: 1,
  },
);

/**
 * A set of 0 to 60 events in any order. Ids do not follow the order of generation; with `repeats`, some occur
 * twice, as in a faulty source.
 */
export function eventSets(
  mode: IdentifierMode,
  options: { readonly repeats?: boolean } = {},
): fc.Arbitrary<NormalisedEvent[]> {
  const idOf = mode === 'uuid' ? uuidOf : nameOf;
  const sets = SHAPES.map(({ spans, weight, maxLength }) => {
    const rows =
      typeof spans === 'function'
        ? fc
            .array(fieldsOf(mode), { maxLength, size: 'max' })
            .map((all) => all.map((fields, i) => [spans(i), fields] as const))
        : fc.array(fc.tuple(spans, fieldsOf(mode)), { maxLength, size: 'max' });
    const arbitrary = fc.tuple(rows, lacking, fc.nat(1_000_000)).map(([all, without, offset]) =>
      all.map(([span, fields], i): NormalisedEvent => {
        const event = { id: idOf(offset + i), ...span, ...fields };
        for (const field of without) event[field] = null;
        return event;
      }),
    );
    return { weight, arbitrary };
  });
  const unique = fc.oneof(...sets);
  if (options.repeats !== true) return unique;
  return fc.tuple(unique, fc.array(fc.nat(), { maxLength: 3 })).map(([events, picks]) => {
    const repeated = picks.flatMap((pick) => events[pick % Math.max(events.length, 1)] ?? []);
    return [...events, ...repeated.map((event) => ({ ...event, title: 'again', roomId: null }))];
  });
}
