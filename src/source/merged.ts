import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LecternError, type LecternErrorCode } from '../errors.js';
import { PARTS_AT_ONCE } from '../limits.js';
import type { RecordPosition } from '../model/event.js';
import { CopyWriter, replay } from './record-copy.js';
import {
  type FoundParts,
  formatOf,
  type LoadOptions,
  type LoadSummary,
  type PartFailure,
  type PartReport,
  type RecordCopy,
  type RecordSink,
  type Source,
} from './source.js';

/** Largest number of sources listed in one name. */
const NAMES_SHOWN = 3;
/** Largest number of failures listed in one message. */
const FAILURES_SHOWN = 3;

/**
 * Several sources as one source. The later source wins. A merged source, folder or glob among them is
 * replaced by its parts.
 */
export function mergedSource(sources: readonly Source[]): Source {
  if (sources.length === 0)
    throw new LecternError('option-invalid', 'no source is given; expected at least one');
  const names = labelsOf(sources);
  const rest = names.length - NAMES_SHOWN;
  const shown = rest > 1 ? [...names.slice(0, NAMES_SHOWN), `${rest} more`] : names;
  return partsSource(shown.join(' + '), async (signal) => {
    const found = await Promise.all(
      sources.map((source) => source.find?.(signal) ?? { sources: [source], skipped: 0 }),
    );
    return {
      sources: found.flatMap((each) => each.sources),
      skipped: found.reduce((count, { skipped }) => count + skipped, 0),
    };
  });
}

/**
 * A source whose parts are searched again at each load. A load reads every part, several at a time, into a
 * compressed copy. A part that fails keeps its last copy. After all reads, the copies are merged from last to
 * first, and the snapshot keeps the first record of an id. A part that reports no change keeps its copy and is not
 * read again. The version of the source covers the list of parts with their versions.
 */
export function partsSource(name: string, find: NonNullable<Source['find']>): Source {
  return {
    name,
    find,
    async load(sink, options = {}) {
      options.signal?.throwIfAborted();
      return new PartsLoad(await find(options.signal), options).load(sink);
    },
  };
}

/** Errors that make one part stale without failing the whole load. */
const PART_FAULTS: ReadonlySet<LecternErrorCode> = new Set<LecternErrorCode>([
  'source-unreadable',
  'source-malformed',
  'source-too-large',
]);

interface Part {
  readonly source: Source;
  readonly name: string;
  readonly id: string;
}

class PartsLoad {
  readonly #parts: readonly Part[];
  readonly #skipped: number;
  readonly #options: LoadOptions;
  readonly #known: ReadonlyMap<string, PartReport>;
  readonly #budget: { bytes: number };
  readonly #progress: { bytesRead: number; records: number }[];
  readonly #errors = new Map<PartReport, LecternError>();

