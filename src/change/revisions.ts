/**
 * When events last changed. A calendar program takes an event that it knows only if its time of change is newer
 * (RFC 5545 section 3.8.7.2), so this time never goes back: content that stays keeps its time, and content that
 * changes gets a later one. The time is the source's own where that is later, else the clock of the publication.
 * At a start without an earlier image it is the source's own time, because clocks of replicas and restarts differ.
 */
import type { NormalisedEvent } from '../model/event.js';
import { HIDDEN_FIELDS } from '../snapshot/columns.js';
import { type ColumnImage, revisionSeconds, type SnapshotImage } from '../snapshot/image.js';
import { Snapshot } from '../snapshot/snapshot.js';
import { hasSameBytes } from '../structures/byte-strings.js';
import { Dictionary, NO_CODE } from '../structures/dictionary.js';
import { isSameEvent } from './apply.js';
import type { EventEdit } from './change.js';

/** @param own in seconds; 0 if the source gives none @param earlier of the event's earlier content */
function laterRevision(own: number, earlier: number, nowS: number): number {
  return own > earlier ? own : Math.max(nowS, earlier + 1);
}

/** Gives each event of an edit its time of change. Events that stay the same keep their time. */
export function reviseEdit(base: SnapshotImage, { came, went }: EventEdit, nowMs: number): EventEdit {
  const snapshot = new Snapshot(base);
  const nowS = revisionSeconds(nowMs);
  const revised = came.map((event): NormalisedEvent => {
    const ordinal = snapshot.ordinalOf(event.id);
    const own = revisionSeconds(event.modified ?? null);
    if (ordinal === -1) return { ...event, modified: (own || nowS) * 1000 };
    const earlier = base.modified[ordinal]!;
    const seconds = isSameEvent(base, ordinal, event) ? earlier : laterRevision(own, earlier, nowS);
    return { ...event, modified: seconds * 1000 };
  });
  return { came: revised, went };
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
  const earlierOf = (b: number, a: number): number => {
    const earlier = before.modified[b]!;
    return hasSameHidden(b, a) ? earlier : laterRevision(modified[a]!, earlier, nowS);
  };
  const equalDays = present.equalDays(old);
  let day = 0;
  let b = 0;
  for (let a = 0; a < present.eventCount; a++) {
    const next = equalDays[day];
    if (next !== undefined && a >= next.after.first) {
      b = next.before.first;
      while (a < next.after.end) modified[a] = earlierOf(b++, a++);
      a--;
      day++;
      continue;
    }
    // Both are in one order, so most equal rows are found without a search.
    while (b < old.eventCount && old.compareEvents(b, present, a) < 0) b++;
    if (b < old.eventCount && old.rows.isEqual(b, present.rows, a)) {
      modified[a] = earlierOf(b++, a);
      continue;
    }
    const ordinal = old.ordinalOf(present.rows.idOf(a));
    if (ordinal === -1) modified[a] ||= nowS;
    else modified[a] = laterRevision(modified[a]!, before.modified[ordinal]!, nowS);
  }
}

/** Compares events of two images in the fields that no row shows. */
function hiddenComparison(before: SnapshotImage, after: SnapshotImage): (b: number, a: number) => boolean {
  const columns = HIDDEN_FIELDS.map(({ name }) => {
    const [old, present] = [before, after].map((image) => columnOf(image, name)) as [
      ColumnImage,
      ColumnImage,
    ];
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

function columnOf({ fields, columns }: SnapshotImage, name: string): ColumnImage {
  return ({ ...fields, ...columns } as Readonly<Record<string, ColumnImage>>)[name]!;
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
