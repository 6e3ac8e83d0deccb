/** Allowed values of token options, alone and combined. */
import { test } from 'tap';
import type { ServiceOptions } from '../../src/options/option-types.js';
import { resolveSettings } from '../../src/options/resolve.js';

const ADDRESS = 'https://issuer.example/keys';

test('impossible token options are refused without repeating an address', async (t) => {
  const cases: [options: Partial<ServiceOptions>, message: RegExp][] = [
    [
      { jwks: 'https://user:hidden@issuer.example/keys' },
      /^--jwks \(LECTERN_JWKS\) is invalid: its address must not hold a user or password$/,
    ],
    [{ jwks: 'https://' }, /it is not a valid address; expected https:/],
    [
      { jwks: 'ftp://user:hidden@issuer.example/keys' },
      /^--jwks \(LECTERN_JWKS\) is invalid: a key set of the scheme ftp cannot be read; expected a path, http:\/\/… or https:\/\/…$/,
    ],
    [{ jwks: '' }, /must not be empty/],
    [{ jwks: ADDRESS, jwksRefreshSeconds: 0.5 }, /--jwks-refresh-seconds .* from 1 to 86400/],
    [{ jwksRefreshSeconds: 60 }, /^--jwks-refresh-seconds has no effect/],
    [
      { jwks: 'keys.json', jwksRefreshSeconds: 60 },
      /^--jwks-refresh-seconds has no effect, as --jwks is not/,
    ],
    [{ tokenType: 'at+jwt', issuer: 'i' }, /^--token-type at\+jwt needs --issuer and --audience/],
    [{ tokenType: 'at+jwt', audience: 'a' }, /^--token-type at\+jwt needs/],
    [{ tokenType: 'jwt' as 'any' }, /--token-type .* must be any or at\+jwt/],
  ];
  for (const [options, message] of cases) {
    t.throws(() => resolveSettings({ source: 'x', ...options }), { code: 'option-invalid', message });
    t.throws(() => resolveSettings({ source: 'x', ...options }), { message: /^(?!.*hidden)/ });
  }
});

test('token options have defaults, which a key file may keep', async (t) => {
  t.match(resolveSettings({ source: 'x', jwks: 'keys.json' }), {
    jwks: 'keys.json',
    jwksRefreshSeconds: 300,
    tokenType: 'any',
  });
  t.equal(resolveSettings({ source: 'x', jwks: ADDRESS, jwksRefreshSeconds: 60 }).jwksRefreshSeconds, 60);
  t.equal(resolveSettings({ source: 'x', jwks: 'HTTPS://issuer.example' }).jwks, 'HTTPS://issuer.example');
});
