/** Content lines of RFC 5545 section 3.1, after unfolding. */
import { isAscii, isUtf8 } from 'node:buffer';
import { PROPERTY_NAME_UNITS_MAX } from '../../base/limits.js';

const COLON = 0x3a;
const SEMICOLON = 0x3b;
const QUOTE = 0x22;
const NAME_BYTES_KEPT_MAX = 64;

/** Letters, digits and hyphens, and characters that exporters add. */
const IS_NAME: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[A-Za-z0-9_.-]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

export interface ContentLine {
  /** The name of the property, in upper case. */
  readonly name: string;
  /** The parameters as written, with their semicolons: `TZID=Europe/Berlin;VALUE=DATE`. */
  readonly parameters: string;
  readonly value: string;
}

/** How many names are known. A name is found by a hash of its bytes, so that equal names share one string. */
const NAMES_KEPT = 512;
const namesSeen: ({ readonly bytes: Buffer; readonly name: string } | undefined)[] = [];

function nameOf(bytes: Buffer, start: number, end: number, hash: number): string {
  const place = hash & (NAMES_KEPT - 1);
  const seen = namesSeen[place];
  if (seen !== undefined && seen.bytes.length === end - start && isAt(seen.bytes, bytes, start))
    return seen.name;
  const name = bytes.toString('latin1', start, end).toUpperCase();
  if (end - start <= NAME_BYTES_KEPT_MAX) {
    namesSeen[place] = { bytes: Buffer.from(bytes.subarray(start, end)), name };
  }
  return name;
}

function isAt(text: Buffer, bytes: Buffer, start: number): boolean {
  for (let n = 0; n < text.length; n++) if (text[n] !== bytes[start + n]) return false;
  return true;
}

/**
 * @param isPlain whether all bytes are known to be ASCII
 * @returns one clause on the fault if the bytes are not a content line
 */
export function readContentLine(
  bytes: Buffer,
  start: number,
  end: number,
  isPlain: boolean,
): ContentLine | string {
  let at = start;
  let hash = 0;
  while (at < end && IS_NAME[bytes[at] as number] === 1)
    hash = (Math.imul(hash, 31) + (bytes[at++] as number)) | 0;
  const nameEnd = at;
  const delimiter = at < end ? bytes[at] : undefined;
  if (nameEnd === start || (delimiter !== COLON && delimiter !== SEMICOLON)) {
    return 'it has no property name with a colon';
  }
  if (nameEnd - start > PROPERTY_NAME_UNITS_MAX)
    return `its name has ${nameEnd - start} characters; expected at most ${PROPERTY_NAME_UNITS_MAX}`;
  if (delimiter === SEMICOLON) {
    let isQuoted = false;
    for (; at < end; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) isQuoted = !isQuoted;
      else if (byte === COLON && !isQuoted) break;
    }
    if (at === end) return isQuoted ? 'a quote of its parameters is not closed' : 'it has no colon';
  }
  let encoding: 'latin1' | 'utf8' = 'latin1';
  if (!isPlain) {
    const line = bytes.subarray(start, end);
    if (!isAscii(line)) {
      if (!isUtf8(line))
        return 'it holds bytes that are not UTF-8; if it has another encoding, in a timetable file, give encoding: windows-1252';
      encoding = 'utf8';
    }
  }
  return {
    name: nameOf(bytes, start, nameEnd, hash),
    parameters: at === nameEnd ? '' : bytes.toString(encoding, nameEnd + 1, at),
    value: bytes.toString(encoding, at + 1, end),
  };
}

/** The first value of a parameter, without quotes. Null if there is no parameter of that name. */
export function parameterOf(parameters: string, name: string): string | null {
  let at = 0;
  while (at < parameters.length) {
    const equals = parameters.indexOf('=', at);
    if (equals === -1) return null;
    const isIt = parameters.slice(at, equals).trim().toUpperCase() === name;
    let end = equals + 1;
    let valueEnd = -1;
    for (let isQuoted = false; end < parameters.length; end++) {
      const character = parameters[end];
      if (character === '"') isQuoted = !isQuoted;
      else if (!isQuoted && character === ',' && valueEnd === -1) valueEnd = end;
      else if (!isQuoted && character === ';') break;
    }
    if (isIt) return unquote(parameters.slice(equals + 1, valueEnd === -1 ? end : valueEnd));
    at = end + 1;
  }
  return null;
}

/** RFC 6868: `^n`, `^^` and `^'` stand for a line break, `^` and a quote. */
function unquote(text: string): string {
  const bare = text.includes('"') ? text.replaceAll('"', '') : text;
  if (!bare.includes('^')) return bare;
  return bare.replace(/\^([n^'])/g, (_, character) =>
    character === 'n' ? '\n' : character === '^' ? '^' : '"',
  );
}

/** Resolves the escapes of RFC 5545 section 3.3.11. Other backslashes stay. */
export function unescapeText(text: string): string {
  let at = text.indexOf('\\');
  if (at === -1) return text;
  let plain = '';
  let start = 0;
  while (at !== -1) {
    const next = text[at + 1];
    const meant = next === 'n' || next === 'N' ? '\n' : next;
    if (meant === '\n' || meant === ',' || meant === ';' || meant === '\\') {
      plain += text.slice(start, at) + meant;
      start = at + 2;
      at = text.indexOf('\\', start);
    } else at = text.indexOf('\\', at + 1);
  }
  return plain + text.slice(start);
}

/** The texts of a list, which commas separate. */
export function textsOf(list: string): string[] {
  if (!list.includes(',')) return [unescapeText(list)];
  return Array.from(list.matchAll(/(?:[^\\,]|\\.)+/gsu), ([text]) => unescapeText(text));
}
