import { INDEXED_FIELDS } from '../model/fields.js';

/** Adds `Name: value` to what was given before; null where it is no such thing. Whether it can be sent is checked later. */
export function parseHeader(argument: string, previous: unknown): Readonly<Record<string, string>> | null {
  const colon = argument.indexOf(':');
  const name = argument.slice(0, Math.max(0, colon)).trim();
  const value = argument.slice(colon + 1).trim();
  // A value without its colon would pass for a part of the name; and no message repeats either.
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || value === '') return null;
  return { ...(previous as Record<string, string> | undefined), [name]: value };
}

/** Adds `studyGroup=groups,groupId=gid` to what was given before; null where it is no such thing. */
export function parseClaims(
  argument: string,
  previous: unknown,
): Readonly<Record<string, readonly string[]>> | null {
  const claims: Record<string, readonly string[]> = {
    ...(previous as Record<string, readonly string[]> | undefined),
  };
  for (const part of argument.split(',')) {
    const equals = part.indexOf('=');
    const field = part.slice(0, Math.max(0, equals)).trim();
    const claim = part.slice(equals + 1).trim();
    if (claim === '' || !INDEXED_FIELDS.some((f) => f.name === field)) return null;
    claims[field] = [...(claims[field] ?? []), claim];
  }
  return claims;
}
