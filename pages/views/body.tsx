/** The days of one or several timetables, in each view, with the panel of the open lesson. */
import type { JSX } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type { Target } from '../address.js';
import type { ClashIndex } from '../clash.js';
import { clashesOfLesson } from '../clash.js';
import { colourOf, NAME_MARK, useLoaded } from '../data.js';
import { isWithin, type Lesson } from '../lessons.js';
import { aboutOf, Icon, lazy } from '../parts.js';
import { say, sayDate, sayTime, sayTimes } from '../speak.js';
import { address, go, isNarrow, isPrinting, now, open, part, today, windowOf, zone } from '../store.js';
import { keyOf } from '../targets.js';
import { daysBetween, wallTime } from '../time.js';
import { Days } from './grid.js';
import { LessonList } from './list.js';
import { Month } from './month.js';

export const LessonPanel = lazy('panel', () => import('./panel.js').then((view) => view.LessonPanel));
const BlockPanel = lazy('panel', () => import('./panel.js').then((view) => view.BlockPanel));

export interface ShownTimetable {
  readonly key: string;
  /** Null for a feed. */
  readonly target: Target | null;
  readonly lessons: readonly Lesson[];
  readonly kinds: readonly string[];
  readonly clashes: ClashIndex;
  readonly isCut: boolean;
}

export interface BodyProps {
  readonly shown: readonly ShownTimetable[];
  readonly from: string;
  readonly days: number;
  readonly isLoading: boolean;
  readonly nameOf: (timetable: ShownTimetable) => string;
  readonly onNearest: (direction: 1 | -1) => void;
}

export function Body(props: BodyProps): JSX.Element {
  const { shown, from, days, isLoading, onNearest } = props;
  const { view, open: openId } = address.value;
  const [block, setBlock] = part<readonly Lesson[] | null>('block', null);
  const isEmpty = shown.every(({ lessons }) => lessons.length === 0);
  const all = shown.flatMap(({ lessons }) => lessons);
  const opened = openId === null ? undefined : all.find(({ ids }) => ids.includes(openId));
  const owner = shown.find(({ lessons }) => opened !== undefined && lessons.includes(opened));
  const hasPanel = block !== null || opened !== undefined;
  // An attribute, because :has() would make every change of the page dearer.
  useLayoutEffect(() => {
    const { dataset } = document.body;
    if (hasPanel) dataset.panel = shown.length > 1 ? 'beside' : '';
    return () => {
      delete dataset.panel;
    };
  }, [hasPanel, shown.length]);
  return (
    <div
      class="body"
      aria-busy={isLoading}
      data-loading={isLoading || undefined}
      data-shown={`${from} ${zone.value}`}
    >
      <div class="above">
        <NowAndNext key={`${shown[0]?.key} ${from} ${days}`} {...props} />
        {!isNarrow.value && <Kinds shown={shown} />}
      </div>
      {isEmpty && !isLoading && (
        <div class="notice empty">
          <p>{say('nothingHere')}</p>
          <div class="row">
            <button type="button" class="button" onClick={() => onNearest(-1)}>
              {say('goToLast')}
            </button>
            <button type="button" class="button primary" onClick={() => onNearest(1)}>
              {say('goToNext')}
            </button>
          </div>
        </div>
      )}
      {view === 'month' && !isPrinting.value ? (
        <Month {...props} />
      ) : view === 'list' ? (
        <LessonList {...props} />
      ) : (
        <Days {...props} isFolded={isNarrow.value && !isPrinting.value} onBlock={setBlock} />
      )}
      {isNarrow.value && <Kinds shown={shown} />}
      {block !== null && opened === undefined && (
        <BlockPanel lessons={block} onClose={() => setBlock(null)} />
      )}
      {opened !== undefined && (
        <LessonPanel
          lesson={opened}
          clashes={owner === undefined ? [] : clashesOfLesson(opened, owner.clashes)}
          isFeed={owner?.target === null}
        />
      )}
    </div>
  );
}

