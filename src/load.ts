import type { IdentifierMode } from './model/event.js';
import { createNormaliser, isRejection } from './normalise/normalise.js';
import { SnapshotBuilder } from './snapshot/builder.js';
import type { SnapshotImage } from './snapshot/image.js';
import type { LoadOptions, LoadSummary, Source } from './source/source.js';

export interface LoadedImage {
  readonly image: SnapshotImage;
  readonly source: LoadSummary;
}

/**
 * The way of the data: source, normaliser, builder. Bad records are counted and left out; the source's own failures are
 * thrown as LecternErrors.
 */
export async function loadImage(
  source: Source,
  identifiers: IdentifierMode,
  options: LoadOptions = {},
): Promise<LoadedImage> {
  const builder = new SnapshotBuilder({ identifiers, startedAtMs: Date.now() });
  const normalise = createNormaliser(identifiers);
  const summary = await source.load(
    {
      record(value, position) {
        const event = normalise(value, position);
        if (isRejection(event)) builder.reject(event);
        else builder.add(event, position);
      },
      reject(rejection) {
        builder.reject(rejection);
      },
    },
    options,
  );
  return { image: builder.finish(), source: summary };
}
