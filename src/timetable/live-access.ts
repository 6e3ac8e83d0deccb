/** Secrets, revocations and enrolments, from options and from watched files. */
import { statSync } from 'node:fs';
import { type Access, PresentAccess } from '../auth/access.js';
import type { FeedSecrets } from '../auth/feed-address.js';
import { parseRevocations, readRevocations } from '../auth/feed-revocations.js';
import { enrolmentsOf, readEnrolments } from '../auth/identity.js';
import { readSecret, secretBytes } from '../auth/key-set.js';
import { LecternError } from '../errors.js';
import type { Logger } from '../http/logger.js';
import { ACCESS_FILE_POLL_MS, ACCESS_FILE_SETTLE_MS, KEY_FILE_BYTES_MAX } from '../limits.js';
import type { IdentifierMode } from '../model/event.js';
import type { EmbeddedAuthOptions, FeedServingOptions } from '../options/option-types.js';
import { resolveOptions } from '../options/resolve.js';
import { watchSource } from '../source/file-watch.js';

/** A file, for messages, and what it changes. */
interface AccessFile {
  readonly path: string;
  readonly what: string;
  read(): Promise<Partial<Access>>;
}

export interface AccessOptions {
  readonly auth: EmbeddedAuthOptions;
  readonly feed: FeedServingOptions | undefined;
  readonly identifiers: IdentifierMode;
}

/** The values of the options, without files. Throws LecternError `option-invalid`. */
export function givenAccess({ auth, feed, identifiers }: AccessOptions): PresentAccess {
  const { enrolments } = auth;
  const given: { -readonly [Name in keyof Access]?: Access[Name] } = {};
  if (enrolments !== undefined) {
    given.enrolments = enrolmentsOf(enrolments, identifiers, 'auth.enrolments');
  }
  if (feed !== undefined) {
    const { secret, secretPrevious, revocations } = resolveOptions('feed', feed);
    if (secret !== undefined) given.feedSecrets = secretsOf(secret, secretPrevious);
    if (revocations !== undefined) {
      given.feedRevocations = parseRevocations(revocations, 'feed.revocations');
    }
  }
  return new PresentAccess(given);
}

/** Reads the files and watches them until `close`. At first a bad file throws a LecternError; later it is logged and refused. */
export async function openAccess(
  options: AccessOptions,
  log: Logger | undefined,
): Promise<{ readonly access: PresentAccess; close(): void }> {
  const access = givenAccess(options);
  const files = accessFiles(options);
  const watches = files.filter(({ path }) => isRegular(path)).map((file) => watchFile(file, access, log));
  const close = (): void => {
    for (const watch of watches) watch.close();
  };
  try {
    // Each once: a pipe can be read once only.
    for (const read of new Set(files.map((file) => file.read))) access.change(await read());
  } catch (error) {
    close();
    throw error;
  }
  return { access, close };
}

function watchFile(file: AccessFile, access: PresentAccess, log: Logger | undefined): { close(): void } {
  const { path, what } = file;
  let isClosed = false;
  const take = async (): Promise<void> => {
    try {
      const change = await file.read();
      if (isClosed) return;
      access.change(change);
      log?.info({ file: path }, `${what} read anew`);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (!isClosed) log?.warn({ file: path, reason }, `${what} not read: the old ones stay`);
    }
  };
  // One after the other, so that the last content wins.
  let last = Promise.resolve();
  const watch = watchSource(
    { kind: 'file', path },
    () => {
      last = last.then(take);
    },
    { pollMs: ACCESS_FILE_POLL_MS, settleMs: ACCESS_FILE_SETTLE_MS },
  );
  return {
    close() {
      isClosed = true;
      void watch.close();
    },
  };
}

function accessFiles({ auth, feed, identifiers }: AccessOptions): readonly AccessFile[] {
  const files: AccessFile[] = [];
  const { enrolmentsFile } = auth;
  if (enrolmentsFile !== undefined) {
    const read = async () => ({ enrolments: await readEnrolments(enrolmentsFile, identifiers) });
    files.push({ path: enrolmentsFile, what: 'enrolments', read });
  }
  if (feed === undefined) return files;
  const { secret, secretFile, secretPrevious, secretPreviousFile, revocationsFile } = feed;
  const secretOf = async (path: string | undefined, given: string | Uint8Array | undefined) =>
    path === undefined ? given : readSecret(path, KEY_FILE_BYTES_MAX, 'feed');
  // Both are read together, because a rotation moves a secret from one file to the other.
  const read = async () => {
    const signing = await secretOf(secretFile, secret);
    if (signing === undefined) throw new LecternError('key-missing', 'feeds need a secret');
    return { feedSecrets: secretsOf(signing, await secretOf(secretPreviousFile, secretPrevious)) };
  };
  for (const path of [secretFile, secretPreviousFile]) {
    if (path !== undefined) files.push({ path, what: 'feed secrets', read });
  }
  if (revocationsFile !== undefined) {
    const read = async () => ({ feedRevocations: await readRevocations(revocationsFile) });
    files.push({ path: revocationsFile, what: 'feed revocations', read });
  }
  return files;
}

function secretsOf(signing: string | Uint8Array, previous: string | Uint8Array | undefined): FeedSecrets {
  return {
    signing: bytesOf(signing, 'feed.secret'),
    previous: previous === undefined ? null : bytesOf(previous, 'feed.secretPrevious'),
  };
}

function bytesOf(secret: string | Uint8Array, name: string): Uint8Array {
  const bytes = secretBytes(secret, 'feed');
  if (typeof bytes === 'string') throw new LecternError('key-invalid', `${name} is invalid: ${bytes}`);
  // A copy with its own memory: a part of a pool would send the whole pool to a thread.
  return Uint8Array.from(bytes);
}

/** A pipe can be read once only. */
function isRegular(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
