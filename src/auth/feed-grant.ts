/** The payload of a feed address: a grant as a JSON array in base64url. */

import { type FieldFilter, INDEXED_FIELDS } from '../model/fields.js';

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

export function writeFeedGrant({ subject, claimed, pairs, issuedMs, expiresMs }: FeedGrant): string {
  const identities = claimed?.map(({ field, values }) => [field, ...values]) ?? null;
  const groups = new Map<string, string[]>();
  for (const [name, value] of pairs) groups.set(name, [...(groups.get(name) ?? []), value]);
  const query = [...groups].map(([name, values]) => [name, ...values]);
  const text = JSON.stringify([subject, identities, query, issuedMs, expiresMs]);
  return Buffer.from(text, 'utf8').toString('base64url');
}

/** Null if the text is not a grant of this version: another program with the secret may sign any text. */
export function readFeedGrant(written: string): FeedGrant | null {
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
