/** A day of all rooms as bars, and the rooms with nothing scheduled at a time. */
import type { FreeEntry, TimetableEvent } from 'lectern/client';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { TARGETS_MAX } from '../address.js';
import { colourOf } from '../colours.js';
import { client, noteVersion, readNames, rowOf, shortId, useLoaded } from '../data.js';
import { dayOf, type Lesson, lessonsOf } from '../lessons.js';
import { Icon, Loading, Problem } from '../parts.js';
import { windowOf } from '../range.js';
import { say, sayHour, sayNumber, sayTime, sayTimes } from '../speak.js';
import { address, go, isPrinting, now, setMore, shownDate, today, zone } from '../store.js';
import { choose } from '../targets.js';
import { instantOf, wallTime } from '../time.js';
import { titleOf } from './body.js';
import { BuildingField, type RoomFacts, readWantedRooms, SeatsField } from './rooms.js';
import { DateBar } from './toolbar.js';

const [FIRST_HOUR, LAST_HOUR] = [7, 21];
/** About as many as are in sight at first. */
const ROOMS_AT_FIRST = 12;
/** Those that are drawn when the end of the list comes near. */
const ROOMS_MORE = 36;
const FREE_AT_FIRST = 24;
const MINUTES_CHOICES = [30, 45, 60, 90, 120, 180, 240];
const WEEKS_CHOICES = [1, 2, 4, 8, 12, 15];

interface Lessons {
  readonly date: string;
  /** By room; null for one that was not read. They are made when the room is shown. */
  readonly lessonsIn: (id: string) => readonly Lesson[] | null;
}

interface Day extends Lessons {
  readonly rooms: readonly RoomFacts[];
  readonly free: readonly FreeEntry[];
}

const iso = (instant: number): string => new Date(instant).toISOString();

/** The wanted time: from the address, or else the next half hour. */
function wantedTime(): { readonly minute: number; readonly minutes: number; readonly weeks: number } {
  const { hour, minutes, weeks } = address.value.more;
  const [hours = 'NaN', rest = '0'] = (hour ?? 'none').split(':');
  const given = Number(hours) * 60 + Number(rest);
  const wall = wallTime(now.value, zone.value).minute;
  const next = shownDate.value === today.value ? Math.min(1410, Math.ceil(wall / 30) * 30) : 600;
  return {
    minute: Number.isInteger(given) && given >= 0 && given < 1440 ? given : next,
    minutes: MINUTES_CHOICES.find((each) => String(each) === minutes) ?? 60,
    weeks: WEEKS_CHOICES.find((each) => String(each) === weeks) ?? 1,
  };
}

/** @param roomId of some rooms; without it, of all */
async function readLessons(date: string, signal: AbortSignal, roomId?: string[]): Promise<Lessons> {
  const { from, to } = windowOf(date, 1, zone.peek());
  const query = { startTime: iso(from), endTime: iso(to), limit: 5000, ...(roomId && { roomId }) };
  const byRoom = new Map<string, TimetableEvent[]>();
  for await (const { version, data } of client.pages('/schedule', query, { signal })) {
    noteVersion(version);
    for (const event of data) {
      if (event.roomId === null) continue;
      const others = byRoom.get(event.roomId);
      if (others === undefined) byRoom.set(event.roomId, [event]);
      else others.push(event);
    }
  }
  const names = await readNames();
  const made = new Map<string, readonly Lesson[]>();
  const lessonsIn = (id: string): readonly Lesson[] | null => {
    if (roomId !== undefined && !roomId.includes(id)) return null;
    let lessons = made.get(id);
    if (lessons === undefined) {
      lessons = lessonsOf((byRoom.get(id) ?? []).map((event) => rowOf(event, names)));
      made.set(id, lessons);
    }
    return lessons;
  };
  return { date, lessonsIn };
}

async function readDay(date: string, signal: AbortSignal): Promise<Day> {
  const { minute, minutes, weeks } = wantedTime();
  const { building, seats } = address.peek().more;
  const start = instantOf(date, minute, zone.peek());
  const freeQuery = {
    by: 'room',
    startTime: iso(start),
    endTime: iso(start + minutes * 60_000),
    ...(building ? { building: [building] } : {}),
    ...(seats ? { capacityMin: Number(seats) } : {}),
    ...(weeks > 1 ? { weeks, timeZone: zone.peek() } : {}),
  };
  const inSight = async () => {
    const rooms = await readWantedRooms();
    const first = rooms.slice(0, ROOMS_AT_FIRST).map(({ id }) => id);
    return { rooms, ...(await readLessons(date, signal, first)) };
  };
  const [known, free] = await Promise.all([
    inSight(),
    client.get('/schedule/free', freeQuery as never, { signal }),
  ]);
  // The smallest room that is large enough comes first.
  const size = ({ capacity }: FreeEntry): number => capacity ?? Number.POSITIVE_INFINITY;
  return { ...known, free: seats ? [...free.data].sort((a, b) => size(a) - size(b)) : free.data };
}

