/** How full the rooms are: by weekday and hour, as a heat map. */
import type { TimetableEvent } from 'lectern/client';
import type { JSX } from 'preact';
import { client, noteVersion, ROWS_MAX, useLoaded } from '../data.js';
import { Chosen, Loading, Problem } from '../parts.js';
import { say, sayDate, sayDates, sayHour, sayNumber } from '../speak.js';
import { address, firstDay, isWeekend, kinds, setMore, shownDate, windowOf, zone } from '../store.js';
import { addDays, wallTime, weekStart } from '../time.js';
import { BuildingField, readWantedRooms, SeatsField, wantedRoomTexts } from './rooms.js';

const [FIRST_HOUR, LAST_HOUR] = [7, 21];
const WEEKS_CHOICES = [1, 2, 4, 8, 15];
const WEEKS_USUAL = 4;

interface Usage {
  readonly events: readonly TimetableEvent[];
  readonly rooms: ReadonlySet<string>;
  readonly isCut: boolean;
}

async function readUsage(from: string, weeks: number, signal: AbortSignal): Promise<Usage> {
  const { kind } = address.peek().more;
  const window = windowOf(from, weeks * 7, zone.peek());
  const query = {
    startTime: new Date(window.from).toISOString(),
    endTime: new Date(window.to).toISOString(),
    limit: 5000,
    ...(kind ? { type: [kind] } : {}),
  };
  const events: TimetableEvent[] = [];
  const rooms = readWantedRooms();
  for await (const answer of client.pages('/schedule', query, { signal })) {
    noteVersion(answer.version);
    events.push(...answer.data);
    if (events.length >= ROWS_MAX * 5) break;
  }
  return { events, rooms: new Set((await rooms).map(({ id }) => id)), isCut: events.length >= ROWS_MAX * 5 };
}

/** Rooms in use, by date and hour: a room counts once in an hour. */
function sharesOf({ events, rooms }: Usage, from: string, weeks: number): readonly (readonly number[])[] {
  const used = new Set<string>();
  for (const { time, endTime, roomId } of events) {
    if (roomId === null || !rooms.has(roomId)) continue;
    const [start, end] = [Date.parse(time), Date.parse(endTime)];
    // A minute before the end, so that a lesson until 10:00 does not count for the hour from 10:00.
    for (let at = start; at < end; at = Math.floor(at / 3_600_000 + 1) * 3_600_000) {
      const { date, minute } = wallTime(at, zone.value);
      used.add(`${date} ${Math.floor(minute / 60)} ${roomId}`);
    }
  }
  const counts = new Map<string, number>();
  for (const key of used) {
    const [date = '', hour = ''] = key.split(' ');
    const day = ((Math.round((Date.parse(date) - Date.parse(from)) / 86_400_000) % 7) + 7) % 7;
    counts.set(`${day} ${hour}`, (counts.get(`${day} ${hour}`) ?? 0) + 1);
  }
  return Array.from({ length: 7 }, (_, day) =>
    Array.from(
      { length: LAST_HOUR - FIRST_HOUR },
      (_, n) => (counts.get(`${day} ${FIRST_HOUR + n}`) ?? 0) / Math.max(1, rooms.size * weeks),
    ),
  );
}

export function Usage(): JSX.Element {
  const { more } = address.value;
  const weeks = WEEKS_CHOICES.find((each) => String(each) === more.weeks) ?? WEEKS_USUAL;
  const from = weekStart(shownDate.value, firstDay.value);
  const key = `usage ${from} ${weeks} ${zone.value} ${more.building} ${more.seats} ${more.kind}`;
  const { data, error, isLoading } = useLoaded(key, (signal) => readUsage(from, weeks, signal));
  document.title = `${say('usage')} · ${say('appName')}`;
  return (
    <>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          {say('weeksRunning')}
          <select value={String(weeks)} onChange={(event) => setMore({ weeks: event.currentTarget.value })}>
            {WEEKS_CHOICES.map((each) => (
              <option key={each} value={String(each)}>
                {say('everyWeek', { n: each })}
              </option>
            ))}
          </select>
        </label>
        <label>
          {say('kind')}
          <select value={more.kind ?? ''} onChange={(event) => setMore({ kind: event.currentTarget.value })}>
            <option value="">{say('allKinds')}</option>
            {kinds.value.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <BuildingField />
        <SeatsField />
      </form>
      <Chosen
        texts={[
          sayDates(from, weeks * 7),
          say('everyWeek', { n: weeks }),
          more.kind && `${say('kind')}: ${more.kind}`,
          ...wantedRoomTexts(),
        ]}
      />
      {error !== null && <Problem error={error} />}
      {data === null && error === null && <Loading />}
      {data !== null && (
        <div class="body" aria-busy={isLoading} data-loading={isLoading || undefined}>
          {data.isCut && <p class="notice">{say('cutOff')}</p>}
          <HeatMap shares={sharesOf(data, from, weeks)} from={from} rooms={data.rooms.size} />
        </div>
      )}
    </>
  );
}

interface HeatMapProps {
  readonly shares: readonly (readonly number[])[];
  readonly from: string;
  readonly rooms: number;
}

function HeatMap({ shares, from, rooms }: HeatMapProps): JSX.Element {
  const percent = (share: number): string => sayNumber(share, { style: 'percent', maximumFractionDigits: 0 });
  /** A little is not nothing. */
  const shareText = (share: number): string =>
    share > 0 && share < 0.005 ? `<${percent(0.01)}` : percent(share);
  const days = shares
    .map((hours, n) => ({ date: addDays(from, n), hours }))
    .filter(({ date, hours }) => !isWeekend(date) || hours.some((share) => share > 0));
  const all = days.flatMap(({ hours }) => hours);
  const most = Math.max(...all, 0.01);
  const average = all.reduce((sum, share) => sum + share, 0) / Math.max(1, all.length);
  return (
    <section class="usage">
      <p>
        {say('usageOf', { n: rooms })}. {say('usageHelp')}{' '}
        {say('averageUse', { share: percent(average), most: percent(Math.max(...all, 0)) })}
      </p>
      <p class="heat-legend">
        {say('usageLegend')} {percent(0)}
        {[0, 0.25, 0.5, 0.75, 1].map((share) => (
          <span key={share} class="heat-step" style={{ '--share': share }} aria-hidden="true" />
        ))}
        {percent(most)}
      </p>
      <div class="wide" role="region" aria-label={say('usageTitle')} tabIndex={0}>
        <table class="heat">
          <thead>
            <tr>
              <th scope="col">{say('hour')}</th>
              {days.map(({ date }) => (
                <th key={date} scope="col">
                  {sayDate(date, { weekday: 'short' })}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {Array.from({ length: LAST_HOUR - FIRST_HOUR }, (_, n) => (
              <tr key={n}>
                <th scope="row">{sayHour(FIRST_HOUR + n)}</th>
                {days.map(({ date, hours }) => {
                  const share = hours[n] ?? 0;
                  return (
                    <td key={date} data-none={share === 0 || undefined} style={{ '--share': share / most }}>
                      {shareText(share)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
