/** Whose timetables are shown, and how they are called. */

import { TimetableProblem } from 'lectern/client';
import { useEffect } from 'preact/hooks';
import { type Address, sameTarget, TARGETS_MAX, type Target } from './address.js';
import { client, NAME_MARK, reading, readNames, shortId } from './data.js';
import { say } from './speak.js';
import { address, go, keep, knownNames, readKept, revision, token } from './store.js';

const ME: readonly Target[] = [{ kind: 'me', id: '' }];

export function targetsOf({ of }: Address): readonly Target[] {
  return of.length === 0 ? ME : of;
}

export function keyOf({ kind, id }: Target): string {
  return `${kind}:${id}`;
}

export function noteName(target: Target, name: string | null): void {
  if (knownNames.peek().get(keyOf(target)) === name) return;
  knownNames.value = new Map([...knownNames.peek(), [keyOf(target), name]]);
}

const DIRECTORIES = {
  course: ['/schedule/courses', 'courseId'],
  lecturer: ['/schedule/lecturers', 'lecturerId'],
  group: ['/schedule/groups', 'studyGroup'],
} as const;

/** What has no name has its id for one. @returns null for what the timetable does not have */
async function readName({ kind, id }: Target): Promise<string | null> {
  if (kind === 'me') return say('myTimetable');
  const names = await readNames();
  if (kind === 'room') return names.rooms.get(id) ?? null;
  const known = kind === 'course' && names.courses.get(id);
  if (known) return known;
  const [path, parameter] = DIRECTORIES[kind];
  try {
    const { data, total } = await client.get(path, { [parameter]: [id], limit: 1 });
    if (total === 0) return null;
    return (total === 1 && data[0]?.name) || shortId(id);
  } catch (error) {
    if (error instanceof TimetableProblem && error.status === 400) return null;
    throw error;
  }
}

export function isUnknown(target: Target): boolean {
  return knownNames.value.get(keyOf(target)) === null;
}

/** The name to show; until it is known, what stands for it. */
export function nameOf(target: Target): string {
  const { kind, id } = target;
  if (kind === 'me') return say('myTimetable');
  if (id.startsWith(NAME_MARK)) return id.slice(NAME_MARK.length);
  return knownNames.value.get(keyOf(target)) ?? shortId(id);
}

/** Asks for the names that are not known yet. */
export function useNames(targets: readonly Target[]): void {
  const keys = targets.map(keyOf).join('\n');
  const [now, given] = [revision.value, token.value];
  useEffect(() => {
    if (given === null) return;
    for (const target of targets) {
      if (target.kind === 'me' || target.id.startsWith(NAME_MARK)) continue;
      reading(() => readName(target)).then(
        (name) => noteName(target, name),
        () => {},
      );
    }
  }, [keys, now, given]);
}

export interface Recent extends Target {
  readonly name: string;
}

const RECENT_MAX = 8;

export function readRecent(): readonly Recent[] {
  return readKept<readonly Recent[]>('recent', []);
}

/** Shows a timetable, alone or beside the others. */
export function choose(target: Target, name: string, isBeside = false): void {
  noteName(target, name);
  keep(
    'recent',
    [{ ...target, name }, ...readRecent().filter((each) => !sameTarget(each, target))].slice(0, RECENT_MAX),
  );
  const { of, view } = address.value;
  const others = isBeside ? of.filter((each) => !sameTarget(each, target)) : [];
  const isTimetable = view === 'day' || view === 'week' || view === 'month' || view === 'list';
  go({ of: [...others, target].slice(-TARGETS_MAX), view: isTimetable ? view : 'week', open: null });
}

/** A lecturer of a lesson, of whom rows tell only the name. */
export async function lecturerOf(name: string): Promise<Target> {
  const { data } = await reading(() => client.get('/schedule/lecturers', { q: name, limit: 20 }));
  const same = data.filter((entry) => entry.name === name);
  const [only] = same;
  return { kind: 'lecturer', id: same.length === 1 && only?.id != null ? only.id : `${NAME_MARK}${name}` };
}
