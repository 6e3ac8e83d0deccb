/**
 * Whole answers from one state of the timetable (`View.contentId`), by request target. An answer is kept from
 * its second request on, because most targets are requested once.
 */
import type { Body } from '../../answer/body.js';
import { ANSWER_CACHE_ENTRY_BYTES_MAX, ANSWERS_SEEN_ENTRIES } from '../../base/limits.js';
import type { FormatName } from '../../base/model/format.js';
import { DIGEST_CHARACTERS } from '../../base/structures/digest.js';
import { GenerationalCache } from '../../base/structures/generational-cache.js';
import type { FlatHeaders } from '../exchange.js';

/** What the conditions of requests compare (RFC 9110 section 13). */
export interface Validators {
  readonly entityTag: string;
  /** As in Read; also null if the user decides the answer. If-Modified-Since is then ignored. */
  readonly modifiedMs: number | null;
}

/** An answer with status 200. */
export interface KnownAnswer extends Validators {
  readonly headers: FlatHeaders;
  /**
   * Null if only the tag is known, from a 304 or 412. The body is a part of `wire`, unless `wire` is null.
   */
  body: Uint8Array | null;
  /** Head and body in one buffer, once the answer was sent on the lane. */
  wire: { readonly bytes: Buffer; readonly dateOffset: number; date: string } | null;
}

export interface KnownTarget {
  /** The format named in the query; null if Accept decides. */
  readonly format: FormatName | null;
  readonly answers: Partial<Record<FormatName, KnownAnswer>>;
}

/** Memory of an entry besides body, target and header fields: objects, another copy of usual fields, a Map entry. */
const ENTRY_BYTES = 1536;
/** Numbers of 30 bits need no memory besides the list. */
const DIGEST_MASK = 0x3fff_ffff;

export class AnswerCache {
  readonly #known: GenerationalCache<KnownTarget>;
  /** Digests of answers from the present content, by their last bits. Unlike tags, they need no collection. */
  readonly #seen: number[] = new Array(ANSWERS_SEEN_ENTRIES).fill(0);
  contentId = '';
  readonly bytesMax: number;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
    this.#known = new GenerationalCache(bytesMax);
  }

  get bytes(): number {
    return this.#known.bytes;
  }

  /** Forgets the answers of any other content (`View.contentId`). Call this first in each request. */
  keepOnly(contentId: string): void {
    if (contentId === this.contentId) return;
    this.contentId = contentId;
    this.#known.clear();
    this.#seen.fill(0);
  }

  find(target: string): KnownTarget | undefined {
    return this.#known.get(target);
  }

  /** Keeps an answer if an answer with the same tag was offered before. The body is copied; bodies of several chunks are not kept. */
  offer(
    target: string,
    format: FormatName | null,
    answerFormat: FormatName,
    { body, ...answer }: Omit<KnownAnswer, 'wire' | 'body'> & { readonly body: Body | null },
  ): void {
    const byteLength = body === null ? 0 : (body.byteLength ?? Number.POSITIVE_INFINITY);
    if (byteLength > ANSWER_CACHE_ENTRY_BYTES_MAX || !this.wasSeen(answer.entityTag)) return;
    const copy = body === null ? null : copyOf(body, byteLength);
    if (body === null || copy !== null) this.keep(target, format, answerFormat, { ...answer, body: copy });
  }

  /** Keeps an answer unchanged. @returns whether it fits */
  keep(
    target: string,
    format: FormatName | null,
    answerFormat: FormatName,
    answer: Omit<KnownAnswer, 'wire'>,
  ): boolean {
    const answers = {
      ...this.#known.get(target)?.answers,
      [answerFormat]: { ...answer, wire: null },
    };
    let bytes = ENTRY_BYTES + target.length;
    for (const { body, headers } of Object.values(answers)) {
      bytes += body?.length ?? 0;
      // A link to the next page repeats the query, and may be three times as long as the target.
      for (const field of headers) bytes += field.length;
    }
    return this.#known.set(target, { format, answers }, bytes);
  }

  /** Whether this tag of the present content has occurred before; rarely also for another tag of equal digest. */
  wasSeen(entityTag: string): boolean {
    let digest = 0;
    // A digest, and perhaps a coding, stand before the closing quote.
    for (let at = entityTag.length - 2; at > entityTag.length - DIGEST_CHARACTERS - 4; at--)
      digest = (Math.imul(digest, 61) + entityTag.charCodeAt(at)) & DIGEST_MASK;
    const at = digest & (ANSWERS_SEEN_ENTRIES - 1);
    if (this.#seen[at] === digest) return true;
    this.#seen[at] = digest;
    return false;
  }
}

/** A Buffer with its own memory, because node:http would make a Buffer from any other array each time. */
function copyOf(body: Body, byteLength: number): Buffer | null {
  const copy = Buffer.allocUnsafeSlow(byteLength);
  if (body.write !== undefined) body.write(copy, 0);
  else {
    const chunks = body.makeChunks();
    if (!Array.isArray(chunks) || chunks.length !== 1) return null;
    copy.set(chunks[0]);
  }
  return copy;
}
