import { LecternError } from '../errors.js';
import type { RecordDelta, RecordLoad, RecordLoadOptions, RecordSource, Records } from '../source/records.js';

/**
 * Asks a source of the embedding program. A delta must be relative to the served version.
 *
 * @throws LecternError `source-malformed` for an invalid answer; the error of the source; the signal's reason
 */
export async function askSource(
  source: RecordSource,
  { previous, served }: Omit<RecordLoadOptions, 'signal'>,
  signal: AbortSignal,
): Promise<RecordLoad> {
  const ask = async (version: string | null): Promise<RecordLoad> => {
    const loading = Promise.resolve(source.load({ previous: version, served, signal }));
    return checkRecordLoad(await abortable(loading, signal), source.name, version, served);
  };
  const given = await ask(previous);
  // The previous version was refused, so a delta from that version does not fit the served one.
  if (!('upserts' in given) || previous === null || previous === served) return given;
  const again = await ask(served);
  return 'notModified' in again ? { upserts: [], removals: [], version: served } : again;
}

/** Rejects as soon as the signal is aborted, because code of the embedding program may ignore the signal. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** @throws LecternError `source-malformed` if the watch cannot be ended */
export function checkWatch(given: unknown, name: string): { close(): void } {
  if (given === undefined || given === null) return { close() {} };
  if (typeof (given as { readonly close?: unknown }).close === 'function') return given as { close(): void };
  // The rejection of a promise for a watch, for example, would end the process.
  if (given instanceof Promise) given.catch(() => {});
  const message = `watch() of ${name} must return an object with a close() function, or nothing`;
  throw new LecternError('source-malformed', message);
}

/** Checks the result of the embedding program's source: a malformed result must not pass for an empty timetable. */
function checkRecordLoad(
  given: RecordLoad,
  name: string,
  previous: string | null,
  served: string | null,
): RecordLoad {
  const fault = (problem: string): LecternError =>
    new LecternError('source-malformed', `load() of ${name} ${problem}`);
  if (typeof given !== 'object' || given === null) {
    const expected = '{ records, version }, { upserts, removals, version } or { notModified: true }';
    throw fault(`returned no object; expected ${expected}`);
  }
  if ('notModified' in given) {
    if (previous !== null) return given;
    throw fault('returned notModified although `previous` is null; expected records');
  }
  const { records, upserts, removals, version = null } = given as { readonly [name: string]: unknown };
  if (version !== null && typeof version !== 'string') {
    throw fault('returned a version that is not a string; expected a string or null');
  }
  if (upserts === undefined && removals === undefined) {
    if (!isRecords(records)) throw fault('returned no iterable records');
    return { records, version };
  }
  if (records !== undefined) throw fault('returned records and a delta; expected one of them');
  if (served === null) throw fault('returned a delta although `previous` is null; expected records');
  if (!isRecords(upserts)) throw fault('returned a delta without iterable upserts');
  const isList = typeof removals === 'object' && removals !== null && Symbol.iterator in removals;
  if (!isList) throw fault('returned a delta without iterable removals');
  return { upserts, removals: removals as RecordDelta['removals'], version };
}

/** A string is iterable, too, but its characters are not records. */
function isRecords(given: unknown): given is Records {
  if (typeof given !== 'object' || given === null) return false;
  return Symbol.iterator in given || Symbol.asyncIterator in given;
}
