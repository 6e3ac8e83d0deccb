/** The pages for people: starts the explorer at {base}/view, or the view of one feed at its address. */

import { effect } from '@preact/signals';
import { render } from 'preact';
import { App } from './app.js';
import { begin, readKinds } from './data.js';
import { readFeed } from './feed.js';
import { kinds, revision, token, useLanguage, wantedLanguage } from './store.js';

const feed = document.getElementById('feed');
const language = useLanguage(wantedLanguage()).catch(() => useLanguage('en'));

if (feed === null) {
  await Promise.all([language, begin()]);
  effect(() => {
    void revision.value;
    if (token.value !== null) readKinds().catch(() => {});
  });
  show(<App feed={null} />);
} else {
  const content = readFeed(document);
  kinds.value = [...new Set(content.rows.map(({ kind }) => kind).filter((kind) => kind !== ''))].sort();
  await language;
  show(<App feed={content} />);
}

function show(app: preact.JSX.Element): void {
  const place = document.createElement('div');
  place.id = 'app';
  document.body.replaceChildren(place);
  render(app, place);
}

if ('serviceWorker' in navigator) {
  const [script, scope] = [new URL('worker.js', import.meta.url), new URL('..', import.meta.url)];
  navigator.serviceWorker.register(script, { scope: scope.href }).catch(() => {});
}
