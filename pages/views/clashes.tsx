/** All clashes: counts by kind and week as a chart, and each with its sides. Those that are over come last. */
import type { JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { type Clash, clashOf } from '../clash.js';
import { client, noteVersion, readNames, useLoaded } from '../data.js';
import { csvOf, saveFile } from '../files.js';
import { Chosen, Icon, Loading, namesOf, Problem } from '../parts.js';
import { say, sayDate, sayDates, sayMoment, sayNumber } from '../speak.js';
import { address, firstDay, link, now, part, setMore, today, zone } from '../store.js';
import { addDays, wallTime, weekStart } from '../time.js';
import { ClashSides, clashReason, firstOf } from './clash-sides.js';

const CLASHES_MAX = 5_000;
const SHOWN_AT_FIRST = 40;
const KINDS = ['room', 'lecturer', 'group'] as const;
const KIND_TEXTS = { room: 'rooms', lecturer: 'lecturers', group: 'groups' } as const;

async function readClashes(signal: AbortSignal): Promise<readonly Clash[]> {
  const names = await readNames();
  const clashes: Clash[] = [];
  for await (const answer of client.pages('/schedule/conflicts', { limit: 1000 }, { signal })) {
    noteVersion(answer.version);
    clashes.push(...answer.data.map((entry) => clashOf(entry, names)));
    if (clashes.length >= CLASHES_MAX) break;
  }
  return clashes;
}

function weekOf(clash: Clash): string {
  return weekStart(wallTime(clash.start, zone.value).date, firstDay.value);
}

function isOver({ end }: Clash): boolean {
  return end <= now.value;
}

export function Clashes(): JSX.Element {
  const { data, error, isLoading } = useLoaded('clashes', readClashes);
  const { from } = address.value.more;
  const by = shownKind();
  const [text, setText] = part('filter', '');
  const wanted = text.trim().toLowerCase();
  const matching = useMemo(
    () =>
      (data ?? []).filter(
        (clash) =>
          wanted === '' ||
          clash.name.toLowerCase().includes(wanted) ||
          clash.lessons.some(({ title, rooms, lecturers, groups }) =>
            [title, ...[...rooms, ...lecturers, ...groups].map(({ name }) => name)].some((each) =>
              each.toLowerCase().includes(wanted),
            ),
          ),
      ),
    [data, wanted],
  );
  const shown = matching.filter(
    (clash) => (by === undefined || clash.by === by) && (from === undefined || weekOf(clash) === from),
  );
  document.title = `${say('clashes')} · ${say('appName')}`;
  return (
    <>
      <div class="toolbar">
        <h1 class="whose">{data === null ? say('clashes') : say('clashCount', { n: shown.length })}</h1>
        <div class="toolbar-end">
          <button
            type="button"
            class="button"
            disabled={shown.length === 0}
            onClick={() => downloadCsv(shown)}
          >
            <Icon name="take" /> {say('downloadCsv')}
          </button>
        </div>
      </div>
      {error !== null && <Problem error={error} />}
      {data === null && error === null && <Loading />}
      {data !== null && (
        <div class="body" aria-busy={isLoading}>
          <div class="filters">
            <KindFilter clashes={matching} />
            <label>
              {say('findShort')}
              <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} />
            </label>
          </div>
          <Chosen
            texts={[
              say(by === undefined ? 'allKinds' : KIND_TEXTS[by]),
              text.trim() && `${say('findShort')}: ${text.trim()}`,
              from && sayDates(from, 7),
            ]}
          />
          <Chart clashes={matching} />
          {shown.length === 0 && <p class="notice">{say('noClashes')}</p>}
          <ClashList clashes={[...shown.filter((clash) => !isOver(clash)), ...shown.filter(isOver)]} />
        </div>
      )}
    </>
  );
}

/** Undefined for all. */
function shownKind(): (typeof KINDS)[number] | undefined {
  return KINDS.find((kind) => kind === address.value.more.by);
}

