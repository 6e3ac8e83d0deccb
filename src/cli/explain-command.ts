import { invalidParameters } from '../answer/object-form.js';
import { STRICT } from '../answer/parameters.js';
import type { ExplainedEndpoint } from '../answer/view.js';
import { openTimetable } from '../app/timetable.js';
import { LecternError } from '../base/errors.js';
import { DIRECTORIES } from '../base/model/fields.js';
import type { ReadingSettings } from '../options/option-types.js';
import { readSource } from './named-source.js';
import { writeOut } from './printable.js';
import { readScheduleRequest } from './schedule-request.js';
import { createProgressLine, formatBytes, formatCount, formatCountOf, formatMs } from './wording.js';

const EXPLAINED: readonly ExplainedEndpoint[] = ['schedule', ...DIRECTORIES.map(({ name }) => name), 'free'];

/**
 * `lectern explain` prints how one query is answered. The command checks the query before it reads the
 * source.
 *
 * @param request a query string of GET /schedule, or a path or address of GET /schedule, a directory or free
 * time
 * @param rooms path of the file of rooms
 */
export async function explain(
  source: string,
  request: string,
  reading: ReadingSettings,
  rooms: string | undefined,
): Promise<void> {
  const { name, rules, options: opening, isOfFile } = await readSource(source, reading);
  const { identifiers, timeZone } = rules;
  const options = { ...STRICT, timeZone };
  const { endpoint, pairs } = readScheduleRequest(request, options, identifiers, 'explained', EXPLAINED);
  const progress = createProgressLine(name);
  const timetable = openTimetable({
    ...opening,
    ...(isOfFile ? {} : { rooms }),
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
    writeOut(
      `${plan}\n\n` +
        `${found}${count === total ? '' : `, ${formatCount(count)} on this page`}, ${formatBytes(bodyBytes)} of JSON\n` +
        `parse ${formatMs(parseMs)}, plan ${formatMs(planMs)}, execute ${formatMs(executeMs)}, encode ${formatMs(encodeMs)}\n`,
    );
  } finally {
    progress.clear();
    await timetable.close();
  }
}
