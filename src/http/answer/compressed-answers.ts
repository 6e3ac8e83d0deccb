import { COMPRESSION_BYTES_MIN } from '../../limits.js';
import type { FormatName } from '../../model/format.js';
import type { FlatHeaders } from '../exchange.js';
import type { AnswerCache, KnownTarget } from './answer-cache.js';
import { type Coding, compress, negotiateCoding, tagWithCoding } from './compression.js';

/** An uncompressed answer. */
export interface PlainAnswer {
  readonly target: string;
  /** The format named in the query; null if Accept decides. */
  readonly named: FormatName | null;
  readonly format: FormatName;
  readonly entityTag: string;
  readonly headers: FlatHeaders;
  /** Null if unknown. Bodies of unknown length are long. */
  readonly byteLength: number | null;
  /** The body; other code must not overwrite it. */
  makeChunks(): Iterable<Uint8Array>;
}

/**
 * Compresses repeatedly requested answers, one at a time. Requests get the uncompressed answer until
 * compression is done.
 */
export class CompressedAnswers {
  readonly #cache: AnswerCache;
  readonly #isOn: boolean;
  #isBusy = false;

  /** @param isOn whether answers are compressed; without memory in the cache, they never are */
  constructor(cache: AnswerCache, isOn: boolean) {
    this.#cache = cache;
    this.#isOn = isOn && cache.bytesMax > 0;
  }

  codingFor(acceptEncoding: string | undefined): Coding | null {
    return acceptEncoding === undefined || !this.#isOn ? null : negotiateCoding(acceptEncoding);
  }

  /** For an entry without a body, send the answer uncompressed. */
  find(target: string, coding: Coding): KnownTarget | undefined {
    return this.#cache.find(keyOf(target, coding));
  }

  offer(answer: PlainAnswer, coding: Coding): void {
    const { target, named, format, entityTag, headers } = answer;
    if (this.#isBusy || this.find(target, coding)?.answers[format] !== undefined) return;
    const tag = tagWithCoding(entityTag, coding);
    if (!this.#cache.wasSeen(tag)) return;
    const key = keyOf(target, coding);
    const { contentId } = this.#cache;
    const keep = (body: Buffer | null): boolean =>
      this.#cache.contentId !== contentId ||
      this.#cache.keep(
        key,
        named,
        format,
        body === null
          ? { entityTag, headers, body }
          : { entityTag: tag, headers: headersWith(headers, tag, coding, body.length), body },
      );
    if (answer.byteLength !== null && answer.byteLength < COMPRESSION_BYTES_MIN) {
      keep(null);
      return;
    }
    this.#isBusy = true;
    compress(answer.makeChunks(), answer.byteLength, coding)
      // Without an entry, an answer too long for the cache would be compressed again for each request.
      .then((body) => keep(body) || keep(null))
      .catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        process.emitWarning(`an answer could not be compressed: ${reason}`, { type: 'LecternWarning' });
      })
      .finally(() => {
        this.#isBusy = false;
      });
  }
}

function keyOf(target: string, coding: Coding): string {
  return `${coding} ${target}`;
}

function headersWith(
  headers: FlatHeaders,
  entityTag: string,
  coding: Coding,
  byteLength: number,
): FlatHeaders {
  const changed = [...headers];
  changed[changed.indexOf('ETag') + 1] = entityTag;
  const lengthAt = changed.indexOf('Content-Length');
  if (lengthAt === -1) changed.push('Content-Length', String(byteLength));
  else changed[lengthAt + 1] = String(byteLength);
  changed.push('Content-Encoding', coding);
  return changed;
}
