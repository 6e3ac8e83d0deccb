/** A clash: what is needed more than once, and the lessons that need it, beside each other. */
import type { JSX } from 'preact';
import type { Clash } from '../clash.js';
import { colourOf } from '../data.js';
import { aboutOf, Icon } from '../parts.js';
import { say, sayTimes } from '../speak.js';
import { part } from '../store.js';
import { titleOf } from './body.js';

/** As many as a person looks through; thousands would stop the page. */
const MORE = 200;
const SIDES_AT_FIRST = 12;

/** The first of a long list, and a button that shows more of it. @param name of the list, in its view */
export function firstOf<T>(
  name: string,
  list: readonly T[],
  atFirst: number,
): { readonly first: readonly T[]; readonly more: JSX.Element | null } {
  const [count, setCount] = part(name, atFirst);
  const n = Math.min(MORE, list.length - count);
  const more = (
    <button type="button" class="button small" onClick={() => setCount(count + MORE)}>
      {say('showMore', { n })}
    </button>
  );
  return { first: list.slice(0, count), more: n > 0 ? more : null };
}

export function clashReason({ by, name, lessons }: Clash): string {
  const n = lessons.length;
  if (by === 'room') return say('clashRoom', { name, n });
  if (by === 'lecturer') return say('clashPerson', { name, n });
  return by === 'group' ? say('clashGroup', { name, n }) : say('moreLessonsLong', { n });
}

/** @param own the rows of the lesson that is open, which is marked */
export function ClashSides({
  clash,
  own = [],
}: {
  readonly clash: Clash;
  readonly own?: readonly string[];
}): JSX.Element {
  const { first, more } = firstOf(
    `${clash.by} ${clash.key} ${clash.lessons[0]?.id}`,
    clash.lessons,
    SIDES_AT_FIRST,
  );
  return (
    <div class="clash">
      <p class="clash-reason">
        <Icon name={clash.by === 'time' ? 'warning' : clash.by} />{' '}
        <span>
          <bdi>{clashReason(clash)}</bdi>
        </span>
      </p>
      <ul class="sides">
        {first.map((lesson) => (
          <li
            key={lesson.id}
            class="side"
            data-kind={colourOf(lesson.kind)}
            data-own={lesson.ids.some((id) => own.includes(id)) || undefined}
          >
            <strong>
              <bdi>{titleOf(lesson)}</bdi>
            </strong>
            <span>{sayTimes(lesson.start, lesson.end)}</span>
            {aboutOf(lesson).map((text, n) => (
              <span key={n}>
                <bdi>{text}</bdi>
              </span>
            ))}
          </li>
        ))}
      </ul>
      {more}
    </div>
  );
}
