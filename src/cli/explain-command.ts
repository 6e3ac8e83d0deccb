import { LecternError } from '../errors.js';
import { parseQueryString } from '../http/request/query-string.js';
import { DIRECTORIES } from '../model/fields.js';
import type { ReadingSettings } from '../options/option-types.js';
import { readRulesOf } from '../options/reading-settings.js';
import { invalidParameters } from '../query/object-form.js';
import { parseParameters } from '../query/parameters.js';
import { readFieldMap } from '../source/map-file.js';
import { openTimetable } from '../timetable/timetable.js';
import type { ExplainedEndpoint } from '../view/view.js';
import { createProgressLine, formatBytes, formatCount, formatCountOf, formatMs } from './wording.js';

/**
 * `lectern explain` prints how one query is answered. It checks the query before it reads the source.
 *
 * @param request a query string of GET /schedule, or a path or an address of GET /schedule, a directory or free time with one
 */
export async function explain(source: string, request: string, reading: ReadingSettings): Promise<void> {
  const { identifiers, timeZone } = reading;
  const options = { unknownParameters: 'reject', timeZone } as const;
  const { endpoint, query } = endpointOf(request);
  const { pairs, faults } = parseQueryString(query);
  const parsed = parseParameters(endpoint, pairs, options, { identifiers, hasValue: () => false });
  const allFaults = 'faults' in parsed ? [...faults, ...parsed.faults] : faults;
  if (allFaults.length > 0) throw invalidParameters(allFaults);
  const progress = createProgressLine(source);
  const timetable = openTimetable({
    source,
    ...readRulesOf({ ...reading, fieldMap: await readFieldMap(reading) }),
    watch: false,
    gate: false,
    onProgress: progress.update,
  });
  try {
    const summary = await timetable.ready;
    const explanation = timetable.view?.explain(pairs, options, endpoint);
    if (explanation === undefined) throw new LecternError('not-ready', 'the timetable is not loaded');
    if ('faults' in explanation) throw invalidParameters(explanation.faults);
    const { plan, total, count, bodyBytes, timings } = explanation;
    const found =
      endpoint === 'schedule'
        ? `${formatCountOf(total, 'event')} of ${formatCount(summary.events)}`
        : `${formatCount(total)} ${endpoint}`;
    const { parseMs, planMs, executeMs, encodeMs } = timings;
    process.stdout.write(
      `${plan}\n\n` +
        `${found}${count === total ? '' : `, ${formatCount(count)} on this page`}, ${formatBytes(bodyBytes)} of JSON\n` +
        `parse ${formatMs(parseMs)}, plan ${formatMs(planMs)}, execute ${formatMs(executeMs)}, encode ${formatMs(encodeMs)}\n`,
    );
  } finally {
    progress.clear();
    await timetable.close();
  }
}

function endpointOf(request: string): { endpoint: ExplainedEndpoint; query: string } {
  const [, path = '', query = ''] = /^((?:https?:\/)?\/[^?]*)?\??(.*)$/s.exec(request) ?? [];
  if (path === '' || /\/schedule\/?$/.test(path)) return { endpoint: 'schedule', query };
  const others: readonly ExplainedEndpoint[] = [...DIRECTORIES.map(({ name }) => name), 'free'];
  const other = others.find((name) => new RegExp(`/schedule/${name}/?$`).test(path));
  if (other !== undefined) return { endpoint: other, query };
  const explained = ['', ...others.map((name) => `/${name}`)].map((end) => `/schedule${end}`);
  throw new LecternError(
    'option-invalid',
    `only GET ${explained.join(', ')} can be explained, not ${JSON.stringify(path)}`,
  );
}
