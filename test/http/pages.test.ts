/** The pages at {base}/view, as browsers get them: the frame, its files, and where there are none. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { type Test, test } from 'tap';
import type { PageOptions } from '../../src/http/pages.js';
import { bearer, PAGE_POLICY, type SetUpOptions, serve, setUp } from './harness.js';

const SCRIPT = 'main-ABCDEFGH.js';
const STYLE = 'main-ABCDEFGH.css';
const VIEW = '/api/v1/view';

/** A folder as the build writes it. */
function builtFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-pages-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const write = (name: string, content: string | Buffer): void => writeFileSync(join(folder, name), content);
  write(SCRIPT, 'script()');
  write(`${SCRIPT}.br`, 'as if it were Brotli');
  write(`${SCRIPT}.gz`, gzipSync('script()'));
  write(STYLE, 'main {}');
  write('worker.js', 'worker()');
  const file = (type: string, isHashed: boolean, codings: string[] = []) => ({ type, isHashed, codings });
  const files = {
    [SCRIPT]: file('text/javascript', true, ['br', 'gzip']),
    [STYLE]: file('text/css', true),
    'worker.js': file('text/javascript', false),
  };
  write('built.json', JSON.stringify({ script: SCRIPT, style: STYLE, files }));
  return pathToFileURL(`${folder}/`).href;
}

async function start(t: Test, pages: Partial<PageOptions> = {}, options: SetUpOptions = {}) {
  const all = { isShown: true, isHome: false, folder: builtFolder(t), ...pages };
  return serve(t, setUp({ pages: all, ...options }).handler);
}

test('the frame names its files relatively, has a strict policy, and is revalidated', async (t) => {
  const { send } = await start(t);
  for (const [path, prefix] of [
    [VIEW, './view/'],
    [`${VIEW}/`, './'],
    [`${VIEW}?of=room:1`, './view/'],
  ] as const) {
    const { status, headers, text } = await send(path);
    t.equal(status, 200, path);
    t.match(text, `<script type="module" src="${prefix}${SCRIPT}">`);
    t.match(text, `<link rel="stylesheet" href="${prefix}${STYLE}">`);
    t.notMatch(text, /<style|<script>|\son\w+=|https?:/);
    t.match(headers, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': PAGE_POLICY,
      'cache-control': 'no-cache',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    });
    const again = await send(path, { headers: { 'If-None-Match': headers.etag as string } });
    t.equal(again.status, 304);
    t.equal(again.headers['content-security-policy'], PAGE_POLICY);
  }
});

test('files are kept for good, and come as the client can read them', async (t) => {
  const { send } = await start(t);
  const plain = await send(`${VIEW}/${SCRIPT}`);
  t.equal(plain.text, 'script()');
  t.match(plain.headers, {
    'cache-control': 'public, max-age=31536000, immutable',
    'content-type': 'text/javascript',
    vary: 'Accept-Encoding',
  });
  const zipped = await send(`${VIEW}/${SCRIPT}`, { headers: { 'Accept-Encoding': 'gzip, zstd;q=0.1' } });
  t.equal(zipped.headers['content-encoding'], 'gzip');
  t.equal(gunzipSync(zipped.body).toString(), 'script()');
  const small = await send(`${VIEW}/${SCRIPT}`, { headers: { 'Accept-Encoding': 'br, gzip' } });
  t.equal(small.headers['content-encoding'], 'br');
  t.equal(
    new Set([plain, zipped, small].map(({ headers }) => headers.etag)).size,
    3,
    'a tag for each coding',
  );
  const other = await send(`${VIEW}/${SCRIPT}`, { headers: { 'Accept-Encoding': 'zstd' } });
  t.equal(other.headers['content-encoding'], undefined);
  const head = await send(`${VIEW}/${STYLE}`, { method: 'HEAD' });
  t.equal(head.headers['content-length'], '7');
  t.equal(head.text, '');
  t.equal((await send(`${VIEW}/${STYLE}`, { method: 'POST' })).status, 405);
  const worker = await send(`${VIEW}/worker.js`);
  t.match(worker.headers, { 'cache-control': 'no-cache', 'service-worker-allowed': '../' });
});

test('only the files of the build are served', async (t) => {
  const { send } = await start(t);
  for (const path of [
    'built.json',
    `${SCRIPT}.br`,
    '../schedule',
    '..%2fbuilt.json',
    '%2e%2e/x',
    'none.js',
  ]) {
    t.equal((await send(`${VIEW}/${path}`)).status, 404, path);
  }
});

test('in development / leads to the view, also behind a prefix', async (t) => {
  const { send } = await start(t, { isHome: true });
  const { status, headers } = await send('/');
  t.equal(status, 302);
  t.equal(headers.location, 'api/v1/view', 'relative');
  const root = await start(t, { isHome: true }, { basePath: '/' });
  t.equal((await root.send('/')).headers.location, 'view');
  t.equal((await root.send('/view')).status, 200);
  t.equal((await (await start(t)).send('/')).status, 404);
});

test('without pages there are none; feeds have the files for theirs, and not the view', async (t) => {
  const none = await start(t, { isShown: false });
  for (const path of [VIEW, `${VIEW}/${SCRIPT}`]) t.equal((await none.send(path)).status, 404, path);
  const feedSecrets = [Buffer.alloc(32, 1)];
  const feeds = await start(t, { isShown: false }, { feeds: {}, feedSecrets });
  t.equal((await feeds.send(VIEW)).status, 404);
  t.equal((await feeds.send(`${VIEW}/${SCRIPT}`)).status, 200);
  t.equal((await feeds.send('/api/v1/schedule', { headers: bearer() })).status, 200);
});

test('before the first build the view says what to do', async (t) => {
  const { send } = await start(t, { folder: null });
  const { status, text } = await send(VIEW);
  t.equal(status, 404);
  t.match(text, 'npm run build');
});
