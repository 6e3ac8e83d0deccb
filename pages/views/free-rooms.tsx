/** A day of all rooms as bars, and the rooms with nothing scheduled at a time. */
import type { FreeEntry, TimetableEvent } from 'lectern/client';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { TARGETS_MAX } from '../address.js';
import {
  client,
  colourOf,
  noteVersion,
  prefetch,
  type RoomFacts,
  readNames,
  rowOf,
  shortId,
  useLoaded,
} from '../data.js';
import { dayOf, type Lesson, lessonsOf } from '../lessons.js';
import { Chosen, Icon, Loading, Problem } from '../parts.js';
import { say, sayHour, sayNumber, sayTime, sayTimes } from '../speak.js';
import { address, go, isPrinting, now, part, setMore, shownDate, today, windowOf, zone } from '../store.js';
import { choose } from '../targets.js';
import { instantOf, wallTime } from '../time.js';
import { titleOf } from './body.js';
import { BuildingField, readWantedRooms, SeatsField, wantedRoomTexts } from './rooms.js';

const [FIRST_HOUR, LAST_HOUR] = [7, 21];
/** In pixels: what stands above the bars at least, and the height of one. */
const [BARS_TOP, BAR_HEIGHT] = [640, 30];
/** About as many as are in sight at first. */
const ROOMS_AT_FIRST = Math.max(6, Math.ceil((innerHeight - BARS_TOP) / BAR_HEIGHT));
/** Those that are drawn when the end of the list comes near. */
const ROOMS_MORE = 36;
/** The API takes so many in one request. */
const ROOM_IDS_MAX = 100;
/** Two rows on a usual screen. */
const FREE_AT_FIRST = 12;
const MINUTES_CHOICES = [30, 45, 60, 90, 120, 180, 240];
const WEEKS_CHOICES = [1, 2, 4, 8, 12, 15];
/** What is shown is painted first. */
const REST_MS = 100;

interface Lessons {
  readonly date: string;
  readonly isWhole: boolean;
  /** Whether lessons of this room were read. */
  readonly isUsed: (id: string) => boolean;
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
  const named = readNames();
  for await (const { version, data } of client.pages('/schedule', query, { signal })) {
    noteVersion(version);
    for (const event of data) {
      if (event.roomId === null) continue;
      const others = byRoom.get(event.roomId);
      if (others === undefined) byRoom.set(event.roomId, [event]);
      else others.push(event);
    }
  }
  const names = await named;
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
  return { date, isWhole: roomId === undefined, isUsed: (id) => byRoom.has(id), lessonsIn };
}

/** @param count how many rooms are shown */
async function readDay(date: string, count: number, signal: AbortSignal): Promise<Day> {
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
    const isFew = count <= ROOM_IDS_MAX && rooms.length > count;
    const first = isFew ? rooms.slice(0, count).map(({ id }) => id) : undefined;
    const lessons = await readLessons(date, signal, first);
    // Those in use come first. If others of them will be in sight, they are read before anything is painted.
    const isSame = first === undefined || first.every(lessons.isUsed);
    return { rooms, ...(isSame ? lessons : await readLessons(date, signal)) };
  };
  const [known, free] = await Promise.all([
    inSight(),
    client.get('/schedule/free', freeQuery as never, { signal }),
  ]);
  // The smallest room that is large enough comes first.
  const size = ({ capacity }: FreeEntry): number => capacity ?? Number.POSITIVE_INFINITY;
  return { ...known, free: seats ? [...free.data].sort((a, b) => size(a) - size(b)) : free.data };
}

function dayKey(): string {
  const { minute, minutes, weeks } = wantedTime();
  const { building, seats } = address.value.more;
  return `free ${shownDate.value} ${zone.value} ${minute} ${minutes} ${weeks} ${building} ${seats}`;
}

/** Reads what the view will show, with the lessons of the rooms in sight. */
export function prepareFreeRooms(): Promise<void> {
  return prefetch(dayKey(), async (signal) => {
    const day = await readDay(shownDate.peek(), ROOMS_AT_FIRST, signal);
    for (const { id } of day.rooms.slice(0, ROOMS_AT_FIRST)) day.lessonsIn(id);
    return day;
  });
}

