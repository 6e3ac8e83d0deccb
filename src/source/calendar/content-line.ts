/** Lines of iCalendar in chunks of any size (RFC 5545 section 3.1), and the dates, times and durations in them. */

import { isAscii, isUtf8 } from 'node:buffer';
import { PROPERTY_NAME_UNITS_MAX, RECORD_BYTES_MAX } from '../../base/limits.js';
import { DAY_MS, daysFromCivil, daysInMonth, twoDigits } from '../../base/model/time.js';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;

/** A line without its end. */
export interface FoundLine {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly lineNumber: number;
  /** Whether the bytes of the line are known to be ASCII. */
  readonly isPlain: boolean;
  /** Whether the line is longer than RECORD_BYTES_MAX, so that `bytes` has only its beginning. */
  readonly isCut: boolean;
}

/**
 * Finds lines and joins folded ones. Lines may end with LF, CR LF or CR CR LF. They are joined as bytes, because a fold may
 * cut a character.
 */
export class LineScanner {
  /** Takes a line, whose bytes are valid until the call returns. */
  readonly #take: (line: FoundLine) => void;
  /** Number of the next line of the source. */
  #lineNumber = 1;
  /** A line that may continue, as far as it has come. Beyond RECORD_BYTES_MAX, only its length is kept. */
  #carry: Buffer | null = null;
  #length = 0;
  /** 0 if no line may continue. */
  #carryLineNumber = 0;
  /** Whether the carried line has ended, unless the next line continues it. */
  #isEnded = false;

  constructor(take: (line: FoundLine) => void) {
    this.#take = take;
  }

  push(chunk: Buffer): void {
    const isPlain = isAscii(chunk);
    let at = 0;
    while (at < chunk.length) {
      const continues = this.#isEnded && isFold(chunk[at]);
      if (this.#isEnded && !continues) this.#giveCarry();
      this.#isEnded = false;
      const start = continues ? at + 1 : at;
      const lf = chunk.indexOf(LF, at);
      const end = lf === -1 ? chunk.length : lf;
      if (this.#carryLineNumber === 0 && lf !== -1 && lf + 1 < chunk.length && !isFold(chunk[lf + 1])) {
        let lineEnd = end;
        while (lineEnd > start && chunk[lineEnd - 1] === CR) lineEnd--;
        this.#give(chunk, start, lineEnd, this.#lineNumber, isPlain);
      } else {
        this.#append(chunk, start, end);
        if (lf !== -1) this.#endCarry();
      }
      if (lf !== -1) this.#lineNumber++;
      at = end + 1;
    }
  }

  finish(): void {
    if (this.#carryLineNumber === 0) return;
    this.#endCarry();
    this.#giveCarry();
  }

  #append(chunk: Buffer, start: number, end: number): void {
    if (this.#carryLineNumber === 0) {
      this.#carryLineNumber = this.#lineNumber;
      this.#length = 0;
    }
    this.#carry ??= Buffer.allocUnsafe(RECORD_BYTES_MAX);
    // A copy ends where the carry ends.
    chunk.copy(this.#carry, this.#length, start, end);
    this.#length += end - start;
  }

  #endCarry(): void {
    while (this.#length > 0 && this.#carry?.[this.#length - 1] === CR) this.#length--;
    this.#isEnded = true;
  }

  #giveCarry(): void {
    const lineNumber = this.#carryLineNumber;
    this.#carryLineNumber = 0;
    if (this.#carry !== null) this.#give(this.#carry, 0, this.#length, lineNumber, false);
  }

  #give(bytes: Buffer, start: number, end: number, lineNumber: number, isPlain: boolean): void {
    if (end === start) return;
    const isCut = end - start > RECORD_BYTES_MAX;
    this.#take({ bytes, start, end: isCut ? start + RECORD_BYTES_MAX : end, lineNumber, isPlain, isCut });
  }
}

function isFold(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB;
}

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

/** A value of DTSTART, DTEND, RECURRENCE-ID, RDATE or EXDATE, with its parameters. */
export interface GivenTime {
  readonly value: string;
  readonly tzid: string | null;
}

/** A parsed date or date-time whose time zone is not known yet. */
export interface WrittenTime {
  /** Date and time, treated as UTC. */
  readonly localMs: number;
  readonly isDate: boolean;
  readonly isUtc: boolean;
}

/** A length. Its days count in local time, its milliseconds in elapsed time (RFC 5545 section 3.3.6). */
export interface Length {
  readonly days: number;
  readonly ms: number;
}

const NO_TIME = 'it is not an iCalendar date or date-time such as 20260914 or 20260914T080000';
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;
const LOWER_CASE = 0x20;

/** @returns a clause on the fault, such as "month 13 does not exist" */
export function parseTime(text: string): WrittenTime | string {
  const { length } = text;
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const month = twoDigits(text, 4);
  const day = twoDigits(text, 6);
  const isDate = length === 8;
  if (Number.isNaN(year + month + day) || (!isDate && length !== 15 && length !== 16)) return NO_TIME;
  if (month < 1 || month > 12) return `month ${text.slice(4, 6)} does not exist`;
  if (day < 1 || day > daysInMonth(year, month)) {
    return `${text.slice(0, 4)}-${text.slice(4, 6)} has no day ${text.slice(6, 8)}`;
  }
  const dateMs = daysFromCivil(year, month, day) * DAY_MS;
  if (isDate) return { localMs: dateMs, isDate: true, isUtc: false };
  const hour = twoDigits(text, 9);
  const minute = twoDigits(text, 11);
  const second = twoDigits(text, 13);
  const isUtc = length === 16;
  if (Number.isNaN(hour + minute + second) || !isLetter(text, 8, LETTER_T)) return NO_TIME;
  if (isUtc && !isLetter(text, 15, LETTER_Z)) return NO_TIME;
  if (hour > 23) return `hour ${hour} does not exist`;
  if (minute > 59) return `minute ${minute} does not exist`;
  if (second > 59) return `second ${second} cannot be represented`;
  return { localMs: dateMs + ((hour * 60 + minute) * 60 + second) * 1000, isDate: false, isUtc };
}

function isLetter(text: string, at: number, upperCase: number): boolean {
  return (text.charCodeAt(at) & ~LOWER_CASE) === upperCase;
}

const DURATION = /^([+-])?P(?:(\d+)W|(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?)$/i;
/** The longest duration: a century. */
const DAYS_MAX = 36_525;

export function parseDuration(text: string): Length | string {
  const match = DURATION.exec(text);
  if (match === null || !/\d/.test(text)) return 'it is not an iCalendar duration such as PT1H30M';
  const [, sign, weeks = '0', days = '0', hours = '0', minutes = '0', seconds = '0'] = match;
  const direction = sign === '-' ? -1 : 1;
  const wholeDays = Number(weeks) * 7 + Number(days);
  const ms = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
  if (wholeDays + ms / DAY_MS > DAYS_MAX) return 'it is longer than a century';
  return { days: direction * wholeDays || 0, ms: direction * ms || 0 };
}

export interface CivilDate {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** The date of a day number, counted from 1970-01-01. */
export function civilOf(days: number): CivilDate {
  // Years begin in March, so that the leap day is the last day; 146,097 days are 400 years.
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const m = Math.floor((5 * dayOfYear + 2) / 153);
  const month = m < 10 ? m + 3 : m - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * m + 2) / 5) + 1,
  };
}
