/** Which lessons clash, and over what. */
import type { ConflictEntry } from 'lectern/client';
import { type Names, rowOf } from './data.js';
import { type Lesson, lessonsOf } from './lessons.js';

export interface Clash {
  /** `time` for a feed, which tells only that lessons overlap. */
  readonly by: 'room' | 'lecturer' | 'group' | 'time';
  /** The room, lecturer or group that is needed more than once. */
  readonly key: string;
  readonly name: string;
  readonly start: number;
  readonly end: number;
  /** The most lessons at one instant. */
  readonly peak: number;
  /** The rows of the lessons. */
  readonly ids: readonly string[];
  readonly lessons: readonly Lesson[];
}

export type ClashIndex = ReadonlyMap<string, readonly Clash[]>;

export function clashOf(entry: ConflictEntry, names: Names): Clash {
  const [first] = entry.events;
  const { by, key, peak } = entry;
  const name =
    by === 'room'
      ? (names.rooms.get(key) ?? key)
      : ((by === 'lecturer' ? first?.lecturer : first?.studyGroup) ?? key);
  let lessons: readonly Lesson[] | null = null;
  return {
    ...{ by, key, name, peak, start: Date.parse(entry.startTime), end: Date.parse(entry.endTime) },
    ids: entry.events.map(({ id }) => id),
    // Most clashes are marked and never opened.
    get lessons() {
      lessons ??= lessonsOf(entry.events.map((event) => rowOf(event, names)));
      return lessons;
    },
  };
}

/** The clashes of each row. */
export function indexOf(clashes: readonly Clash[]): ClashIndex {
  const index = new Map<string, Clash[]>();
  for (const clash of clashes) {
    for (const id of clash.ids) {
      const known = index.get(id);
      if (known === undefined) index.set(id, [clash]);
      else known.push(clash);
    }
  }
  return index;
}

export function isClashing({ ids }: Lesson, index: ClashIndex): boolean {
  return ids.some((id) => index.has(id));
}

export function clashesOfLesson(lesson: Lesson, index: ClashIndex): readonly Clash[] {
  return [...new Set(lesson.ids.flatMap((id) => index.get(id) ?? []))];
}

/** Runs of lessons of one timetable that overlap. Lessons that touch do not; lessons without length never do. */
export function overlapsOf(lessons: readonly Lesson[]): Clash[] {
  const clashes: Clash[] = [];
  let run: Lesson[] = [];
  let end = Number.NEGATIVE_INFINITY;
  const finish = (): void => {
    const [first] = run;
    if (first !== undefined && run.length > 1) {
      clashes.push({
        by: 'time',
        key: '',
        name: '',
        start: first.start,
        end,
        peak: run.length,
        ids: run.flatMap(({ ids }) => ids),
        lessons: run,
      });
    }
    run = [];
  };
  for (const lesson of lessons) {
    if (lesson.start === lesson.end) continue;
    if (lesson.start >= end) {
      finish();
      end = lesson.end;
    }
    run.push(lesson);
    end = Math.max(end, lesson.end);
  }
  finish();
  return clashes;
}
