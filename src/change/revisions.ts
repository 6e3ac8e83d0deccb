/**
 * When events last changed. A calendar program takes an event that it knows only if its time of change is newer
 * (RFC 5545 section 3.8.7.2), so this time never goes back: content that stays keeps its time, and content that
 * changes gets a later one. The time is the source's own where that is later, else the clock of the publication.
 * At a start without an earlier image it is the source's own time, because clocks of replicas and restarts differ.
 */
import type { NormalisedEvent } from '../base/model/event.js';
import { hasSameBytes } from '../base/structures/byte-strings.js';
import { Dictionary, NO_CODE } from '../base/structures/dictionary.js';
import { HIDDEN_FIELDS } from '../snapshot/columns.js';
import { columnsOf, revisionSeconds, type SnapshotImage } from '../snapshot/image.js';
import { compareKeys, type EventKey, Snapshot } from '../snapshot/snapshot.js';
import { eventReader, isSameEvent } from './apply.js';
import type { EventEdit } from './change.js';

/** @param own in seconds; 0 if the source gives none @param earlier of the event's earlier content */
function laterRevision(own: number, earlier: number, nowS: number): number {
  return own > earlier ? own : Math.max(nowS, earlier + 1);
}

/** Gives each event of an edit its time of change. Events that stay the same keep their time. */
export function reviseEdit(base: SnapshotImage, { came, went }: EventEdit, nowMs: number): EventEdit {
  const snapshot = new Snapshot(base);
  const nowS = revisionSeconds(nowMs);
  const changes = new LessonChanges();
  const revised = new Map<string, NormalisedEvent>();
  for (const given of came) {
    const event: { -readonly [Name in keyof NormalisedEvent]: NormalisedEvent[Name] } = { ...given };
    const ordinal = snapshot.ordinalOf(event.id);
    const own = revisionSeconds(event.modified ?? null);
    const earlier = ordinal === -1 ? 0 : base.modified[ordinal]!;
    const isSame = ordinal !== -1 && isSameEvent(base, ordinal, event);
    const seconds = isSame ? earlier : ordinal === -1 ? own || nowS : laterRevision(own, earlier, nowS);
    // The row of the event, which has no time of change, is made once.
    event.modified = seconds * 1000 || null;
    revised.set(event.id, event);
    if (!isSame) changes.add(event.id, snapshot.lessonOf(ordinal), event.lessonId ?? null);
  }
  for (const id of went) changes.add(id, snapshot.lessonOf(snapshot.ordinalOf(id)), null);
  const rowsAfter = (before: LessonRows): LessonRows => {
    const after = new Map<string, LessonRow[]>();
    for (const [lesson, rows] of before)
      after.set(
        lesson,
        rows.filter(({ id }) => !revised.has(id) && !changes.ids.has(id)),
      );
    for (const { id, time, endTime, lessonId, modified } of revised.values()) {
      if (typeof lessonId !== 'string' || !changes.lessons.has(lessonId)) continue;
      const row = { id, timeMs: time, endTimeMs: endTime, modified: revisionSeconds(modified ?? null) };
      after.set(lessonId, [...(after.get(lessonId) ?? []), row]);
    }
    return after;
  };
  const eventAt = eventReader(base);
  changes.revise(snapshot, rowsAfter, nowS, ({ id }, seconds) => {
    const event = revised.get(id) ?? eventAt(snapshot.ordinalOf(id));
    revised.set(id, { ...event, modified: seconds * 1000 });
  });
  return { came: [...revised.values()], went };
}

interface LessonRow extends EventKey {
  /** In seconds. */
  readonly modified: number;
}

type LessonRows = ReadonlyMap<string, readonly LessonRow[]>;

/** Lessons of which a row came, went or changed. A calendar shows the rows of a lesson as one event for each time. */
class LessonChanges {
  /** Of the rows that came, went or changed. */
  readonly ids = new Set<string>();
  readonly lessons = new Set<string>();

  add(id: string, before: string | null, after: string | null): void {
    if (before !== null || after !== null) this.ids.add(id);
    for (const lesson of [before, after]) if (lesson !== null) this.lessons.add(lesson);
  }

  /**
   * An event that consists of other rows than before must be later, even if those that are left have not changed: its first
   * row is raised.
   *
   * @param rowsAfter gives the later rows of these lessons from the earlier ones
   */
  revise(
    old: Snapshot,
    rowsAfter: (before: LessonRows) => LessonRows,
    nowS: number,
    raise: (row: LessonRow, seconds: number) => void,
  ): void {
    if (this.lessons.size === 0) return;
    const before = lessonRows(old, this.lessons);
    const after = rowsAfter(before);
    for (const lesson of this.lessons) {
      const earlier = shownEvents(before.get(lesson) ?? []);
      for (const [uid, rows] of shownEvents(after.get(lesson) ?? [])) {
        const prior = earlier.get(uid);
        const [leader] = rows;
        if (prior === undefined || leader === undefined) continue;
        const ids = new Set(prior.map(({ id }) => id));
        const isSame =
          ids.size === rows.length &&
          timesKey(leader) === timesKey(prior[0] as LessonRow) &&
          rows.every(({ id }) => ids.has(id) && !this.ids.has(id));
        const latest = latestOf(prior);
        if (!isSame && latestOf(rows) <= latest) raise(leader, Math.max(nowS, latest + 1));
      }
    }
  }
}

