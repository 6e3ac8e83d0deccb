import { LecternError } from '../errors.js';
import { parseQueryString } from '../http/request/query-string.js';
import type { IdentifierMode } from '../model/event.js';
import { parseParameters } from '../query/parameters.js';
import { openTimetable } from '../timetable/timetable.js';
import { createProgressLine } from './progress.js';
import { formatBytes, formatCount, formatCountOf, formatMs } from './quantity.js';

export interface ExplainArguments {
  readonly source: string;
  /** Of GET /schedule; a "?" in front is allowed. */
  readonly query: string;
  readonly identifiers: IdentifierMode;
}

const PARSE_OPTIONS = { unknownParameters: 'reject' } as const;

/**
 * `lectern explain`: how one query is answered. What can be said of the query without the data is said before the source
 * is read.
 *
 * @throws LecternError where the source cannot be loaded; `parameters-invalid` with every fault
 */
export async function explain({ source, query, identifiers }: ExplainArguments): Promise<void> {
  const { pairs, faults } = parseQueryString(query.replace(/^\?/, ''));
  const facts = { identifiers, hasValue: () => false };
  const parsed = parseParameters('schedule', pairs, PARSE_OPTIONS, facts);
  const allFaults = 'faults' in parsed ? [...faults, ...parsed.faults] : faults;
  if (allFaults.length > 0) throw invalid(allFaults);
  const progress = createProgressLine(process.stderr, source);
  const timetable = openTimetable({
    source,
    identifiers,
    watch: false,
    gate: false,
    onProgress: progress.update,
  });
  try {
    const summary = await timetable.ready;
    const view = timetable.view;
    if (view === null) throw new LecternError('not-ready', 'the timetable is not loaded');
    const explanation = view.explain(pairs, PARSE_OPTIONS);
    if ('faults' in explanation) throw invalid(explanation.faults);
    const { plan, total, count, bodyBytes, timings } = explanation;
    const { parseMs, planMs, executeMs, encodeMs } = timings;
    process.stdout.write(
      `${plan}\n\n` +
        `${formatCountOf(total, 'event')} of ${formatCount(summary.events)}` +
        `${count === total ? '' : `, ${formatCount(count)} on this page`}, ${formatBytes(bodyBytes)} of JSON\n` +
        `parse ${formatMs(parseMs)}, plan ${formatMs(planMs)}, execute ${formatMs(executeMs)}, encode ${formatMs(encodeMs)}\n`,
    );
  } finally {
    progress.clear();
    await timetable.close();
  }
}

function invalid(faults: LecternError['faults']): LecternError {
  const details = faults.map(({ parameter, detail }) =>
    detail.includes(parameter) ? detail : `${parameter}: ${detail}`,
  );
  return new LecternError('parameters-invalid', details.join('; '), { faults });
}