function KindFilter({ clashes }: { readonly clashes: readonly Clash[] }): JSX.Element {
  const by = shownKind();
  const count = (kind: string): number => clashes.filter((clash) => clash.by === kind).length;
  return (
    <div class="joined" role="group" aria-label={say('kinds')}>
      <button
        type="button"
        class="button"
        aria-pressed={by === undefined}
        onClick={() => setMore({ by: '' })}
      >
        {say('allKinds')} {sayNumber(clashes.length)}
      </button>
      {KINDS.map((kind) => (
        <button
          key={kind}
          type="button"
          class="button"
          aria-pressed={by === kind}
          onClick={() => setMore({ by: kind })}
        >
          <span class="swatch" data-series={kind} aria-hidden="true" />
          {say(KIND_TEXTS[kind])} {sayNumber(count(kind))}
        </button>
      ))}
    </div>
  );
}

/** A column for each week; a click shows only that week. */
function Chart({ clashes }: { readonly clashes: readonly Clash[] }): JSX.Element | null {
  const { from } = address.value.more;
  const present = weekStart(today.value, firstDay.value);
  const place = useRef<HTMLLIElement>(null);
  // On a phone the past weeks alone would be in sight.
  useLayoutEffect(() => {
    const list = place.current?.parentElement;
    if (!place.current || !list) return;
    list.scrollLeft = place.current.offsetLeft - (list.clientWidth - place.current.offsetWidth) / 2;
  }, []);
  const weeks = new Map<string, Record<string, number>>();
  for (const clash of clashes) {
    const counts = weeks.get(weekOf(clash)) ?? {};
    counts[clash.by] = (counts[clash.by] ?? 0) + 1;
    weeks.set(weekOf(clash), counts);
  }
  const known = [...weeks.keys()].sort();
  const [first, last] = [known[0], known.at(-1)];
  if (first === undefined || last === undefined) return null;
  const all: string[] = [];
  for (let week = first; week <= last && all.length < 60; week = addDays(week, 7)) all.push(week);
  const totals = all.map((week) => Object.values(weeks.get(week) ?? {}).reduce((sum, each) => sum + each, 0));
  const most = Math.max(...totals);
  return (
    <figure class="chart">
      <figcaption>{say('clashesPerWeek')}</figcaption>
      <ul>
        {all.map((week, n) => {
          const counts = weeks.get(week) ?? {};
          const day = sayDate(week, { day: 'numeric', month: 'short' });
          return (
            <li key={week} {...(week === present && { ref: place, 'data-now': true })}>
              <button
                type="button"
                aria-pressed={from === week}
                title={`${day}: ${say('clashCount', { n: totals[n] ?? 0 })}`}
                onClick={() => setMore({ from: from === week ? '' : week })}
              >
                <span class="hidden">{say('clashCount', { n: totals[n] ?? 0 })}, </span>
                <span class="chart-column" aria-hidden="true">
                  {KINDS.map((kind) => (
                    <span key={kind} data-series={kind} style={{ '--share': (counts[kind] ?? 0) / most }} />
                  ))}
                </span>
                <span class="chart-label">{day}</span>
              </button>
            </li>
          );
        })}
      </ul>
    </figure>
  );
}

function ClashList({ clashes }: { readonly clashes: readonly Clash[] }): JSX.Element {
  const { first, more } = firstOf('clashes', clashes, SHOWN_AT_FIRST);
  return (
    <>
      <ol class="clash-list">
        {first.map((clash) => {
          const { date } = wallTime(clash.start, zone.value);
          const target = {
            kind: clash.by === 'time' ? 'group' : clash.by,
            id: clash.by === 'group' ? clash.name : clash.key,
          } as const;
          const place = { view: 'day', date, of: [target], open: null } as const;
          return (
            <li
              key={`${clash.by} ${clash.key} ${clash.start}`}
              class="card"
              data-past={isOver(clash) || undefined}
            >
              <p class="clash-when">
                {sayMoment(clash.start)}
                <a {...link(place)}>{say('showOnDay')}</a>
              </p>
              <ClashSides clash={clash} />
            </li>
          );
        })}
      </ol>
      {more}
    </>
  );
}

function downloadCsv(clashes: readonly Clash[]): void {
  const head = [say('when'), say('clash'), say('what'), say('rooms'), say('lecturers'), say('groups')];
  const rows = clashes.flatMap((clash) =>
    clash.lessons.map(({ start, title, kind, rooms, lecturers, groups }) => [
      new Date(start).toISOString(),
      clashReason(clash),
      title || kind,
      namesOf(rooms),
      namesOf(lecturers),
      namesOf(groups),
    ]),
  );
  saveFile('clashes.csv', 'text/csv', csvOf([head, ...rows]));
}
