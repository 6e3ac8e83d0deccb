import { LecternError } from '../base/errors.js';
import { LOGGED_LINES_MAX, LOGGED_REASONS_MAX } from '../base/limits.js';
import type { Logger } from '../http/logger.js';
import { percentRejected } from '../refresh/gate.js';
import { emptyFilters, fieldLossOf, type SnapshotSummary } from '../snapshot/summary.js';
import type { Timetable } from './timetable-interface.js';

/** Failures of a source, a file or a store. Each reason is logged once until it works again. */
export class FailureLog {
  readonly #log: Logger | undefined;
  readonly #fields: object;
  readonly #recovery: string;
  readonly #logged = new Set<string>();
  #failures = 0;

  /** @param recovery the message when it works again */
  constructor(log: Logger | undefined, fields: object, recovery: string) {
    this.#log = log;
    this.#fields = fields;
    this.#recovery = recovery;
  }

  failed(level: 'warn' | 'error', reason: string, message: string, more: object = {}): void {
    this.#failures++;
    const line = `${message}: ${reason}`;
    if (this.#logged.has(line) || this.#logged.size >= LOGGED_REASONS_MAX) return;
    this.#logged.add(line);
    this.#log?.[level]({ ...this.#fields, ...more, reason }, message);
  }

  worked(): void {
    if (this.#failures > 0) this.#log?.info({ ...this.#fields, failures: this.#failures }, this.#recovery);
    this.#failures = 0;
    this.#logged.clear();
  }
}

const MINUTE_MS = 60_000;

/**
 * A line that may come many times a second, such as the publications of a followed database. Of the lines beyond
 * LOGGED_LINES_MAX in a minute, only the last is logged, at the end of the minute, with their number.
 */
export class FrequentLine {
  readonly #log: (fields: object) => void;
  readonly #everyMs: number;
  #lines = 0;
  #latest: object = {};
  #unlogged = 0;

  constructor(log: (fields: object) => void, everyMs: number = MINUTE_MS) {
    this.#log = log;
    this.#everyMs = everyMs;
  }

  tell(fields: object): void {
    if (this.#lines === LOGGED_LINES_MAX) {
      this.#latest = fields;
      this.#unlogged++;
      return;
    }
    if (this.#lines++ === 0) setTimeout(() => this.#endMinute(), this.#everyMs).unref();
    this.#log(fields);
  }

  #endMinute(): void {
    const unlogged = this.#unlogged;
    this.#lines = 0;
    this.#unlogged = 0;
    if (unlogged > 0) this.tell({ ...this.#latest, ...(unlogged > 1 && { unlogged: unlogged - 1 }) });
  }
}

/** Messages of faults that do not repeat by themselves, so each one is logged. */
const FAULTS: Readonly<Record<string, string>> = {
  'image-unusable': 'snapshot file not read',
  'rooms-unusable': 'rooms file not read',
  'key-invalid': 'credentials of the source not read',
  'thread-lost': 'serving thread lost',
};

/**
 * Logs publications, refusals and faults. `ready` reports a failed first load.
 *
 * @param published the message of a publication
 * @param isRegular whether the source is loaded at regular intervals
 */
export function logTimetable(
  timetable: Timetable,
  published: string,
  { rejectPercentMax, isRegular }: { readonly rejectPercentMax: number; readonly isRegular: boolean },
  log: Logger,
): void {
  logPublications(timetable, published, rejectPercentMax, log);
  logLoads(timetable, isRegular, log);
}

function logPublications(timetable: Timetable, published: string, rejectPercentMax: number, log: Logger) {
  const source = timetable.source.name;
  const publications = new FrequentLine((fields) => log.info({ source, ...fields }, published));
  let before: SnapshotSummary | null = null;
  const warned = new Map<string, string>();
  /** Does not repeat a warning that the previous timetable already caused. */
  const warnOfFields = (message: string, fields: readonly string[], more: object = {}): void => {
    const list = fields.join();
    if (list !== '' && list !== warned.get(message)) log.warn({ source, fields, ...more }, message);
    warned.set(message, list);
  };
  timetable.on('published', ({ summary, origin, changes }) => {
    const { id, events, rejected, buildMs, expanded, patterns } = summary;
    publications.tell({
      ...{ snapshot: id, origin, events, rejected, buildMs },
      ...changes,
      ...unservedFields(summary),
      ...ambiguousTimes(summary),
      ...(expanded && { expanded }),
      ...(patterns && { patterns }),
    });
    warnOfFields(
      'some fields of records are not served; their names may be misspelt',
      summary.unserved.fields.flatMap(({ name, suggestion }) =>
        suggestion === null ? [] : [`${name}: did you mean ${suggestion}?`],
      ),
    );
    const loss = fieldLossOf(before, summary);
    before = summary;
    if (loss !== null) log.warn({ source, ...loss }, 'fields have lost their values');
    warnOfFields('fields without values', emptyFilters(summary), {
      reason: 'no event has a value in these fields; filters on them find nothing',
    });
    // The first timetable is published with any number of rejected records.
    if (changes !== null || origin !== 'source' || percentRejected(summary) <= rejectPercentMax) return;
    const reason = `${percentRejected(summary).toFixed(1)} % of the records were rejected; later loads are refused above ${rejectPercentMax} %`;
    log.warn({ source, events, rejected, reason }, 'first timetable has many bad records');
  });
}

/** Logs how the state of a source changes. Metrics count the loads. */
function logLoads(timetable: Timetable, isRegular: boolean, log: Logger): void {
  const source = timetable.source.name;
  const loads = new FailureLog(log, { source }, 'source works again');
  const file = new FailureLog(log, { source }, 'snapshot file written again');
  const isFinal = (): boolean => timetable.summary === null && !isRegular;
  let wholeReads = '';
  // Each part gets one line. A part that continues to fail is not reported again.
  let told = 0;
  timetable.on('refused', ({ refusal, summary }) => {
    if (isFinal()) return;
    const { id, events, rejected } = summary ?? {};
    loads.failed('warn', refusal.detail, 'timetable refused', { snapshot: id, events, rejected });
  });
  timetable.on('part', ({ name, state, records, lastError }) => {
    if (++told > PARTS_LOGGED_MAX) return;
    if (state === 'ok') log.info({ source: name, records }, 'source works again');
    else
      log.error({ source: name, state, records, reason: lastError }, 'source failed; the others are served');
  });
  timetable.on('loaded', ({ result }) => {
    const { snapshotFileError = null, followed } = timetable.source;
    const tables = followed?.wholeReads ?? [];
    if (tables.length > 0 && tables.join() !== wholeReads)
      log.warn({ source, tables }, 'a change of these tables causes a read of all rows');
    wholeReads = tables.join();
    if (result === 'published' || result === 'unchanged') loads.worked();
    if (snapshotFileError === null) file.worked();
    const others = told - PARTS_LOGGED_MAX;
    if (others > 0) log.warn({ source, others }, 'further sources failed, or work again');
    told = 0;
  });
  timetable.on('warning', (reason) => log.warn({ source, reason }, 'timetable file'));
  timetable.on('error', (error) => {
    const reason = error.message;
    const code = error instanceof LecternError ? error.code : '';
    const message = FAULTS[code];
    if (code === 'image-not-written') file.failed('error', reason, 'snapshot file not written');
    else if (message !== undefined) log.error({ source, reason }, message);
    else if (!isFinal()) loads.failed('error', reason, 'timetable not loaded');
  });
}

/** The fields of a log record that list unserved fields. */
function unservedFields({ unserved: { fields, others } }: SnapshotSummary): object {
  if (fields.length === 0 && others === 0) return {};
  const listed = fields
    .slice(0, UNSERVED_LOGGED_MAX)
    .map(({ name, records, suggestion }) => ({ name, records, ...(suggestion && { suggestion }) }));
  return { notServed: listed, ...(fields.length > listed.length && { notServedFields: fields.length }) };
}

/** The field of a log record that counts ambiguous times, if there are any. */
function ambiguousTimes({ ambiguousTimes: { gaps, overlaps } }: SnapshotSummary): object {
  return gaps + overlaps === 0 ? {} : { ambiguousTimes: { gaps, overlaps } };
}

const UNSERVED_LOGGED_MAX = 20;
/** Most log lines about single sources for one load. */
const PARTS_LOGGED_MAX = 20;
