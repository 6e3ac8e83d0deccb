import { LecternError } from '../errors.js';
import { invalidParameters } from '../query/object-form.js';
import type { Answer, ReadResult } from '../view/answer.js';
import type { EventPage } from './queries.js';

/** From what a view answers to what the methods of a timetable return. */

/** @throws LecternError `parameters-invalid`; `not-ready` for a snapshot that is gone */
export function answerOf(result: ReadResult): Answer {
  if ('faults' in result) throw invalidParameters(result.faults);
  if ('gone' in result) throw new LecternError('not-ready', result.gone);
  return result.read.execute('json');
}

export function eventPage(answer: Answer): EventPage {
  return { events: parse(answer), total: answer.total, nextCursor: answer.nextCursor };
}

export function bytesOf(answer: Answer): Uint8Array {
  const chunks = [...answer.body.chunks];
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

export function parse<T>(answer: Answer): T {
  // A Buffer decodes shared memory, a TextDecoder does not.
  const bytes = bytesOf(answer);
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')) as T;
}
