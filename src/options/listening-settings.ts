import { CONNECTIONS_MAX_DEFAULT, OVERLOAD_MS_DEFAULT, SERVING_THREADS_MAX } from '../limits.js';
import { amount, count, HOST, inGroup, type Kind, oneOf, PORT, type Setting, text } from './setting.js';

/** As many descriptors as Linux gives to one process. */
const CONNECTIONS_MAX_MAX = 1_048_576;

const BASE_PATH: Kind = text('path', (path) =>
  path === '/' || isBasePath(path)
    ? null
    : 'it must begin with "/" and have only letters, digits and "-._~" in its segments',
);

/** Where and how requests are taken. */
export const LISTENING_SETTINGS: readonly Setting[] = inGroup('Listening', [
  {
    name: 'port',
    places: ['serve'],
    short: '-p',
    kind: PORT,
    default: 3000,
    help: 'TCP port; 0 takes any free one',
  },
  {
    name: 'host',
    places: ['serve'],
    kind: HOST,
    default: '127.0.0.1',
    help: 'address to listen on; 0.0.0.0 is reachable from other machines',
  },
  {
    name: 'workers',
    places: ['serve'],
    kind: count('number', 1, SERVING_THREADS_MAX, ['auto']),
    default: 1,
    help: 'serving threads, which share one snapshot; auto starts one per core',
  },
  {
    name: 'connectionsMax',
    places: ['serve'],
    kind: count('number', 1, CONNECTIONS_MAX_MAX),
    default: CONNECTIONS_MAX_DEFAULT,
    help: 'open connections per serving thread; further ones are closed at once',
  },
  {
    name: 'overloadMs',
    places: ['serve'],
    kind: amount('milliseconds', 0, 10_000),
    default: OVERLOAD_MS_DEFAULT,
    help: 'longest wait for the CPU in milliseconds before excess requests get 503; 0 disables',
  },
  {
    name: 'drainSeconds',
    places: [],
    kind: amount('seconds', 0, 3600),
    default: 0,
    help: 'after SIGTERM or SIGINT, keep answering this long before the port closes, each answer with Connection: close',
  },
  {
    name: 'basePath',
    places: ['serve', 'handler'],
    kind: BASE_PATH,
    default: '/api/v1',
    help: 'path before every endpoint except /health',
  },
  {
    name: 'mode',
    places: ['serve'],
    kind: oneOf('mode', ['production', 'development']),
    default: 'production',
    help: 'development adds /login, /docs and /health, and needs no key',
  },
]);

function isBasePath(path: string): boolean {
  // The router takes ":" and "*" for patterns, and clients resolve "." and ".." away.
  return /^(?:\/[A-Za-z0-9._~-]+)+\/?$/.test(path) && !/\/\.{1,2}(?:\/|$)/.test(path);
}
