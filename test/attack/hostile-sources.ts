/** Sources that aim at slow code: each generator gives about `bytes` bytes that aim at one place. */
import { gzipSync } from 'node:zlib';
import { pack } from 'msgpackr';
import type { ReadRules } from '../../src/base/model/read-rules.js';

export interface HostileSource {
  readonly name: string;
  readonly make: (bytes: number) => Buffer;
  readonly rules?: Partial<ReadRules>;
  /** Default: pieces of 64 KiB. */
  readonly pieceBytes?: number;
}

/** Runs of these are not in order, so that normalising them takes the longest. */
export const MARKS = '\u0301\u0323';
const ID = '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417';
const TIMES = { time: '2026-09-14T08:00:00Z', endTime: '2026-09-14T09:00:00Z' };

function uuid(n: number): string {
  return `${n.toString(16).padStart(8, '0')}${ID.slice(8)}`;
}

export function repeated(bytes: number, text: string): string {
  return text.repeat(Math.max(1, Math.ceil(bytes / Buffer.byteLength(text))));
}

/** The texts for 0, 1, 2, … until they have this many bytes. */
function numbered(bytes: number, text: (n: number) => string): string {
  const parts: string[] = [];
  for (let n = 0, length = 0; length < bytes; n++) {
    const part = text(n);
    parts.push(part);
    length += Buffer.byteLength(part);
  }
  return parts.join('');
}

function longName(n: number): string {
  return `${'x'.repeat(16_400)}${n}`.slice(-16_400);
}

function line(fields: object): string {
  return `${JSON.stringify({ id: ID, ...TIMES, title: 'A', ...fields })}\n`;
}

/** A calendar around lines. */
function calendar(lines: string): Buffer {
  return Buffer.from(`BEGIN:VCALENDAR\r\n${lines}END:VCALENDAR\r\n`);
}

function event(n: number, lines: string): string {
  return `BEGIN:VEVENT\r\nUID:${n}\r\nDTSTART:20260914T080000Z\r\nDTEND:20260914T090000Z\r\n${lines}END:VEVENT\r\n`;
}

function events(bytes: number, lines: (n: number) => string): Buffer {
  return calendar(numbered(bytes, (n) => event(n, lines(n))));
}

/** Just below RECORD_BYTES_MAX, so that the reader takes the record. */
const RECORD = 900_000;

/** One record of this many bytes, or several of at most RECORD bytes. */
function records(bytes: number, one: (bytes: number, n: number) => string): string {
  const count = Math.ceil((3 * bytes) / RECORD);
  return Array.from({ length: count }, (_, n) => one(bytes / count, n)).join('');
}

/** Lessons of every Monday, with one part that is hostile. */
function pattern(name: string, part: string, text: (bytes: number) => string): HostileSource {
  const lesson = { day: 'Mon', start: '09:00', end: '10:00', weeks: '1-3' };
  return {
    name: `pattern: ${name}`,
    rules: {
      identifiers: 'derived',
      timeZone: 'Europe/Berlin',
      terms: { autumn: { firstDay: '2026-09-28', weeks: 12 } },
      when: { day: 'day', start: 'start', end: 'end', weeks: 'weeks' },
    },
    make: (b) =>
      Buffer.from(records(b, (b) => `${JSON.stringify({ title: 'A', ...lesson, [part]: `${text(b)}x` })}\n`)),
  };
}

const DAILY = 'RRULE:FREQ=HOURLY;COUNT=10000\r\n';

