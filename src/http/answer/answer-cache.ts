/** Whole answers, by request target, of one publication. A target is kept from its second time on: most are never seen twice. */
import { ANSWER_CACHE_ENTRY_BYTES_MAX, ANSWERS_SEEN_ENTRIES } from '../../limits.js';
import type { FormatName } from '../../model/format.js';
import { GenerationalCache } from '../../structures/generational-cache.js';
import type { Exchange, FlatHeaders } from '../exchange.js';
import { directHead, httpDate, sendDirectly } from '../node/direct.js';

/** An answer of 200. */
export interface KnownAnswer {
  readonly entityTag: string;
  readonly headers: FlatHeaders;
  /** Null if only the tag is known, from an answer of 304 or 412. Part of `wire` if there is one. */
  body: Uint8Array | null;
  /** Head and body in one buffer, once it was sent directly. */
  wire: { readonly bytes: Buffer; readonly dateOffset: number; date: string } | null;
}

export interface KnownTarget {
  /** The one that its query names; null if Accept decides. */
  readonly format: FormatName | null;
  readonly answers: Partial<Record<FormatName, KnownAnswer>>;
}

/** An entry besides body and target: objects, header fields twice, a place in a Map. */
const ENTRY_BYTES = 1536;

export class AnswerCache {
  readonly #known: GenerationalCache<KnownTarget>;
  /** Tags of answers from this snapshot; the last characters of a tag give its index. */
  #seen: (string | undefined)[] = new Array(ANSWERS_SEEN_ENTRIES).fill(undefined);
  version = '';

  constructor(bytesMax: number) {
    this.#known = new GenerationalCache(bytesMax);
  }

  get bytes(): number {
    return this.#known.bytes;
  }

  /** Forgets all answers of other versions. Call it first for each request. */
  keepOnly(version: string): void {
    if (version === this.version) return;
    this.version = version;
    this.#known.clear();
    this.#seen.fill(undefined);
  }

  find(target: string): KnownTarget | undefined {
    return this.#known.get(target);
  }

  /** Keeps an answer if one with its tag was offered before. The body is copied. */
  offer(
    target: string,
    format: FormatName | null,
    answerFormat: FormatName,
    answer: Omit<KnownAnswer, 'wire'>,
  ): void {
    const { body } = answer;
    if ((body?.length ?? 0) > ANSWER_CACHE_ENTRY_BYTES_MAX || !this.wasSeen(answer.entityTag)) return;
    // A Buffer with memory of its own; node:http makes one of anything else each time.
    const copy = body === null ? null : Buffer.allocUnsafeSlow(body.length);
    copy?.set(body as Uint8Array);
    this.keep(target, format, answerFormat, { ...answer, body: copy });
  }

  /** Keeps an answer as it is. @returns whether it fits */
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
    for (const { body } of Object.values(answers)) bytes += body?.length ?? 0;
    return this.#known.set(target, { format, answers }, bytes);
  }

  /** Whether it was asked before for this tag, of the present snapshot. */
  wasSeen(entityTag: string): boolean {
    // The tag ends with a quote; the two letters before it are six bits each of a digest.
    const { length } = entityTag;
    const place = (entityTag.charCodeAt(length - 2) << 6) ^ entityTag.charCodeAt(length - 3);
    const at = place & (ANSWERS_SEEN_ENTRIES - 1);
    if (this.#seen[at] === entityTag) return true;
    this.#seen[at] = entityTag;
    return false;
  }
}

const DATE_FIELD = '\r\nDate: ';

/** Sends a known answer directly: only its Date changes, once a second. @returns false if its head is too long: nothing was sent */
export function sendKnown(exchange: Exchange, answer: KnownAnswer, body: Uint8Array): boolean {
  const date = httpDate();
  let { wire } = answer;
  if (wire === null) {
    const head = directHead(200, answer.headers, exchange.fields.text);
    if (head === null) return false;
    const bytes = Buffer.allocUnsafeSlow(head.length + body.length);
    bytes.write(head, 'latin1');
    bytes.set(body, head.length);
    // The last one: no value of a header field before it has a line break.
    wire = { bytes, dateOffset: head.lastIndexOf(DATE_FIELD) + DATE_FIELD.length, date };
    answer.wire = wire;
    answer.body = bytes.subarray(head.length);
  }
  if (date !== wire.date) {
    wire.bytes.write(date, wire.dateOffset, 'latin1');
    wire.date = date;
  }
  // Some of it waits to be written, and must not change from now on.
  if (!sendDirectly(exchange, wire.bytes)) answer.wire = null;
  return true;
}
