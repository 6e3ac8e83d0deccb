/** What changed since a time, old beside new: of the timetables that were shown, or of all. Live. */
import { type Changes as ChangeSet, TimetableProblem } from 'lectern/client';
import type { JSX } from 'preact';
import type { Target } from '../address.js';
import { client, colourOf, type Names, noteVersion, readNames, rowOf, useLoaded } from '../data.js';
import type { Row } from '../lessons.js';
import { Chosen, Loading, Problem } from '../parts.js';
import { LONG_DATE, say, sayDate, sayList, sayNumber, sayTimes } from '../speak.js';
import { address, setMore, today, versionAtFirst, zone } from '../store.js';
import { keyOf, nameOf, targetsOf, useNames } from '../targets.js';
import { addDays, dayStart, wallTime } from '../time.js';
import { firstOf } from './clash-sides.js';

const SHOWN_AT_FIRST = 200;
const SINCE = ['week', 'yesterday', 'today', 'opened'] as const;
type Since = (typeof SINCE)[number];
const SINCE_TEXTS = {
  week: 'sinceWeek',
  yesterday: 'sinceYesterday',
  today: 'sinceToday',
  opened: 'sinceOpened',
} as const;

/** What `since` of the API gets; null while it is not known. */
function sinceOf(since: Since): string | null {
  if (since === 'opened') return versionAtFirst.value;
  const days = { week: 7, yesterday: 1, today: 0 }[since];
  return new Date(dayStart(addDays(today.value, -days), zone.value)).toISOString();
}

interface Change {
  readonly what: 'added' | 'changed' | 'removed';
  readonly row: Row;
  /** Null for added ones, and if the service does not know it any more. */
  readonly old: Row | null;
  /** Of all rows that changed in the same way. */
  readonly groups: readonly string[];
}

interface Read {
  readonly changes: readonly Change[];
  /** Removed lessons of which only the identifiers are known. */
  readonly unknown: number;
  readonly mine: Mine | null;
}

/** What tells that a change concerns the person. */
interface Mine {
  readonly ids: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
}

async function readChanges(since: string, isMine: boolean, signal: AbortSignal): Promise<Read> {
  const readMine = async (): Promise<Mine | null> => {
    if (!isMine) return null;
    try {
      const { data } = await client.get('/schedule/personal', {}, { signal });
      return {
        ids: new Set(data.map(({ id }) => id)),
        groups: new Set(data.flatMap(({ studyGroup }) => studyGroup ?? [])),
      };
    } catch (error) {
      if (error instanceof TimetableProblem && error.status === 403) return null;
      throw error;
    }
  };
  const [{ data, version }, names, mine] = await Promise.all([
    client.get('/schedule/changes', { since, earlier: true }, { signal }),
    readNames(),
    readMine(),
  ]);
  noteVersion(version);
  return { ...changesOf(data, names), mine };
}

function changesOf(set: ChangeSet, names: Names): Omit<Read, 'mine'> {
  const { added, changed, removed, earlier = [] } = set;
  const before = new Map(earlier.map((event) => [event.id, rowOf(event, names)]));
  const gone = removed.flatMap((id) => before.get(id) ?? []);
  const rows: Omit<Change, 'groups'>[] = [
    ...changed.map((event) => {
      return { what: 'changed', row: rowOf(event, names), old: before.get(event.id) ?? null } as const;
    }),
    ...added.map((event) => ({ what: 'added', row: rowOf(event, names), old: null }) as const),
    ...gone.map((row) => ({ what: 'removed', row, old: null }) as const),
  ];
  return { changes: joined(rows), unknown: removed.length - gone.length };
}

/** Rows of several groups that changed in the same way are one change. */
function joined(rows: readonly Omit<Change, 'groups'>[]): readonly Change[] {
  const all = new Map<string, Omit<Change, 'groups'> & { groups: string[] }>();
  const textOf = (row: Row | null): string =>
    row === null
      ? ''
      : FIELDS.filter(([name]) => name !== 'group')
          .map(([, text]) => text(row))
          .join('\n');
  for (const change of rows) {
    const { what, row, old } = change;
    const hasGroupChanged = old !== null && old.group?.id !== row.group?.id;
    const key = hasGroupChanged ? row.id : `${what}\n${textOf(row)}\n${textOf(old)}`;
    const known = all.get(key);
    const group = row.group?.name ?? '';
    if (known === undefined) all.set(key, { ...change, groups: [group] });
    else if (!known.groups.includes(group)) known.groups.push(group);
  }
  return [...all.values()].sort((a, b) => a.row.start - b.row.start);
}

function isOf(target: Target, { row, old, groups }: Change, mine: Mine | null): boolean {
  const name = nameOf(target);
  return [row, old].some((each) => {
    if (each === null) return false;
    if (target.kind === 'me')
      return mine?.ids.has(each.id) || groups.some((group) => mine?.groups.has(group));
    if (target.kind === 'lecturer') return each.lecturer?.name === name;
    return target.kind === 'group'
      ? groups.includes(target.id) || each.group?.id === target.id
      : each[target.kind]?.id === target.id;
  });
}

