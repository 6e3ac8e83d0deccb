/** Above a view of days: whose it is, which days are shown, which view. */
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { sameTarget, TIMETABLE_VIEWS } from '../address.js';
import { CloseButton, Icon, lazy } from '../parts.js';
import { LONG_DATE, say, sayDate, sayDates } from '../speak.js';
import { address, go, link, move, rangeOf, shownDate } from '../store.js';
import { nameOf, targetsOf } from '../targets.js';
import { addDays, isDate, weekNumber } from '../time.js';

const Take = lazy('take', () => import('./take.js').then((view) => view.Take));

/** It stays from view to view, so that the fields of the date are not made again. */
export function Toolbar(): JSX.Element {
  const { view } = address.value;
  const isTimetable = TIMETABLE_VIEWS.includes(view);
  return (
    <div class="toolbar">
      <h1 class="whose">{isTimetable ? <Whose /> : say(view === 'free' ? 'freeRooms' : 'usageTitle')}</h1>
      {isTimetable && (
        <TakeButton>
          <Take targets={targetsOf(address.value)} />
        </TakeButton>
      )}
      <DateBar />
      {isTimetable && <ViewSwitch />}
      {isTimetable && <LeftOutList />}
    </div>
  );
}

function Whose(): JSX.Element {
  const { of } = address.value;
  const targets = targetsOf(address.value);
  return (
    <>
      {targets.map((target) => (
        <span class="whose-one" key={`${target.kind}:${target.id}`}>
          <Icon name={target.kind} />
          <bdi>{nameOf(target)}</bdi>
          {of.length > 1 && (
            <CloseButton
              place="chip"
              label={say('removeTarget', { name: nameOf(target) })}
              onClose={() => go({ of: of.filter((each) => !sameTarget(each, target)), open: null })}
            />
          )}
        </span>
      ))}
    </>
  );
}

/** A button that opens the children: how to take the timetable along. */
export function TakeButton({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const [isTaking, setTaking] = useState(false);
  return (
    <>
      <div class="toolbar-end">
        <button type="button" class="button" aria-expanded={isTaking} onClick={() => setTaking(!isTaking)}>
          <Icon name="take" /> {say('take')}
        </button>
      </div>
      {isTaking && children}
    </>
  );
}

export function DateBar(): JSX.Element {
  const { view } = address.value;
  const date = shownDate.value;
  const { from, days } = rangeOf(view, date);
  const label =
    days === 1 || view === 'free'
      ? sayDate(date, LONG_DATE)
      : view === 'month'
        ? sayDate(date, { month: 'long', year: 'numeric' })
        : sayDates(from, days);
  return (
    <div class="dates">
      <div class="joined">
        <button
          type="button"
          class="button"
          onClick={() => move(-1)}
          aria-label={say('previous')}
          title={say('previous')}
        >
          <Icon name="back" />
        </button>
        <button type="button" class="button" onClick={() => go({ date: null, open: null })}>
          {say('today')}
        </button>
        <button
          type="button"
          class="button"
          onClick={() => move(1)}
          aria-label={say('next')}
          title={say('next')}
        >
          <Icon name="forth" />
        </button>
      </div>
      <h2 class="dates-shown" aria-live="polite">
        {label}
        {view === 'week' && (
          <span class="week-number">{say('weekNumber', { n: weekNumber(addDays(from, 3)) })}</span>
        )}
      </h2>
      <input
        type="date"
        class="date-field"
        aria-label={say('chooseDate')}
        title={say('chooseDate')}
        value={date}
        onChange={(event) =>
          isDate(event.currentTarget.value) && go({ date: event.currentTarget.value, open: null })
        }
      />
    </div>
  );
}

export function ViewSwitch(): JSX.Element {
  const { view } = address.value;
  return (
    <nav class="joined switch" aria-label={say('timetable')}>
      {TIMETABLE_VIEWS.map((name) => (
        <a
          key={name}
          class="button"
          {...link({ view: name, open: null })}
          aria-current={name === view ? 'true' : undefined}
        >
          {say(name as 'day' | 'week' | 'month' | 'list')}
        </a>
      ))}
    </nav>
  );
}

function LeftOutList(): JSX.Element | null {
  const { not } = address.value;
  if (not.length === 0) return null;
  return (
    <p class="left-out">
      {say('leftOut')}:{' '}
      {not.map((each) => {
        const name = leftOutName(each.field, each.value);
        return (
          <span key={`${each.field}:${each.value}`} class="chip">
            <bdi>{name}</bdi>
            <CloseButton
              place="chip"
              label={say('bringBack', { name })}
              onClose={() => go({ not: not.filter((other) => other !== each) })}
            />
          </span>
        );
      })}
    </p>
  );
}

function leftOutName(field: string, value: string): string {
  return field === 'course' ? nameOf({ kind: 'course', id: value }) : value;
}
