import { LecternError } from '../../errors.js';
import { RECORD_BYTES_MAX } from '../../limits.js';
import type { RecordPosition, Rejection } from '../../model/event.js';
import type { SourceFormat } from '../source.js';

/**
 * Reads one format from bytes that come in pieces of any size, and puts each record into a sink as soon as its last
 * byte is there. Both methods throw a LecternError `source-malformed` where the bytes are not this format.
 */
export interface FormatReader {
  readonly format: SourceFormat;
  /** Records met so far, those that could not be decoded included. */
  readonly records: number;
  /** Whether the data says itself where it ends, so that data cut short cannot pass for whole. */
  readonly selfDelimiting: boolean;
  /** After the end: whether it may have come in the middle of a record. */
  readonly endsCut?: boolean;
  /** The next bytes. They may be reused by the caller afterwards. */
  push(chunk: Buffer): void;
  /** There are no more bytes. */
  finish(): void;
}

/** @param problem one sentence that says where and what would be right */
export function malformed(sourceName: string, problem: string, cause?: unknown): LecternError {
  return new LecternError('source-malformed', `${sourceName}: ${problem}`, { cause });
}

export function rejectTooLarge(position: RecordPosition, byteLength: number): Rejection {
  const detail = `the record is ${byteLength} bytes long; expected at most ${RECORD_BYTES_MAX}`;
  return { position, code: 'record-too-large', field: null, detail };
}

export function rejectNotUtf8(position: RecordPosition): Rejection {
  const detail = 'the record holds bytes that are not UTF-8; expected UTF-8 text';
  return { position, code: 'malformed-text', field: null, detail };
}

export function rejectUndecodable(position: RecordPosition, problem: string): Rejection {
  return { position, code: 'malformed-record', field: null, detail: problem };
}