export function FreeRooms(): JSX.Element {
  const date = shownDate.value;
  const { minute, minutes, weeks } = wantedTime();
  const key = dayKey();
  const [count, setCount] = part('rooms', ROOMS_AT_FIRST);
  const { data, error, isLoading } = useLoaded(key, (signal) => readDay(date, count, signal));
  const rest = useRest(data !== null && !isLoading && !data.isWhole ? date : null);
  const start = instantOf(date, minute, zone.value);
  document.title = `${say('freeRooms')} · ${say('appName')}`;
  return (
    <>
      <Wanted minute={minute} minutes={minutes} weeks={weeks} />
      <Chosen
        texts={[
          sayTimes(start, start + minutes * 60_000),
          say('hoursMinutes', { hours: minutes / 60 }),
          say('everyWeek', { n: weeks }),
          ...wantedRoomTexts(),
        ]}
      />
      {error !== null && <Problem error={error} />}
      {data === null && error === null && <Loading />}
      {data !== null && (
        <div aria-busy={isLoading} data-loading={isLoading || undefined} class="body">
          <FreeList free={data.free} />
          <Bars
            day={rest?.date === data.date ? { ...data, ...rest } : data}
            minute={minute}
            minutes={minutes}
            count={count}
            onCount={setCount}
          />
        </div>
      )}
    </>
  );
}

/** The lessons of all rooms, read after those in sight have been painted. @param date null while these are read */
function useRest(date: string | null): Lessons | null {
  const key = date === null ? null : `rooms ${date} ${zone.value}`;
  const [wanted, setWanted] = part<string | null>('rest', null);
  useEffect(() => {
    const timer = setTimeout(() => setWanted(key), REST_MS);
    return () => clearTimeout(timer);
  }, [key]);
  return useLoaded(wanted === key ? key : null, (signal) => readLessons(date ?? '', signal)).data;
}

interface Wish {
  readonly minute: number;
  readonly minutes: number;
}

function Wanted({ minute, minutes, weeks }: Wish & { readonly weeks: number }): JSX.Element {
  // The options that are not chosen are out of sight: they are made when what is in sight has been painted.
  const [isPainted, setPainted] = part('painted', false);
  useEffect(() => {
    const timer = setTimeout(() => setPainted(true), REST_MS);
    return () => clearTimeout(timer);
  }, []);
  const choicesOf = (all: readonly number[], chosen: number) => (isPainted ? all : [chosen]);
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
        <select
          class="lasts"
          value={String(minutes)}
          onChange={(event) => setMore({ minutes: event.currentTarget.value })}
        >
          {choicesOf(MINUTES_CHOICES, minutes).map((each) => (
            <option key={each} value={String(each)}>
              {say('hoursMinutes', { hours: each / 60 })}
            </option>
          ))}
        </select>
      </label>
      <SeatsField />
      <label>
        {say('weeksRunning')}
        <select
          class="weeks"
          value={String(weeks)}
          onChange={(event) => setMore({ weeks: event.currentTarget.value })}
        >
          {choicesOf(WEEKS_CHOICES, weeks).map((each) => (
            <option key={each} value={String(each)}>
              {say('everyWeek', { n: each })}
            </option>
          ))}
        </select>
      </label>
      <BuildingField />
    </form>
  );
}

