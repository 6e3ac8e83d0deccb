/** Properties of verification over arbitrary tokens: accepted tokens are signed by a known key, canonical, and within their claims. */
import fc from 'fast-check';
import { test } from 'tap';
import { Authenticator } from '../../src/auth/authenticator.js';
import { createClaimTable } from '../../src/auth/identity.js';
import { createVerifier } from '../../src/auth/verifier.js';
import { SECRET } from '../auth/tokens.js';
import { recordFigure } from '../hard/figures.mjs';
import { HARD, size } from '../hard/size.js';
import { AUDIENCE, claims, goodTokens, ISSUER, KEY_SETS, make } from './hostile-tokens.js';

const RUNS = size(3000, 50_000);
const SEED = 20_240_902;
const SECOND_MS = 1000;
const TOLERANCE_MS = 5 * SECOND_MS;
const PROPERTIES = 4;

/** Number of properties that held; a failure throws before the count. */
let held = 0;

const authenticator = new Authenticator({
  verifier: createVerifier({
    keySets: KEY_SETS,
    issuer: ISSUER,
    audience: AUDIENCE,
    clockToleranceMs: TOLERANCE_MS,
  }),
  table: createClaimTable(),
  enrolments: null,
  mode: 'uuid',
});

/** Whether a token is accepted. Requested twice, because the remembered answer must not differ; nothing may be thrown. */
async function isLetIn(token: string): Promise<boolean> {
  const { outcome } = await authenticator.verify(token);
  if (outcome !== 'ok' && outcome !== 'invalid') throw new Error(`"${outcome}"`);
  if ((authenticator.lookup(token) !== undefined) !== (outcome === 'ok'))
    throw new Error('remembered otherwise');
  return outcome === 'ok';
}

test('good tokens are accepted', async (t) => {
  for (const token of goodTokens()) t.ok(await isLetIn(token));
});

test('arbitrary texts are refused', async (t) => {
  const part = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.base64String({ maxLength: 60 }),
    fc.json().map((text) => Buffer.from(text).toString('base64url')),
    fc.constantFrom(...goodTokens().flatMap((token) => token.split('.'))),
  );
  const token = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.array(part, { maxLength: 6 }).map((parts) => parts.join('.')),
  );
  // Parts of good tokens can be joined unchanged.
  const good = new Set(goodTokens());
  await fc.assert(
    fc.asyncProperty(token, async (text) => (await isLetIn(text)) === false || good.has(text)),
    { numRuns: RUNS, seed: SEED },
  );
  t.pass(`${RUNS} texts`);
  held++;
});

test('a good token with any change is refused', async (t) => {
  const change = fc.record({
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    removed: fc.integer({ min: 0, max: 4 }),
    put: fc.oneof(
      fc.string({ unit: fc.constantFrom(...'ABCxyz019-_=.+/'), maxLength: 4 }),
      fc.string({ unit: 'binary', maxLength: 3 }),
    ),
  });
  let changed = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...goodTokens()),
      fc.array(change, { minLength: 1, maxLength: 3 }),
      async (token, changes) => {
        let text = token;
        for (const { at, removed, put } of changes) {
          const place = Math.floor(at * text.length);
          text = text.slice(0, place) + put + text.slice(place + removed);
        }
        if (text === token) return true;
        changed++;
        return (await isLetIn(text)) === false;
      },
    ),
    { numRuns: RUNS, seed: SEED },
  );
  t.ok(changed > RUNS / 2, `${changed} changed tokens`);
  held++;
});

/** The claims that an accepted token must have, checked without the verifier. */
function isWithin(said: Record<string, unknown>, nowMs: number): boolean {
  const { sub, exp, nbf, iss, aud } = said;
  const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
  return (
    typeof sub === 'string' &&
    sub !== '' &&
    iss === ISSUER &&
    (aud === AUDIENCE || (Array.isArray(aud) && aud.includes(AUDIENCE))) &&
    isNumber(exp) &&
    exp * SECOND_MS > nowMs - TOLERANCE_MS - SECOND_MS &&
    (nbf === undefined || (isNumber(nbf) && nbf * SECOND_MS < nowMs + TOLERANCE_MS + SECOND_MS))
  );
}

test('a well-signed token with arbitrary claims is accepted only if they are valid', async (t) => {
  const nowSeconds = Math.floor(Date.now() / SECOND_MS);
  const anything = fc.jsonValue({ maxDepth: 2 });
  const time = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.integer({ min: -90, max: 90 }).map((seconds) => nowSeconds + 4000 * seconds),
    },
    { weight: 1, arbitrary: fc.double() },
    { weight: 1, arbitrary: anything },
  );
  const said = fc.record(
    {
      sub: fc.oneof(
        { weight: 3, arbitrary: fc.string({ maxLength: 20 }) },
        { weight: 1, arbitrary: anything },
      ),
      exp: time,
      nbf: time,
      iat: time,
      iss: fc.oneof({ weight: 5, arbitrary: fc.constant(ISSUER) }, { weight: 1, arbitrary: anything }),
      aud: fc.oneof(
        { weight: 3, arbitrary: fc.constant(AUDIENCE) },
        { weight: 2, arbitrary: fc.constant([AUDIENCE, 'other']) },
        { weight: 1, arbitrary: fc.array(anything, { maxLength: 3 }) },
        { weight: 1, arbitrary: anything },
      ),
      studyGroup: anything,
      lecturerId: anything,
      groupId: anything,
    },
    { requiredKeys: ['sub', 'exp', 'iss', 'aud'] },
  );
  let letIn = 0;
  await fc.assert(
    fc.asyncProperty(said, async (record) => {
      const token = make({ alg: 'HS256', typ: 'JWT' }, record, SECRET);
      if (!(await isLetIn(token))) return true;
      letIn++;
      // As it was written: JSON has neither NaN nor undefined.
      return isWithin(JSON.parse(JSON.stringify(record)) as Record<string, unknown>, Date.now());
    }),
    { numRuns: RUNS, seed: SEED },
  );
  t.ok(letIn > RUNS / 50, `${letIn} of ${RUNS} were let in`);
  held++;
});

test('a good token with other headers is accepted only if the headers are harmless', async (t) => {
  const more = fc.dictionary(
    fc.oneof(
      fc.constantFrom('crit', 'b64', 'jwk', 'jku', 'x5u', 'zip', 'kid', 'typ', 'alg'),
      fc.string({ maxLength: 5 }),
    ),
    fc.oneof(
      fc.constantFrom('none', 'HS256', 'HS512', 'RS256', 'none ', 'hs256'),
      fc.jsonValue({ maxDepth: 1 }),
    ),
    { maxKeys: 4 },
  );
  let letIn = 0;
  await fc.assert(
    fc.asyncProperty(more, async (fields) => {
      const header = { alg: 'HS256', ...fields };
      if (!(await isLetIn(make(header, claims(), SECRET)))) return true;
      letIn++;
      // The key is only an HS256 secret, and critical headers are not supported.
      return header.alg === 'HS256' && !('crit' in fields) && fields.b64 !== false;
    }),
    { numRuns: RUNS, seed: SEED },
  );
  t.ok(letIn > RUNS / 50, `${letIn} of ${RUNS} were let in`);
  held++;
});

test('all properties held in every process', async (t) => {
  t.equal(held, PROPERTIES);
  if (HARD)
    recordFigure('token-properties', `${held} of ${PROPERTIES} properties hold for ${RUNS} tokens each`);
});
