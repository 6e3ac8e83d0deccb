/** One lesson: when, where, who, and what it clashes with. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { type LeftOut, TARGETS_MAX, type Target } from '../address.js';
import type { Clash } from '../clash.js';
import { colourOf } from '../data.js';
import type { Lesson, Named } from '../lessons.js';
import { CloseButton, Icon, type IconName } from '../parts.js';
import { LONG_DATE, say, sayDate, sayTimes } from '../speak.js';
import { address, go, open, zone } from '../store.js';
import { choose, lecturerOf } from '../targets.js';
import { wallTime } from '../time.js';
import { LessonLine, titleOf } from './body.js';
import { ClashSides, firstOf } from './clash-sides.js';

/** Read with the panel: a part of its own would make more of the first view. */
export { goToNearest, readLater } from './later.js';

const NAMES_AT_FIRST = 100;

interface Props {
  readonly lesson: Lesson;
  readonly clashes: readonly Clash[];
  readonly isFeed: boolean;
}

export function LessonPanel({ lesson, clashes, isFeed }: Props): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
  }, [lesson.id]);
  const { start, end, course, kind } = lesson;
  const first = wallTime(start, zone.value).date;
  const last = wallTime(Math.max(start, end - 1), zone.value).date;
  const day = sayDate(first, LONG_DATE);
  return (
    <aside class="panel" aria-label={titleOf(lesson)} data-kind={colourOf(kind)}>
      <header>
        <h2 ref={heading} tabIndex={-1}>
          <bdi>{titleOf(lesson)}</bdi>
        </h2>
        <CloseButton place="panel" label={say('close')} onClose={() => open(null)} />
      </header>
      <p class="panel-when">
        {kind !== '' && (
          <span class="kind-tag" data-kind={colourOf(kind)}>
            <bdi>{kind}</bdi>
          </span>
        )}
        {day}
        {last !== first && ` – ${sayDate(last, LONG_DATE)}`}
        <strong>{sayTimes(start, end)}</strong>
        <span class="muted">{zone.value}</span>
      </p>
      <dl class="panel-facts">
        {(['room', 'lecturer', 'group'] as const).map((icon) => {
          const list = lesson[`${icon}s`];
          return (
            <Fact
              key={icon}
              of={lesson.id}
              icon={icon}
              label={say(list.length > 1 ? `${icon}s` : icon)}
              list={list}
              isFeed={isFeed}
            />
          );
        })}
        {course !== null && (
          <Fact of={lesson.id} icon="course" label={say('course')} list={[course]} isFeed={isFeed} />
        )}
      </dl>
      {clashes.length > 0 && (
        <section class="panel-clashes">
          <h3>
            <Icon name="warning" /> {say('clashCount', { n: clashes.length })}
          </h3>
          {clashes.map((clash) => (
            <ClashSides key={`${clash.by} ${clash.key}`} clash={clash} own={lesson.ids} />
          ))}
        </section>
      )}
      {!isFeed && <LeaveOut lesson={lesson} />}
    </aside>
  );
}

function Fact({
  of,
  icon,
  label,
  list,
  isFeed,
}: {
  /** The lesson. */
  readonly of: string;
  readonly icon: IconName;
  readonly label: string;
  readonly list: readonly Named[];
  readonly isFeed: boolean;
}): JSX.Element | null {
  const { first, more } = firstOf(`${of} ${icon}`, list, NAMES_AT_FIRST);
  if (list.length === 0) return null;
  return (
    <div>
      <dt>
        <Icon name={icon} /> {label}
      </dt>
      <dd>
        {first.map((named) => (
          <span class="fact" key={`${named.id} ${named.name}`}>
            {isFeed ? <bdi>{named.name}</bdi> : <FactLinks kind={icon as Target['kind']} named={named} />}
          </span>
        ))}
        {more}
      </dd>
    </div>
  );
}

function FactLinks({ kind, named }: { readonly kind: Target['kind']; readonly named: Named }): JSX.Element {
  const { id, name } = named;
  const take = async (isBeside: boolean): Promise<void> => {
    const target = kind === 'lecturer' ? await lecturerOf(name) : { kind, id: id ?? name };
    choose(target, name, isBeside);
  };
  return (
    <>
      <button
        type="button"
        class="link"
        title={say('openTimetable', { name })}
        onClick={() => void take(false)}
      >
        <bdi>{name}</bdi>
      </button>
      {address.value.of.length < TARGETS_MAX && (
        <button
          type="button"
          class="link small"
          title={say('besideOf', { name })}
          aria-label={say('besideOf', { name })}
          onClick={() => void take(true)}
        >
          <Icon name="plus" />
        </button>
      )}
    </>
  );
}

function LeaveOut({ lesson }: { readonly lesson: Lesson }): JSX.Element {
  const leave = (field: LeftOut['field'], value: string, name: string): ComponentChildren => (
    <button
      type="button"
      class="button small"
      key={field + value}
      onClick={() => go({ not: [...address.value.not, { field, value }], open: null })}
    >
      <bdi>{name}</bdi>
    </button>
  );
  const { course, kind, groups } = lesson;
  return (
    <section class="panel-leave">
      <h3>{say('leaveOut')}</h3>
      <div class="row">
        {course?.id != null && leave('course', course.id, titleOf(lesson))}
        {kind !== '' && leave('type', kind, kind)}
        {groups.slice(0, 4).map(({ id, name }) => leave('group', id ?? name, name))}
      </div>
    </section>
  );
}

/** The lessons for which there was no room. */
export function BlockPanel({
  lessons,
  onClose,
}: {
  readonly lessons: readonly Lesson[];
  readonly onClose: () => void;
}): JSX.Element {
  return (
    <aside class="panel" aria-label={say('moreLessonsLong', { n: lessons.length })}>
      <header>
        <h2 tabIndex={-1} ref={(heading) => heading?.focus({ preventScroll: true })}>
          {say('moreLessonsLong', { n: lessons.length })}
        </h2>
        <CloseButton place="panel" label={say('close')} onClose={onClose} />
      </header>
      <ul class="lesson-list">
        {lessons.map((lesson) => (
          <li key={lesson.id}>
            <LessonLine lesson={lesson} />
          </li>
        ))}
      </ul>
    </aside>
  );
}
