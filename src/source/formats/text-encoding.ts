import { isAscii } from 'node:buffer';
import { LecternError, optionInvalid } from '../../base/errors.js';

/** Enough for every byte order mark. */
const MARK_BYTES_MAX = 4;
const UTF_8 = 'utf-8';
const WINDOWS_1252 = 'windows-1252';
const EXAMPLES = 'such as windows-1252, iso-8859-2, windows-1251 or shift_jis';
const REPLACEMENT = '\ufffd';
const NOT_UTF_8 = Buffer.of(0xff);

/** Byte order marks, one character for each byte, and their encodings. The longer mark is tested first. */
const MARKS: readonly (readonly [bytes: string, encoding: string])[] = [
  ['\xff\xfe\0\0', 'utf-32'],
  ['\0\0\xfe\xff', 'utf-32'],
  ['\xef\xbb\xbf', UTF_8],
  ['\xff\xfe', 'utf-16le'],
  ['\xfe\xff', 'utf-16be'],
];

/** Bytes 0x80 to 0x9F of windows-1252. Several versions of Node decode them as control characters (nodejs/node#56542). */
const WINDOWS_1252_C1 =
  '\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f' +
  '\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178';

/**
 * Turns text of another encoding into UTF-8, in pieces of any size. A byte order mark overrides the given
 * encoding; without both, bytes pass unchanged. Bytes that mean nothing in the encoding become a byte that
 * UTF-8 never has, so that only their record is rejected.
 */
export class Transcoder {
  /** Encoding of the source; undefined for UTF-8. */
  readonly encoding: string | undefined;
  readonly #decode: ((bytes: Buffer, isLast: boolean) => string) | null;

  /**
   * @param given the encoding of bytes without a byte order mark
   * @param head the first bytes, enough for every mark, or all
   * @throws LecternError `option-invalid` for an unknown encoding
   */
  constructor(sourceName: string, given: string | undefined, head: Buffer) {
    const otherwise = given === undefined ? undefined : canonicalEncoding(given);
    const first = head.toString('latin1', 0, MARK_BYTES_MAX);
    const encoding = MARKS.find(([mark]) => first.startsWith(mark))?.[1] ?? otherwise;
    if (encoding === 'utf-32') {
      throw new LecternError('source-malformed', `${sourceName}: found UTF-32 text; expected it as UTF-8`);
    }
    this.encoding = encoding === UTF_8 ? undefined : encoding;
    this.#decode = this.encoding === undefined ? null : decoderOf(this.encoding);
  }

  /** @returns UTF-8, possibly the same bytes, possibly none yet */
  push(bytes: Buffer): Buffer {
    return this.#convert(bytes, false);
  }

  finish(): Buffer {
    return this.#convert(Buffer.alloc(0), true);
  }

  #convert(bytes: Buffer, isLast: boolean): Buffer {
    if (this.#decode === null) return bytes;
    if (this.encoding === WINDOWS_1252 && isAscii(bytes)) return bytes;
    const text = this.#decode(bytes, isLast);
    if (!text.includes(REPLACEMENT)) return Buffer.from(text, 'utf8');
    const parts = text.split(REPLACEMENT).flatMap((part) => [NOT_UTF_8, Buffer.from(part, 'utf8')]);
    return Buffer.concat(parts.slice(1));
  }
}

/** The name of an encoding in the Encoding Standard. @throws LecternError `option-invalid` */
function canonicalEncoding(name: string): string {
  try {
    return new TextDecoder(name).encoding;
  } catch (cause) {
    const problem = `the encoding ${JSON.stringify(name)} is not known; expected the name of an encoding, ${EXAMPLES}`;
    throw optionInvalid(problem, cause);
  }
}

