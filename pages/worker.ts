/**
 * The service worker: keeps the files of the pages, and the last state of each feed's page, for times without
 * a connection. Answers of the API are not kept, because they belong to a token.
 */
declare const FILES: readonly string[];

interface Waiting extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface Fetching extends Waiting {
  readonly request: Request;
  respondWith(answer: Promise<Response>): void;
}
const worker = self as unknown as {
  skipWaiting(): Promise<void>;
  readonly clients: { claim(): Promise<void> };
  addEventListener(type: 'install' | 'activate', listener: (event: Waiting) => void): void;
  addEventListener(type: 'fetch', listener: (event: Fetching) => void): void;
};

const FOLDER = new URL('.', location.href);
const FEEDS = new URL('../feeds/', FOLDER).href;
const VIEW = FOLDER.href.replace(/\/$/, '');
const FILES_KEPT = 'lectern-files';
const PAGES_KEPT = 'lectern-pages';

worker.addEventListener('install', (event) => {
  event.waitUntil(worker.skipWaiting());
});

worker.addEventListener('activate', (event) => {
  const known = new Set(FILES.map((name) => new URL(name, FOLDER).href));
  const clean = async (): Promise<void> => {
    const files = await caches.open(FILES_KEPT);
    await Promise.all((await files.keys()).map(({ url }) => (known.has(url) ? true : files.delete(url))));
    // Later pages need the parts that are loaded when they are first shown.
    await Promise.allSettled([...known].map(async (url) => (await files.match(url)) ?? files.add(url)));
    await worker.clients.claim();
  };
  event.waitUntil(clean());
});

worker.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  url.hash = '';
  if (request.method !== 'GET' || request.headers.has('Authorization')) return;
  const place = url.href.replace(/\?.*$/, '');
  const isFile = place.startsWith(FOLDER.href) && place !== FOLDER.href;
  const isPage = (place.startsWith(FEEDS) && /\.html\/?$/.test(place)) || place.replace(/\/$/, '') === VIEW;
  if (isFile) event.respondWith(kept(place, request));
  else if (isPage) event.respondWith(newest(place, request));
});

/** Names hold a hash, so what is kept is right. */
async function kept(place: string, request: Request): Promise<Response> {
  const files = await caches.open(FILES_KEPT);
  const found = /-[A-Z0-9]{8}\./.test(place) ? await files.match(place) : undefined;
  if (found !== undefined) return found;
  try {
    const answer = await fetch(request);
    if (answer.ok) await files.put(place, answer.clone());
    return answer;
  } catch (error) {
    const last = await files.match(place);
    if (last !== undefined) return last;
    throw error;
  }
}

/** The page as it is now, or else as it was. A feed that has ended is forgotten. */
async function newest(place: string, request: Request): Promise<Response> {
  const pages = await caches.open(PAGES_KEPT);
  try {
    const answer = await fetch(request);
    if (answer.ok) await pages.put(place, answer.clone());
    else if (answer.status === 404) await pages.delete(place);
    return answer;
  } catch (error) {
    const last = await pages.match(place);
    if (last === undefined) throw error;
    const headers = new Headers(last.headers);
    headers.set('Lectern-Kept', 'yes');
    return new Response(last.body, { headers });
  }
}
