/** Answers to queries of a program. */
import { LecternError } from '../errors.js';
import { DIRECTORIES, type DirectoryName, isDirectory } from '../model/fields.js';
import { FORMATS, type FormatName } from '../model/format.js';
import { checkText, invalidParameters } from '../query/object-form.js';
import type { Answer, ReadResult } from '../view/answer.js';
import type { ParseOptions, View } from '../view/view.js';
import type { ChangeSet, EventPage } from './query-types.js';

/** Null for an unknown or forgotten snapshot. Throws `parameters-invalid` for an id that is not a text. */
export function changesSince(view: View, since: unknown, reading: ParseOptions): ChangeSet | null {
  const id = checkText('since', 'changes', 'the id of a snapshot', since);
  const result = view.changes([['since', id]], reading);
  if ('gone' in result) return null;
  // Malformed ids count as unknown.
  if ('faults' in result && result.faults.every(({ code }) => code === 'malformed-snapshot')) return null;
  return parse(answerOf(result));
}

export function answerOf(result: ReadResult, format: FormatName = 'json'): Answer {
  if ('faults' in result) throw invalidParameters(result.faults);
  if ('gone' in result) throw new LecternError('not-ready', result.gone);
  if ('missing' in result) throw new Error(result.missing);
  return result.read.execute(format);
}

/** @throws LecternError `parameters-invalid` for a format that does not exist */
export function checkFormat(format: FormatName): void {
  if (FORMATS.some(({ name }) => name === format)) return;
  const names = FORMATS.map(({ name }) => name).join(', ');
  const detail = `format must be one of ${names}, not ${JSON.stringify(format) ?? String(format)}`;
  throw invalidParameters([{ parameter: 'format', code: 'unknown-value', detail }]);
}

export function eventPage(answer: Answer): EventPage {
  return { events: parse(answer), total: answer.total, nextCursor: answer.nextCursor };
}

export function bytesOf(answer: Answer): Uint8Array {
  const chunks = [...answer.body.makeChunks()];
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

export function parse<T>(answer: Answer): T {
  // A Buffer can decode shared memory; a TextDecoder cannot.
  const bytes = bytesOf(answer);
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')) as T;
}

/** @throws LecternError `option-invalid` */
export function directoryName(given: unknown): DirectoryName {
  if (isDirectory(given)) return given;
  const names = DIRECTORIES.map(({ name }) => name).join(', ');
  throw new LecternError('option-invalid', `a directory is one of ${names}`);
}

/** Why a timetable cannot be read now. */
export function unreadable(isClosed: boolean, hasSnapshot: boolean, lastError: string | null): LecternError {
  if (isClosed) return new LecternError('closed', 'the timetable is closed');
  if (hasSnapshot) {
    const reason = lastError ?? 'it was not loaded again';
    return new LecternError('stale', `the snapshot is older than staleSecondsMax: ${reason}`);
  }
  return new LecternError(
    'not-ready',
    lastError === null
      ? 'the timetable is still loading: await its `ready` first'
      : `the timetable could not be loaded: ${lastError}`,
  );
}