export function FreeRooms(): JSX.Element {
  const date = shownDate.value;
  const { more } = address.value;
  const { minute, minutes, weeks } = wantedTime();
  const key = `free ${date} ${zone.value} ${minute} ${minutes} ${weeks} ${more.building} ${more.seats}`;
  const { data, error, isLoading } = useLoaded(key, (signal) => readDay(date, signal));
  const isMore = data !== null && !isLoading && data.rooms.length > ROOMS_AT_FIRST;
  const all = useLoaded(isMore ? `rooms ${date} ${zone.value}` : null, (signal) => readLessons(date, signal));
  const lessonsIn = (all.data?.date === date ? all.data : data)?.lessonsIn;
  document.title = `${say('freeRooms')} · ${say('appName')}`;
  return (
    <>
      <div class="toolbar">
        <h1 class="whose">{say('freeRooms')}</h1>
        <DateBar />
      </div>
      <Wanted minute={minute} minutes={minutes} weeks={weeks} />
      {error !== null && <Problem error={error} />}
      {data === null && error === null && <Loading />}
      {data !== null && lessonsIn !== undefined && (
        <div aria-busy={isLoading} data-loading={isLoading || undefined} class="body">
          <FreeList free={data.free} />
          <Bars day={{ ...data, date, lessonsIn }} minute={minute} minutes={minutes} />
        </div>
      )}
    </>
  );
}

interface Wish {
  readonly minute: number;
  readonly minutes: number;
}

