/** Which representation a request gets (RFC 9110 section 12.5.1). */
import Negotiator from 'negotiator';
import { ACCEPT_MEMO_ENTRIES_MAX } from '../../limits.js';
import { FORMATS, type FormatName } from '../../model/format.js';

/** Every spelling of a media type and what it means; the order decides between equally good ones. */
const FORMAT_BY_MEDIA_TYPE: ReadonlyMap<string, FormatName> = new Map(
  FORMATS.flatMap((format) =>
    // Some clients ask for the charset, too, and a parameter must match exactly.
    [format.mediaType, format.contentType.replace('; ', ';'), ...format.aliases].map(
      (mediaType) => [mediaType, format.name] as const,
    ),
  ),
);
const MEDIA_TYPES: readonly string[] = [...FORMAT_BY_MEDIA_TYPE.keys()];

const CONTENT_TYPES = Object.fromEntries(
  FORMATS.map((format) => [format.name, format.contentType]),
) as Readonly<Record<FormatName, string>>;

/** Accept headers longer than this are not remembered, so that the memo stays within its bound. */
const MEMO_ACCEPT_CHARACTERS_MAX = 256;
const memo = new Map<string, FormatName | null>();

/** The format that an Accept header asks for, without one JSON; null if none can be produced: 406. */
export function negotiateFormat(accept: string | undefined): FormatName | null {
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return 'json';
  const known = memo.get(accept);
  if (known !== undefined) return known;
  const format = negotiate(accept);
  if (accept.length <= MEMO_ACCEPT_CHARACTERS_MAX) {
    // Emptied when full: clients have a handful of different headers.
    if (memo.size >= ACCEPT_MEMO_ENTRIES_MAX) memo.clear();
    memo.set(accept, format);
  }
  return format;
}

function negotiate(accept: string): FormatName | null {
  // An empty list expresses no preference.
  if (accept.trim() === '') return 'json';
  const mediaType = new Negotiator({ headers: { accept } }).mediaType(MEDIA_TYPES);
  return mediaType === undefined ? null : (FORMAT_BY_MEDIA_TYPE.get(mediaType) ?? null);
}

export function contentTypeOf(format: FormatName): string {
  return CONTENT_TYPES[format];
}
