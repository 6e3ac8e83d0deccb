import type { IdentifierMode } from '../model/event.js';
import { createNormaliser, createValueReader, isRejection } from '../normalise/normalise.js';
import { SnapshotBuilder } from '../snapshot/builder.js';
import { ByteIntake } from '../snapshot/byte-intake.js';
import type { SnapshotImage } from '../snapshot/image.js';
import {
  isNotModified,
  type LoadOptions,
  type LoadSummary,
  type NotModified,
  type Source,
} from '../source/source.js';

export interface LoadedImage {
  readonly image: SnapshotImage;
  readonly source: LoadSummary;
}

interface BuildOptions {
  /** Random if left out, see SnapshotBuilder. */
  readonly hashSeed?: SnapshotImage['hashSeed'];
}

/**
 * The way of the data: source, normaliser, builder. Bad records are counted and left out; the source's own failures are
 * thrown as LecternErrors. Asked with `previous`, a source that did not change builds nothing.
 */
export async function loadImage(
  source: Source,
  identifiers: IdentifierMode,
  options?: Omit<LoadOptions, 'previous'> & BuildOptions,
): Promise<LoadedImage>;
export async function loadImage(
  source: Source,
  identifiers: IdentifierMode,
  options: LoadOptions & BuildOptions,
): Promise<LoadedImage | NotModified>;
export async function loadImage(
  source: Source,
  identifiers: IdentifierMode,
  { hashSeed, ...options }: LoadOptions & BuildOptions = {},
): Promise<LoadedImage | NotModified> {
  const builder = new SnapshotBuilder({ identifiers, ...(hashSeed === undefined ? {} : { hashSeed }) });
  const normalise = createNormaliser(identifiers);
  const intake = new ByteIntake(builder, identifiers, createValueReader(identifiers));
  const summary = await source.load(
    {
      record(value, position) {
        const event = normalise(value, position);
        builder.unserved.countRecord(value);
        if (isRejection(event)) builder.reject(event);
        else builder.add(event, position);
      },
      reject(rejection) {
        builder.reject(rejection);
      },
      undecoded(bytes, view, spans, names) {
        const isTaken = intake.add(bytes, view, spans);
        if (isTaken && names.count > 0) builder.unserved.countNames(view, names.places, names.count);
        return isTaken;
      },
    },
    options,
  );
  if (isNotModified(summary)) {
    if (typeof options.previous === 'string') return summary;
    throw new Error(
      `the source ${source.name} says that nothing changed, but was not asked whether anything did`,
    );
  }
  return { image: builder.finish(), source: summary };
}
