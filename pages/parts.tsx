/** Small parts that several views use. */

import { TimetableProblem } from 'lectern/client';
import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Lesson, Named } from './lessons.js';
import { say, sayList } from './speak.js';
import { revision } from './store.js';

const ICONS = {
  search:
    'M11 4a7 7 0 1 0 4.3 12.5l4.1 4.1 1.2-1.2-4.1-4.1A7 7 0 0 0 11 4Zm0 1.7a5.3 5.3 0 1 1 0 10.6 5.3 5.3 0 0 1 0-10.6Z',
  back: 'M14.5 5 7.6 12l6.9 7 1.2-1.2L10 12l5.7-5.8Z',
  forth: 'm9.5 5 6.9 7-6.9 7-1.2-1.2L14 12 8.3 6.2Z',
  close: 'm6.2 5 5.8 5.8L17.8 5 19 6.2 13.2 12l5.8 5.8-1.2 1.2-5.8-5.8L6.2 19 5 17.8l5.8-5.8L5 6.2Z',
  warning: 'M12 3 1.8 20.5h20.4Zm0 3.6 7.2 12.2H4.8ZM11.1 10v5h1.8v-5Zm0 6v1.8h1.8V16Z',
  gear: 'M4 7h9.2a3 3 0 0 1 5.6 0H20v1.7h-1.2a3 3 0 0 1-5.6 0H4Zm12 2.3a1.4 1.4 0 1 0 0-2.9 1.4 1.4 0 0 0 0 2.9ZM4 15.3h1.2a3 3 0 0 1 5.6 0H20V17h-9.2a3 3 0 0 1-5.6 0H4Zm4 2.3a1.4 1.4 0 1 0 0-2.9 1.4 1.4 0 0 0 0 2.9Z',
  take: 'M11.1 3h1.8v9.2l3.4-3.4L17.6 10 12 15.6 6.4 10l1.3-1.2 3.4 3.4ZM4 17h1.8v2.2h12.4V17H20v4H4Z',
  plus: 'M11.1 5h1.8v6.1H19v1.8h-6.1V19h-1.8v-6.1H5v-1.8h6.1Z',
  room: 'M5 3h14v18h-1.8V4.8H6.8V21H5Zm8.5 8h1.8v2.4h-1.8Z',
  lecturer:
    'M12 3a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9Zm0 1.8a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4ZM4 21c0-4 3.6-6.7 8-6.7s8 2.7 8 6.7h-1.8c0-2.9-2.7-4.9-6.2-4.9s-6.2 2-6.2 4.9Z',
  group:
    'M9 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8Zm0 1.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4ZM2 20c0-3.6 3.1-6 7-6s7 2.4 7 6h-1.8c0-2.5-2.3-4.2-5.2-4.2S3.8 17.5 3.8 20Zm14-8.2a4 4 0 0 0 0-7.6v2a2.2 2.2 0 0 1 0 3.6Zm1.4 2.6c2.8.7 4.6 2.8 4.6 5.6h-1.8c0-2-1.1-3.2-2.8-3.8Z',
  course:
    'M4 4h7a2 2 0 0 1 1 .3 2 2 0 0 1 1-.3h7v15h-7l-1 1-1-1H4Zm1.8 1.8v11.4h5.3V6.2l-.4-.4Zm7.1.4v11h5.3V5.8h-4.9Z',
  week: 'M7 3h1.8v2h6.4V3H17v2h3v15H4V5h3Zm-1.2 6.8v8.4h12.4V9.8Z',
  usage: 'M4 20V11h3.5v9Zm6.2 0V4h3.6v16Zm6.3 0v-6H20v6Z',
  changes: 'M7 4 3 8l4 4V9h13V7H7Zm10 8v3H4v2h13v3l4-4Z',
  state: 'M2 11h5l2.5-6 4 13 2.5-7H22v2h-4.7l-3.6 8.5-4-13L8.3 13H2Z',
  me: 'M12 3a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9Zm0 1.8a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4ZM4 21c0-4 3.6-6.7 8-6.7s8 2.7 8 6.7Z',
  print:
    'M7 3h10v5h3v9h-3v4H7v-4H4V8h3Zm1.8 1.8V8h6.4V4.8ZM5.8 9.8v5.4H7V13h10v2.2h1.2V9.8Zm3 5v4.4h6.4v-4.4Z',
} as const;
export type IconName = keyof typeof ICONS;

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" data-icon={name}>
      <path d={ICONS[name]} />
    </svg>
  );
}

export function namesOf(list: readonly Named[]): string {
  return sayList(list.map(({ name }) => name));
}

