/** Options for rotations and for credentials of sources that contradict each other. */
import { test } from 'tap';
import { runHere } from './run-here.js';

const ADDRESS = ['serve', 'http://127.0.0.1:9/', '--dev'];
const HIDDEN = 'a value that no message shows';

const CASES: readonly (readonly [argv: readonly string[], message: RegExp])[] = [
  [
    [...ADDRESS, '--hs256-secret-previous-file', 'f'],
    /--hs256-secret-previous-file has no effect without LECTERN_HS256_SECRET or --hs256-secret-file/,
  ],
  [
    [...ADDRESS, '--upstream-token-url', 'https://issuer.example/'],
    /--upstream-token-url needs --upstream-client-id, and one of LECTERN_UPSTREAM_CLIENT_SECRET and /,
  ],
  [
    [...ADDRESS, '--upstream-client-id', 'me'],
    /--upstream-client-id has no effect without --upstream-token-url/,
  ],
  [
    [...ADDRESS, '--header', `https://other.example X-Key: ${HIDDEN}`],
    /header X-Key is for https:\/\/other\.example, but no source has this origin; expected one of http:\/\/127/,
  ],
];

test('credential options without effect are refused', async (t) => {
  for (const [argv, message] of CASES) {
    const { code, stderr } = await runHere(t, [...argv]);
    t.equal(code, 2, message.source);
    t.match(stderr, message);
    t.notMatch(stderr, HIDDEN);
  }
});
