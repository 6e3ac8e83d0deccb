/** Compares patches with whole builds of the same events and the same seed. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { apply, editImage } from '../../src/change/apply.js';
import { type Change, decodeChanges, type EventEdit, encodeChanges } from '../../src/change/change.js';
import { changeOfEdit } from '../../src/change/compare.js';
import { reviseImage } from '../../src/change/revisions.js';
import { isSameImage, type SnapshotImage } from '../../src/snapshot/image.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';
import { imageOf } from '../snapshot/images.js';

const FIRST_MS = Date.UTC(2024, 8, 1, 22);
const HOUR_MS = 3_600_000;

/** Events by id. */
export type Timetable = ReadonlyMap<string, NormalisedEvent>;

export function applied(events: Timetable, { came, went }: EventEdit): Timetable {
  const next = new Map(events);
  for (const id of went) next.delete(id);
  for (const event of came) next.set(event.id, event);
  return next;
}

/** Every array of an image, and every number of its summary that a build determines, by path. */
function partsOf(image: SnapshotImage): Map<string, unknown> {
  const { summary, ...arrays } = image;
  const { builtAtMs: _at, buildMs: _ms, modifiedMs: _modified, ...determined } = summary;
  const found = new Map<string, unknown>();
  const visit = (path: string, part: unknown): void => {
    if (typeof part !== 'object' || part === null || ArrayBuffer.isView(part)) found.set(path, part);
    else for (const [name, inner] of Object.entries(part)) visit(`${path}.${name}`, inner);
  };
  visit('summary', determined);
  visit('image', arrays);
  return found;
}

function isSameLeaf(a: unknown, b: unknown): boolean {
  if (!ArrayBuffer.isView(a) || !ArrayBuffer.isView(b)) return Object.is(a, b);
  const bytes = [a, b].map((view) => Buffer.from(view.buffer, view.byteOffset, view.byteLength));
  return a.constructor === b.constructor && bytes[0]?.equals(bytes[1] as Buffer) === true;
}

/** The clock of loads, for the times of change. */
export const NOW_MS = 1_790_000_000_000;

/** Throws for the first difference, by its path. @param before whose events keep their times of change */
export function assertSameAsBuilt(
  image: SnapshotImage,
  events: Iterable<NormalisedEvent>,
  before: SnapshotImage | null = null,
): void {
  const built = imageOf(events, 0, image.hashSeed);
  if (before !== null) reviseImage(built, before, null, NOW_MS);
  assertSameParts(image, built);
  assert.ok(isSameImage(image, built));
}

function assertSameParts(image: SnapshotImage, other: SnapshotImage): void {
  const [is, expected] = [partsOf(image), partsOf(other)];
  assert.deepEqual([...is.keys()].sort(), [...expected.keys()].sort());
  for (const [path, part] of expected) {
    if (isSameLeaf(is.get(path), part)) continue;
    assert.deepEqual(is.get(path), part, path);
    assert.fail(path);
  }
}

/** The image after an edit. It is also made by the change that the edit becomes, to the byte. */
export function edited(base: SnapshotImage, edit: EventEdit): SnapshotImage {
  const { image, change } = changed(base, edit);
  if (change.edit === null) return image;
  assertSameParts(apply(base, ...decodeChanges(encodeChanges([change]))), image);
  return image;
}

export function changed(
  base: SnapshotImage,
  edit: EventEdit,
): { readonly image: SnapshotImage; readonly change: Change } {
  const { image, ...made } = editImage(base, edit);
  return { image, change: changeOfEdit(new Snapshot(base), new Snapshot(image), made, 100_000) };
}

/** @returns the image after all changes; every step equals a build */
export function assertChain(start: Timetable, steps: readonly EventEdit[]): SnapshotImage {
  let events = start;
  let image = imageOf(events.values());
  for (const step of steps) {
    events = applied(events, step);
    image = edited(image, step);
    assertSameAsBuilt(image, events.values());
  }
  return image;
}

const IDS = Array.from({ length: 24 }, (_, n) => (n % 5 === 0 ? `"é${n}\\` : `id-${n % 7}-${n}`));

function value(...values: string[]): fc.Arbitrary<string | null> {
  return fc.constantFrom(null, ...values);
}

const changedEvent: fc.Arbitrary<NormalisedEvent> = fc
  .record({
    id: fc.constantFrom(...IDS),
    hour: fc.nat({ max: 4 }),
    week: fc.constantFrom(0, 0, 0, 1),
    hours: fc.constantFrom(0, 1, 1, 2, 5),
    title: value('', 'Lesson', 'Übung "1"', 'x'.repeat(40)),
    roomId: value('', 'R1', 'R2'),
    courseId: value('C1', 'C2'),
    studyGroup: value('', 'G1', 'G2', 'R1'),
    lecturer: value('Doe', 'L1', '\u{1F600}', '\uFF5E'),
    type: value('Lab', 'Lecture'),
    groupId: value('', 'G1', 'G3'),
    lecturerId: value('', 'L1', 'L2'),
    roomName: value('', 'Room 1', 'Room 2'),
    courseName: value('Course'),
    groupName: value('', '\u{1F600}', '\uFF5E'),
    lessonId: value('L1', 'L2', 'L3'),
  })
  .map(({ hour, week, hours, ...fields }) => {
    const time = FIRST_MS + (week * 168 + hour) * HOUR_MS;
    return { ...fields, time, endTime: time + hours * HOUR_MS };
  });

/** Some events from sources without display names. */
const event: fc.Arbitrary<NormalisedEvent> = fc.oneof(
  { weight: 3, arbitrary: changedEvent },
  {
    weight: 1,
    arbitrary: changedEvent.map(({ roomName: _r, courseName: _c, groupName: _g, ...rest }) => rest),
  },
);

export const timetables: fc.Arbitrary<Timetable> = fc
  .array(event, { maxLength: 24 })
  .map((events) => new Map(events.map((each) => [each.id, each])));

const step: fc.Arbitrary<EventEdit> = fc
  .record({
    came: fc.uniqueArray(event, { selector: ({ id }) => id, maxLength: 4 }),
    went: fc.uniqueArray(fc.constantFrom(...IDS), { maxLength: 3 }),
    isEmptied: fc.constantFrom(...Array.from({ length: 15 }, () => false), true),
  })
  .map(({ came, went, isEmptied }) => {
    const named = new Set(came.map(({ id }) => id));
    return { came, went: (isEmptied ? IDS : went).filter((id) => !named.has(id)) };
  });

export const chains: fc.Arbitrary<EventEdit[]> = fc.array(step, { minLength: 1, maxLength: 8 });