  constructor({ sources, skipped }: FoundParts, options: LoadOptions) {
    const labels = labelsOf(sources);
    const ids = new Map<string, number>();
    this.#parts = sources.map((source, n) => {
      const id = source.id ?? source.name;
      const before = ids.get(id) ?? 0;
      ids.set(id, before + 1);
      return { source, name: labels[n] as string, id: before === 0 ? id : `${id} again ${before}` };
    });
    this.#skipped = skipped;
    this.#options = options;
    this.#known = new Map(options.parts?.map((report) => [report.id, report]));
    this.#budget = { bytes: options.copyBytesMax ?? Number.POSITIVE_INFINITY };
    this.#progress = sources.map(() => ({ bytesRead: 0, records: 0 }));
  }

  async load(sink: RecordSink): Promise<LoadSummary | 'not-modified'> {
    const { previous = null, signal, onParts, onVersion } = this.#options;
    const reports = await this.#readAll();
    signal?.throwIfAborted();
    onParts?.({ parts: reports, skipped: this.#skipped });
    this.#throwIfTooManyFailed(reports);
    const version = versionOf(reports);
    onVersion?.(version);
    if (version !== null && version === previous) return 'not-modified';
    const copies: RecordCopy[] = [];
    for (const { copy, name } of [...reports].reverse()) {
      if (copy === null) continue;
      copies.push(copy);
      sink.notes?.add(copy.notes);
      for (const _batch of replay(copy, labelling(sink, name))) {
        this.#tellProgress();
        await nextTurn();
        signal?.throwIfAborted();
      }
    }
    return {
      ...formatOf(copies),
      bytesRead: copies.reduce((bytes, { bytesRead }) => bytes + bytesRead, 0),
      version,
    };
  }

  async #readAll(): Promise<PartReport[]> {
    const reports: PartReport[] = [];
    let next = 0;
    let hasEnded = false;
    const work = async (): Promise<void> => {
      while (next < this.#parts.length && !hasEnded) {
        const n = next++;
        try {
          reports[n] = await this.#read(n);
        } catch (error) {
          hasEnded = true;
          throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: PARTS_AT_ONCE }, work));
    return reports;
  }

  async #read(n: number): Promise<PartReport> {
    const { source, name, id } = this.#parts[n] as Part;
    const { rules, signal, onRecord, previous = null } = this.#options;
    const known = this.#known.get(id) ?? { copy: null, confirmedMs: null, failure: null };
    const { copy } = known;
    if (known.failure !== null && Date.now() < known.failure.retryAtMs) return { ...known, id, name };
    if (copy !== null && source.readOnce) return { ...known, id, name, failure: null };
    const progress = this.#progress[n] as { bytesRead: number; records: number };
    try {
      const writer = new CopyWriter(name, this.#budget);
      const answer = await source.load(writer, {
        rules,
        signal,
        onRecord,
        previous: previous === null ? null : (copy?.version ?? null),
        onProgress: ({ bytesRead, records }) => {
          Object.assign(progress, { bytesRead, records });
          this.#tellProgress();
        },
      });
      const isKept = answer === 'not-modified';
      if (isKept && copy === null)
        throw new Error(`the source ${name} was not asked whether anything changed`);
      return {
        id,
        name,
        copy: isKept ? copy : writer.finish(answer),
        confirmedMs: Date.now(),
        failure: null,
      };
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof LecternError) || !PART_FAULTS.has(error.code)) throw error;
      const report = { ...known, id, name, failure: partFailureOf(error, known.failure) };
      this.#errors.set(report, error);
      return report;
    }
  }

  /** The load fails if every part failed, or if a required part is missing. */
  #throwIfTooManyFailed(reports: readonly PartReport[]): void {
    const { allowMissing = false } = this.#options;
    const failed = reports.filter(({ failure }) => failure !== null);
    const missing = reports.filter(
      ({ copy }, n) => copy === null && !(allowMissing && this.#parts[n]?.source.mayBeMissing),
    );
    const listed = failed.length === reports.length ? failed : missing;
    const [first, ...others] = listed.map((report) => this.#errorOf(report));
    if (first === undefined) return;
    if (others.length === 0) throw first;
    const shown = [first, ...others].slice(0, FAILURES_SHOWN).map(({ message }) => message);
    const rest = listed.length - shown.length;
    const waits = [first, ...others].map(({ retryAfterMs }) => retryAfterMs);
    throw new LecternError(
      first.code,
      `${listed.length} of ${reports.length} sources cannot be read: ${shown.join('; ')}${rest > 0 ? `; and ${rest} more` : ''}`,
      { retryAfterMs: waits.includes(null) ? null : Math.min(...(waits as number[])) },
    );
  }

  /**
   * The failure of a part. A part that was skipped because of its Retry-After keeps the failure of an earlier
   * load.
   */
  #errorOf(report: PartReport): LecternError {
    const { code, message, retryAtMs } = report.failure as PartFailure;
    const retryAfterMs = retryAtMs === 0 ? null : Math.max(0, retryAtMs - Date.now());
    return this.#errors.get(report) ?? new LecternError(code, message, { retryAfterMs });
  }

  #tellProgress(): void {
    const sum = (name: 'bytesRead' | 'records'): number =>
      this.#progress.reduce((total, progress) => total + progress[name], 0);
    this.#options.onProgress?.({ bytesRead: sum('bytesRead'), bytesTotal: null, records: sum('records') });
  }
}

function partFailureOf(
  { code, message, retryAfterMs }: LecternError,
  known: PartFailure | null,
): PartFailure {
  const nowMs = Date.now();
  return {
    code,
    message,
    sinceMs: known?.sinceMs ?? nowMs,
    retryAtMs: retryAfterMs === null ? 0 : nowMs + retryAfterMs,
  };
}

/** The version of all parts, of 22 base64url characters. Null if a part has no version. */
function versionOf(reports: readonly PartReport[]): string | null {
  const versions = reports.map(({ id, copy }) => [id, copy === null ? 'missing' : copy.version] as const);
  if (versions.some(([, version]) => version === null)) return null;
  return createHash('sha256').update(JSON.stringify(versions)).digest().subarray(0, 16).toString('base64url');
}

/** Makes all names different. */
function labelsOf(sources: readonly Source[]): string[] {
  const counts = new Map<string, number>();
  for (const { name } of sources) counts.set(name, (counts.get(name) ?? 0) + 1);
  return sources.map(({ name }, n) => (counts.get(name) === 1 ? name : `${name} (source ${n + 1})`));
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
