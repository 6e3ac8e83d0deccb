/** The timetable of one feed. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { indexOf, overlapsOf } from '../clash.js';
import { isWithin, lessonsOf } from '../lessons.js';
import { Icon, lazy } from '../parts.js';
import { say } from '../speak.js';
import { address, type Feed, go, rangeOf, shownDate, windowOf, zone } from '../store.js';
import { wallTime } from '../time.js';
import { Body, type ShownTimetable } from './body.js';
import { Frame } from './toolbar.js';

const TakeFeed = lazy('take-feed', () => import('./take-feed.js').then((view) => view.TakeFeed));

export function FeedView({ feed }: { readonly feed: Feed }): JSX.Element {
  const { view, not } = address.value;
  const all = useMemo(() => {
    const rows = feed.rows.filter(
      ({ kind }) => !not.some(({ field, value }) => field === 'type' && value === kind),
    );
    const lessons = lessonsOf(rows);
    return { lessons, clashes: indexOf(overlapsOf(lessons)) };
  }, [feed, not]);
  const { from, days } = rangeOf(view, shownDate.value);
  const window = windowOf(from, days, zone.value);
  const shown: ShownTimetable = {
    key: 'feed',
    target: null,
    lessons: all.lessons.filter((lesson) => isWithin(lesson, window.from, window.to)),
    kinds: [...new Set(feed.rows.map(({ kind }) => kind))],
    clashes: all.clashes,
    isCut: false,
  };
  const goToNearest = (direction: 1 | -1): void => {
    const found =
      direction === 1
        ? all.lessons.find(({ start }) => start >= window.to)
        : all.lessons.findLast(({ start }) => start < window.from);
    if (found !== undefined) go({ date: wallTime(found.start, zone.value).date });
  };
  const name = feed.name === '' ? say('myTimetable') : feed.name;
  document.title = `${name} · ${say('appName')}`;
  return (
    <>
      <Frame
        title={
          <span class="whose-one">
            <Icon name="me" />
            <bdi>{name}</bdi>
          </span>
        }
        take={<TakeFeed feed={feed} />}
      />
      <Body
        shown={[shown]}
        from={from}
        days={days}
        isLoading={false}
        nameOf={() => name}
        onNearest={goToNearest}
      />
    </>
  );
}
