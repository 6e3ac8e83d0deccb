/** A month as weeks of days. */
import type { JSX } from 'preact';
import { isClashing } from '../clash.js';
import { colourOf } from '../data.js';
import { dayOf } from '../lessons.js';
import { say, sayDate, sayDay, sayTime } from '../speak.js';
import { link, open, shownDate, today, zone } from '../store.js';
import { addDays } from '../time.js';
import { type BodyProps, titleOf } from './body.js';

const LESSONS_OF_DAY = 4;

export function Month({ shown, from, days }: BodyProps): JSX.Element {
  const dates = Array.from({ length: days }, (_, n) => addDays(from, n));
  const month = shownDate.value.slice(0, 7);
  return (
    <div class="month">
      <div class="month-head" aria-hidden="true">
        {dates.slice(0, 7).map((date) => (
          <span key={date}>{sayDate(date, { weekday: 'short' })}</span>
        ))}
      </div>
      <ol class="month-days">
        {dates.map((date) => {
          const lessons = shown.flatMap(({ lessons: all, clashes }) =>
            dayOf(all, date, zone.value).lessons.map((lesson) => ({
              lesson,
              clashing: isClashing(lesson, clashes),
            })),
          );
          const more = lessons.length - LESSONS_OF_DAY;
          return (
            <li
              key={date}
              class="month-day"
              data-other={!date.startsWith(month) || undefined}
              data-today={date === today.value || undefined}
            >
              <a class="month-date" {...link({ view: 'day', date, open: null })}>
                <span class="hidden">{sayDay(date)}</span>
                <span aria-hidden="true">{sayDate(date, { day: 'numeric' })}</span>
              </a>
              <ul>
                {lessons.slice(0, LESSONS_OF_DAY).map(({ lesson, clashing }) => (
                  <li key={lesson.id}>
                    <button
                      type="button"
                      class="month-lesson"
                      data-kind={colourOf(lesson.kind)}
                      data-clash={clashing || undefined}
                      onClick={() => open(lesson.id)}
                    >
                      <span class="month-time">{sayTime(lesson.start)}</span> <bdi>{titleOf(lesson)}</bdi>
                      {clashing && <span class="hidden"> ({say('clash')})</span>}
                    </button>
                  </li>
                ))}
              </ul>
              {more > 0 && (
                <a class="month-more" {...link({ view: 'day', date, open: null })}>
                  {say('moreLessons', { n: more })}
                </a>
              )}
            </li>
          );
        })}
      </ol>
    </div>
  );
}
