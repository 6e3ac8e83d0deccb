import type { IdentifierMode } from '../model/event.js';
import { createNormaliser, createValueReader, isRejection } from '../normalise/normalise.js';
import { SnapshotBuilder } from '../snapshot/builder.js';
import { ByteIntake } from '../snapshot/byte-intake.js';
import type { SnapshotImage } from '../snapshot/image.js';
import { type IntakeBounds, IntakeWatch } from '../snapshot/intake-bounds.js';
import {
  isNotModified,
  type LoadOptions,
  type LoadSummary,
  type NotModified,
  type RecordSink,
  type Source,
} from '../source/source.js';

export interface LoadedImage {
  readonly image: SnapshotImage;
  readonly source: LoadSummary;
  /** What the bound of memory leaves for work on the image. */
  readonly bytesLeft: number;
}

export interface LoadImageOptions extends LoadOptions {
  /** How far the load may go. Default: as far as the source does. */
  readonly bounds?: IntakeBounds;
  /** Random if left out, see SnapshotBuilder. */
  readonly hashSeed?: SnapshotImage['hashSeed'];
}

const UNBOUNDED: IntakeBounds = { eventsMax: null, memoryBytesMax: null, growth: null };

export async function loadImage(
  source: Source,
  identifiers: IdentifierMode,
  options?: Omit<LoadImageOptions, 'previous'>,
): Promise<LoadedImage>;
export async function loadImage(
  source: Source,
  identifiers: IdentifierMode,
  options: LoadImageOptions,
): Promise<LoadedImage | NotModified>;
/**
 * The way of the data: source, normaliser, builder. Bad records are counted and left out; the source's own failures are
 * thrown as LecternErrors. Asked with `previous`, a source that did not change builds nothing.
 *
 * @throws RefusedLoad where the load is given up, because it is beyond a bound
 */
export async function loadImage(
  source: Source,
  identifiers: IdentifierMode,
  { bounds = UNBOUNDED, hashSeed, ...options }: LoadImageOptions = {},
): Promise<LoadedImage | NotModified> {
  const builder = new SnapshotBuilder({ identifiers, ...(hashSeed === undefined ? {} : { hashSeed }) });
  const normalise = createNormaliser(identifiers);
  const intake = new ByteIntake(builder, identifiers, createValueReader(identifiers));
  const watch = new IntakeWatch(builder, intake, bounds);
  const sink: RecordSink = {
    record(value, position) {
      const event = normalise(value, position);
      builder.unserved.countRecord(value);
      if (isRejection(event)) builder.reject(event);
      else builder.add(event, position);
      watch.record();
    },
    reject(rejection) {
      builder.reject(rejection);
      watch.record();
    },
    undecoded(bytes, view, spans, names) {
      if (!intake.add(bytes, view, spans)) return false;
      if (names.count > 0) builder.unserved.countNames(view, names.places, names.count);
      watch.count();
      return true;
    },
  };
  const onProgress: LoadOptions['onProgress'] = (progress) => {
    watch.chunk();
    options.onProgress?.(progress);
  };
  const summary = await source.load(sink, { ...options, onProgress });
  if (isNotModified(summary)) {
    if (typeof options.previous === 'string') return summary;
    throw new Error(
      `the source ${source.name} says that nothing changed, but was not asked whether anything did`,
    );
  }
  watch.look();
  const image = builder.finish();
  return { image, source: summary, bytesLeft: watch.bytesLeft(image) };
}
