import { RECORD_PREFIX_UNITS, recordPrefix } from '../../base/model/derived-identifier.js';
import type { IdentifierMode, NormalisedEvent, Rejection } from '../../base/model/event.js';
import { slotOf } from '../../base/model/fields.js';
import { parseIdentifier } from '../../base/model/identifier.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import type { AmbiguousTimes } from '../../base/model/zone.js';
import type { Row } from '../../base/structures/row.js';
import { editImage } from '../../change/apply.js';
import { isRejection, Normaliser, positionOf } from '../../normalise/normalise.js';
import { type BeginRows, SnapshotBuilder } from '../../snapshot/builder.js';
import type { SnapshotImage } from '../../snapshot/image.js';
import { type IntakeBounds, IntakeWatch } from '../../snapshot/intake-bounds.js';
import { RowIntake } from '../../snapshot/row-intake.js';
import { Snapshot } from '../../snapshot/snapshot.js';
import type { ReadingNotes } from '../../snapshot/summary.js';
import type { RowSink } from '../../source/source.js';

export interface ImageBuildOptions {
  readonly identifiers: IdentifierMode;
  readonly hashSeed: SnapshotImage['hashSeed'] | undefined;
  readonly bounds: IntakeBounds;
}

/** What became of the rows of a load. */
export interface Built {
  readonly image: SnapshotImage;
  /** Memory within the bound that is left for work on the image. */
  readonly bytesLeft: number;
}

/** What takes the rows of one source. */
interface Intake {
  readonly rules: ReadRules;
  readonly rows: RowIntake;
  readonly normaliser: Normaliser;
}

/** Connects normaliser and builder: takes the rows of a load and makes the image. Throws RefusedLoad beyond a bound. */
export class ImageBuild implements RowSink {
  readonly builder: SnapshotBuilder;
  readonly #retracted = new RetractedEvents();
  readonly #ambiguousTimes: AmbiguousTimes = { gaps: 0, overlaps: 0 };
  readonly #holders: (RowIntake | Normaliser)[] = [];
  readonly #watch: IntakeWatch;
  readonly #intakes = new Map<string, Intake>();
  #latest: Intake | null = null;

  constructor({ identifiers, hashSeed, bounds }: ImageBuildOptions) {
    this.builder = new SnapshotBuilder({ identifiers, ...(hashSeed === undefined ? {} : { hashSeed }) });
    this.#watch = new IntakeWatch(this.builder, this.#holders, bounds);
  }

  row(row: Row, rules: ReadRules): void {
    const intake = this.#intakeOf(rules);
    if (!this.#retracted.take(row, intake)) intake.rows.add(row, positionOf);
    this.#watch.record();
  }

  retract(id: string, rules: ReadRules): void {
    this.#retracted.add(id, rules);
  }

  fault(rejection: Rejection): void {
    this.builder.reject(rejection);
    this.#watch.record();
  }

  /** Call this after each piece of a source. */
  chunk(): void {
    this.#watch.chunk();
  }

  /** @param bytes that the load keeps beside the image */
  hold(bytes: number): void {
    this.#watch.hold(bytes);
  }

  mayHold(bytes: number): boolean {
    return this.#watch.mayHold(bytes);
  }

  /** Whether the image is exactly what was given to the builder. */
  get isPlain(): boolean {
    return this.#retracted.isEmpty;
  }

  /** The notes on the reading, with those on the values. */
  notesWith(notes: ReadingNotes): ReadingNotes {
    const { gaps, overlaps } = notes.ambiguousTimes;
    const own = this.#ambiguousTimes;
    return { ...notes, ambiguousTimes: { gaps: gaps + own.gaps, overlaps: overlaps + own.overlaps } };
  }

  /** Checks the bound on memory a last time before the image is made. */
  allRead(): void {
    this.#watch.look();
  }

  /** @param begin see the builder's `finish` */
  finish(notes: ReadingNotes, begin?: BeginRows): Built {
    const image = this.#retracted.applyTo(this.builder.finish(this.notesWith(notes), begin));
    return { image, bytesLeft: this.bytesLeft(image) };
  }

  bytesLeft(image: SnapshotImage): number {
    return this.#watch.bytesLeft(image);
  }

  /** Sources with equal rules share an intake, because it knows the values that it has seen. */
  #intakeOf(own: ReadRules): Intake {
    if (this.#latest?.rules === own) return this.#latest;
    const key = JSON.stringify([own.identifiers, own.dateOrder, own.timeZone]);
    let known = this.#intakes.get(key);
    if (known === undefined) {
      const normaliser = new Normaliser(own, this.#ambiguousTimes);
      known = { rules: own, normaliser, rows: new RowIntake(this.builder, own.identifiers, normaliser) };
      this.#intakes.set(key, known);
      this.#holders.push(known.rows, normaliser);
    }
    this.#latest = { ...known, rules: own };
    return this.#latest;
  }
}

const ID = slotOf('id');

/** Records that a source has taken back, each with the events that replace it, until the image is built. */
class RetractedEvents {
  readonly #events = new Map<string, Map<string, NormalisedEvent>>();
  /** Rows of a copy do not know their record. */
  readonly #byPrefix = new Map<string, string>();

  add(given: string, { identifiers }: ReadRules): void {
    const record = parseIdentifier(given, identifiers, 'id');
    if (record === null) return;
    this.#events.set(record, new Map());
    this.#byPrefix.set(recordPrefix(record), record);
  }

  /** @returns whether the row is kept for a record that was taken back */
  take(row: Row, { normaliser, rules }: Intake): boolean {
    if (this.#events.size === 0) return false;
    const id = parseIdentifier(row.textOf(ID), rules.identifiers, 'id');
    const record = row.recordId ?? this.#byPrefix.get(id?.slice(0, RECORD_PREFIX_UNITS) ?? '') ?? id ?? '';
    const events = this.#events.get(record);
    if (events === undefined) return false;
    const event = normaliser.event(row);
    if (isRejection(event) || events.has(event.id)) return false;
    events.set(event.id, event);
    return true;
  }

  /** The image without what was taken back. */
  applyTo(image: SnapshotImage): SnapshotImage {
    if (this.#events.size === 0) return image;
    const came = [...this.#events.values()].flatMap((events) => [...events.values()]);
    const ids = new Set(came.map(({ id }) => id));
    const records = [...this.#events.keys()];
    const went = [...records, ...new Snapshot(image).idsOfRecords(records)];
    return editImage(image, { came, went: went.filter((id) => !ids.has(id)) }).image;
  }

  get isEmpty(): boolean {
    return this.#events.size === 0;
  }
}
