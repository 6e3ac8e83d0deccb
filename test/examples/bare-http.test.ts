import { test } from 'tap';
import { hs256 } from '../auth/tokens.js';
import { runExample } from './run-example.js';

const SECRET = 'the secret of the example, with enough bytes';
const ENVIRONMENT = { TIMETABLE_SECRET: SECRET };

function bearer(claims: object, secret = SECRET): { headers: Record<string, string> } {
  const token = hs256({ sub: 'anna', exp: Math.floor(Date.now() / 1000) + 600, ...claims }, { secret });
  return { headers: { Authorization: `Bearer ${token}` } };
}

test('bare-http.mjs verifies tokens itself', async (t) => {
  const { schedule, end } = await runExample('bare-http.mjs', ENVIRONMENT);
  try {
    t.match(schedule, /^http:\/\/127\.0\.0\.1:\d+\/api\/v1\/schedule$/, 'its address is one line');
    const filtered = await fetch(`${schedule}?studyGroup=BIO-1D&type=LEC&limit=1`, bearer({}));
    t.equal(filtered.status, 200);
    t.match(await filtered.json(), [{ studyGroup: 'BIO-1D', type: 'LEC' }]);
    t.match(filtered.headers.get('link'), '</api/v1/schedule?');

    const personal = await fetch(`${schedule}/personal`, bearer({ studyGroups: ['BIO-1D'] }));
    t.equal(personal.headers.get('x-total-count'), '136');
    t.equal((await fetch(`${schedule}/personal`, bearer({}))).status, 403, 'no claim that selects events');

    t.equal((await fetch(schedule)).status, 401);
    const forged = await fetch(schedule, bearer({}, 'some other secret that is long enough'));
    t.equal(forged.status, 401);
    t.match(forged.headers.get('www-authenticate'), 'error="invalid_token"');
    t.equal((await fetch(schedule, bearer({ exp: 1 }))).status, 401, 'expired');
  } finally {
    t.strictSame(await end(), { code: 0, stderr: '' }, 'ends by itself when it is asked to');
  }
});

test('bare-http.mjs answers unknown paths with 404', async (t) => {
  const { schedule, end } = await runExample('bare-http.mjs', ENVIRONMENT);
  try {
    const inside = await fetch(`${schedule}/nothing`, bearer({}));
    t.equal(inside.status, 404);
    t.match(await inside.json(), { code: 'not-found', instance: '/api/v1/schedule/nothing' });
    t.equal((await fetch(new URL('/nothing', schedule))).status, 404);
    t.equal((await fetch(new URL('/', schedule))).status, 200);
  } finally {
    t.strictSame(await end(), { code: 0, stderr: '' });
  }
});

test('bare-http.mjs reports a secret that is missing or too short', async (t) => {
  await t.rejects(runExample('bare-http.mjs', {}), { message: /ended with 1: TIMETABLE_SECRET is not set/ });
  await t.rejects(runExample('bare-http.mjs', { TIMETABLE_SECRET: 'short' }), { message: /at least 32/ });
});
