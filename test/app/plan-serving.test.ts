/** What serving threads are given. Inside, because a plan has no secrets, and nobody outside sees it. */
import { inspect } from 'node:util';
import { test } from 'tap';
import { planServing } from '../../src/app/open-servers.js';
import type { ServeOptions } from '../../src/index.js';
import { resolveOptions } from '../../src/options/resolve.js';
import { settingsOf } from '../../src/options/table.js';

const HIDDEN = 'a text of at least 32 bytes that is secret';
const READING = { unknownParameters: 'reject', identifiers: 'uuid', timeZone: 'Europe/Berlin' } as const;
const LIMITS = { staleMsMax: 1000, cacheBytesMax: 2 ** 20 };

function planOf(options: ServeOptions): ReturnType<typeof planServing> {
  const { auth = {}, feed, ...settings } = resolveOptions('serve', options);
  const parts = { auth: resolveOptions('auth', auth), feed: feed && resolveOptions('feed', feed) };
  return planServing({ ...settings, ...parts }, READING, LIMITS);
}

test('settings reach the serving threads as plain data, without secrets and without the logger', async (t) => {
  const log = { info() {}, warn() {}, error() {} };
  const plan = planOf({
    auth: {
      hs256Secret: `${HIDDEN}\n${HIDDEN}`,
      jwks: { keys: [{ kty: HIDDEN }] },
      enrolments: { [HIDDEN]: {} },
      issuer: 'https://login.example.org',
      claims: { studyGroup: ['groups'] },
    },
    feed: { secret: `${HIDDEN}\n${HIDDEN}`, days: 9, revocations: { [HIDDEN]: 0 } },
    admin: { port: 0 },
    log,
    corsOrigins: ['https://timetable.example.org'],
    publicUrl: 'https://timetable.example.org',
    streamsMax: 7,
    accessLog: 0.5,
    workers: 2,
  });
  t.same(structuredClone(plan), plan);
  t.notMatch(inspect(plan, { depth: null }), /secret/i);
  t.match(plan, {
    auth: { issuer: 'https://login.example.org', claims: { studyGroup: ['groups'] }, identifiers: 'uuid' },
    feeds: { days: 9, publicUrl: 'https://timetable.example.org' },
    development: null,
    streamsMax: 7,
    accessLog: 0.5,
    workers: 2,
    timeZone: 'Europe/Berlin',
    ...LIMITS,
  });
});

test('options of serve() that may hold secrets or functions are known, and planServing leaves them out', async (t) => {
  const objects = [...settingsOf('serve')].filter(([, { flag, isSecret }]) => flag === null || isSecret);
  t.same(objects.map(([name]) => name).sort(), ['admin', 'auth', 'feed', 'log']);
});