function FreeList({ free }: { readonly free: readonly FreeEntry[] }): JSX.Element {
  const [isAll, setAll] = part('all', false);
  const shown = isAll || isPrinting.value ? free : free.slice(0, FREE_AT_FIRST);
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
              <strong dir="auto">{entry.name ?? shortId(entry.id ?? '')}</strong>{' '}
              <bdi>{aboutRoom(entry)}</bdi>
              <span class="free-until">{until(entry)}</span>
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

function aboutRoom({ capacity = null, building }: FreeEntry): string {
  return [capacity === null ? '' : say('seatCount', { n: capacity }), building ?? '']
    .filter(Boolean)
    .join(', ');
}

interface BarsProps extends Wish {
  readonly day: Day;
  readonly count: number;
  readonly onCount: (count: number) => void;
}

function Bars({ day, minute, minutes, count, onCount }: BarsProps): JSX.Element {
  const { date } = day;
  const [text, setText] = part('filter', '');
  const wanted = text.trim().toLowerCase();
  const found = useMemo(
    () => day.rooms.filter(({ name }) => name.toLowerCase().includes(wanted)),
    [day.rooms, wanted],
  );
  // First the rooms in use. A room whose lessons are not there yet would look free.
  const used = found.filter(({ id }) => day.isUsed(id));
  const unused = day.isWhole ? found.filter(({ id }) => !day.isUsed(id)) : [];
  const rooms = [...used, ...unused]
    .slice(0, isPrinting.value ? found.length : count)
    .map((room) => ({ ...room, lessons: day.lessonsIn(room.id) ?? [] }));
  const hours = Array.from({ length: LAST_HOUR - FIRST_HOUR }, (_, n) => FIRST_HOUR + n);
  const isFree = new Set(day.free.map(({ id }) => id));
  const wall = wallTime(now.value, zone.value);
  const style = {
    '--hours': hours.length,
    '--from': placeOf(minute),
    '--to': placeOf(minute + minutes),
    '--clock': placeOf(wall.minute),
  };
  return (
    <section class="bars" data-date={date} style={style}>
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
            <Icon name="print" />{' '}
            {found.length > TARGETS_MAX ? say('doorsMax', { n: TARGETS_MAX }) : say('doorsTitle')}
          </button>
        </div>
      </div>
      <div class="bars-scroll" role="region" aria-label={say('roomDay')} tabIndex={0}>
        <div class="bars-scale" aria-hidden="true">
          {hours.map((hour) => (
            <span key={hour}>{sayHour(hour)}</span>
          ))}
        </div>
        <ul data-today={date === wall.date || undefined}>
          {rooms.map((room, n) => (
            <li
              key={room.id}
              class={n < ROOMS_AT_FIRST ? 'bar' : 'bar far'}
              data-free={isFree.has(room.id) || undefined}
              data-parted={n === used.length || undefined}
            >
              {n === used.length && <p class="bars-unused">{say('roomsUnused', { n: unused.length })}</p>}
              {nameButton(room, isFree.has(room.id))}
              <ul class="bar-day">{lessonBars(room.lessons, date)}</ul>
            </li>
          ))}
        </ul>
      </div>
      {day.isWhole && rooms.length < found.length && (
        <More n={found.length - rooms.length} onMore={() => onCount(rooms.length + ROOMS_MORE)} />
      )}
    </section>
  );
}

/** Where a minute of the day stands: 0 at the first hour, 1 at the end of the last. */
function placeOf(minute: number): number {
  const hour = Math.min(LAST_HOUR, Math.max(FIRST_HOUR, minute / 60));
  return (hour - FIRST_HOUR) / (LAST_HOUR - FIRST_HOUR);
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

// As few elements as can be, and no components: there are hundreds of rooms.

function nameButton({ id, name, capacity }: RoomFacts, isFree: boolean): JSX.Element {
  const about = [capacity === null ? '' : say('seats'), isFree ? `(${say('freeAt')})` : ''].join(' ').trim();
  return (
    <button type="button" class="link bar-name" onClick={() => choose({ kind: 'room', id }, name)}>
      <bdi>{name}</bdi>
      {capacity !== null && (
        <span class="bar-seats" title={say('seatCount', { n: capacity })}>
          {sayNumber(capacity)}
        </span>
      )}
      {about !== '' && <span class="hidden"> {about}</span>}
    </button>
  );
}

/** One after another: each says how far it is from the end of the one before. */
function lessonBars(lessons: readonly Lesson[], date: string): JSX.Element[] {
  const { spans } = dayOf(lessons, date, zone.value);
  let end = 0;
  return spans.map(({ lesson, from, to }, n) => {
    const isClashing = spans.some((other, m) => m !== n && other.from < to && from < other.to);
    const times = sayTimes(lesson.start, lesson.end);
    const [first, last] = [placeOf(from), placeOf(to)];
    const style = `margin-inline-start:${(first - end) * 100}%;width:${(last - first) * 100}%`;
    end = last;
    return (
      <li
        key={n}
        class="bar-lesson"
        data-kind={colourOf(lesson.kind)}
        data-clash={isClashing || undefined}
        title={`${times} ${titleOf(lesson)}`}
        style={style}
      >
        {/* The second line is out of sight, but read aloud. */}
        {`${titleOf(lesson)}\n${times}`}
      </li>
    );
  });
}
