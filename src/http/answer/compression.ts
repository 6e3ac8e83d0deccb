/** Content codings of answers (RFC 9110 section 8.4.1). Bodies are compressed in libuv's threads, only for repeated requests. */

import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import * as zlib from 'node:zlib';
import Negotiator from 'negotiator';
import { ACCEPT_MEMO_ENTRIES_MAX, COMPRESSION_BYTES_MIN } from '../../base/limits.js';
import type { FormatName } from '../../base/model/format.js';
import { TextMemo } from '../../base/structures/text-memo.js';
import type { FlatHeaders } from '../exchange.js';
import { firstEntries } from '../request/header-facts.js';
import type { AnswerCache, KnownTarget, Validators } from './answer-cache.js';

/** Memory for one piece of the compressor's output. */
const COMPRESSION_OUTPUT_BYTES = 64 * 1024;

/** Bytes given to a compressor at a time; other requests run in between. */
const COMPRESSION_PIECE_BYTES = 256 * 1024;

/**
 * Larger bodies are compressed harder: few answers are so large, and each answer is compressed once per
 * snapshot.
 */
const LARGE_BODY_BYTES = 1024 * 1024;

/** The name of a content coding. */
export type Coding = 'br' | 'zstd' | 'gzip';

/** From Node 22.15 on. */
const { createZstdCompress } = zlib as unknown as { readonly createZstdCompress?: () => Transform };

/** Among codings that a client likes equally, the first wins. */
const COMPRESSORS = new Map<Coding, (byteLength: number | null) => Transform>([
  [
    'br',
    (byteLength) =>
      zlib.createBrotliCompress({
        chunkSize: COMPRESSION_OUTPUT_BYTES,
        params: {
          [zlib.constants.BROTLI_PARAM_QUALITY]: (byteLength ?? 0) >= LARGE_BODY_BYTES ? 6 : 4,
          // Bodies of unknown length are long.
          [zlib.constants.BROTLI_PARAM_SIZE_HINT]: byteLength ?? LARGE_BODY_BYTES,
        },
      }),
  ],
  ...(createZstdCompress === undefined ? [] : [['zstd', () => createZstdCompress()] as const]),
  ['gzip', () => zlib.createGzip({ chunkSize: COMPRESSION_OUTPUT_BYTES })],
]);

const CODINGS: readonly Coding[] = [...COMPRESSORS.keys()];

/** The types of the package lack the option with the server's preference. */
interface Negotiation {
  encoding(available: readonly string[], options: { preferred: readonly string[] }): string | undefined;
}

const MEMO_CHARACTERS_MAX = 256;
const memo = new TextMemo<Coding | null>(ACCEPT_MEMO_ENTRIES_MAX, MEMO_CHARACTERS_MAX);

/**
 * The coding that Accept-Encoding prefers; null for an uncompressed answer. Also null if the header accepts
 * no coding at all: an uncompressed answer is sent anyway.
 */
export function negotiateCoding(acceptEncoding: string): Coding | null {
  const known = memo.get(acceptEncoding);
  if (known !== undefined) return known;
  const negotiation = new Negotiator({ headers: { 'accept-encoding': firstEntries(acceptEncoding) } });
  const best = (negotiation as unknown as Negotiation).encoding([...CODINGS, 'identity'], {
    preferred: CODINGS,
  });
  const coding = CODINGS.find((each) => each === best) ?? null;
  memo.set(acceptEncoding, coding);
  return coding;
}

/** Each piece takes one turn of the event loop. @param byteLength null if unknown */
export async function compress(
  chunks: Iterable<Uint8Array>,
  byteLength: number | null,
  coding: Coding,
): Promise<Buffer> {
  const compressor = COMPRESSORS.get(coding)?.(byteLength);
  if (compressor === undefined) throw new Error(`there is no compressor for ${coding}`);
  const parts: Buffer[] = [];
  await pipeline(Readable.from(piecesOf(chunks)), compressor, async (packed) => {
    for await (const part of packed) parts.push(part as Buffer);
  });
  return Buffer.concat(parts);
}

async function* piecesOf(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += COMPRESSION_PIECE_BYTES) {
      yield chunk.subarray(at, at + COMPRESSION_PIECE_BYTES);
      await nextTurn();
    }
  }
}

const CODING_OF_TAG = /\.(?:br|zstd|gzip)"$/;

/** The tag with the coding after a full stop, which snapshot ids and digests do not have. */
export function tagWithCoding(entityTag: string, coding: Coding): string {
  return `${entityTag.slice(0, -1)}.${coding}"`;
}

export function tagWithoutCoding(entityTag: string): string {
  return entityTag.replace(CODING_OF_TAG, '"');
}

interface PlainAnswer extends Validators {
  readonly target: string;
  /** The format named in the query; null if Accept decides. */
  readonly named: FormatName | null;
  readonly format: FormatName;
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
    const { target, named, format, entityTag, modifiedMs, headers } = answer;
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
          ? { entityTag, modifiedMs, headers, body }
          : { entityTag: tag, modifiedMs, headers: headersWith(headers, tag, coding, body.length), body },
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
