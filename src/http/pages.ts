/**
 * GET {base}/view: the pages for people, and the files that they and the pages of feeds load. The files come
 * from `npm run build`; their names hold a hash of their content, so browsers keep them for good.
 */
import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { keptBody } from '../answer/body.js';
import { type Coding, negotiateCoding } from './answer/compression.js';
import { matchedEntityTag } from './answer/conditional.js';
import { sendProblem } from './answer/problem.js';
import { sendBody, sendEmpty } from './answer/respond.js';
import type { Exchange } from './exchange.js';
import type { PageRoute } from './routes.js';

export interface PageOptions {
  /** Whether {base}/view is there. Without it, only the files for pages of feeds are. */
  readonly isShown: boolean;
  /** Whether `/` leads to the view. */
  readonly isHome: boolean;
  /** Address of the folder with the built files; null if they were not built. */
  readonly folder: string | null;
}

/** The folder of built files: a part of the package; in a checkout, of the last build. Null if there is none. */
export function findPages(): string | null {
  // A program bundled as CommonJS has no address, and no built files beside it.
  if ((import.meta.url as string | undefined) === undefined) return null;
  const places = [new URL('./pages/', import.meta.url), new URL('../../dist/http/pages/', import.meta.url)];
  return places.find((place) => existsSync(new URL('built.json', place)))?.href ?? null;
}

/** What `scripts/build-pages.mjs` writes to built.json. */
interface Built {
  readonly script: string;
  readonly style: string;
  /** By name: the media type, the codings that there are, and whether the name holds a hash of the content. */
  readonly files: Readonly<
    Record<string, { readonly type: string; readonly codings: readonly Coding[]; readonly isHashed: boolean }>
  >;
}

/** Reads nothing before the first request, because most services are never asked for a page. */
export function pageRoutes(
  basePath: string,
  { isShown, isHome, folder }: PageOptions,
  policy: string,
): PageRoute[] {
  const route = (path: string, handle: PageRoute['handle']): PageRoute => {
    return { kind: 'page', label: '/view', path, handle };
  };
  const view = `${basePath}/view`;
  if (folder === null) return isShown ? [route(view, sendNotBuilt)] : [];
  const { script, style, files } = JSON.parse(readFileSync(new URL('built.json', folder), 'utf8')) as Built;
  const routes = Object.entries(files).map(([name, { type, codings, isHashed }]) => {
    const headers = [
      ...['Content-Type', type, 'Content-Security-Policy', policy],
      ...['Cache-Control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache'],
    ];
    // The service worker also serves the pages of feeds, which lie beside {base}/view.
    if (name === 'worker.js') headers.push('Service-Worker-Allowed', '../');
    return route(`${view}/${name}`, fileSender(new URL(name, folder), codings, headers));
  });
  if (isHome) {
    routes.push(
      route('/', (exchange) => {
        const headers = [
          'Location',
          `${basePath.slice(1)}/view`.replace(/^\//, ''),
          'Cache-Control',
          'no-cache',
        ];
        sendEmpty(exchange, 302, [...headers, 'Content-Length', '0']);
      }),
    );
  }
  if (isShown) {
    const headers = ['Content-Type', 'text/html; charset=utf-8', 'Cache-Control', 'no-cache'];
    headers.push('Content-Security-Policy', policy, 'Referrer-Policy', 'no-referrer');
    const beside = textSender(shell('./view/', script, style), headers);
    const below = textSender(shell('./', script, style), headers);
    // A trailing slash changes the base of relative links.
    routes.push(
      route(view, (exchange) => (exchange.path.endsWith('/') ? below(exchange) : beside(exchange))),
    );
  }
  return routes;
}

function sendNotBuilt(exchange: Exchange): void {
  sendProblem(exchange, { code: 'not-found', detail: 'The pages are not built yet: run npm run build.' });
}

/** Links are relative, because a proxy may add a prefix. */
function shell(files: string, script: string, style: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Timetable</title>
<link rel="icon" href="${files}icon.svg" type="image/svg+xml">
<link rel="manifest" href="${files}app.webmanifest">
<link rel="stylesheet" href="${files}${style}">
<script type="module" src="${files}${script}"></script>
</head>
<body>
<div id="app"></div>
<noscript><p>This page needs JavaScript.</p></noscript>
</body>
</html>
`;
}

function textSender(text: string, headers: readonly string[]): PageRoute['handle'] {
  const bytes = Buffer.from(text);
  const tag = strongTag(bytes);
  return (exchange) => send(exchange, bytes, [...headers, 'ETag', tag], tag);
}

function fileSender(file: URL, codings: readonly Coding[], headers: readonly string[]): PageRoute['handle'] {
  const known = new Map<Coding | null, { readonly bytes: Buffer; readonly tag: string }>();
  return (exchange) => {
    const wanted = negotiateCoding(exchange.headers.acceptEncoding ?? '');
    const coding = codings.find((each) => each === wanted) ?? null;
    let found = known.get(coding);
    if (found === undefined) {
      const ending = coding === null ? '' : coding === 'br' ? '.br' : '.gz';
      const bytes = readFileSync(new URL(`${file.href}${ending}`));
      found = { bytes, tag: strongTag(bytes) };
      known.set(coding, found);
    }
    const own = ['ETag', found.tag, ...(codings.length === 0 ? [] : ['Vary', 'Accept-Encoding'])];
    if (coding !== null) own.push('Content-Encoding', coding);
    send(exchange, found.bytes, [...headers, ...own], found.tag);
  };
}

/** RFC 9110 section 8.8.3. */
function strongTag(bytes: Buffer): string {
  return `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`;
}

function send(exchange: Exchange, bytes: Buffer, headers: string[], tag: string): void {
  exchange.fields = exchange.fields.withoutPolicy ?? exchange.fields;
  const { ifNoneMatch } = exchange.headers;
  if (ifNoneMatch !== undefined && matchedEntityTag(ifNoneMatch, tag) !== null) {
    sendEmpty(exchange, 304, headers);
    return;
  }
  headers.push('Content-Length', String(bytes.length));
  sendBody(exchange, 200, headers, keptBody(bytes));
}
