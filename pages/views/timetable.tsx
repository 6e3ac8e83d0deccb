/** One or several timetables: a day, a week, a month or a list. */

import { TimetableProblem } from 'lectern/client';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo } from 'preact/hooks';
import type { LeftOut, Target } from '../address.js';
import { type ClashIndex, clashOf, indexOf } from '../clash.js';
import { prefetch, readConflicts, readNames, readTimetable, type Timetable, useLoaded } from '../data.js';
import { focusFind, kindWord } from '../find.js';
import { dayOf, type Lesson, lessonsOf, type Row } from '../lessons.js';
import { Icon, Loading, Problem } from '../parts.js';
import { say } from '../speak.js';
import {
  address,
  announcement,
  fresh,
  isChoosing,
  link,
  rangeOf,
  shownDate,
  windowOf,
  zone,
} from '../store.js';
import { isUnknown, keyOf, nameOf, targetsOf, useNames } from '../targets.js';
import { addDays } from '../time.js';
import { Body, type ShownTimetable } from './body.js';
import { prepareDay } from './grid.js';
import { Start } from './start.js';

interface Read {
  readonly target: Target;
  readonly timetable: Timetable;
  /** Of all rows. They and their days are made when the rows are read, which may be in advance. */
  readonly lessons: readonly Lesson[];
}

function isKept(row: Row, not: readonly LeftOut[]): boolean {
  return not.some(({ field, value }) => {
    if (field === 'type') return row.kind === value;
    return field === 'course' ? row.course?.id === value : row.group?.id === value;
  });
}

function readAll(
  targets: readonly Target[],
  from: string,
  days: number,
): (signal: AbortSignal) => Promise<readonly Read[]> {
  const window = windowOf(from, days, zone.peek());
  return (signal) =>
    Promise.all(
      targets.map(async (target) => {
        const timetable = await readTimetable(target, window, signal);
        const lessons = lessonsOf(timetable.rows);
        for (let n = 0; n < days; n++) prepareDay(dayOf(lessons, addDays(from, n), zone.peek()));
        return { target, timetable, lessons };
      }),
    );
}

/** The clashes of each timetable. They may be as long as all lessons together, so they are read after these are shown. */
function readClashes(
  targets: readonly Target[],
  from: string,
  days: number,
): (signal: AbortSignal) => Promise<ReadonlyMap<string, ClashIndex>> {
  const window = windowOf(from, days, zone.peek());
  return async (signal) => {
    const names = await readNames();
    const read = async (target: Target): Promise<readonly [string, ClashIndex]> => {
      const entries = await readConflicts(target, window, signal);
      return [keyOf(target), indexOf(entries.map((entry) => clashOf(entry, names)))];
    };
    return new Map(await Promise.all(targets.map(read)));
  };
}

const NO_CLASHES: ClashIndex = new Map();
/** What is shown is painted first. */
const PREFETCH_MS = 250;
/** Of more timetables, which are printed, the weeks before and after are not read. */
const PREFETCH_TARGETS_MAX = 8;

export function TimetableView(): JSX.Element {
  const { of, view, not } = address.value;
  const targets = targetsOf(address.value);
  const { from, days, step } = rangeOf(view, shownDate.value);
  const keyFor = (start: string): string => `${targets.map(keyOf).join('|')} ${start} ${days} ${zone.value}`;
  useNames(targets);
  const { data, error, isLoading } = useLoaded(keyFor(from), readAll(targets, from, days));
  const isShown = data !== null && !isLoading;
  const { data: clashes } = useLoaded(
    isShown ? `clashes ${keyFor(from)}` : null,
    readClashes(targets, from, days),
  );
  useEffect(() => {
    if (!isShown || targets.length > PREFETCH_TARGETS_MAX) return;
    const abort = new AbortController();
    const readBeside = async (): Promise<void> => {
      for (const start of [step(from, 1), step(from, -1)]) {
        await prefetch(keyFor(start), readAll(targets, start, days), abort.signal);
        await prefetch(`clashes ${keyFor(start)}`, readClashes(targets, start, days), abort.signal);
      }
    };
    const timer = setTimeout(() => void readBeside(), PREFETCH_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [data, isShown]);
  useEffect(() => {
    const { size } = fresh.value;
    if (size > 0) announcement.value = say('updated', { n: size });
  }, [fresh.value]);

  const shown = useMemo(
    () =>
      (data ?? []).map(
        ({ target, timetable: { rows, isCut }, lessons }): ShownTimetable => ({
          key: keyOf(target),
          target,
          lessons: not.length === 0 ? lessons : lessonsOf(rows.filter((row) => isKept(row, not))),
          kinds: [...new Set(rows.map(({ kind }) => kind))],
          clashes: clashes?.get(keyOf(target)) ?? NO_CLASHES,
          isCut,
        }),
      ),
    [data, clashes, not],
  );
  const unknown = targets.filter(isUnknown);
  const isUnmapped = error instanceof TimetableProblem && error.code === 'identity-not-mapped';
  const hasNone = of.length === 0 && isUnmapped;
  useLayoutEffect(() => {
    isChoosing.value = hasNone;
    return () => {
      isChoosing.value = false;
    };
  }, [hasNone]);
  document.title = `${targets.map(nameOf).join(', ')} · ${say('appName')}`;
  if (hasNone) return <Start />;
  return (
    <>
      {shown.some(({ isCut }) => isCut) && <p class="notice">{say('cutOff')}</p>}
      {unknown.map((target) => (
        <div key={keyOf(target)} class="notice problem" role="alert">
          <p>{say('unknownTarget', { name: nameOf(target), kind: kindWord(target.kind) })}</p>
          <div class="row">
            <a class="button" {...link({ of: [], open: null })}>
              {say('myTimetable')}
            </a>
            <button type="button" class="button primary" onClick={focusFind}>
              <Icon name="search" /> {say('findShort')}
            </button>
          </div>
        </div>
      ))}
      {error !== null && unknown.length === 0 && <Problem error={error} />}
      {error === null && data === null && <Loading />}
      {data !== null && unknown.length < targets.length && (
        <Body
          shown={shown}
          from={from}
          days={days}
          isLoading={isLoading}
          nameOf={(each) => (each.target === null ? '' : nameOf(each.target))}
          onNearest={async (direction) =>
            (await import('./panel.js')).goToNearest(targets, from, days, direction)
          }
        />
      )}
    </>
  );
}
