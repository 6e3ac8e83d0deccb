/** The frame of all views: finding, views, age of the data, settings. */
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { TIMETABLE_VIEWS, type ViewName } from './address.js';
import { keepFeed } from './feed.js';
import { Find, focusFind } from './find.js';
import { Icon, lazy } from './parts.js';
import { say } from './speak.js';
import { Settings, Status } from './status.js';
import {
  address,
  announcement,
  type Feed,
  feedNow,
  go,
  isChoosing,
  isDevelopment,
  link,
  move,
  open,
  tokenWanted,
} from './store.js';
import { LessonPanel } from './views/body.js';
import { FeedView } from './views/feed-view.js';
import { TimetableView } from './views/timetable.js';
import { TokenForm } from './views/token-form.js';
import { Toolbar } from './views/toolbar.js';
import { DevelopmentWarning } from './warning.js';

const readFreeRooms = () => import('./views/free-rooms.js');
const FreeRooms = lazy('free', () => readFreeRooms().then((view) => view.FreeRooms));
const prepareFreeRooms = async (): Promise<void> => {
  const [view] = await Promise.all([readFreeRooms(), FreeRooms.load()]);
  await view.prepareFreeRooms();
};
const Clashes = lazy('clashes', () => import('./views/clashes.js').then((view) => view.Clashes));
const Usage = lazy('usage', () => import('./views/usage.js').then((view) => view.Usage));
const Changes = lazy('changes', () => import('./views/changes.js').then((view) => view.Changes));
const State = lazy('state', () => import('./views/state.js').then((view) => view.State));
/** What a view needs before it is shown. */
const PREPARE: { readonly [View in ViewName]?: () => Promise<void> } = {
  free: prepareFreeRooms,
  clashes: Clashes.load,
  usage: Usage.load,
  changes: Changes.load,
  state: State.load,
};
const prepareInAdvance = (): void => void prepareFreeRooms().catch(() => {});
/** What is shown first is read and painted first. */
const LOAD_VIEWS_MS = 1500;

export function App({ feed }: { readonly feed: Feed | null }): JSX.Element {
  useEffect(() => {
    document.addEventListener('keydown', onKey);
    const end = feed === null ? () => {} : keepFeed();
    return () => {
      document.removeEventListener('keydown', onKey);
      end();
    };
  }, []);
  const shown = feed === null ? null : (feedNow.value ?? feed);
  const hasViews = shown === null && tokenWanted.value !== 'missing';
  return (
    <>
      <a class="skip" href="#main">
        {say('skip')}
      </a>
      <header class="top" data-bare={!hasViews || undefined}>
        <a
          class="brand"
          aria-label={say('appName')}
          {...link({ view: 'week', of: [], date: null, open: null, not: [] })}
        >
          <svg viewBox="0 0 512 512" aria-hidden="true">
            <rect width="512" height="512" rx="112" class="brand-ground" />
            <rect x="112" y="128" width="128" height="112" rx="24" fill="#fff" />
            <rect x="112" y="272" width="128" height="128" rx="24" fill="#fff" opacity=".65" />
            <rect x="272" y="128" width="128" height="176" rx="24" fill="#ffd166" />
            <rect x="272" y="336" width="128" height="64" rx="24" fill="#fff" />
          </svg>
          <span>{say('appName')}</span>
        </a>
        {hasViews && <Find />}
        <Status />
        <Settings />
        {hasViews && <Views />}
      </header>
      <main id="main" tabIndex={-1}>
        {hasViews && <DevelopmentWarning />}
        {/* What is shown stays, and goes on with the next token. */}
        {hasViews && tokenWanted.value === 'refused' && <TokenForm />}
        {shown === null ? <View /> : <FeedView feed={shown} />}
      </main>
      <div class="hidden" role="status" aria-live="polite">
        {announcement.value}
      </div>
    </>
  );
}

function View(): JSX.Element {
  const { view } = address.value;
  if (tokenWanted.value === 'missing') return <TokenForm />;
  const hasDays = TIMETABLE_VIEWS.includes(view) || view === 'free' || view === 'usage';
  return (
    <>
      {hasDays && !isChoosing.value && <Toolbar />}
      <Shown />
    </>
  );
}

function Shown(): JSX.Element {
  switch (address.value.view) {
    case 'free':
      return <FreeRooms />;
    case 'clashes':
      return <Clashes />;
    case 'usage':
      return <Usage />;
    case 'changes':
      return <Changes />;
    case 'state':
      return <State />;
    default:
      return <TimetableView />;
  }
}

function Views(): JSX.Element {
  const { view } = address.value;
  const isTimetable = TIMETABLE_VIEWS.includes(view);
  const views = [
    ['week', 'timetable', 'week'],
    ['free', 'freeRooms', 'room'],
    ['clashes', 'clashes', 'warning'],
    ['usage', 'usage', 'usage'],
    ['changes', 'changes', 'changes'],
    ...(isDevelopment.value ? [['state', 'state', 'state'] as const] : []),
  ] as const;
  const place = useRef<HTMLElement>(null);
  // On a phone not all names are in sight.
  useEffect(() => {
    const here = place.current?.querySelector<HTMLElement>('[aria-current]');
    here?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [view]);
  useEffect(() => {
    const timer = setTimeout(() => {
      for (const each of [LessonPanel, FreeRooms, Clashes, Usage, Changes]) each.load().catch(() => {});
    }, LOAD_VIEWS_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <nav class="views" aria-label={say('views')} ref={place}>
      {views.map(([name, label, icon]) => (
        <a
          key={name}
          {...link({ view: name, open: null }, PREPARE[name])}
          aria-current={view === name || (isTimetable && name === 'week') ? 'page' : undefined}
          {...(name === 'free' && { onPointerEnter: prepareInAdvance, onFocus: prepareInAdvance })}
        >
          <Icon name={icon} />
          {say(label)}
        </a>
      ))}
    </nav>
  );
}

const VIEW_KEYS: Readonly<Record<string, ViewName>> = { d: 'day', w: 'week', m: 'month', l: 'list' };

function onKey(event: KeyboardEvent): void {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
  const view = VIEW_KEYS[key];
  if (key === '/') focusFind();
  else if (key === 't') go({ date: null });
  else if (key === 'n') move(1);
  else if (key === 'p') move(-1);
  else if (view !== undefined) go({ view, open: null });
  else if (key === 'Escape' && address.value.open !== null) open(null);
  else return;
  event.preventDefault();
}
