/** How old the data is, and what the person can set. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { forgetToken } from './data.js';
import { Icon } from './parts.js';
import { say, sayAgo, sayMoment } from './speak.js';
import {
  announcement,
  deviceZone,
  feedNow,
  go,
  isDevelopment,
  isNarrow,
  isOffline,
  keep,
  language,
  live,
  now,
  publishedAt,
  readAt,
  type Theme,
  theme,
  token,
  useLanguage,
  zone,
} from './store.js';
import { LANGUAGES, type LanguageCode } from './words.js';

export function Status(): JSX.Element | null {
  if (feedNow.value !== null) {
    const read = readAt.value;
    return (
      <p class="status" data-state={isOffline.value ? 'lost' : undefined}>
        {isOffline.value && say('offline')}{' '}
        {read !== null && say('dataFrom', { ago: sayAgo(read, Math.max(now.value, read)) })}
      </p>
    );
  }
  if (token.value === null) return <p class="status" />;
  const published = publishedAt.value;
  const state = live.value;
  const ago = (style: 'long' | 'narrow'): string =>
    published === null ? '' : sayAgo(published, Math.max(now.value, published), style);
  // On a phone the dot says that all is well.
  const isShort = isNarrow.value;
  return (
    <p class="status" data-state={state} title={published === null ? '' : sayMoment(published)}>
      <span class="dot" aria-hidden="true" />
      <span class={isShort && state === 'live' ? 'hidden' : 'status-live'}>{say(state)}</span>
      <span class={isShort ? 'hidden' : 'status-age'}>
        {published !== null && say('dataFrom', { ago: ago('long') })}
      </span>
      {isShort && <span aria-hidden="true">{ago('narrow')}</span>}
    </p>
  );
}

const ZONES = [
  'UTC',
  'Europe/London',
  'Europe/Berlin',
  'Europe/Prague',
  'Europe/Kyiv',
  'Asia/Jerusalem',
  'America/New_York',
  'America/Los_Angeles',
  'Asia/Tokyo',
  'Australia/Sydney',
];

function zonesToChoose(): readonly string[] {
  const all =
    (Intl as { supportedValuesOf?: (key: string) => string[] }).supportedValuesOf?.('timeZone') ?? ZONES;
  return ['UTC', ...all.filter((each) => each !== 'UTC')];
}

export function Settings(): JSX.Element {
  const place = useRef<HTMLDetailsElement>(null);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onOutside = (event: Event): void => {
      const details = place.current;
      if (details?.open && !details.contains(event.target as Node)) details.open = false;
    };
    document.addEventListener('pointerdown', onOutside);
    document.addEventListener('focusin', onOutside);
    return () => {
      document.removeEventListener('pointerdown', onOutside);
      document.removeEventListener('focusin', onOutside);
    };
  }, []);
  return (
    <details
      class="settings"
      ref={place}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !place.current?.open) return;
        place.current.open = false;
        place.current.querySelector('summary')?.focus();
        event.stopPropagation();
      }}
    >
      <summary aria-label={say('settings')} title={say('settings')}>
        <Icon name="gear" />
      </summary>
      {isOpen && <SettingsForm />}
    </details>
  );
}

function SettingsForm(): JSX.Element {
  return (
    <div class="settings-form">
      <label>
        {say('language')}
        <select
          value={language.value}
          onChange={(event) => {
            const code = event.currentTarget.value as LanguageCode;
            keep('language', code);
            useLanguage(code).catch(() => {
              announcement.value = say('partMissing');
            });
          }}
        >
          {Object.entries(LANGUAGES).map(([code, name]) => (
            <option key={code} value={code}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        {say('timeZone')}
        <select
          value={zone.value}
          onChange={(event) => {
            const { value } = event.currentTarget;
            go({ zone: value === deviceZone ? null : value });
          }}
        >
          <option value={deviceZone}>{say('deviceZone', { zone: deviceZone })}</option>
          {zonesToChoose()
            .filter((each) => each !== deviceZone)
            .map((each) => (
              <option key={each}>{each}</option>
            ))}
        </select>
      </label>
      <label>
        {say('theme')}
        <select
          value={theme.value}
          onChange={(event) => {
            theme.value = event.currentTarget.value as Theme;
            keep('theme', theme.value);
          }}
        >
          <option value="auto">{say('themeAuto')}</option>
          <option value="light">{say('themeLight')}</option>
          <option value="dark">{say('themeDark')}</option>
        </select>
      </label>
      <dl class="keys">
        <dt>
          <kbd>/</kbd>
        </dt>
        <dd>{say('shortcutFind')}</dd>
        <dt>
          <kbd>t</kbd>
        </dt>
        <dd>{say('shortcutToday')}</dd>
        <dt>
          <kbd>n</kbd> <kbd>p</kbd>
        </dt>
        <dd>{say('shortcutNext')}</dd>
        <dt>
          <kbd>d</kbd> <kbd>w</kbd> <kbd>m</kbd> <kbd>l</kbd>
        </dt>
        <dd>{say('shortcutViews')}</dd>
      </dl>
      {token.value !== null && !isDevelopment.value && (
        <button type="button" class="button" onClick={forgetToken}>
          {say('forgetToken')}
        </button>
      )}
    </div>
  );
}
