import { LecternError } from '../errors.js';
import type { RecordPosition } from '../model/event.js';
import {
  isNotModified,
  type LoadOptions,
  type LoadSummary,
  NOT_MODIFIED,
  type NotModified,
  type RecordSink,
  type Source,
  type SourceFormat,
} from './source.js';

/**
 * Several sources as one. Where two have a record of the same id, the later source wins.
 *
 * The sources are read from the last to the first, as whoever takes the records keeps the first of an id. Each position
 * says which source it is of, so that a record that is overridden can be told from a fault within one source. A source
 * that fails fails the whole load: a set without it would be a smaller set that looks whole.
 *
 * The version is the JSON array of the sources' versions, or null where one has none. While they are read, the version of
 * those that have not been reached is null in it: whether these change makes no difference to a load that ended before.
 *
 * @param sources at least one; sources of the same name are numbered
 */
export function mergedSource(sources: readonly Source[]): Source {
  if (sources.length === 0)
    throw new LecternError('option-invalid', 'no source is given; expected at least one');
  const parts = sources.map((source, i) => {
    const isOnly = sources.every((other, j) => i === j || other.name !== source.name);
    return { source, label: isOnly ? source.name : `${source.name} (source ${i + 1})` };
  });
  return {
    name: parts.map(({ label }) => label).join(' + '),
    load: (sink, options = {}) => load(parts, sink, options),
  };
}

interface Part {
  readonly source: Source;
  /** What positions call it. */
  readonly label: string;
}

async function load(
  parts: readonly Part[],
  sink: RecordSink,
  options: LoadOptions,
): Promise<LoadSummary | NotModified> {
  const versions = parseVersions(options.previous ?? null, parts.length);
  const { previous: _, onVersion, ...unconditional } = options;
  const progress = new SharedProgress(options.onProgress);
  const known: (string | null)[] = parts.map(() => null);
  const read = (part: Part, previous: string | null): Promise<LoadSummary | NotModified> =>
    loadPart(part, sink, {
      ...unconditional,
      ...progress.optionsOf(),
      previous,
      onVersion(version) {
        const number = parts.indexOf(part);
        known[number] = version;
        // A source that was read without a version could be another by now.
        if (!known.includes(null, number)) onVersion?.(JSON.stringify(known));
      },
    });

  const summaries: LoadSummary[] = [];
  if (versions !== null) {
    const last = parts.length - 1;
    // The last one is the first to be read, so asking it can be reading it.
    const answer = await read(parts[last] as Part, versions[last] ?? null);
    if (!isNotModified(answer)) summaries.push(answer);
    else if (!(await anyChanged(parts.slice(0, last), versions, unconditional))) return NOT_MODIFIED;
  }
  for (const part of parts.slice(0, parts.length - summaries.length).reverse()) {
    const answer = await read(part, null);
    if (isNotModified(answer))
      throw new Error(`the source ${part.label} was not asked whether anything changed`);
    summaries.push(answer);
  }
  return combine(summaries.reverse());
}

/** What a source throws out of its load when all that was to be known is that there are records. */
const CHANGED = new Error('the source changed');

/** Asks each source, from the last to the first, and stops at one that has something new. Nothing is kept of it. */
async function anyChanged(
  parts: readonly Part[],
  versions: readonly (string | null)[],
  options: LoadOptions,
): Promise<boolean> {
  const stop = (): never => {
    throw CHANGED;
  };
  const probe: RecordSink = { record: stop, reject: stop };
  const { signal } = options;
  for (const [i, part] of [...parts.entries()].reverse()) {
    const previous = versions[i] ?? null;
    if (previous === null) return false;
    const asking = { previous, ...(signal === undefined ? {} : { signal }) };
    try {
      if (!isNotModified(await part.source.load(probe, asking))) return true;
    } catch (error) {
      if (error === CHANGED) return true;
      throw error;
    }
  }
  return false;
}

function loadPart(
  { source, label }: Part,
  sink: RecordSink,
  options: LoadOptions,
): Promise<LoadSummary | NotModified> {
  // A part that is merged itself has named its parts already.
  const named = (position: RecordPosition): RecordPosition =>
    position.source === undefined ? { ...position, source: label } : position;
  return source.load(
    {
      record: (value, position) => sink.record(value, named(position)),
      reject: (rejection) => sink.reject({ ...rejection, position: named(rejection.position) }),
    },
    options,
  );
}

/** @returns null where the text is no version of so many sources, so that all are read */
function parseVersions(text: string | null, count: number): (string | null)[] | null {
  if (text === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(value) || value.length !== count) return null;
  const reached = value.slice(value.findIndex((version) => version !== null));
  return reached.every((version) => typeof version === 'string') ? value : null;
}

function combine(summaries: readonly LoadSummary[]): LoadSummary {
  const versions = summaries.map(({ version }) => version);
  const formats = new Set<SourceFormat>(summaries.map(({ format }) => format));
  const [format = 'mixed', ...others] = formats;
  return {
    format: others.length === 0 ? format : 'mixed',
    gzipped: summaries.some(({ gzipped }) => gzipped),
    bytesRead: summaries.reduce((bytes, summary) => bytes + summary.bytesRead, 0),
    version: versions.includes(null) ? null : JSON.stringify(versions),
  };
}

/** Adds up the progress of loads that follow each other. The size of all together is not known before the end. */
class SharedProgress {
  readonly #onProgress: LoadOptions['onProgress'];
  #latest = { bytesRead: 0, records: 0 };

  constructor(onProgress: LoadOptions['onProgress']) {
    this.#onProgress = onProgress;
  }

  /** For the next load. */
  optionsOf(): Pick<LoadOptions, 'onProgress'> {
    const onProgress = this.#onProgress;
    if (onProgress === undefined) return {};
    const before = this.#latest;
    return {
      onProgress: ({ bytesRead, records }) => {
        this.#latest = { bytesRead: before.bytesRead + bytesRead, records: before.records + records };
        onProgress({ ...this.#latest, bytesTotal: null });
      },
    };
  }
}
