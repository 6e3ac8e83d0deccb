import { isUtf8 } from 'node:buffer';
import { findJsonFault, type JsonFault } from '../../model/json-fault.js';
import type { RecordSink } from '../source.js';
import { rejectFault, rejectNotUtf8, rejectTooLarge } from './reader.js';

/** Gives records that are JSON texts to a sink. A source in which none is JSON is malformed. */
export class JsonRecords {
  readonly #sink: RecordSink;
  /** Records so far, rejected ones included. */
  count = 0;
  /** Those of them that are JSON. */
  decoded = 0;
  /** The first record, if it is JSON. */
  first: unknown;
  /** Of the first text that is not JSON. */
  firstProblem: string | null = null;

  constructor(sink: RecordSink) {
    this.#sink = sink;
  }

  /** Whether a source that ends now is malformed. */
  get isHopeless(): boolean {
    return this.decoded === 0 && this.firstProblem !== null;
  }

  /** The text of the next record. Null where it was rejected, as it is too large, then only a number, or not UTF-8. */
  textOf(bytes: Buffer | number, line: number): string | null {
    if (typeof bytes !== 'number' && isUtf8(bytes)) return bytes.toString('utf8');
    const position = { record: ++this.count, line };
    this.#sink.reject(typeof bytes === 'number' ? rejectTooLarge(position, bytes) : rejectNotUtf8(position));
    return null;
  }

  /** Takes the next record. @returns its fault, which the caller rejects */
  take(text: string, line: number): JsonFault | null {
    this.count++;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return findJsonFault(text) ?? { offset: 0, problem: 'it cannot be parsed' };
    }
    this.decoded++;
    if (this.count === 1) this.first = value;
    this.#sink.record(value, { record: this.count, line });
    return null;
  }

  /** Rejects the record that was taken last. `problem` begins with its place in the source. */
  reject(line: number, problem: string, detail: string): void {
    this.firstProblem ??= problem;
    this.#sink.reject(rejectFault({ record: this.count, line }, detail));
  }
}
