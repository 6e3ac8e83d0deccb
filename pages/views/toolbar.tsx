/** Above a view of days: whose it is, which days are shown, which view. */
import type { ComponentChildren, JSX } from 'preact';
import { sameTarget, TIMETABLE_VIEWS, type ViewName } from '../address.js';
import { CloseButton, Icon, lazy } from '../parts.js';
import { LONG_DATE, say, sayDate, sayDates } from '../speak.js';
import { address, go, isNarrow, link, move, part, rangeOf, shownDate, today } from '../store.js';
import { nameOf, targetsOf } from '../targets.js';
import { addDays, isDate, weekNumber } from '../time.js';

const Take = lazy('take', () => import('./take.js').then((view) => view.Take));

/** It stays from view to view, so that the fields of the date are not made again. */
export function Toolbar(): JSX.Element {
  const { view } = address.value;
  const isTimetable = TIMETABLE_VIEWS.includes(view);
  return (
    <Frame
      title={isTimetable ? <Whose /> : say(view === 'free' ? 'freeRooms' : 'usageTitle')}
      take={isTimetable && <Take targets={targetsOf(address.value)} />}
    />
  );
}

interface FrameProps {
  readonly title: ComponentChildren;
  /** How to take the timetable along; `false` for what is none. */
  readonly take: JSX.Element | false;
}

export function Frame({ title, take }: FrameProps): JSX.Element {
  return (
    <>
      <div class="toolbar">
        <h1 class="whose">{title}</h1>
        {take && <TakeButton>{take}</TakeButton>}
        {!isNarrow.value && <DateBar />}
        {take && <ViewSwitch />}
        {take && <LeftOutList />}
      </div>
      {/* Beside the view, so that it can stay in sight. */}
      {isNarrow.value && <DateBar />}
    </>
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
function TakeButton({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const [isTaking, setTaking] = part('take', false);
  return (
    <>
      <div class="toolbar-end">
        <button type="button" class="button" aria-expanded={isTaking} onClick={() => setTaking(!isTaking)}>
          <Icon name="take" /> <span>{say('take')}</span>
        </button>
      </div>
      {isTaking && children}
    </>
  );
}

function DateBar(): JSX.Element {
  const { view } = address.value;
  const date = shownDate.value;
  const { from, days } = rangeOf(view, date);
  const isShort = isNarrow.value;
  const isThisYear = date.slice(0, 4) === today.value.slice(0, 4);
  const short: Intl.DateTimeFormatOptions = {
    day: 'numeric',
    month: 'short',
    ...(!isThisYear && { year: 'numeric' }),
  };
  const label =
    days === 1 || view === 'free'
      ? sayDate(date, isShort ? { weekday: 'short', ...short } : LONG_DATE)
      : view === 'month'
        ? sayDate(date, { month: 'long', year: 'numeric' })
        : sayDates(from, days, isShort ? short : undefined);
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
      <span class="button date-pick">
        <Icon name="week" />
        <input
          type="date"
          aria-label={say('chooseDate')}
          title={say('chooseDate')}
          value={date}
          onChange={(event) =>
            isDate(event.currentTarget.value) && go({ date: event.currentTarget.value, open: null })
          }
        />
      </span>
    </div>
  );
}

function ViewSwitch(): JSX.Element {
  const { view } = address.value;
  if (isNarrow.value) {
    return (
      <select
        class="switch"
        aria-label={say('views')}
        value={view}
        onChange={(event) => go({ view: event.currentTarget.value as ViewName, open: null })}
      >
        {TIMETABLE_VIEWS.map((name) => (
          <option key={name} value={name}>
            {say(name as 'day' | 'week' | 'month' | 'list')}
          </option>
        ))}
      </select>
    );
  }
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
