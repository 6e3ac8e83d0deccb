/** In development, for those who start with their own data: what is wrong, above every view. */
import type { JSX } from 'preact';
import { client, useLoaded } from './data.js';
import { Icon } from './parts.js';
import { say } from './speak.js';
import { address, isDevelopment, link, revision, token } from './store.js';

export function DevelopmentWarning(): JSX.Element | null {
  const isAsked = isDevelopment.value && token.value !== null;
  const { data } = useLoaded(isAsked ? `warning ${revision.value}` : null, () => client.health());
  if (data === null || address.value.view === 'state') return null;
  const { snapshot, status } = data;
  const rejected = snapshot?.rejected ?? 0;
  if (status === 'ok' && rejected === 0) return null;
  return (
    <p class="notice problem" role="status">
      <span>
        <Icon name="warning" /> {rejected > 0 ? say('leftOutRecords', { n: rejected }) : say('stateDegraded')}
      </span>
      <a {...link({ view: 'state', open: null })}>{say('stateTitle')}</a>
    </p>
  );
}