/** Where, by whom and for whom a lesson is: what there is of these. */
export function aboutOf({
  rooms,
  lecturers,
  groups,
}: Pick<Lesson, 'rooms' | 'lecturers' | 'groups'>): string[] {
  return [rooms, lecturers, groups].filter((list) => list.length > 0).map(namesOf);
}

export function Problem({ error }: { readonly error: Error }): JSX.Element {
  const isTold = error instanceof TimetableProblem;
  const isLoading = isTold && error.code === 'snapshot-unavailable';
  // The message of a bad request only counts its faults.
  const reason = (isTold && error.errors.map(({ detail }) => detail).join(' ')) || error.message;
  const retry = (): void => void revision.value++;
  useEffect(() => {
    if (!isLoading) return;
    const timer = setTimeout(retry, 2000);
    return () => clearTimeout(timer);
  });
  return <Alert text={isLoading ? say('stillLoading') : say('failed', { reason })} onRetry={retry} />;
}

function Alert({ text, onRetry }: { readonly text: string; readonly onRetry: () => void }): JSX.Element {
  return (
    <div class="notice problem" role="alert">
      <p>{text}</p>
      <button type="button" class="button" onClick={onRetry}>
        {say('retry')}
      </button>
    </div>
  );
}

/** What is chosen above a view, for paper, where there are no fields. */
export function Chosen({ texts }: { readonly texts: readonly (string | undefined)[] }): JSX.Element {
  return (
    <p class="chosen">
      {texts.filter(Boolean).map((text, n) => (
        <span key={n}>
          {n > 0 && ' · '}
          <bdi>{text}</bdi>
        </span>
      ))}
    </p>
  );
}

export function Loading(): JSX.Element {
  return (
    <p class="loading" role="status">
      {say('loading')} …
    </p>
  );
}

/**
 * Reloads the page for a script that could not be read: after an upgrade the new page has other scripts. At most once
 * for each script, because it may be blocked, and not while the service does not answer.
 * @param isAsked whether the person asked for it
 * @returns whether the page is being reloaded
 */
async function reloadFor(name: string, isAsked: boolean): Promise<boolean> {
  try {
    if (!isAsked && sessionStorage.getItem(MARK + name) !== null) return false;
    // The service worker answers GET alone.
    await fetch(location.pathname, { method: 'HEAD', cache: 'no-store' });
    sessionStorage.setItem(MARK + name, 'yes');
  } catch {
    return false;
  }
  location.reload();
  return true;
}
const MARK = 'lectern.reloaded.';

/** The name of the sheet of later.css. The build knows it. */
declare const LATER_STYLE: string;
let laterStyle: Promise<void> | null = null;

function readLaterStyle(): Promise<void> {
  laterStyle ??= new Promise((resolve, reject) => {
    const sheet = document.createElement('link');
    sheet.rel = 'stylesheet';
    sheet.href = new URL(LATER_STYLE, import.meta.url).href;
    sheet.onload = () => resolve();
    sheet.onerror = () => {
      sheet.remove();
      laterStyle = null;
      reject(new Error(LATER_STYLE));
    };
    document.head.append(sheet);
  });
  return laterStyle;
}

/**
 * A view whose script and style are loaded when it is first shown, or before by `load`.
 * @param name of the script, the same in all builds
 */
export function lazy<P extends object>(
  name: string,
  read: () => Promise<ComponentType<P>>,
): ComponentType<P> & { readonly load: () => Promise<void> } {
  let loaded: ComponentType<P> | null = null;
  const load = async (): Promise<void> => {
    if (loaded !== null) return;
    [loaded] = await Promise.all([read(), readLaterStyle()]);
    // The next upgrade may reload again.
    sessionStorage.removeItem(MARK + name);
  };
  function Lazy(props: P): JSX.Element {
    const [state, setState] = useState<'loading' | 'ready' | 'missing'>(loaded ? 'ready' : 'loading');
    const show = async (isAsked: boolean): Promise<void> => {
      try {
        await load();
        setState('ready');
      } catch {
        if (!(await reloadFor(name, isAsked))) setState('missing');
      }
    };
    // A script that came since the first drawing is drawn, too.
    useEffect(() => void show(false), []);
    const View = loaded;
    if (View !== null) return <View {...props} />;
    if (state !== 'missing') return <Loading />;
    return <Alert text={say('partMissing')} onRetry={() => void show(true)} />;
  }
  return Object.assign(Lazy, { load });
}

/** A cross. @param place what it closes or takes away */
export function CloseButton({
  place,
  label,
  onClose,
}: {
  readonly place: 'panel' | 'chip';
  readonly label: string;
  readonly onClose: () => void;
}): JSX.Element {
  return (
    <button
      type="button"
      class={place === 'chip' ? 'chip-remove' : 'button plain'}
      aria-label={label}
      title={label}
      onClick={onClose}
    >
      <Icon name="close" />
    </button>
  );
}
