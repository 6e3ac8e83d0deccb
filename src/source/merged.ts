import { LecternError } from '../errors.js';
import type { RecordPosition } from '../model/event.js';
import { formatOf, type LoadOptions, type LoadSummary, type RecordSink, type Source } from './source.js';

/**
 * Several sources as one, read from the last to the first: the snapshot keeps the first record of an id, and the later source
 * wins. Positions name their source. The version is the JSON array of the sources' versions; after a load that ended early,
 * null stands for sources that were not reached.
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
  readonly label: string;
}

async function load(
  parts: readonly Part[],
  sink: RecordSink,
  { rules, signal, previous = null, onProgress, onRecord, onVersion }: LoadOptions,
): Promise<LoadSummary | 'not-modified'> {
  let before = { bytesRead: 0, records: 0 };
  const known: (string | null)[] = parts.map(() => null);
  const read = async (part: Part, version: string | null): Promise<LoadSummary | 'not-modified'> => {
    const number = parts.indexOf(part);
    let latest = before;
    // Until this source says its version, what is read has none.
    onVersion?.(null);
    const answer = await part.source.load(labelling(sink, part.label), {
      rules,
      signal,
      onRecord,
      previous: version,
      onProgress: ({ bytesRead, records }) => {
        latest = { bytesRead: before.bytesRead + bytesRead, records: before.records + records };
        onProgress?.({ ...latest, bytesTotal: null });
      },
      onVersion: (found) => {
        known[number] = found;
        onVersion?.(known.includes(null, number) ? null : JSON.stringify(known));
      },
    });
    before = latest;
    return answer;
  };

  const versions = parseVersions(previous, parts.length);
  const summaries: LoadSummary[] = [];
  if (versions !== null) {
    const last = parts.length - 1;
    // The last source is read first, so asking it also reads it.
    const answer = await read(parts[last] as Part, versions[last] ?? null);
    if (answer !== 'not-modified') summaries.push(answer);
    else if (!(await anyChanged(parts.slice(0, last), versions, signal))) return answer;
  }
  for (const part of parts.slice(0, parts.length - summaries.length).reverse()) {
    const answer = await read(part, null);
    if (answer === 'not-modified')
      throw new Error(`the source ${part.label} was not asked whether anything changed`);
    summaries.push(answer);
  }
  summaries.reverse();
  const loaded = summaries.map(({ version }) => version);
  return {
    ...formatOf(summaries),
    bytesRead: summaries.reduce((bytes, summary) => bytes + summary.bytesRead, 0),
    version: loaded.includes(null) ? null : JSON.stringify(loaded),
  };
}

function labelling(sink: RecordSink, label: string): RecordSink {
  // A merged part has already named its parts.
  const labelled = (position: RecordPosition): RecordPosition => ({
    ...position,
    source: position.source ?? label,
  });
  return {
    record: (value, position) => sink.record(value, labelled(position)),
    reject: (rejection) => sink.reject({ ...rejection, position: labelled(rejection.position) }),
    notes: sink.notes,
  };
}

const CHANGED = new Error('the source changed');

/** Asks each source, the last first, until one has changed. Its records are dropped. */
async function anyChanged(
  parts: readonly Part[],
  versions: readonly (string | null)[],
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const stop = (): never => {
    throw CHANGED;
  };
  for (const [i, { source }] of [...parts.entries()].reverse()) {
    const previous = versions[i] ?? null;
    if (previous === null) return false;
    const asking = { previous, signal };
    try {
      if ((await source.load({ record: stop, reject: stop }, asking)) !== 'not-modified') return true;
    } catch (error) {
      if (error === CHANGED) return true;
      throw error;
    }
  }
  return false;
}

/** Null unless the text is a version of so many sources. */
function parseVersions(text: string | null, count: number): (string | null)[] | null {
  let value: unknown;
  try {
    value = JSON.parse(text ?? 'null');
  } catch {
    return null;
  }
  if (!Array.isArray(value) || value.length !== count) return null;
  const reached = value.slice(value.findIndex((version) => version !== null));
  return reached.every((version) => typeof version === 'string') ? value : null;
}
