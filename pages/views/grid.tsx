/** Days as columns with hours, and lessons at their height. Timetables stand beside each other if there is room. */
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type ClashIndex, isClashing } from '../clash.js';
import { colourOf } from '../data.js';
import { type Box, layOut } from '../layout.js';
import { type Day, dayOf, type Lesson, type Span } from '../lessons.js';
import { aboutOf } from '../parts.js';
import { say, sayDate, sayDay, sayHour, sayTimes } from '../speak.js';
import { address, fresh, go, isWeekend, link, now, open, shownDate, today, zone } from '../store.js';
import { addDays, wallTime, weekdayOf } from '../time.js';
import { type BodyProps, type ShownTimetable, titleOf } from './body.js';

/** Narrower lessons cannot be read. In pixels. */
const LESSON_WIDTH_MIN = 72;
/** Room for the times and the kind in one line. The colour tells the kind, too. */
const KIND_WIDTH_MIN = 130;
const HOUR_PIXELS = 60;
/** One line of text. */
const LESSON_HEIGHT_MIN = 22;
const MINUTES_MIN = Math.ceil((LESSON_HEIGHT_MIN / HOUR_PIXELS) * 60);
const [USUAL_FIRST_HOUR, USUAL_LAST_HOUR] = [8, 18];
const EMPTY_HOURS_MAX = 4;

interface DayColumn {
  readonly key: string;
  readonly date: string;
  readonly timetable: ShownTimetable;
  readonly heading: JSX.Element;
  readonly label: string;
}

interface DaysProps extends BodyProps {
  /** Whether only one day of a week is shown, with the others above it. */
  readonly isFolded: boolean;
  readonly onBlock: (lessons: readonly Lesson[]) => void;
}

export function Days({ shown, from, days, nameOf, isFolded, onBlock }: DaysProps): JSX.Element {
  const dates = Array.from({ length: days }, (_, n) => addDays(from, n));
  const used = dates.filter((date) => !isWeekend(date) || date === today.value || countOf(shown, date) > 0);
  const isFold = isFolded && days > 1;
  const visible = isFold ? dates.filter((date) => date === shownDate.value) : days === 1 ? dates : used;
  const hours = hoursOf(shown, visible);
  const isBeside = days === 1 || isFold;
  const columns = (timetable: ShownTimetable, date: string): DayColumn => ({
    // The same from week to week, so that the elements are used again.
    key: `${timetable.key} ${weekdayOf(date)}`,
    date,
    timetable,
    label: `${nameOf(timetable)} ${sayDay(date)}`,
    heading:
      isBeside && shown.length > 1 ? (
        <span class="day-name">
          <bdi>{nameOf(timetable)}</bdi>
        </span>
      ) : (
        <a class="day-name" {...link({ view: 'day', date, open: null })}>
          <span class="weekday">{sayDate(date, { weekday: 'short' })}</span>
          <span class="day-number">{sayDate(date, { day: 'numeric' })}</span>
        </a>
      ),
  });
  return (
    <>
      {isFold && <WeekStrip dates={dates} shown={shown} />}
      {isBeside ? (
        <Grid
          columns={shown.flatMap((timetable) => visible.map((date) => columns(timetable, date)))}
          hours={hours}
          onBlock={onBlock}
        />
      ) : (
        <div class="grids" style={{ '--columns': visible.length }}>
          {shown.map((timetable) => (
            <section key={timetable.key} class="grid-of">
              {shown.length > 1 && (
                <h3>
                  <bdi>{nameOf(timetable)}</bdi>
                </h3>
              )}
              <Grid
                columns={visible.map((date) => columns(timetable, date))}
                hours={hours}
                onBlock={onBlock}
              />
            </section>
          ))}
        </div>
      )}
    </>
  );
}

function countOf(shown: readonly ShownTimetable[], date: string): number {
  return shown.reduce((sum, { lessons }) => sum + dayOf(lessons, date, zone.value).lessons.length, 0);
}

/**
 * From the first to the last hour that has lessons, at least the usual ones. A late first lesson would be out of sight
 * below empty hours; today they have the line of the present.
 */