export const HOSTILE: readonly HostileSource[] = [
  pattern('weeks of marks', 'weeks', (b) => repeated(b, MARKS)),
  pattern('weeks of spaces', 'weeks', (b) => `1${repeated(b, ' ')}`),
  pattern('a day of marks', 'day', (b) => repeated(b, MARKS)),
  pattern('a day of letters', 'day', (b) => repeated(b, 'TU')),
  pattern('a start of spaces', 'start', (b) => `9${repeated(b, ' ')}`),
  pattern('a start of line breaks', 'start', (b) => `9${repeated(b, ' \n')}`),
  pattern('a start of words', 'start', (b) => `9${repeated(b, ' to ')}`),
  {
    name: 'ndjson: a title of combining marks',
    make: (b) => Buffer.from(records(b, (b) => line({ title: repeated(b, MARKS) }))),
  },
  {
    name: 'ndjson: a title of combining marks, derived',
    rules: { identifiers: 'derived' },
    make: (b) =>
      Buffer.from(records(b, (b) => line({ title: repeated(b, MARKS), roomId: repeated(b, MARKS) }))),
  },
  {
    name: 'ndjson: marks of many classes',
    make: (b) =>
      Buffer.from(records(b, (b) => line({ title: repeated(b, 'a\u0301\u0327\u0323\u0345\u05b0\u0334') }))),
  },
  {
    name: 'ndjson: hangul',
    make: (b) => Buffer.from(records(b, (b) => line({ title: repeated(b, '\u1100\u1161\u11a8') }))),
  },
  {
    name: 'ndjson: decomposing',
    make: (b) => Buffer.from(records(b, (b) => line({ title: repeated(b, '\ufb2c\u1e69\u0344') }))),
  },
  { name: 'ndjson: only line feeds', make: (b) => Buffer.from(line({}) + repeated(b, '\n')) },
  { name: 'ndjson: only carriage returns', make: (b) => Buffer.from(line({}) + repeated(b, '\r')) },
  { name: 'ndjson: lines of one brace', make: (b) => Buffer.from(line({}) + repeated(b, '{\n')) },
  {
    name: 'ndjson: lines of rubbish',
    make: (b) => Buffer.from(line({}) + records(b, (b) => `{"a":"${repeated(b, '\\u00e9')}x\n`)),
  },
  {
    name: 'ndjson: open brackets',
    make: (b) => Buffer.from(line({}) + records(b, (b) => `${repeated(b, '[')}\n`)),
  },
  {
    name: 'ndjson: nested',
    make: (b) =>
      Buffer.from(line({}) + records(b, (b) => `{"id":${repeated(b / 2, '[')}${repeated(b / 2, ']')}}\n`)),
  },
  {
    name: 'ndjson: nested objects',
    make: (b) =>
      Buffer.from(
        line({}) + records(b, (b) => `${repeated((b * 5) / 6, '{"a":')}1${repeated(b / 6, '}')}\n`),
      ),
  },
  {
    name: 'ndjson: one name many times',
    make: (b) => Buffer.from(records(b, (b) => `{${repeated(b, '"a":1,')}"id":"${ID}"}\n`)),
  },
  {
    name: 'ndjson: plain names many',
    make: (b) =>
      Buffer.from(
        records(
          b,
          (b, n) =>
            `{${numbered(b, (n) => `"a${n}":"",`)}"id":"${uuid(n)}","title":"A","time":"${TIMES.time}","endTime":"${TIMES.endTime}"}\n`,
        ),
      ),
  },
  {
    name: 'ndjson: numbered names',
    make: (b) =>
      Buffer.from(
        records(
          b,
          (b, n) =>
            `{${numbered(b, (n) => `"${n * 131072}":"",`)}"id":"${uuid(n)}","title":"A","time":"${TIMES.time}","endTime":"${TIMES.endTime}"}\n`,
        ),
      ),
  },
  { name: 'ndjson: an object around an array', make: (b) => Buffer.from(`{${repeated(b, ' ')}"a"`) },
  {
    name: 'ndjson: escapes',
    make: (b) => Buffer.from(records(b, (b) => line({ title: repeated(b / 2, '"') }))),
  },
  { name: 'ndjson: repeated ids', make: (b) => Buffer.from(numbered(b, () => line({}))) },
  {
    name: 'ndjson: equal records without id',
    rules: { identifiers: 'derived' },
    make: (b) => Buffer.from(numbered(b, () => line({ id: undefined }))),
  },
  {
    name: 'ndjson: distinct titles',
    make: (b) => Buffer.from(numbered(b, (n) => line({ id: uuid(n), title: `T${n}` }))),
  },
  {
    name: 'ndjson: distinct everything',
    make: (b) =>
      Buffer.from(
        numbered(b, (n) =>
          line({
            id: uuid(n),
            title: `T${n}`,
            roomId: uuid(n),
            roomName: `R${n}`,
            studyGroup: `G${n}`,
            lecturer: `L${n}`,
            lecturerId: uuid(n),
            courseId: uuid(n),
            type: `T${n}`,
          }),
        ),
      ),
  },
  {
    name: 'ndjson: distinct times',
    make: (b) =>
      Buffer.from(
        numbered(b, (n) =>
          line({
            id: uuid(n),
            time: new Date(1.7e12 + n * 1000).toISOString(),
            endTime: new Date(1.8e12 + n * 1000).toISOString(),
          }),
        ),
      ),
  },
  {
    name: 'ndjson: one room at once',
    make: (b) =>
      Buffer.from(numbered(b, (n) => line({ id: uuid(n), roomId: ID, lecturer: 'L', studyGroup: 'G' }))),
  },
  {
    name: 'ndjson: one room, nested',
    make: (b) =>
      Buffer.from(
        numbered(b, (n) =>
          line({
            id: uuid(n),
            roomId: ID,
            time: new Date(1.7e12 - n * 1000).toISOString(),
            endTime: new Date(1.7e12 + n * 1000).toISOString(),
          }),
        ),
      ),
  },
  {
    name: 'ndjson: one roomId with many names',
    make: (b) => Buffer.from(numbered(b, (n) => line({ id: uuid(n), roomId: ID, roomName: `R${n}` }))),
  },
  {
    name: 'ndjson: unserved names',
    make: (b) => Buffer.from(numbered(b, (n) => line({ id: uuid(n), [`x${n}`]: 1 }))),
  },
  {
    name: 'ndjson: faults',
    make: (b) =>
      Buffer.from(
        line({}) + numbered(b, (n) => line({ id: n, time: 'x', endTime: 'y', title: null, roomId: 7 })),
      ),
  },
  {
    name: 'ndjson: numbers as ids',
    rules: { identifiers: 'any' },
    make: (b) => Buffer.from(numbered(b, (n) => line({ id: n }))),
  },
  {
    name: 'ndjson: huge number',
    make: (b) => Buffer.from(records(b, (b) => `{"id":"${ID}","title":${repeated(b, '9')}}\n`)),
  },
  {
    name: 'ndjson: huge exponent',
    make: (b) => Buffer.from(records(b, (b) => `{"id":"${ID}","title":1.${repeated(b, '1')}e-99999}\n`)),
  },
  {
    name: 'ndjson: long time',
    make: (b) => Buffer.from(records(b, (b) => line({ time: `2026-09-14T08:00:00.${repeated(b, '0')}Z` }))),
  },
  {
    name: 'ndjson: long time text with spaces',
    rules: { timeZone: 'Europe/Berlin' },
    make: (b) => Buffer.from(records(b, (b) => line({ time: `14.09.2026${repeated(b, ' ')}08:00` }))),
  },
  {
    name: 'ndjson: long local times',
    rules: { timeZone: 'Europe/Berlin' },
    make: (b) => Buffer.from(records(b, (b) => line({ time: repeated(b, '1') }))),
  },
  {
    name: 'ndjson: long id',
    rules: { identifiers: 'any' },
    make: (b) => Buffer.from(records(b, (b) => line({ id: repeated(b, 'é') }))),
  },
  {
    name: 'ndjson: pieces of one byte',
    pieceBytes: 1,
    make: (b) => Buffer.from(numbered(b, (n) => line({ id: uuid(n) }))),
  },
  { name: 'white space in pieces of one byte', pieceBytes: 1, make: (b) => Buffer.from(repeated(b, ' ')) },
  { name: 'white space', make: (b) => Buffer.from(repeated(b, '\n')) },
  {
    name: 'array: pieces of one byte',
    pieceBytes: 1,
    make: (b) => Buffer.from(`[${numbered(b, (n) => `${n === 0 ? '' : ','}${line({ id: uuid(n) })}`)}]`),
  },
  { name: 'array: white space', make: (b) => Buffer.from(`[${repeated(b, ' ')}]`) },
  { name: 'array: broken elements', make: (b) => Buffer.from(`[{"id":1}${repeated(b, ',{x}')}]`) },
  { name: 'array: broken first in a long line', make: (b) => Buffer.from(`[${repeated(b, '"é",')}{x}]`) },
  { name: 'array: numbers', make: (b) => Buffer.from(`[${repeated(b, '1,')}1]`) },
  { name: 'array: open brackets', make: (b) => Buffer.from(`[${repeated(b, '[')}`) },
  { name: 'array: quotes', make: (b) => Buffer.from(`[${repeated(b, '"",')}""]`) },
  { name: 'array: backslashes', make: (b) => Buffer.from(`["${repeated(b, '\\')}"]`) },
  {
    name: 'array: nested',
    make: (b) => Buffer.from(`[${records(b, (b) => `${repeated(b / 2, '[')}${repeated(b / 2, ']')},`)}1]`),
  },
  {
    name: 'messagepack: nested',
    make: (b) => Buffer.concat([Buffer.from([0x91]), Buffer.alloc(b, 0x91), Buffer.from([0xc0])]),
  },
  {
    name: 'messagepack: nested below the bound',
    make: (b) =>
      Buffer.concat(
        Array.from({ length: Math.ceil(b / RECORD) }, () =>
          Buffer.concat([
            Buffer.from([0x81, 0xa1, 0x61]),
            Buffer.alloc(b / Math.ceil(b / RECORD), 0x91),
            Buffer.from([0xc0]),
          ]),
        ),
      ),
  },
  { name: 'messagepack: empty maps', make: (b) => Buffer.alloc(b, 0x80) },
  {
    name: 'messagepack: nils',
    make: (b) => Buffer.concat([Buffer.from([0xdd, 0, 0xff, 0xff, 0xff]), Buffer.alloc(b, 0xc0)]),
  },
  {
    name: 'messagepack: huge array',
    make: (b) =>
      Buffer.concat([Buffer.from([0x81, 0xa1, 0x61, 0xdd, 0xff, 0xff, 0xff, 0xff]), Buffer.alloc(b, 0xc0)]),
  },
  {
    name: 'messagepack: one-byte pieces',
    pieceBytes: 1,
    make: (b) =>
      Buffer.concat(
        Array.from({ length: Math.ceil(b / 120) }, (_, n) => pack({ id: uuid(n), title: 'A', ...TIMES })),
      ),
  },
  {
    name: 'messagepack: one text in one-byte pieces',
    pieceBytes: 1,
    make: (b) => Buffer.concat([Buffer.from([0x81, 0xa1, 0x61]), pack('x'.repeat(b))]),
  },
  {
    name: 'messagepack: extensions',
    make: (b) =>
      Buffer.concat([Buffer.from([0x80]), Buffer.from(repeated(b, '\u0000').replaceAll('\0', 'a'))]),
  },
  {
    name: 'messagepack: structures',
    make: (b) =>
      Buffer.concat([
        Buffer.from([0x80]),
        ...Array.from({ length: Math.ceil(b / 8) }, (_, n) =>
          Buffer.from([0xd5, 0x72, 0x60 + ((n >> 8) & 31), n & 255, 0x91, 0xa1, 0x61, 0xc0]),
        ),
      ]),
  },
  {
    name: 'messagepack: many names',
    make: (b) =>
      Buffer.concat(
        Array.from({ length: Math.ceil(b / RECORD) }, () =>
          pack(Object.fromEntries(Array.from({ length: Math.min(60_000, b / 12) }, (_, n) => [`a${n}`, n]))),
        ),
      ),
  },
  { name: 'csv: open quote', make: (b) => Buffer.from(`id,title\n${numbered(b, (n) => `"${n},x\n`)}`) },
  { name: 'csv: quote and line break', make: (b) => Buffer.from(`id,title\n1,"${repeated(b, '\n')}`) },
  { name: 'csv: quoted line breaks', make: (b) => Buffer.from(`id,title\n${repeated(b, '1,"\r\n"x\n')}`) },
  {
    name: 'csv: one quote in each line',
    make: (b) => Buffer.from(`id,title\n${repeated(b, '1,"aaaaaaaaaaaaaaaaaaa\n')}`),
  },
  {
    name: 'csv: quotes, one-byte pieces',
    pieceBytes: 1,
    make: (b) => Buffer.from(`id,title\n${repeated(b, '1,"aaaaaaaaaaaaaaaaaaa\n')}`),
  },
  {
    name: 'csv: doubled quotes',
    make: (b) => Buffer.from(`id,title\n${records(b, (b) => `1,"${repeated(b, '""')}"\n`)}`),
  },
  { name: 'csv: delimiters', make: (b) => Buffer.from(`id,title\n${repeated(b, ',')}\n`) },
  {
    name: 'csv: delimiters below the bound',
    make: (b) => Buffer.from(`id,title\n${records(b, (b) => `${repeated(b, ',')}\n`)}`),
  },
  { name: 'csv: delimiters in the header', make: (b) => Buffer.from(`${repeated(b, ',')}\n1,2\n`) },
  { name: 'csv: backslashes', make: (b) => Buffer.from(`id,title\n${repeated(b, '1,\\\n')}`) },
  {
    name: 'csv: backslash at the end of chunks',
    make: (b) =>
      Buffer.from(
        `id,title,time,endTime\n${numbered(b, (n) => `${uuid(n)},A\\,${TIMES.time},${TIMES.endTime}\n`)}`,
      ),
  },
  { name: 'csv: only carriage returns', make: (b) => Buffer.from(`id,title\r${repeated(b, '\r')}`) },
  {
    name: 'csv: equal names',
    make: (b) =>
      Buffer.from(
        `${'a'.repeat(Math.min(900, b / 1000))},`.repeat(1000).slice(0, -1) +
          `\n${'1,'.repeat(999)}1\n`.repeat(Math.ceil(b / 2000)),
      ),
  },
  { name: 'csv: a header of one name', make: (b) => Buffer.from(`a,${repeated(b, 'a')}`) },
  {
    name: 'csv: many columns',
    make: (b) =>
      Buffer.from(
        `id,${Array.from({ length: 999 }, (_, n) => `c${n}`).join(',')}\n${repeated(b, `1,${','.repeat(998)}\n`)}`,
      ),
  },
  {
    name: 'csv: a header that begins with a time',
    make: (b) => Buffer.from(records(b, (b) => `id,title,time,10:00${repeated(b, ' ')}x\n`)),
  },
  { name: 'csv: sep', make: (b) => Buffer.from(`sep=;\n${repeated(b, 'a;b\n')}`) },
  {
    name: 'csv: one-byte pieces',
    pieceBytes: 1,
    make: (b) =>
      Buffer.from(
        `id,title,time,endTime\n${numbered(b, (n) => `${uuid(n)},A,${TIMES.time},${TIMES.endTime}\n`)}`,
      ),
  },
  {
    name: 'csv: combining marks',
    make: (b) =>
      Buffer.from(
        `id,title,time,endTime\n${records(b, (b, n) => `${uuid(n)},${repeated(b, MARKS)},${TIMES.time},${TIMES.endTime}\n`)}`,
      ),
  },
  {
    name: 'calendar: folds with carriage returns',
    make: (b) => events(b, () => `SUMMARY:${repeated(Math.min(b / 4, 400_000), '\r')}\r\n x\r\n`),
  },
  {
    name: 'calendar: folds with carriage returns inside',
    make: (b) => events(b, () => `SUMMARY:${repeated(Math.min(b / 4, 400_000), '\r')}y\r\n x\r\n`),
  },
  {
    name: 'calendar: carriage returns, description',
    make: (b) => events(b, () => `DESCRIPTION:${repeated(Math.min(b / 4, 400_000), '\r')}\r\n x\r\n`),
  },
  {
    name: 'calendar: lines of carriage returns',
    make: (b) => events(b, () => repeated(Math.min(b / 4, 400_000), '\r\r\r\r\n')),
  },
  {
    name: 'calendar: folds',
    make: (b) => events(b, () => `SUMMARY:${repeated(Math.min(b / 4, 400_000), '\r\n ')}x\r\n`),
  },
  {
    name: 'calendar: folds of the location',
    make: (b) => events(b, () => `LOCATION;X="a":${repeated(Math.min(b / 4, 400_000), '\n\t')}x\r\n`),
  },
  {
    name: 'calendar: folds, one-byte pieces',
    pieceBytes: 1,
    make: (b) => events(b, () => `SUMMARY:${repeated(Math.min(b / 4, 400_000), '\r\n ')}x\r\n`),
  },
  { name: 'calendar: nested components', make: (b) => calendar(numbered(b, () => 'BEGIN:X\r\n')) },
  {
    name: 'calendar: nested in turn',
    make: (b) => calendar(numbered(b, (n) => `${n % 14 < 7 ? 'BEGIN' : 'END'}:X\r\n`)),
  },
  {
    name: 'calendar: nested components within events',
    make: (b) =>
      calendar(`BEGIN:VEVENT\r\n${numbered(b, (n) => `${n % 14 < 7 ? 'BEGIN' : 'END'}:VALARM\r\n`)}`),
  },
  { name: 'calendar: begin only', make: (b) => calendar(numbered(b, () => 'BEGIN:VEVENT\r\n')) },
  { name: 'calendar: end only', make: (b) => calendar(numbered(b, () => 'END:VEVENT\r\n')) },
  {
    name: 'calendar: calendars',
    make: (b) => Buffer.from(numbered(b, () => 'BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n')),
  },
  {
    name: 'calendar: unclosed calendars',
    make: (b) => Buffer.from(numbered(b, () => 'BEGIN:VCALENDAR\r\n')),
  },
  {
    name: 'calendar: long name for small events',
    make: (b) =>
      calendar(
        `X-WR-CALNAME:${repeated(Math.min(900_000, b / 2), 'n')}\r\n${numbered(b / 2, (n) => event(n, ''))}`,
      ),
  },
  {
    name: 'calendar: long name for recurring events',
    make: (b) =>
      calendar(
        `X-WR-CALNAME:${repeated(Math.min(900_000, b / 2), 'n')}\r\n${numbered(b / 2, (n) => event(n, 'RRULE:FREQ=DAILY;COUNT=2\r\n'))}`,
      ),
  },
  {
    name: 'calendar: marks in the name',
    make: (b) => calendar(`X-WR-CALNAME:${repeated(Math.min(900_000, b / 2), MARKS)}\r\n${event(1, '')}`),
  },
  {
    name: 'calendar: marks in uid',
    make: (b) =>
      calendar(
        records(
          b,
          (b) => `BEGIN:VEVENT\r\nUID:${repeated(b, MARKS)}\r\nDTSTART:20260914T080000Z\r\nEND:VEVENT\r\n`,
        ),
      ),
  },
  {
    name: 'calendar: marks in location',
    make: (b) => events(b, () => `LOCATION:${repeated(Math.min(b, 900_000), MARKS)}\r\n`),
  },
  {
    name: 'calendar: long parameters with many dates',
    make: (b) =>
      calendar(
        records(b, (b, n) =>
          event(
            n,
            `RDATE;X=${repeated(b / 2, 'a')}:${repeated(b / 2, '20260915T080000Z,')}20260914T080000Z\r\n`,
          ),
        ),
      ),
  },
  {
    name: 'calendar: long parameters with many excluded dates',
    make: (b) =>
      calendar(
        records(b, (b, n) =>
          event(
            n,
            `RRULE:FREQ=DAILY;COUNT=9\r\nEXDATE;X=${repeated(b / 2, 'a')}:${repeated(b / 2, '20260915T080000Z,')}20260914T080000Z\r\n`,
          ),
        ),
      ),
  },
  {
    name: 'calendar: an organizer of at signs',
    make: (b) => calendar(records(b, (b, n) => event(n, `ORGANIZER;CN="${repeated(b, '@')} x":a\r\n`))),
  },
  {
    name: 'calendar: many parameters',
    make: (b) => calendar(records(b, (b, n) => event(n, `ATTENDEE;${repeated(b, 'A=1;')}CN=x:mailto:a\r\n`))),
  },
  {
    name: 'calendar: parameters without values',
    make: (b) => calendar(records(b, (b, n) => event(n, `ATTENDEE;${repeated(b, ';')}CN=x:mailto:a\r\n`))),
  },
  {
    name: 'calendar: quotes in parameters',
    make: (b) => calendar(records(b, (b, n) => event(n, `ATTENDEE;${repeated(b, '"')}CN=x:mailto:a\r\n`))),
  },
  {
    name: 'calendar: a quote that never closes',
    make: (b) => calendar(numbered(b, (n) => event(n, 'ATTENDEE;CN="x\r\n'))),
  },
  {
    name: 'calendar: categories',
    make: (b) => calendar(records(b, (b, n) => event(n, `CATEGORIES:${repeated(b, 'a')},x\r\n`))),
  },
  {
    name: 'calendar: categories with escapes',
    make: (b) => calendar(records(b, (b, n) => event(n, `CATEGORIES:${repeated(b, '\\,')},x\r\n`))),
  },
  {
    name: 'calendar: escapes',
    make: (b) => calendar(records(b, (b, n) => event(n, `SUMMARY:${repeated(b, '\\n')}\r\n`))),
  },
  {
    name: 'calendar: backslashes',
    make: (b) => calendar(records(b, (b, n) => event(n, `SUMMARY:${repeated(b, '\\')}x\r\n`))),
  },
  {
    name: 'calendar: many names in recurring events',
    make: (b) => events(b, () => `${DAILY}${numbered(Math.min(b, 900_000), (n) => `X${n}:\r\n`)}`),
  },
  {
    name: 'calendar: many names in recurring events, mapped',
    rules: { fieldMap: { title: 'SUMMARY' } },
    make: (b) => events(b, () => `${DAILY}${numbered(Math.min(b, 900_000), (n) => `X${n}:\r\n`)}`),
  },
  {
    name: 'calendar: one name many times',
    make: (b) => events(b, () => repeated(Math.min(b, 900_000), 'X:\r\n')),
  },
  {
    name: 'calendar: long title in recurring events',
    make: (b) => events(b, () => `${DAILY}SUMMARY:${repeated(Math.min(b, 900_000), 'x')}\r\n`),
  },
  {
    name: 'calendar: long description in recurring events, mapped',
    rules: { fieldMap: { title: 'SUMMARY' } },
    make: (b) => events(b, () => `${DAILY}DESCRIPTION:${repeated(Math.min(b, 900_000), 'x')}\r\n`),
  },
  {
    name: 'calendar: one uid',
    make: (b) => calendar(numbered(b, () => event(1, 'RRULE:FREQ=DAILY;COUNT=2\r\n'))),
  },
  {
    name: 'calendar: one uid, many overrides',
    make: (b) =>
      calendar(
        `${event(1, 'RRULE:FREQ=MINUTELY;COUNT=9000\r\n')}${numbered(b, (n) => event(1, `RECURRENCE-ID;RANGE=THISANDFUTURE:${new Date(Date.UTC(2026, 8, 14, 8) + n * 60_000).toISOString().replace(/[-:]|\.\d+/g, '')}\r\n`))}`,
      ),
  },
  {
    name: 'calendar: many masters of one uid',
    make: (b) =>
      calendar(
        numbered(
          b,
          (n) =>
            `BEGIN:VEVENT\r\nUID:1\r\nDTSTART:${new Date(Date.UTC(2026, 8, 14, 8) + n * 60_000).toISOString().replace(/[-:]|\.\d+/g, '')}\r\nRRULE:FREQ=DAILY;COUNT=2\r\nEND:VEVENT\r\n`,
        ),
      ),
  },
  {
    name: 'calendar: many rules',
    make: (b) => events(b, () => repeated(Math.min(b, 900_000), 'RRULE:FREQ=DAILY;COUNT=2\r\n')),
  },
  {
    name: 'calendar: many bad rules',
    make: (b) => events(b, () => repeated(Math.min(b, 900_000), 'RRULE:FREQ=X\r\n')),
  },
  {
    name: 'calendar: many excluded rules',
    make: (b) =>
      events(
        b,
        () =>
          `RRULE:FREQ=DAILY;COUNT=2\r\n${repeated(Math.min(b, 900_000), 'EXRULE:FREQ=DAILY;COUNT=2\r\n')}`,
      ),
  },
  {
    name: 'calendar: long list in a rule',
    make: (b) =>
      events(b, () => `RRULE:FREQ=DAILY;COUNT=2;BYHOUR=${repeated(Math.min(b, 900_000), '1,')}1\r\n`),
  },
  {
    name: 'calendar: many excluded dates',
    make: (b) =>
      events(
        b,
        () =>
          `RRULE:FREQ=DAILY;COUNT=2\r\nEXDATE:${repeated(Math.min(b, 900_000), '20260915T080000Z,')}20260915T080000Z\r\n`,
      ),
  },
  {
    name: 'calendar: expensive rules',
    make: (b) =>
      events(b, () => 'RRULE:FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=29;BYHOUR=3;BYMINUTE=1;BYSECOND=1\r\n'),
  },
  {
    name: 'calendar: zones',
    make: (b) =>
      calendar(
        numbered(
          b,
          (n) =>
            `BEGIN:VTIMEZONE\r\nTZID:Z${n}\r\nBEGIN:STANDARD\r\nDTSTART:16010101T000000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nRRULE:FREQ=YEARLY;BYMONTH=3\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n`,
        ),
      ),
  },
  {
    name: 'calendar: observances',
    make: (b) =>
      calendar(
        `BEGIN:VTIMEZONE\r\nTZID:Z\r\n${repeated(Math.min(b, 900_000), 'BEGIN:STANDARD\r\nDTSTART:16010101T000000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nEND:STANDARD\r\n')}END:VTIMEZONE\r\n`,
      ),
  },
  {
    name: 'calendar: observances without end',
    make: (b) =>
      calendar(
        `BEGIN:VTIMEZONE\r\nTZID:Z\r\n${repeated(b, 'BEGIN:STANDARD\r\nEND:STANDARD\r\n')}END:VTIMEZONE\r\n`,
      ),
  },
  {
    name: 'calendar: dates of a zone',
    make: (b) =>
      calendar(
        `BEGIN:VTIMEZONE\r\nTZID:Z\r\nBEGIN:STANDARD\r\nDTSTART:16010101T000000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nRDATE:${repeated(Math.min(b, 900_000), '16010101T000000,')}16010101T000000\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n`,
      ),
  },
  {
    name: 'calendar: many names of zones',
    make: (b) =>
      calendar(
        numbered(b, (n) =>
          event(n, '').replace('DTSTART:', `DTSTART;TZID=Europe/X${n}:`).replace('Z\r\nDTEND', '\r\nDTEND'),
        ),
      ),
  },
  {
    name: 'calendar: waiting for a zone',
    make: (b) =>
      calendar(
        numbered(b, (n) =>
          event(n, '').replace('DTSTART:20260914T080000Z', `DTSTART;TZID=Mine:20260914T080000`),
        ),
      ),
  },
  {
    name: 'calendar: a long name of a zone',
    make: (b) =>
      calendar(
        records(b, (b, n) =>
          event(n, '').replace(
            'DTSTART:20260914T080000Z',
            `DTSTART;TZID=/${repeated(b, 'a/')}:20260914T080000`,
          ),
        ),
      ),
  },
  {
    name: 'calendar: a long duration',
    make: (b) =>
      calendar(
        records(b, (b, n) => event(n, '').replace('DTEND:20260914T090000Z', `DURATION:P${repeated(b, '1')}`)),
      ),
  },
  {
    name: 'calendar: no uid',
    make: (b) => calendar(numbered(b, () => 'BEGIN:VEVENT\r\nDTSTART:20260914T080000Z\r\nEND:VEVENT\r\n')),
  },
  {
    name: 'calendar: one-byte pieces',
    pieceBytes: 1,
    make: (b) => calendar(numbered(b, (n) => event(n, ''))),
  },
  { name: 'calendar: nul lines', make: (b) => calendar(repeated(b, '\0\n')) },
  {
    name: 'ndjson: distinct names that V8 hashes by their length',
    make: (b) => Buffer.from(numbered(32 * b, (n) => `{"id":1,"${longName(n)}":1}\n`)),
  },
  {
    name: 'array: names that V8 hashes by their length, nested',
    make: (b) => Buffer.from(`[${numbered(32 * b, (n) => `{"id":{"${longName(n)}" :1}},`)}1]`),
  },
  {
    name: 'messagepack: names that V8 hashes by their length',
    make: (b) =>
      Buffer.concat(Array.from({ length: (32 * b) / 16_400 }, (_, n) => pack({ [longName(n)]: 1 }))),
  },
  {
    name: 'calendar: names that V8 hashes by their length',
    make: (b) => calendar(numbered(32 * b, (n) => event(n, `${longName(n).toUpperCase()}:x\r\n`))),
  },
  {
    name: 'calendar: UIDs that V8 hashes by their length',
    make: (b) =>
      calendar(
        numbered(32 * b, (n) =>
          event(0, 'RRULE:FREQ=DAILY;COUNT=1\r\n').replace('UID:0', `UID:${longName(n)}`),
        ),
      ),
  },
  {
    name: 'gzip: empty members',
    make: (b) => Buffer.concat(Array.from({ length: Math.ceil(b / 20) }, () => gzipSync(''))),
  },
  {
    name: 'gzip: members of one line',
    make: (b) =>
      Buffer.concat(Array.from({ length: Math.ceil(b / 160) }, (_, n) => gzipSync(line({ id: uuid(n) })))),
  },
  { name: 'gzip: zeros after it', make: (b) => Buffer.concat([gzipSync(line({})), Buffer.alloc(b)]) },
  { name: 'gzip: rubbish after it', make: (b) => Buffer.concat([gzipSync(line({})), Buffer.alloc(b, 'x')]) },
  {
    name: 'gzip: a long name',
    make: (b) =>
      Buffer.concat([
        Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3]),
        Buffer.alloc(b, 'n'),
        Buffer.from([0]),
      ]),
  },
  {
    name: 'gzip: empty blocks',
    make: (b) =>
      Buffer.concat([
        Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]),
        Buffer.concat(Array.from({ length: Math.ceil(b / 5) }, () => Buffer.from([0, 0, 0, 0xff, 0xff]))),
      ]),
  },
  { name: 'gzip: white space unpacked', make: (b) => gzipSync(Buffer.alloc(b * 100, ' ')) },
  {
    name: 'gzip: line feeds unpacked',
    make: (b) => gzipSync(Buffer.concat([Buffer.from(line({})), Buffer.alloc(b * 20, '\n')])),
  },
  {
    name: 'gzip: one-byte pieces',
    pieceBytes: 1,
    make: (b) => gzipSync(numbered(b, (n) => line({ id: uuid(n) }))),
  },
];
