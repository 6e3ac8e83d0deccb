/** The settings of bearer tokens: keys, required claims, and the events of their users. */

import { claimsFault } from '../auth/identity.js';
import { SECRET_BYTES_MIN, type SecretUse, secretsIn } from '../auth/key-set.js';
import { keySourceFault } from '../auth/remote-keys.js';
import { TOKEN_TYPES } from '../auth/verifier.js';
import { IDENTITY_FIELDS } from '../model/fields.js';
import {
  amount,
  anyOf,
  given,
  inGroup,
  isFunction,
  isObject,
  type Kind,
  oneOf,
  PATH,
  type Setting,
  text,
} from './setting.js';

/** The value of a secret: text or, in a program, bytes. */
export function secretKind(use: SecretUse): Kind {
  return {
    unit: 'secret',
    range: `at least ${SECRET_BYTES_MIN} bytes, as text or as base64:… or base64url:…; one secret a line, the present one first`,
    fault(value) {
      if (!(value instanceof Uint8Array) && (typeof value !== 'string' || value === ''))
        return 'it must not be empty';
      const secrets = secretsIn(value, use);
      return typeof secrets === 'string' ? secrets : null;
    },
  };
}

const KEY_SET: Kind = {
  unit: 'file-or-address',
  range: 'a path or an http(s) address; in a program also a parsed key set',
  fault(value) {
    if (isObject(value)) return null;
    if (typeof value !== 'string') return 'it must be a JSON Web Key Set, or its address';
    return value === '' ? 'it must not be empty' : keySourceFault(value);
  },
};

/** Adds `studyGroup=groups,groupId=gid` to the earlier claims. */
const CLAIMS: Kind = {
  unit: 'field=claim',
  range: `field=claim, with one of the fields ${anyOf(IDENTITY_FIELDS.map(({ name }) => name))}`,
  parse(argument, previous) {
    const claims: Record<string, readonly string[]> = {
      ...(previous as Record<string, readonly string[]> | undefined),
    };
    for (const part of argument.split(',')) {
      const equals = part.indexOf('=');
      const field = part.slice(0, Math.max(0, equals)).trim();
      const claim = part.slice(equals + 1).trim();
      if (claim === '' || !IDENTITY_FIELDS.some(({ name }) => name === field)) return argument;
      claims[field] = [...(claims[field] ?? []), claim];
    }
    return claims;
  },
  fault: (value) => (isObject(value) ? claimsFault(value) : `it must be ${CLAIMS.range}`),
};

export const TOKEN_SETTINGS: readonly Setting[] = inGroup('Tokens', 'auth', {
  hs256Secret: {
    isEnvironmentOnly: true,
    isSecret: true,
    kind: secretKind('HS256'),
    help: 'secret of HS256 tokens; further lines are earlier secrets, whose tokens stay valid',
  },
  hs256SecretFile: {
    kind: PATH,
    help: `file with the secret of HS256 tokens in its first line, at least ${SECRET_BYTES_MIN} bytes, as text or as base64:… or base64url:…; further lines are earlier secrets, whose tokens stay valid; read again when it changes`,
  },
  jwks: {
    isSecret: true,
    kind: KEY_SET,
    help: 'JSON Web Key Set with the public keys of tokens; a file is read again when it changes, an address is fetched regularly',
  },
  jwksRefreshSeconds: {
    kind: amount('seconds', 1, 86_400),
    default: 300,
    help: 'time between two regular fetches of the key set; a withdrawn key is accepted at most this long. While fetching fails, the last keys are used for a day',
  },
  tokenType: {
    kind: oneOf('type', TOKEN_TYPES),
    default: 'any',
    help: 'accept any JWT, or only access tokens of RFC 9068, which need --issuer and --audience',
  },
  issuer: {
    kind: text('iss'),
    help: 'accept only tokens of this issuer',
  },
  audience: {
    kind: text('aud'),
    help: 'accept only tokens for this audience',
  },
  claims: {
    flag: '--claim',
    group: 'Users',
    kind: CLAIMS,
    help: "token claim that selects a user's events, such as studyGroup=groups; repeatable or comma-separated",
  },
  enrolmentsFile: {
    flag: '--enrolments',
    group: 'Users',
    kind: PATH,
    help: 'JSON file of enrolments, read again when it changes: {"sub": {"studyGroup": ["…"]}}',
  },
  enrolments: {
    flag: null,
    group: 'Users',
    kind: given('an object of users', isObject),
    help: 'enrolments: for each user, values by field',
  },
  identify: {
    places: ['handler'],
    flag: null,
    group: 'Users',
    kind: given('a function', isFunction),
    help: 'function that identifies the user of a request, if the embedding program checks tokens itself',
  },
  auth: {
    places: ['serve', 'handler'],
    flag: null,
    kind: given('an object of options', isObject),
    help: 'how bearer tokens are verified: at least one kind of key',
  },
});
