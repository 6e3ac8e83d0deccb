import {
  CONNECTIONS_MAX_DEFAULT,
  CONNECTIONS_MAX_MAX,
  DRAIN_SECONDS_MAX,
  OVERLOAD_MS_DEFAULT,
  OVERLOAD_MS_MAX,
  SERVING_THREADS_MAX,
} from '../limits.js';
import { amount, count, HOST, type Kind, oneOf, PORT, type Setting, text } from './setting.js';

const BASE_PATH: Kind = text('path', (path) =>
  path === '/' || isBasePath(path)
    ? null
    : 'it must begin with "/" and have only letters, digits and "-._~" in its segments',
);

/** Where and how requests are taken. */
export const LISTENING_SETTINGS: readonly Setting[] = [
  {
    name: 'port',
    places: ['serve'],
    flag: '--port',
    short: '-p',
    group: 'Listening',
    kind: PORT,
    default: 3000,
    help: 'TCP port; 0 takes any free one',
  },
  {
    name: 'host',
    places: ['serve'],
    flag: '--host',
    group: 'Listening',
    kind: HOST,
    default: '127.0.0.1',
    help: 'address to listen on; 0.0.0.0 is reachable from other machines',
  },
  {
    name: 'workers',
    places: ['serve'],
    flag: '--workers',
    group: 'Listening',
    kind: count('number', 1, SERVING_THREADS_MAX, ['auto']),
    default: 1,
    help: 'serving threads, which share one snapshot; auto starts one per core',
  },
  {
    name: 'connectionsMax',
    places: ['serve'],
    flag: '--connections-max',
    group: 'Listening',
    kind: count('number', 1, CONNECTIONS_MAX_MAX),
    default: CONNECTIONS_MAX_DEFAULT,
    help: 'open connections per serving thread; further ones are closed at once',
  },
  {
    name: 'overloadMs',
    places: ['serve'],
    flag: '--overload-ms',
    group: 'Listening',
    kind: amount('milliseconds', 0, OVERLOAD_MS_MAX),
    default: OVERLOAD_MS_DEFAULT,
    help: 'longest wait for the CPU in milliseconds before excess requests get 503; 0 disables',
  },
  {
    name: 'drainSeconds',
    places: [],
    flag: '--drain-seconds',
    group: 'Listening',
    kind: amount('seconds', 0, DRAIN_SECONDS_MAX),
    default: 0,
    help: 'after SIGTERM or SIGINT, keep answering this long before the port closes, each answer with Connection: close',
  },
  {
    name: 'basePath',
    places: ['serve', 'handler'],
    flag: '--base-path',
    group: 'Listening',
    kind: BASE_PATH,
    default: '/api/v1',
    help: 'path before every endpoint except /health',
  },
  {
    name: 'mode',
    places: ['serve'],
    flag: '--mode',
    group: 'Listening',
    kind: oneOf('mode', ['production', 'development']),
    default: 'production',
    help: 'development adds /login, /docs and /health, and needs no key',
  },
];

function isBasePath(path: string): boolean {
  // The router takes ":" and "*" for patterns, and clients resolve "." and ".." away.
  return /^(?:\/[A-Za-z0-9._~-]+)+\/?$/.test(path) && !/\/\.{1,2}(?:\/|$)/.test(path);
}