function NowAndNext({ shown, from, days, isLoading }: BodyProps): JSX.Element | null {
  const { not } = address.value;
  const window = windowOf(from, days, zone.value);
  const instant = now.value;
  const { lessons = [], target = null } = shown[0] ?? {};
  const isHere = instant >= window.from && instant < window.to && shown.length === 1;
  const isOver = isHere && !lessons.some(({ start }) => start > instant);
  // The lessons of a lecturer without an id cannot be asked for.
  const asked = isOver && !isLoading && !target?.id.startsWith(NAME_MARK) ? target : null;
  const later = useLoaded(
    asked && `later ${keyOf(asked)} ${window.to} ${JSON.stringify(not)}`,
    async (signal) => (await import('./panel.js')).readLater(asked as Target, not, window.to, signal),
  ).data;
  if (!isHere) return null;
  const present = lessons.filter((lesson) => isWithin(lesson, instant, instant + 1));
  const coming = isOver ? (later ?? []) : lessons;
  const nextStart = coming.find(({ start }) => start > instant)?.start;
  const next = coming.filter(({ start }) => start === nextStart);
  const entry = (lesson: Lesson, isNow: boolean): JSX.Element => (
    <button
      type="button"
      class="now-lesson"
      key={lesson.id}
      data-kind={colourOf(lesson.kind)}
      onClick={() => {
        if (lesson.start < window.to) open(lesson.id);
        else go({ date: wallTime(lesson.start, zone.value).date, open: lesson.id });
      }}
    >
      <strong dir="auto">{titleOf(lesson)}</strong>{' '}
      <span>
        {isNow ? say('until', { time: sayTime(lesson.end) }) : sayStart(lesson)}
        {lesson.rooms[0] !== undefined && ' ·'}
      </span>{' '}
      <bdi>{lesson.rooms[0]?.name}</bdi>
    </button>
  );
  const none = <span class="muted">{say('nothingScheduled')}</span>;
  // Both are always there, so that no change of the data moves what is below.
  return (
    <dl class="now-next">
      <div data-free={present.length === 0 || undefined}>
        <dt>{say('nowTitle')}</dt>
        <dd>{present.length === 0 ? none : present.slice(0, 2).map((each) => entry(each, true))}</dd>
      </div>
      <div>
        <dt>{say('nextTitle')}</dt>
        <dd>
          {next.slice(0, 2).map((each) => entry(each, false))}
          {next.length === 0 && (asked === null || later === null ? '–' : none)}
        </dd>
      </div>
    </dl>
  );
}

export function titleOf({ title, kind }: Pick<Lesson, 'title' | 'kind'>): string {
  return title || kind || say('untitled');
}

/** With the day, unless it is today; after a week, a weekday alone would name a day too early. */
function sayStart({ start, end }: Lesson): string {
  const { date } = wallTime(start, zone.value);
  if (date === today.value) return sayTimes(start, end);
  const isSoon = daysBetween(today.value, date) < 7;
  const day = sayDate(date, { weekday: 'short', ...(!isSoon && { day: 'numeric', month: 'short' }) });
  return `${day} ${sayTimes(start, end)}`;
}

/** The kinds with their colours; a click leaves one out. */
function Kinds({ shown }: Pick<BodyProps, 'shown'>): JSX.Element | null {
  const { not } = address.value;
  const kinds = [...new Set(shown.flatMap((each) => each.kinds))].filter((kind) => kind !== '').sort();
  if (kinds.length < 2) return null;
  return (
    <ul class="kinds" aria-label={say('kinds')}>
      {kinds.map((kind) => {
        const isOut = not.some(({ field, value }) => field === 'type' && value === kind);
        return (
          <li key={kind}>
            <button
              type="button"
              class="kind"
              data-kind={colourOf(kind)}
              aria-pressed={!isOut}
              title={isOut ? say('bringBack', { name: kind }) : say('leaveOutOf', { name: kind })}
              onClick={() => {
                const others = not.filter(({ field, value }) => field !== 'type' || value !== kind);
                go({ not: isOut ? others : [...others, { field: 'type', value: kind }] });
              }}
            >
              <span class="swatch" aria-hidden="true" />
              <bdi>{kind}</bdi>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** A lesson as a line that opens it. */
export function LessonLine({
  lesson,
  isClashing = false,
}: {
  readonly lesson: Lesson;
  readonly isClashing?: boolean;
}): JSX.Element {
  return (
    <button type="button" class="line" data-kind={colourOf(lesson.kind)} onClick={() => open(lesson.id)}>
      <span class="line-time">{sayTimes(lesson.start, lesson.end)}</span>
      <span class="line-what">
        <strong>
          <bdi>{titleOf(lesson)}</bdi>
        </strong>
        <span class="line-about">
          {aboutOf(lesson).map((text, n) => (
            <span key={n}>
              <bdi>{text}</bdi>
            </span>
          ))}
        </span>
      </span>
      {lesson.kind !== '' && lesson.title !== '' && (
        <span class="line-kind">
          <bdi>{lesson.kind}</bdi>
        </span>
      )}
      {isClashing && (
        <span class="clash-mark">
          <Icon name="warning" /> {say('clash')}
        </span>
      )}
    </button>
  );
}
