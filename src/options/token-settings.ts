import { SECRET_BYTES_MIN } from '../auth/key-set.js';
import { keySourceFault, REMOTE_KEYS_SECONDS } from '../auth/remote-keys-plan.js';
import { TOKEN_TYPES } from '../auth/verifier.js';
import { amount, oneOf, type Setting, text } from './setting.js';

/** How tokens are verified. */
export const TOKEN_SETTINGS: readonly Setting[] = [
  {
    name: 'hs256Secret',
    flags: null,
    environment: 'LECTERN_HS256_SECRET',
    group: 'Tokens',
    description: 'secret of HS256 tokens, at least 32 bytes',
    fault: secret,
  },
  {
    name: 'hs256SecretFile',
    flags: '--hs256-secret-file <file>',
    environment: 'LECTERN_HS256_SECRET_FILE',
    group: 'Tokens',
    description: 'file with the secret of HS256 tokens, at least 32 bytes',
    fault: text,
  },
  {
    name: 'jwks',
    flags: '--jwks <file-or-address>',
    environment: 'LECTERN_JWKS',
    group: 'Tokens',
    description:
      'JSON Web Key Set with the public keys that sign tokens; one at an http(s) address is fetched again and again',
    fault: (value) => text(value) ?? keySourceFault(value as string),
    isSecret: true,
  },
  {
    name: 'jwksRefreshSeconds',
    flags: '--jwks-refresh-seconds <seconds>',
    environment: 'LECTERN_JWKS_REFRESH_SECONDS',
    group: 'Tokens',
    default: REMOTE_KEYS_SECONDS.refresh.default,
    description: 'fetch the key set of an address so often',
    ...amount(REMOTE_KEYS_SECONDS.refresh.min, REMOTE_KEYS_SECONDS.refresh.max),
  },
  {
    name: 'jwksCooldownSeconds',
    flags: '--jwks-cooldown-seconds <seconds>',
    environment: 'LECTERN_JWKS_COOLDOWN_SECONDS',
    group: 'Tokens',
    default: REMOTE_KEYS_SECONDS.cooldown.default,
    description: 'fetch it no more often than this, also after a failure or for a key that is not known',
    ...amount(REMOTE_KEYS_SECONDS.cooldown.min, REMOTE_KEYS_SECONDS.cooldown.max),
  },
  {
    name: 'jwksStaleSecondsMax',
    flags: '--jwks-stale-seconds-max <seconds>',
    environment: 'LECTERN_JWKS_STALE_SECONDS_MAX',
    group: 'Tokens',
    default: REMOTE_KEYS_SECONDS.stale.default,
    description: 'use its keys so long while they cannot be fetched again; then answer 503',
    ...amount(REMOTE_KEYS_SECONDS.stale.min, REMOTE_KEYS_SECONDS.stale.max),
  },
  {
    name: 'tokenType',
    flags: '--token-type <type>',
    environment: 'LECTERN_TOKEN_TYPE',
    group: 'Tokens',
    default: 'any',
    description: 'accept any JWT, or only access tokens of RFC 9068, which needs --issuer and --audience',
    ...oneOf(TOKEN_TYPES),
  },
  {
    name: 'issuer',
    flags: '--issuer <iss>',
    environment: 'LECTERN_ISSUER',
    group: 'Tokens',
    description: 'accept only tokens of this issuer',
    fault: text,
  },
  {
    name: 'audience',
    flags: '--audience <aud>',
    environment: 'LECTERN_AUDIENCE',
    group: 'Tokens',
    description: 'accept only tokens for this audience',
    fault: text,
  },
];

/** The value itself is never part of the message. */
function secret(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return text(value);
  const bytes = Buffer.byteLength(value);
  return bytes >= SECRET_BYTES_MIN ? null : `it has ${bytes} bytes; HS256 needs at least ${SECRET_BYTES_MIN}`;
}