function decoderOf(encoding: string): (bytes: Buffer, isLast: boolean) => string {
  if (encoding === WINDOWS_1252) {
    return (bytes) =>
      bytes
        .toString('latin1')
        .replace(/(?!\p{ASCII})\p{Cc}/gu, (character) =>
          WINDOWS_1252_C1.charAt(character.charCodeAt(0) - 0x80),
        );
  }
  const decoder = new TextDecoder(encoding);
  return (bytes, isLast) => decoder.decode(bytes, { stream: !isLast });
}

/** Why the first bytes of a source without a known encoding are not UTF-8. Null if at least a part is UTF-8. */
export function foreignText(head: Buffer): string | null {
  const text = new TextDecoder(UTF_8).decode(head, { stream: true });
  const at = text.indexOf(REPLACEMENT);
  // The text is UTF-8 with damage. Only the damaged records will be rejected.
  if (at === -1 || /(?!\ufffd)\P{ASCII}/u.test(text)) return null;
  // All characters before the fault are ASCII, of one byte each.
  const line = text.slice(0, at).split(/\r\n|\r|\n/).length;
  const byte = (head[at] as number).toString(16);
  return `line ${line} holds the byte ${byte}, which is not UTF-8; ${expectedText(head)}`;
}

/** The remedy for bytes that are not text. */
export function expectedText(bytes: Buffer, encoding?: string): string {
  if (encoding !== undefined)
    return `expected ${encoding} text; give the right encoding in a timetable file, ${EXAMPLES}`;
  const likely = likelyEncoding(bytes);
  const hint =
    likely === null
      ? `if all of it has another encoding, give it as encoding in a timetable file, ${EXAMPLES}`
      : `it looks like ${likely}: in a timetable file, give encoding: ${likely.split(' ')[0]}`;
  return `expected UTF-8 text; ${hint}`;
}

/** Bytes that are letters of central Europe where windows-1252 has marks, or letters that do not stand at such places. */
const CENTRAL =
  /[\x8a\x8d-\x8f\x9a\x9d-\x9f]|(?<=[A-Za-z])[\xb1\xb3\xb6\xb9\xbf]|[\xa3\xa6\xa9\xae\xaf\xb3\xb6\xb9\xbf](?=[a-z])|[\xc8\xe8](?=[aeiouy\xe1\xe9\xed\xfa\xfd])|(?<![A-Za-z\x80-\xff])[\xc8\xe8](?=[a-z])|[\x8c\x9c](?=[b-df-hj-np-tv-xz\xe6])|[\xcc\xec](?=[a-z\xe1\xe9\xed])|[\xe6\xf1](?![A-Za-z])/g;
/** Letters of windows-1252 that do not stand at such places in central Europe. */
const WESTERN =
  /[\xc5\xe0\xe5]|[\xd1\xf1](?=[aeiou])|(?<=[A-Za-z])\xe8(?=[b-df-hj-np-tv-xz])|[\xec\xf2\xf9](?![A-Za-z])|\xe3o|\xf5e/g;
/** Letters of ISO 8859-2 that windows-1250 has elsewhere. */
const ISO = /[A-Za-z\x80-\xff][\xb1\xb6]|[\xb1\xb6\xa9\xae\xa6][a-z]/;

/** The encoding of text whose accented letters stand alone; null if they do not. */
function likelyEncoding(bytes: Buffer): string | null {
  const text = bytes.toString('latin1');
  const count = (characters: RegExp): number => text.match(characters)?.length ?? 0;
  const high = count(/[\x80-\xff]/g);
  if (high === 0 || high >= 2 * count(/[\x80-\xff]+/g) || 2 * count(/[\x80-\x9f]/g) > high) return null;
  if (count(CENTRAL) > count(WESTERN)) {
    const isIso =
      count(/[\x80-\x9f]/g) === 0 &&
      (ISO.test(text) || (text.includes('\xb9') && /[\xe8\xec\xf8]/.test(text)));
    return isIso ? 'iso-8859-2 (Latin 2)' : 'windows-1250 (central Europe)';
  }
  return /[\x81\x8d\x8f\x90\x9d]/.test(text) ? null : 'windows-1252 (Latin 1)';
}
