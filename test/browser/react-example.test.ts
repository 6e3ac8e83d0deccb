/** The example for React, run with Preact's compatible modules: a list that follows the timetable. */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { test } from 'tap';
import { EVENTS, serve, setUp } from '../http/harness.js';
import { PublishedViews } from '../http/live-views.js';
import { BUILT_PAGES, NO_BROWSER, newPage, openBrowser } from './chromium.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const START = `
  import { render } from 'preact';
  import { TimetableClient } from 'lectern/client';
  import { Lessons } from './examples/react-timetable.jsx';
  const { access_token: token } = await (await fetch('login')).json();
  const client = new TimetableClient({ baseUrl: new URL('.', location.href), token });
  document.body.replaceChildren();
  render(<Lessons client={client} query={{ type: ['Lab'] }} />, document.body);`;

test('the list of the React example follows changes', { skip: NO_BROWSER ?? false }, async (t) => {
  const { outputFiles } = await build({
    stdin: { contents: START, resolveDir: ROOT, loader: 'jsx' },
    bundle: true,
    write: false,
    format: 'esm',
    jsx: 'automatic',
    alias: {
      react: 'preact/compat',
      'react/jsx-runtime': 'preact/jsx-runtime',
      'lectern/client': `${ROOT}/src/client/client.ts`,
    },
  });
  const views = new PublishedViews(EVENTS);
  // A page of the service, whose policy allows requests to the service.
  const pages = { isShown: true, isHome: false, folder: BUILT_PAGES };
  const { port } = await serve(t, setUp({ views, dev: true, pages }).handler);
  const browser = await openBrowser(t);
  const { page, errors } = await newPage(browser);
  await page.goto(`http://127.0.0.1:${port}/api/v1/view`);
  await page.locator('[aria-busy="false"]').waitFor();
  await page.evaluate(`(async () => { ${outputFiles[0]?.text} })()`);
  const labs = EVENTS.filter(({ type }) => type === 'Lab').length;
  await page
    .locator('li')
    .nth(labs - 1)
    .waitFor();
  t.equal(await page.locator('li').count(), labs);
  views.publishEvents(EVENTS.map((event) => ({ ...event, title: 'Moved' })));
  await page.locator('li', { hasText: 'Moved' }).first().waitFor();
  t.same(errors, []);
});
