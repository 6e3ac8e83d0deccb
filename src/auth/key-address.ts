import { LecternError } from '../errors.js';
import type { RemoteKeysPlan } from './remote-keys.js';

export function isAddress(jwks: string): boolean {
  return /^https?:\/\//i.test(jwks);
}

/** The fault of a path or address. It shows no more of the text than a scheme. */
export function keySourceFault(jwks: string): string | null {
  if (isAddress(jwks)) {
    if (!URL.canParse(jwks)) return 'it is not a valid address; expected https://…';
    const { username, password } = new URL(jwks);
    return username === '' && password === '' ? null : 'its address must not hold a user or password';
  }
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(jwks)?.[1]?.toLowerCase();
  return scheme === undefined
    ? null
    : `a key set of the scheme ${scheme} cannot be read; expected a path, http://… or https://…`;
}

/** Throws LecternError `option-invalid` for a path. */
export function planRemoteKeys(
  jwks: string,
  times: { jwksRefreshSeconds: number; jwksCooldownSeconds: number; jwksStaleSecondsMax: number },
): RemoteKeysPlan {
  if (!isAddress(jwks)) {
    throw new LecternError(
      'option-invalid',
      'auth.jwks is invalid: it is not a valid address; expected https://…',
    );
  }
  return {
    url: jwks,
    refreshMs: times.jwksRefreshSeconds * 1000,
    cooldownMs: times.jwksCooldownSeconds * 1000,
    staleMsMax: times.jwksStaleSecondsMax * 1000,
  };
}
