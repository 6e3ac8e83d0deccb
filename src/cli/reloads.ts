import type { Timetable } from '../timetable/timetable.js';
import { formatCountOf } from './quantity.js';

/**
 * Prints a line for each load that went well, for a person who has changed a file or asked for a load and waits to see what
 * becomes of it; what fails or is refused is in the log. Where loads come regularly, those that find nothing new are passed
 * over, but for the first after a failure.
 */
export function tellReloads(
  timetable: Pick<Timetable, 'on' | 'summary'>,
  isRegular: boolean,
  print: (line: string) => void,
): void {
  let wasBad = false;
  timetable.on('loaded', ({ result }) => {
    const isBad = result === 'failed' || result === 'refused';
    const isNews = result === 'published' || (result === 'unchanged' && (wasBad || !isRegular));
    wasBad = isBad;
    if (!isNews || timetable.summary === null) return;
    const events = formatCountOf(timetable.summary.events, 'event');
    print(`loaded again: ${events}${result === 'unchanged' ? ', nothing has changed' : ''}\n`);
  });
}
