/** What settings need of each other, and of the source. The entries of the table name these conditions. */
import { readFileSync, statSync } from 'node:fs';
import { isAddress } from '../auth/remote-keys.js';
import { TIMETABLE_FILE_BYTES_MAX } from '../base/limits.js';
import { isPostgresAddress, POSTGRES_RULES, type RowsSpec } from '../source/postgres/postgres-address.js';
import { isStoreAddress } from '../store/store-address.js';
import { isObject } from './kinds.js';

/** Checked values and defaults, by the names of their settings. */
export type Values = Readonly<Record<string, unknown>>;

/** Messages, each with a test that is true when the message must be shown. `{name}` is a setting; where a setting does not exist, the message does not count. */
export type Faults = Readonly<Record<string, (values: Values) => boolean>>;

/** One of several settings is given, or something holds of the values. */
export interface Condition {
  /** Names of settings. Messages name those that exist where the setting is given. */
  readonly given?: readonly string[];
  readonly holds?: (values: Values) => boolean;
  /** The end of the message. */
  readonly words: string;
  /** Whether only the command line checks it. */
  readonly isOfCommand?: boolean;
}

/** The sources, if all are given as strings; otherwise empty. */
export function textsOf(source: unknown): readonly string[] {
  const sources = [source].flat();
  return sources.every((each) => typeof each === 'string') ? (sources as readonly string[]) : [];
}

/** Whether a source of the command line is a timetable file: YAML, or JSON with `sources`. */
export function isTimetableFile(path: string): boolean {
  if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(path)) return false;
  if (/\.ya?ml$/i.test(path)) return true;
  try {
    if (!/\.json$/i.test(path) || statSync(path).size > TIMETABLE_FILE_BYTES_MAX) return false;
    return hasSources(readFileSync(path, 'utf8'));
  } catch {
    return false;
  }
}

function hasSources(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && 'sources' in value;
  } catch {
    // A timetable file may be damaged.
    return /^\s*\{\s*(?:"\$schema"\s*:[^,]*,\s*)?"(?:sources|timeZone|identifiers|rooms|terms)"\s*:/.test(
      text,
    );
  }
}

/** Excluded by settings of reading. */
export const STORE: Condition = {
  holds: ({ source }) => textsOf(source).some(isStoreAddress),
  words: 'a store as the source: its publisher reads the records',
};

export const FROM_STORE: Condition = {
  ...STORE,
  words: 'the source is not a store (nats://… or folder://…)',
};

/** A replica's source, or the store of a publisher. */
export const A_STORE: Condition = {
  ...FROM_STORE,
  holds: ({ source, to, publishTo }) =>
    (to ?? publishTo) !== undefined || textsOf(source).some(isStoreAddress),
};

/** Excluded by what a timetable file says for each source. */
export const OF_THE_FILE: Condition = {
  holds: ({ source, timetable }) => timetable !== undefined || textsOf(source).some(isTimetableFile),
  words: 'a timetable file, which says it itself',
};

export const PIN: Condition = { given: ['pin'], words: ', which asks no source', isOfCommand: true };

/** A timetable file is told of by {@link OF_THE_FILE}. */
export const POSTGRES: Condition = {
  holds: ({ source, pin }) =>
    pin !== undefined || textsOf(source).some((each) => isPostgresAddress(each) || isTimetableFile(each)),
  words: 'no source is a PostgreSQL address (postgres://…)',
};

/** Only http(s) addresses of keys are fetched. */
export const FETCHED_KEYS: Condition = {
  holds: ({ jwks }) => typeof jwks === 'string' && isAddress(jwks),
  words: '{jwks} is not an http(s) address',
};

export const FEEDS: Condition = {
  given: ['feed', 'feedSecret', 'feedSecretFile'],
  words: ': there are no feeds',
};

export const POSTGRES_FAULTS: Faults = Object.fromEntries(
  Object.entries(POSTGRES_RULES).map(([problem, isBroken]) => [
    problem,
    (values: Values) => textsOf(values.source).some(isPostgresAddress) && isBroken(values as RowsSpec),
  ]),
);

export const MAKE_KEYS =
  'To make publisher.key for the publishers and publisher.pub for the replicas, run: lectern channel keys; or, for a folder of your own account, give {unsigned}';

export function isUnsignedReplica({ source, pin, publisherPublicKey, unsigned }: Values): boolean {
  return (
    publisherPublicKey === undefined &&
    unsigned !== true &&
    pin === undefined &&
    textsOf(source).some(isStoreAddress)
  );
}

/** A secret, as a value and as a file. */
export function givenTwice(what: string, one: string, other: string): Faults {
  return {
    [`${what} is given twice: as {${one}}, and as {${other}}; expected one of the two`]: (values) =>
      values[one] !== undefined && values[other] !== undefined,
  };
}
