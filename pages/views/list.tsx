/** Lessons as lines, day by day. */
import type { JSX } from 'preact';
import { isClashing } from '../clash.js';
import { dayOf } from '../lessons.js';
import { say, sayDay } from '../speak.js';
import { today, zone } from '../store.js';
import { addDays } from '../time.js';
import { type BodyProps, LessonLine } from './body.js';

export function LessonList({ shown, from, days, nameOf }: BodyProps): JSX.Element {
  const dates = Array.from({ length: days }, (_, n) => addDays(from, n));
  return (
    <div class="list">
      {dates.map((date) => {
        const parts = shown
          .map((timetable) => ({ timetable, lessons: dayOf(timetable.lessons, date, zone.value).lessons }))
          .filter(({ lessons }) => lessons.length > 0);
        if (parts.length === 0 && date !== today.value) return null;
        return (
          <section key={date} class="list-day" data-today={date === today.value || undefined}>
            <h3>{sayDay(date)}</h3>
            {parts.length === 0 && <p class="muted">{say('nothingScheduled')}</p>}
            {parts.map(({ timetable, lessons }) => (
              <div key={timetable.key}>
                {shown.length > 1 && (
                  <h4>
                    <bdi>{nameOf(timetable)}</bdi>
                  </h4>
                )}
                <ul class="lesson-list">
                  {lessons.map((lesson) => (
                    <li key={lesson.id}>
                      <LessonLine lesson={lesson} isClashing={isClashing(lesson, timetable.clashes)} />
                    </li>
                  ))}
                </ul>
              </div>
            ))}
          </section>
        );
      })}
    </div>
  );
}