/** The rows of each event of a lesson in a calendar. The first has the UID of the lesson, the others their times in it. */
function shownEvents(rows: readonly LessonRow[]): Map<string, LessonRow[]> {
  const sorted = [...rows].sort(compareKeys);
  const shown = new Map<string, LessonRow[]>();
  for (const row of sorted) {
    const uid = timesKey(row) === timesKey(sorted[0] as LessonRow) ? '' : timesKey(row);
    const group = shown.get(uid);
    if (group === undefined) shown.set(uid, [row]);
    else group.push(row);
  }
  return shown;
}

function timesKey({ timeMs, endTimeMs }: LessonRow): string {
  return `${timeMs} ${endTimeMs}`;
}

function latestOf(rows: readonly LessonRow[]): number {
  return rows.reduce((latest, { modified }) => Math.max(latest, modified), 0);
}

function lessonRows(snapshot: Snapshot, lessons: ReadonlySet<string>): LessonRows {
  const rows = new Map<string, LessonRow[]>();
  const { codes, dictionary } = snapshot.lessons;
  const wanted = new Map(Array.from(lessons, (lesson) => [dictionary.codeOf(lesson), lesson]));
  for (let ordinal = 0; ordinal < codes.length; ordinal++) {
    const lesson = wanted.get(codes[ordinal]!);
    if (lesson === undefined) continue;
    const row = { ...snapshot.keyOf(ordinal), modified: snapshot.modified[ordinal]! };
    const group = rows.get(lesson);
    if (group === undefined) rows.set(lesson, [row]);
    else group.push(row);
  }
  return rows;
}

/**
 * Gives each event of a whole build its time of change, in place.
 *
 * @param before the image that is served; null at a start
 * @param sourceMs the source's own time; null if unknown
 */
export function reviseImage(
  image: SnapshotImage,
  before: SnapshotImage | null,
  sourceMs: number | null,
  nowMs: number,
): void {
  const { modified } = image;
  if (before === null) {
    const startS = revisionSeconds(sourceMs);
    for (let n = 0; n < modified.length; n++) if (modified[n] === 0) modified[n] = startS;
    return;
  }
  const nowS = revisionSeconds(nowMs);
  const [old, present] = [new Snapshot(before), new Snapshot(image)];
  const hasSameHidden = hiddenComparison(before, image);
  const changes = new LessonChanges();
  const hasLessons = old.lessons.codes.length > 0 || present.lessons.codes.length > 0;
  present.mergeWith(old, (b, a, hasSameRow) => {
    if (b === -1) modified[a] ||= nowS;
    else if (a !== -1) {
      const earlier = before.modified[b]!;
      const isSame = hasSameRow && hasSameHidden(b, a);
      modified[a] = isSame ? earlier : laterRevision(modified[a]!, earlier, nowS);
      if (isSame) return;
    }
    if (!hasLessons) return;
    const id = a === -1 ? old.rows.idOf(b) : present.rows.idOf(a);
    changes.add(id, old.lessonOf(b), present.lessonOf(a));
  });
  if (!hasLessons) return;
  const rowsAfter = (): LessonRows => lessonRows(present, changes.lessons);
  changes.revise(old, rowsAfter, nowS, ({ id }, seconds) => {
    modified[present.ordinalOf(id)] = seconds;
  });
}

/** Compares events of two images in the fields that no row shows. */
function hiddenComparison(earlier: SnapshotImage, later: SnapshotImage): (b: number, a: number) => boolean {
  const [before, after] = [columnsOf(earlier), columnsOf(later)];
  const columns = HIDDEN_FIELDS.map(({ name }) => {
    const [old, present] = [before[name]!, after[name]!];
    const [oldValues, values] = [new Dictionary(old.dictionary), new Dictionary(present.dictionary)];
    const isSame = values.hasSameValues(oldValues);
    const oldCodes = Uint32Array.from({ length: values.size }, (_, code) =>
      isSame ? code : oldValues.codeOf(values.valueOf(code)),
    );
    return { old: old.codes, oldSize: oldValues.size, codes: present.codes, oldCodes };
  });
  return (b, a) => {
    for (const { old, oldSize, codes, oldCodes } of columns) {
      // A column without values has no codes.
      const oldCode = b < old.length && old[b]! < oldSize ? old[b]! : NO_CODE;
      const code = a < codes.length && codes[a]! < oldCodes.length ? oldCodes[codes[a]!]! : NO_CODE;
      const isNull = !(a < codes.length && codes[a]! < oldCodes.length);
      if (code !== oldCode || isNull !== (oldCode === NO_CODE)) return false;
    }
    return true;
  };
}

/**
 * The image with the time of its publication: that of the served content, if its answers are the same. Times grow by
 * whole seconds, which is what Last-Modified has, so that two publications never share one.
 */
export function datedImage(
  image: SnapshotImage,
  before: SnapshotImage | null,
  sourceMs: number | null,
  nowMs: number,
): SnapshotImage {
  const { summary } = image;
  const isSame = summary.id === before?.summary.id && hasSameBytes(image.modified, before.modified);
  let modifiedMs = sourceMs ?? nowMs;
  if (before !== null) {
    const earlierMs = before.summary.modifiedMs;
    modifiedMs = isSame ? earlierMs : Math.max(nowMs, earlierMs + 1000);
  }
  return { ...image, summary: { ...summary, modifiedMs } };
}