function Wanted({ minute, minutes, weeks }: Wish & { readonly weeks: number }): JSX.Element {
  const clock = `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        {say('startsAt')}
        <input
          type="time"
          step="900"
          value={clock}
          onChange={(event) => setMore({ hour: event.currentTarget.value })}
        />
      </label>
      <label>
        {say('lasts')}
        <select value={String(minutes)} onChange={(event) => setMore({ minutes: event.currentTarget.value })}>
          {MINUTES_CHOICES.map((each) => (
            <option key={each} value={String(each)}>
              {say('hoursMinutes', { hours: each / 60 })}
            </option>
          ))}
        </select>
      </label>
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
      <SeatsField />
      <BuildingField />
    </form>
  );
}

function FreeList({ free }: { readonly free: readonly FreeEntry[] }): JSX.Element {
  const [isAll, setAll] = useState(false);
  const shown = isAll ? free : free.slice(0, FREE_AT_FIRST);
  const until = ({ freeUntil }: FreeEntry): string => {
    if (freeUntil === null) return say('freeOpen');
    const instant = Date.parse(freeUntil);
    return wallTime(instant, zone.value).date === shownDate.value
      ? say('until', { time: sayTime(instant) })
      : say('freeRestOfDay');
  };
  return (
    <section class="free-list">
      <h2>{free.length === 0 ? say('freeNone') : say('freeCount', { n: free.length })}</h2>
      <ul>
        {shown.map((entry) => (
          <li key={entry.id}>
            <button
              type="button"
              class="free-room"
              onClick={() =>
                choose({ kind: 'room', id: entry.id ?? '' }, entry.name ?? shortId(entry.id ?? ''))
              }
            >
              <strong>
                <bdi>{entry.name ?? shortId(entry.id ?? '')}</bdi>
              </strong>
              <span>{until(entry)}</span>
              {(entry.capacity ?? null) !== null && (
                <span>
                  {say('seatCount', { n: entry.capacity ?? 0 })}
                  {entry.building ? ` · ${entry.building}` : ''}
                </span>
              )}
            </button>
          </li>
        ))}
      </ul>
      {shown.length < free.length && (
        <button type="button" class="button" onClick={() => setAll(true)}>
          {say('showMore', { n: free.length - shown.length })}
        </button>
      )}
      <p class="muted">{say('freeNote')}</p>
    </section>
  );
}

function Bars({ day, minute, minutes }: Wish & { readonly day: Day }): JSX.Element {
  const { date } = day;
  const [text, setText] = useState('');
  const [count, setCount] = useState(ROOMS_AT_FIRST);
  const wanted = text.trim().toLowerCase();
  const found = useMemo(
    () => day.rooms.filter(({ name }) => name.toLowerCase().includes(wanted)),
    [day.rooms, wanted],
  );
  // A room whose lessons are not there yet would look free.
  const rooms = found.slice(0, isPrinting.value ? found.length : count).flatMap((room) => {
    const lessons = day.lessonsIn(room.id);
    return lessons === null ? [] : [{ ...room, lessons }];
  });
  const hours = Array.from({ length: LAST_HOUR - FIRST_HOUR }, (_, n) => FIRST_HOUR + n);
  const isFree = new Set(day.free.map(({ id }) => id));
  const wall = wallTime(now.value, zone.value);
  const place = (at: number): number =>
    (Math.min(LAST_HOUR * 60, Math.max(FIRST_HOUR * 60, at)) / 60 - FIRST_HOUR) / hours.length;
  return (
    <section class="bars" data-date={date} style={{ '--hours': hours.length }}>
      <div class="bars-title">
        <h2>{say('roomDay')}</h2>
        <div class="row">
          <input
            type="search"
            aria-label={say('roomFilter')}
            placeholder={say('roomFilter')}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button
            type="button"
            class="button"
            disabled={found.length > TARGETS_MAX}
            title={say('printHelp')}
            onClick={() =>
              go({ view: 'week', of: found.map(({ id }) => ({ kind: 'room', id })), open: null })
            }
          >
            <Icon name="print" /> {say('doorsTitle')}
          </button>
        </div>
      </div>
      <div class="bars-scroll" role="region" aria-label={say('roomDay')} tabIndex={0}>
        <div class="bars-scale" aria-hidden="true">
          <span />
          <div>
            {hours.map((hour) => (
              <span key={hour}>{sayHour(hour)}</span>
            ))}
          </div>
        </div>
        <ul>
          {rooms.map(({ id, name, capacity, lessons }) => (
            <li key={id} class="bar">
              <button type="button" class="link bar-name" onClick={() => choose({ kind: 'room', id }, name)}>
                <bdi>{name}</bdi>
                {isFree.has(id) && <span class="hidden"> ({say('freeAt')})</span>}
                {capacity !== null && (
                  <span class="bar-seats" title={say('seatCount', { n: capacity })}>
                    {sayNumber(capacity)}
                    <span class="hidden"> {say('seats')}</span>
                  </span>
                )}
              </button>
              <div class="bar-day" data-free={isFree.has(id) || undefined}>
                <span
                  class="bar-wanted"
                  aria-hidden="true"
                  style={{ '--place': place(minute), '--width': place(minute + minutes) - place(minute) }}
                />
                {wall.date === date && (
                  <span class="bar-now" aria-hidden="true" style={{ '--place': place(wall.minute) }} />
                )}
                <RoomBars lessons={lessons} date={date} place={place} />
              </div>
            </li>
          ))}
        </ul>
      </div>
      {rooms.length < found.length && (
        <More n={found.length - rooms.length} onMore={() => setCount(rooms.length + ROOMS_MORE)} />
      )}
    </section>
  );
}

/** A button that shows more, also when it comes near without being pressed. */
function More({ n, onMore }: { readonly n: number; readonly onMore: () => void }): JSX.Element {
  const place = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && onMore(), {
      rootMargin: '300px',
    });
    observer.observe(place.current as Element);
    return () => observer.disconnect();
  }, [n]);
  return (
    <button type="button" class="button" ref={place} onClick={onMore}>
      {say('showMore', { n })}
    </button>
  );
}

interface RoomBarsProps {
  readonly lessons: readonly Lesson[];
  readonly date: string;
  readonly place: (minute: number) => number;
}

function RoomBars({ lessons, date, place }: RoomBarsProps): JSX.Element {
  const { spans } = dayOf(lessons, date, zone.value);
  return (
    <ul>
      {spans.map(({ lesson, from, to }, n) => {
        const isClashing = spans.some((other, m) => m !== n && other.from < to && from < other.to);
        const label = `${sayTimes(lesson.start, lesson.end)} ${titleOf(lesson)}`;
        return (
          <li
            key={n}
            class="bar-lesson"
            data-kind={colourOf(lesson.kind)}
            data-clash={isClashing || undefined}
            title={label}
            style={`--place:${place(from)};--width:${place(to) - place(from)}`}
          >
            <span class="hidden">{sayTimes(lesson.start, lesson.end)} </span>
            {titleOf(lesson)}
          </li>
        );
      })}
    </ul>
  );
}
