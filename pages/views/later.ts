/** The lessons nearest to what is shown. Apart, because most first views need none. */
import type { LeftOut, Target } from '../address.js';
import { client, filtersOf, leftOutFilters, pathOf, readNames, rowOf } from '../data.js';
import { type Lesson, lessonsOf } from '../lessons.js';
import { say } from '../speak.js';
import { announcement, go, windowOf, zone } from '../store.js';
import { wallTime } from '../time.js';

/** Rows of one time are one lesson or few; before them may be long lessons that have begun. */
const LATER_ROWS = 50;

/** The first lessons that begin after what is shown. */
export async function readLater(
  target: Target,
  not: readonly LeftOut[],
  after: number,
  signal: AbortSignal,
): Promise<readonly Lesson[]> {
  const filters = { ...filtersOf(target), ...leftOutFilters(not) };
  const query = { ...filters, startTime: new Date(after).toISOString(), limit: LATER_ROWS };
  const [names, { data }] = await Promise.all([
    readNames(),
    client.get(pathOf(target), query as object, { signal }),
  ]);
  return lessonsOf(data.map((event) => rowOf(event, names))).filter(({ start }) => start >= after);
}

/** Goes to the next lessons after what is shown, or to the last before. */
export async function goToNearest(
  targets: readonly Target[],
  from: string,
  days: number,
  direction: 1 | -1,
): Promise<void> {
  const window = windowOf(from, days, zone.value);
  const found = await Promise.all(
    targets.map(async (target): Promise<number | null> => {
      const path = pathOf(target);
      if (direction === 1) {
        const query = { ...filtersOf(target), startTime: new Date(window.to).toISOString(), limit: 1 };
        const { data } = await client.get(path, query as object);
        return data[0] === undefined ? null : Date.parse(data[0].time);
      }
      let last: number | null = null;
      const query = { ...filtersOf(target), endTime: new Date(window.from).toISOString(), limit: 5000 };
      for await (const event of client.entries(path, query as object)) last = Date.parse(event.time);
      return last;
    }),
  );
  const instants = found.filter((each) => each !== null);
  if (instants.length === 0) {
    announcement.value = say('nothingHere');
    return;
  }
  go({ date: wallTime(direction === 1 ? Math.min(...instants) : Math.max(...instants), zone.value).date });
}
