/**
 * Addresses that show one timetable without a token, for calendar programs: `<payload>.<mac>`. The payload is
 * the id of a key and a grant as JSON in base64url. The mac is the HMAC-SHA-256 of the payload (RFC 2104).
 */

import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { LecternError, type LecternErrorCode } from '../base/errors.js';
import { FEED_CACHE_BYTES_MAX } from '../base/limits.js';
import { type FieldFilter, INDEXED_FIELDS } from '../base/model/fields.js';
import { parseInstant } from '../base/model/time.js';
import { GenerationalCache } from '../base/structures/generational-cache.js';

export interface FeedAddressOptions {
  /** The present secret, which signs, and earlier ones. */
  readonly secrets: readonly Uint8Array[];
  /**
   * Gives an instant for each subject: addresses issued before this instant are refused. Called for each
   * address.
   */
  readonly revocations: () => Revocations;
  readonly cacheBytesMax?: number;
  /** Epoch milliseconds. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

interface Key {
  readonly id: string;
  readonly object: KeyObject;
}

const KEY_ID_CHARACTERS = 4;
const MAC_CHARACTERS = 43;
/** Memory of a grant besides its address and values: objects, lists and a Map entry. */
const ENTRY_BYTES = 1024;
/** Memory of a value of one letter: a pair of name and value, or a text in a list. */
const VALUE_BYTES = 80;

/**
 * The secret may also sign tokens. With a derived key, a token never passes as an address, or an address as a
 * token.
 */
function keyOf(secret: Uint8Array): Key {
  const object = createSecretKey(createHmac('sha256', secret).update('lectern feed addresses, 1').digest());
  const id = createHmac('sha256', object).update('id').digest('base64url').slice(0, KEY_ID_CHARACTERS);
  return { id, object };
}

export class FeedAddresses {
  readonly #signing: Key;
  readonly #earlier: readonly Key[];
  readonly #revocations: () => Revocations;
  readonly #now: () => number;
  readonly #known: GenerationalCache<FeedGrant>;
  readonly #expected: Buffer = Buffer.alloc(MAC_CHARACTERS);
  readonly #given: Buffer = Buffer.alloc(MAC_CHARACTERS);

  constructor(options: FeedAddressOptions) {
    const { secrets, revocations, cacheBytesMax = FEED_CACHE_BYTES_MAX, now = Date.now } = options;
    const [signing, ...earlier] = secrets.map(keyOf);
    if (signing === undefined) throw new Error('there is no feed secret');
    this.#signing = signing;
    this.#earlier = earlier;
    this.#revocations = revocations;
    this.#now = now;
    this.#known = new GenerationalCache(cacheBytesMax);
  }

  sign(grant: FeedGrant): string {
    const payload = this.#signing.id + writeFeedGrant(grant);
    return `${payload}.${macOf(this.#signing, payload)}`;
  }

  /**
   * Null for every address that is not genuine, has expired or is revoked. How long the check takes depends
   * only on the payload (an unreadable payload takes longer), never on the mac.
   */
  grantOf(address: string): FeedGrant | null {
    const known = this.#known.get(address);
    if (known !== undefined && this.#isGood(known)) return known;
    const grant = this.#verify(address);
    if (grant !== null) this.#known.set(address, grant, bytesOf(grant) + address.length);
    return grant;
  }

  #isGood({ subject, issuedMs, expiresMs }: FeedGrant): boolean {
    const notBeforeMs = this.#revocations().get(subject) ?? Number.NEGATIVE_INFINITY;
    return this.#now() < expiresMs && issuedMs >= notBeforeMs;
  }

  #verify(address: string): FeedGrant | null {
    const dot = address.lastIndexOf('.');
    const payload = address.slice(0, Math.max(0, dot));
    const id = payload.slice(0, KEY_ID_CHARACTERS);
    const key = this.#earlier.find((each) => each.id === id) ?? this.#signing;
    this.#expected.write(macOf(key, payload));
    this.#given.fill(0);
    this.#given.write(address.slice(dot + 1));
    // The texts are compared, so another spelling of the same bytes is refused.
    const isEqual = timingSafeEqual(this.#expected, this.#given);
    const isGenuine = isEqual && address.length === payload.length + 1 + MAC_CHARACTERS && id === key.id;
    // The payload is always read and checked, so that the time of a refusal reveals nothing.
    const grant = readFeedGrant(payload.slice(KEY_ID_CHARACTERS));
    const isGood = grant !== null && this.#isGood(grant);
    return isGenuine && isGood ? grant : null;
  }
}

function bytesOf({ pairs, claimed }: FeedGrant): number {
  const claims = (claimed ?? []).reduce((count, { values }) => count + values.length, 0);
  return ENTRY_BYTES + VALUE_BYTES * (pairs.length + claims);
}

function macOf({ object }: Key, payload: string): string {
  return createHmac('sha256', object).update(payload).digest('base64url');
}

/** What an address shows. */
export interface FeedGrant {
  readonly subject: string;
  /** Identities from the claims of the token; null if the feed is not personal. */
  readonly claimed: readonly FieldFilter[] | null;
  /** Canonical filters and window. */
  readonly pairs: readonly (readonly [name: string, value: string])[];
  readonly issuedMs: number;
  readonly expiresMs: number;
}

type Group = readonly [name: string, ...values: string[]];

function writeFeedGrant({ subject, claimed, pairs, issuedMs, expiresMs }: FeedGrant): string {
  const identities = claimed?.map(({ field, values }) => [field, ...values]) ?? null;
  const groups = new Map<string, string[]>();
  for (const [name, value] of pairs) groups.set(name, [...(groups.get(name) ?? []), value]);
  const query = [...groups].map(([name, values]) => [name, ...values]);
  const text = JSON.stringify([subject, identities, query, issuedMs, expiresMs]);
  return Buffer.from(text, 'utf8').toString('base64url');
}

/** Null if the text is not a grant of this version: another program with the secret may sign any text. */
function readFeedGrant(written: string): FeedGrant | null {
  try {
    return parseGrant(written);
  } catch {
    return null;
  }
}

function parseGrant(written: string): FeedGrant | null {
  const grant: unknown = JSON.parse(Buffer.from(written, 'base64url').toString('utf8'));
  if (!Array.isArray(grant) || grant.length !== 5) return null;
  const [subject, identities, query, issuedMs, expiresMs] = grant as readonly unknown[];
  if (!isText(subject) || !isInstant(issuedMs) || !isInstant(expiresMs)) return null;
  if (!areGroups(query) || !(identities === null || areGroups(identities))) return null;
  const claimed = identities?.map(filterOf) ?? null;
  if (claimed?.includes(null)) return null;
  return {
    subject,
    claimed: claimed as readonly FieldFilter[] | null,
    pairs: query.flatMap(([name, ...values]) => values.map((value) => [name, value] as const)),
    issuedMs,
    expiresMs,
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed();
}

function isInstant(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function areGroups(value: unknown): value is readonly Group[] {
  return (
    Array.isArray(value) &&
    value.every((group) => Array.isArray(group) && group.length > 0 && group.every(isText))
  );
}

function filterOf([name, ...values]: Group): FieldFilter | null {
  const field = INDEXED_FIELDS.find((each) => each.name === name);
  return field === undefined ? null : { field: field.name, values };
}

/** Epoch milliseconds by subject: addresses that were issued before are revoked. */
export type Revocations = ReadonlyMap<string, number>;

export const NO_REVOCATIONS: Revocations = new Map();

/**
 * Reads revocations such as `{ "alice": "2026-11-23T08:00:00Z" }`. A fault refuses the whole map, because a missing entry would leave an address valid. No message names a
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
