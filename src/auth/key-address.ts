/** Key sets at an address: what an address may be, and how often it is asked, as options give it. */
import { LecternError } from '../errors.js';
import type { RemoteKeysPlan } from './remote-keys.js';

export interface RemoteKeysTimes {
  readonly jwksRefreshSeconds: number;
  readonly jwksCooldownSeconds: number;
  readonly jwksStaleSecondsMax: number;
}

/** Whether a key set is given as an address, and not as a path. */
export function isAddress(jwks: string): boolean {
  return /^https?:\/\//i.test(jwks);
}

/** What is wrong with an address of a key set; null where it is good. The message repeats nothing of it. */
export function keyAddressFault(address: string): string | null {
  if (!isAddress(address) || !URL.canParse(address)) return 'it is not a valid address; expected https://…';
  const { username, password } = new URL(address);
  return username === '' && password === '' ? null : 'its address must not hold a user or password';
}

/** What is wrong with a path or an address of a key set; null where it is good. The message repeats no more than a scheme. */
export function keySourceFault(jwks: string): string | null {
  if (isAddress(jwks)) return keyAddressFault(jwks);
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(jwks)?.[1]?.toLowerCase();
  return scheme === undefined
    ? null
    : `a key set of the scheme ${scheme} cannot be read; expected a path, http://… or https://…`;
}

/** @throws LecternError `option-invalid`; `where` is for the message */
export function planRemoteKeys(address: string, times: RemoteKeysTimes, where: string): RemoteKeysPlan {
  const fault = keyAddressFault(address);
  if (fault !== null) throw new LecternError('option-invalid', `${where} is invalid: ${fault}`);
  return {
    url: address,
    refreshMs: times.jwksRefreshSeconds * 1000,
    cooldownMs: times.jwksCooldownSeconds * 1000,
    staleMsMax: times.jwksStaleSecondsMax * 1000,
  };
}