export function Changes(): JSX.Element {
  const { of, more } = address.value;
  const targets = targetsOf(address.value);
  useNames(targets);
  const chosen = SINCE.find((each) => each === more.since) ?? 'week';
  const since = sinceOf(chosen);
  const { data, error, isLoading } = useLoaded(
    since === null ? null : `changes ${since} ${of.length === 0}`,
    (signal) => readChanges(since ?? '', of.length === 0, signal),
  );
  // Without a timetable of one's own there is nothing to choose.
  const canChoose = data !== null && (of.length > 0 || data.mine !== null);
  const own = (data?.changes ?? []).filter((change) =>
    targets.some((target) => isOf(target, change, data?.mine ?? null)),
  );
  const isAll = !canChoose || more.by === 'all';
  document.title = `${say('changesTitle')} · ${say('appName')}`;
  return (
    <>
      <div class="toolbar">
        <h1 class="whose">{say('changesTitle')}</h1>
      </div>
      <div class="filters">
        <Choice
          label={say('changesTitle')}
          options={SINCE.map((each) => [each, say(SINCE_TEXTS[each])])}
          chosen={chosen}
          onChoose={(each) => setMore({ since: each })}
        />
        {canChoose && (
          <Choice
            label={say('timetable')}
            options={[
              ['own', `${sayList(targets.map(nameOf))} ${sayNumber(own.length)}`],
              ['all', `${say('allLessons')} ${sayNumber(data.changes.length)}`],
            ]}
            chosen={isAll ? 'all' : 'own'}
            onChoose={(each) => setMore({ by: each })}
          />
        )}
      </div>
      <Chosen texts={[say(SINCE_TEXTS[chosen]), isAll ? say('allLessons') : sayList(targets.map(nameOf))]} />
      {error !== null && <ChangesProblem error={error} />}
      {data === null && error === null && <Loading />}
      {data !== null && error === null && (
        <div class="body changes" aria-busy={isLoading}>
          <ChangeList
            key={`${chosen} ${isAll} ${targets.map(keyOf).join()}`}
            changes={isAll ? data.changes : own}
          />
          {isAll && data.unknown > 0 && <p class="notice">{say('removedUnknown', { n: data.unknown })}</p>}
        </div>
      )}
    </>
  );
}

/** The service no longer knows the version. */
function ChangesProblem({ error }: { readonly error: Error }): JSX.Element {
  if (error instanceof TimetableProblem && error.status === 410)
    return <p class="notice">{say('readAnew')}</p>;
  return <Problem error={error} />;
}

function Choice<Name extends string>({
  label,
  options,
  chosen,
  onChoose,
}: {
  readonly label: string;
  readonly options: readonly (readonly [Name, string])[];
  readonly chosen: Name;
  readonly onChoose: (name: Name) => void;
}): JSX.Element {
  return (
    <div class="joined" role="group" aria-label={label}>
      {options.map(([name, text]) => (
        <button
          key={name}
          type="button"
          class="button"
          data-choice={name}
          aria-pressed={name === chosen}
          onClick={() => onChoose(name)}
        >
          <bdi>{text}</bdi>
        </button>
      ))}
    </div>
  );
}

function ChangeList({ changes }: { readonly changes: readonly Change[] }): JSX.Element {
  const { first, more } = firstOf('changes', changes, SHOWN_AT_FIRST);
  const days = new Map<string, Change[]>();
  for (const change of first) {
    const { date } = wallTime(change.row.start, zone.value);
    days.set(date, [...(days.get(date) ?? []), change]);
  }
  if (changes.length === 0) return <p class="notice">{say('changesNone')}</p>;
  return (
    <>
      {[...days].map(([date, list]) => (
        <section key={date}>
          <h2>{sayDate(date, LONG_DATE)}</h2>
          <ul class="change-list">
            {list.map((change) => (
              <ChangeLine key={`${change.what} ${change.row.id}`} change={change} />
            ))}
          </ul>
        </section>
      ))}
      {more}
    </>
  );
}

const FIELDS: readonly (readonly [string, (row: Row, other?: Row | null) => string])[] = [
  ['title', ({ title, kind }) => title || kind],
  [
    'time',
    ({ start, end }, other) => {
      const date = wallTime(start, zone.value).date;
      const isSameDay = other == null || wallTime(other.start, zone.value).date === date;
      const times = sayTimes(start, end);
      return isSameDay
        ? times
        : `${sayDate(date, { weekday: 'short', day: 'numeric', month: 'short' })} ${times}`;
    },
  ],
  ['room', ({ room }) => room?.name ?? ''],
  ['lecturer', ({ lecturer }) => lecturer?.name ?? ''],
  ['group', ({ group }) => group?.name ?? ''],
  ['kind', ({ kind }) => kind],
];

function ChangeLine({ change }: { readonly change: Change }): JSX.Element {
  const { what, row, old, groups } = change;
  return (
    <li class="change" data-what={what} data-kind={colourOf(row.kind)}>
      <span class="change-what">{say(what)}</span>
      <span class="change-fields">
        {FIELDS.map(([name, textOf]) => {
          const text = name === 'group' && groups.length > 1 ? sayList(groups) : textOf(row, old);
          const was = old === null || (name === 'group' && groups.length > 1) ? text : textOf(old, row);
          if (text === '' && was === '') return null;
          return (
            <span key={name} data-field={name} data-changed={was !== text || undefined}>
              {was === text ? (
                <bdi>{text}</bdi>
              ) : (
                <>
                  <span class="hidden">{say('before')}: </span>
                  <del>
                    <bdi>{was || '–'}</bdi>
                  </del>{' '}
                  <span class="hidden">{say('after')}: </span>
                  <ins>
                    <bdi>{text || '–'}</bdi>
                  </ins>
                </>
              )}
            </span>
          );
        })}
      </span>
    </li>
  );
}