function hoursOf(shown: readonly ShownTimetable[], dates: readonly string[]): readonly [number, number] {
  let [earliest, last] = [24, USUAL_LAST_HOUR];
  for (const { lessons } of shown) {
    for (const date of dates) {
      for (const { from, to } of dayOf(lessons, date, zone.value).spans) {
        earliest = Math.min(earliest, Math.floor(from / 60));
        last = Math.max(last, Math.ceil(Math.max(to, Math.min(1440, from + MINUTES_MIN)) / 60));
      }
    }
  }
  const isAll = earliest === 24 || dates.includes(today.value);
  const usual = isAll ? USUAL_FIRST_HOUR : Math.max(USUAL_FIRST_HOUR, earliest - EMPTY_HOURS_MAX);
  return [Math.min(earliest, usual), last];
}

function WeekStrip({
  dates,
  shown,
}: {
  readonly dates: readonly string[];
  readonly shown: readonly ShownTimetable[];
}): JSX.Element {
  return (
    <ul class="strip">
      {dates.map((date) => {
        const count = countOf(shown, date);
        return (
          <li key={date}>
            <button
              type="button"
              aria-current={date === shownDate.value ? 'date' : undefined}
              data-today={date === today.value || undefined}
              onClick={() => go({ date, open: null }, { replace: true })}
            >
              <span class="hidden">{sayDay(date)} </span>
              <span aria-hidden="true">{sayDate(date, { weekday: 'narrow' })}</span>
              <strong aria-hidden="true">{sayDate(date, { day: 'numeric' })}</strong>
              <span class="strip-count" data-count={Math.min(count, 4)}>
                <span class="hidden">{say('lessonCount', { n: count })}</span>
              </span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

interface GridProps {
  readonly columns: readonly DayColumn[];
  readonly hours: readonly [number, number];
  readonly onBlock: (lessons: readonly Lesson[]) => void;
}

/** In pixels; 0 until the first is measured. The next grid is probably as wide, and need not be rendered twice. */
let lastWidth = 0;

function Grid({ columns, hours: [first, last], onBlock }: GridProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(lastWidth);
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return;
    const measure = (): void => {
      lastWidth = element.clientWidth;
      setWidth(lastWidth);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const hours = Array.from({ length: last - first }, (_, n) => first + n);
  const long = columns.some(
    ({ date, timetable }) => dayOf(timetable.lessons, date, zone.value).long.length > 0,
  );
  useTabStop(place);
  return (
    <div class="grid" style={{ '--columns': columns.length, '--hours': hours.length }}>
      {/* The date of a single day stands above. */}
      {columns.length > 1 && (
        <div class="grid-head">
          <div class="corner" />
          {columns.map(({ key, date, heading }) => (
            <div key={key} class="day-head" data-today={date === today.value || undefined}>
              {heading}
            </div>
          ))}
        </div>
      )}
      {long && <LongLessons columns={columns} />}
      <div class="grid-body">
        <div class="hours" aria-hidden="true">
          {hours.map((hour) => (
            <span key={hour}>{sayHour(hour)}</span>
          ))}
        </div>
        <div class="grid-days" ref={place} onKeyDown={onArrow}>
          {columns.map((column) => (
            <Column
              key={column.key}
              column={column}
              first={first}
              last={last}
              width={width / columns.length}
              onBlock={onBlock}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

function LongLessons({ columns }: { readonly columns: readonly DayColumn[] }): JSX.Element {
  return (
    <div class="grid-long" role="group" aria-label={say('allDay')}>
      <div class="corner" />
      {columns.map(({ key, date, timetable }) => (
        <ul key={key}>
          {dayOf(timetable.lessons, date, zone.value).long.map((lesson) => (
            <li key={lesson.id}>
              <button
                type="button"
                class="long"
                data-kind={colourOf(lesson.kind)}
                onClick={() => open(lesson.id)}
              >
                <bdi>{titleOf(lesson)}</bdi>
              </button>
            </li>
          ))}
        </ul>
      ))}
    </div>
  );
}

/** 0 before the first grid. */
let lastColumnsMax = 0;
const boxesKnown = new WeakMap<Day, { readonly columnsMax: number; readonly boxes: readonly Box[] }>();

function boxesOf(day: Day, columnsMax: number): readonly Box[] {
  lastColumnsMax = columnsMax;
  let known = boxesKnown.get(day);
  if (known?.columnsMax !== columnsMax) {
    known = { columnsMax, boxes: layOut(day.spans, columnsMax, MINUTES_MIN) };
    boxesKnown.set(day, known);
  }
  return known.boxes;
}

/** Makes what a grid as wide as the last will show. */
export function prepareDay(day: Day): void {
  if (lastColumnsMax > 0) boxesOf(day, lastColumnsMax);
  for (const { start, end } of day.lessons) sayTimes(start, end);
}

/** A box that is rendered only if it looks different. */
interface Drawing {
  readonly id: string;
  readonly box: Box;
  readonly style: string;
  /** All that it shows. */
  readonly look: string;
  /** @param slot tells which lessons it has when it is clicked */
  readonly render: (slot: Slot) => JSX.Element;
}

interface Slot extends Drawing {
  readonly key: number;
  element: JSX.Element | null;
}

/**
 * A slot stays with what is shown further on, so that the focus stays. The others are given to what looks the same, as
 * most lessons of the next week do, so that it is not rendered again. The elements of the rest are used again, too.
 */
function useSlots(drawings: readonly Drawing[]): readonly Slot[] {
  const last = useRef<readonly Slot[]>([]);
  const taken = new Set<number>();
  const slots: Slot[] = [];
  for (const by of ['id', 'look'] as const) {
    const known = new Map(last.current.map((slot) => [slot[by], slot]));
    drawings.forEach((drawing, n) => {
      const slot = known.get(drawing[by]);
      if (slots[n] !== undefined || slot === undefined || taken.has(slot.key)) return;
      taken.add(slot.key);
      slots[n] = slot;
    });
  }
  let free = 0;
  last.current = drawings.map((drawing, n) => {
    const known = slots[n];
    if (known?.look === drawing.look) return Object.assign(known, drawing);
    while (taken.has(free)) free++;
    const slot: Slot = { ...drawing, key: known?.key ?? free, element: null };
    taken.add(slot.key);
    slot.element = (
      <li key={slot.key} class="box" style={slot.style}>
        {slot.render(slot)}
      </li>
    );
    return slot;
  });
  return last.current;
}

interface ColumnProps {
  readonly column: DayColumn;
  readonly first: number;
  readonly last: number;
  /** In pixels; 0 until it is measured. */
  readonly width: number;
  readonly onBlock: (lessons: readonly Lesson[]) => void;
}

function Column({ column, first, last, width, onBlock }: ColumnProps): JSX.Element {
  const { date, timetable, label } = column;
  const columnsMax = Math.max(1, Math.floor(width / LESSON_WIDTH_MIN));
  const day = dayOf(timetable.lessons, date, zone.value);
  const wall = wallTime(now.value, zone.value);
  const isNow = date === wall.date && wall.minute >= first * 60 && wall.minute <= last * 60;
  // One text is set in one step. Percentages, because the hours are lower on paper.
  const share = (minutes: number): string => `${minutes / (last - first) / 0.6}%`;
  const styleOf = ({ from, to, column: place, width, columns }: Box): string =>
    `top:${share(from - first * 60)};height:${share(to - from)};inset-inline-start:${(place / columns) * 100}%;width:${(width / columns) * 100}%`;
  const slots = useSlots(
    (width > 0 ? boxesOf(day, columnsMax) : []).map((box) =>
      box.spans.length > 1
        ? drawBlock(box, styleOf(box), timetable.clashes, onBlock)
        : drawLesson(box, styleOf(box), timetable, (width * box.width) / box.columns < KIND_WIDTH_MIN),
    ),
  );
  return (
    <section class="day" aria-label={label} data-today={date === today.value || undefined}>
      {isNow && <div class="now-line" aria-hidden="true" style={{ top: share(wall.minute - first * 60) }} />}
      <ul>{slots.map(({ element }) => element)}</ul>
    </section>
  );
}

// A component for each lesson would cost more than the lesson: each follows the store by itself.

function drawBlock(
  box: Box,
  style: string,
  clashes: ClashIndex,
  onBlock: (lessons: readonly Lesson[]) => void,
): Drawing {
  const { spans } = box;
  const clashing = spans.some(({ lesson }) => isClashing(lesson, clashes));
  const short = say('moreLessons', { n: spans.length });
  const long = say('moreLessonsLong', { n: spans.length });
  return {
    ...{ id: `${spans[0]?.lesson.id} and more`, box, style, look: `${style}\n${clashing}\n${long}` },
    render: (slot) => (
      <button
        type="button"
        class="block"
        tabIndex={-1}
        data-clash={clashing || undefined}
        onClick={() => {
          go({ open: null }, { replace: true });
          onBlock(slot.box.spans.map(({ lesson }) => lesson));
        }}
      >
        <span aria-hidden="true">{short}</span>
        <span class="hidden">{long}</span>
      </button>
    ),
  };
}

function drawLesson(
  box: Box,
  style: string,
  { target, clashes }: ShownTimetable,
  isNarrow: boolean,
): Drawing {
  const { spans, from, to } = box;
  const { lesson, isContinued, continues } = spans[0] as Span;
  const { id, ids, start, end, rooms, lecturers, groups } = lesson;
  const clash = isClashing(lesson, clashes) && say('clash');
  const about = aboutOf({
    rooms: target?.kind === 'room' ? [] : rooms,
    lecturers: target?.kind === 'lecturer' ? [] : lecturers,
    groups: target?.kind === 'group' && groups.length === 1 ? [] : groups,
  });
  const size = to - from < 40 ? 'line' : to - from < 70 ? 'small' : 'large';
  const kind = size === 'large' && !isNarrow && lesson.title !== '' && lesson.kind;
  const [title, times, colour] = [titleOf(lesson), sayTimes(start, end), colourOf(lesson.kind)];
  const isFresh = ids.some((each) => fresh.value.has(each));
  const isOpen = ids.includes(address.value.open ?? '');
  const flags = `${clash} ${isFresh} ${isOpen} ${isContinued} ${continues} ${colour} ${size} ${kind}`;
  return {
    ...{ id, box, style, look: `${style}\n${flags}\n${times}\n${title}\n${about.join('\n')}` },
    render: (slot) => (
      <button
        type="button"
        class="lesson"
        data-kind={colour}
        data-size={size}
        data-clash={clash ? true : undefined}
        data-fresh={isFresh || undefined}
        data-continued={isContinued || undefined}
        data-continues={continues || undefined}
        aria-expanded={isOpen}
        tabIndex={-1}
        onClick={() => open(slot.id)}
      >
        {clash && <span class="hidden">{clash}: </span>}
        <span class="lesson-title" dir="auto">
          {title}
        </span>
        <span class="lesson-time">
          {`${times} `}
          {kind && <span class="lesson-kind">{kind}</span>}
          {size === 'small' && <bdi>{about[0]}</bdi>}
        </span>
        {size !== 'small' &&
          about.map((text, n) => (
            <span key={n} class="lesson-about" dir="auto">
              {text}
            </span>
          ))}
      </button>
    ),
  };
}

const SELECTOR = 'button.lesson, button.block';

/** The grid is one stop of the tab key; arrows lead from lesson to lesson. */
function useTabStop(place: { readonly current: HTMLDivElement | null }): void {
  useEffect(() => {
    const stops = place.current?.querySelectorAll<HTMLButtonElement>('button[tabindex="0"]') ?? [];
    const first = stops[0] ?? place.current?.querySelector<HTMLButtonElement>(SELECTOR);
    const stop = [...stops].find((button) => button === document.activeElement) ?? first;
    for (const button of stops) if (button !== stop) button.tabIndex = -1;
    if (stop && stops.length === 0) stop.tabIndex = 0;
  });
}

function onArrow(event: KeyboardEvent): void {
  const steps: Readonly<Record<string, readonly [number, number]>> = {
    ArrowUp: [0, -1],
    ArrowDown: [0, 1],
    ArrowLeft: [document.dir === 'rtl' ? 1 : -1, 0],
    ArrowRight: [document.dir === 'rtl' ? -1 : 1, 0],
  };
  const step = steps[event.key];
  const button = event.target;
  if (step === undefined || !(button instanceof HTMLButtonElement)) return;
  const day = button.closest('.day');
  const days = [...(day?.parentElement?.querySelectorAll('.day') ?? [])];
  const buttonsOf = (each: Element | undefined): HTMLButtonElement[] => [
    ...(each?.querySelectorAll<HTMLButtonElement>(SELECTOR) ?? []),
  ];
  const [across, along] = step;
  let next: HTMLButtonElement | undefined;
  if (along !== 0) {
    const own = buttonsOf(day ?? undefined);
    next = own[own.indexOf(button) + along];
  } else {
    const top = button.getBoundingClientRect().top;
    const distance = (each: HTMLButtonElement): number => Math.abs(each.getBoundingClientRect().top - top);
    for (
      let n = days.indexOf(day as Element) + across;
      next === undefined && n >= 0 && n < days.length;
      n += across
    ) {
      [next] = buttonsOf(days[n]).sort((a, b) => distance(a) - distance(b));
    }
  }
  event.preventDefault();
  if (next === undefined) return;
  button.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
