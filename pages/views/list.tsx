/** Lessons as lines, day by day. */
import type { JSX } from 'preact';
import { clashesOfLesson } from '../clash.js';
import { isWithin } from '../lessons.js';
import { Text } from '../parts.js';
import { windowOf } from '../range.js';
import { say, sayDate } from '../speak.js';
import { today, zone } from '../store.js';
import { addDays } from '../time.js';
import { type BodyProps, LessonLine } from './body.js';

export function LessonList({ shown, from, days, nameOf }: BodyProps): JSX.Element {
  const dates = Array.from({ length: days }, (_, n) => addDays(from, n));
  return (
    <div class="list">
      {dates.map((date) => {
        const window = windowOf(date, 1, zone.value);
        const parts = shown
          .map((timetable) => ({
            timetable,
            lessons: timetable.lessons.filter((lesson) => isWithin(lesson, window.from, window.to)),
          }))
          .filter(({ lessons }) => lessons.length > 0);
        if (parts.length === 0 && date !== today.value) return null;
        return (
          <section key={date} class="list-day" data-today={date === today.value || undefined}>
            <h3>{sayDate(date, { weekday: 'long', day: 'numeric', month: 'long' })}</h3>
            {parts.length === 0 && <p class="muted">{say('nothingScheduled')}</p>}
            {parts.map(({ timetable, lessons }) => (
              <div key={timetable.key}>
                {shown.length > 1 && (
                  <h4>
                    <Text>{nameOf(timetable)}</Text>
                  </h4>
                )}
                <ul class="lesson-list">
                  {lessons.map((lesson) => (
                    <li key={lesson.id}>
                      <LessonLine
                        lesson={lesson}
                        isClashing={clashesOfLesson(lesson, timetable.clashes).length > 0}
                      />
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
