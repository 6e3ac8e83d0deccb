/** Chooses the representation of an answer (RFC 9110 section 12.5.1). */
import Negotiator from 'negotiator';
import { ACCEPT_MEMO_ENTRIES_MAX } from '../../base/limits.js';
import { FORMATS, type Format, type FormatName, LIST_FORMATS } from '../../base/model/format.js';
import { TextMemo } from '../../base/structures/text-memo.js';
import { firstEntries } from '../request/header-facts.js';

const CONTENT_TYPES = Object.fromEntries(
  FORMATS.map((format) => [format.name, format.contentType]),
) as Readonly<Record<FormatName, string>>;

const DISPOSITIONS = Object.fromEntries(
  FORMATS.map(({ name, fileName }) => [name, fileName === null ? null : `inline; filename="${fileName}"`]),
) as Readonly<Record<FormatName, string | null>>;

/** Longer Accept headers are not remembered, so that the memory for them is bounded. */
const MEMO_ACCEPT_CHARACTERS_MAX = 256;

class Choice {
  /** Every spelling of a media type with its format; among equally good spellings the first wins. */
  readonly #formatByMediaType: ReadonlyMap<string, FormatName>;
  readonly #mediaTypes: string[];
  readonly #memo = new TextMemo<FormatName | null>(ACCEPT_MEMO_ENTRIES_MAX, MEMO_ACCEPT_CHARACTERS_MAX);

  constructor(formats: readonly Format[]) {
    this.#formatByMediaType = new Map(
      formats.flatMap((format) =>
        // Some clients also name the charset, and a parameter must match exactly.
        [format.mediaType, format.contentType.replace('; ', ';'), ...format.aliases].map(
          (mediaType) => [mediaType, format.name] as const,
        ),
      ),
    );
    this.#mediaTypes = [...this.#formatByMediaType.keys()];
  }

  of(accept: string): FormatName | null {
    const known = this.#memo.get(accept);
    if (known !== undefined) return known;
    const format = this.#negotiate(accept);
    this.#memo.set(accept, format);
    return format;
  }

  #negotiate(accept: string): FormatName | null {
    // An empty list expresses no preference.
    if (accept.trim() === '') return 'json';
    const mediaType = new Negotiator({ headers: { accept: firstEntries(accept) } }).mediaType(
      this.#mediaTypes,
    );
    return mediaType === undefined ? null : (this.#formatByMediaType.get(mediaType) ?? null);
  }
}

const EVENT_CHOICE = new Choice(FORMATS);
const LIST_CHOICE = new Choice(LIST_FORMATS);

/** The format that an Accept header prefers; JSON without the header; null (406) if none of `formats` fits. */
export function negotiateFormat(accept: string | undefined, formats: readonly Format[]): FormatName | null {
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return 'json';
  return (formats === FORMATS ? EVENT_CHOICE : LIST_CHOICE).of(accept);
}

/** The media type of an event stream, which only one resource has. */
export const EVENT_STREAM_TYPE = 'text/event-stream';
const STREAM_OR_LIST: string[] = [...LIST_FORMATS.map(({ mediaType }) => mediaType), EVENT_STREAM_TYPE];

/** Whether an Accept header asks for an event stream rather than for a list. */
export function prefersEventStream(accept: string | undefined): boolean {
  if (accept === undefined || !/event-stream/i.test(accept)) return false;
  if (accept === EVENT_STREAM_TYPE) return true;
  const headers = { accept: firstEntries(accept) };
  return new Negotiator({ headers }).mediaType(STREAM_OR_LIST) === EVENT_STREAM_TYPE;
}

export function contentTypeOf(format: FormatName): string {
  return CONTENT_TYPES[format];
}

/** Content-Disposition (RFC 6266): the file name for saving an answer, or null. */
export function dispositionOf(format: FormatName): string | null {
  return DISPOSITIONS[format];
}
