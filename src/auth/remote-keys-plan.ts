/** What may be said of a key set at an address, on the command line and in a program. */
import { LecternError } from '../errors.js';
import type { RemoteKeysPlan } from './remote-keys.js';

/** In seconds, each from `min` to `max`. */
export const REMOTE_KEYS_SECONDS = {
  /** Between two regular fetches: as long a key that the issuer withdraws goes on being accepted. */
  refresh: { default: 300, min: 1, max: 86_400 },
  /** Least between any two fetches: as long a new key may have to wait. */
  cooldown: { default: 30, min: 1, max: 3600 },
  /** How long keys serve on that cannot be fetched again. */
  stale: { default: 86_400, min: 2, max: 31_536_000 },
} as const;

export interface RemoteKeysTimes {
  readonly jwksRefreshSeconds?: number | undefined;
  readonly jwksCooldownSeconds?: number | undefined;
  readonly jwksStaleSecondsMax?: number | undefined;
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

/** What is wrong with the times beside each other; null where they are good. The names are those of the options. */
export function remoteKeysTimesFault(times: RemoteKeysTimes): string | null {
  const { refresh, cooldown, stale } = secondsOf(times);
  if (cooldown > refresh) return 'jwksCooldownSeconds must not be more than jwksRefreshSeconds';
  if (stale < 2 * refresh) return 'jwksStaleSecondsMax must be at least twice jwksRefreshSeconds';
  return null;
}

/** @throws LecternError `option-invalid`; `where` is for the message */
export function planRemoteKeys(address: string, times: RemoteKeysTimes, where: string): RemoteKeysPlan {
  const fault = keyAddressFault(address) ?? remoteKeysTimesFault(times);
  if (fault !== null) throw new LecternError('option-invalid', `${where} is invalid: ${fault}`);
  const { refresh, cooldown, stale } = secondsOf(times);
  return {
    url: address,
    refreshMs: refresh * 1000,
    cooldownMs: cooldown * 1000,
    staleMsMax: stale * 1000,
  };
}

function secondsOf(times: RemoteKeysTimes): Record<keyof typeof REMOTE_KEYS_SECONDS, number> {
  return {
    refresh: times.jwksRefreshSeconds ?? REMOTE_KEYS_SECONDS.refresh.default,
    cooldown: times.jwksCooldownSeconds ?? REMOTE_KEYS_SECONDS.cooldown.default,
    stale: times.jwksStaleSecondsMax ?? REMOTE_KEYS_SECONDS.stale.default,
  };
}
