/**
 * The revoked feed addresses, a JSON file. For each subject, addresses issued before the instant are revoked.
 *
 *     { "alice": "2026-11-23T08:00:00Z" }
 */
import { LecternError, type LecternErrorCode } from '../base/errors.js';
import { parseInstant } from '../base/model/time.js';

/** Epoch milliseconds by subject. */
export type Revocations = ReadonlyMap<string, number>;

export const NO_REVOCATIONS: Revocations = new Map();

/**
 * A fault refuses the whole map, because a missing entry would leave an address valid. No message names a
 * subject.
 */
export function parseRevocations(
  json: unknown,
  name: string,
  code: LecternErrorCode = 'option-invalid',
): Revocations {
  const form = '{"subject": "2026-11-23T08:00:00Z"}';
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new LecternError(code, `${name} is not an object of the form ${form}`);
  }
  return new Map(
    Object.entries(json).map(([subject, text], n) => {
      const instant = typeof text === 'string' ? parseInstant(text) : 'it is not a text';
      if (typeof instant === 'number') return [subject, instant];
      throw new LecternError(code, `${name}, entry ${n + 1} is not a time: ${instant}`);
    }),
  );
}
