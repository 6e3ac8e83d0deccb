/**
 * Walks fixtures/malformed, one defect a file: each file is refused as a whole with one clear line, or costs
 * one record. A file without an expectation fails, and so does an expectation without a file.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import type { NormalisedEvent, Rejection, RejectionCode } from '../../../src/base/model/event.js';
import { isRejection, Normaliser } from '../../../src/normalise/normalise.js';
import { fileSource } from '../../../src/source/file.js';
import { readRecords } from '../../../src/source/formats/read-records.js';
import type { RowSink } from '../../../src/source/source.js';
import { collect, collectBytes, failureOf, inPieces, overwrite } from '../collect.js';

const FOLDER = fileURLToPath(new URL('../../../fixtures/malformed/', import.meta.url));

const SAVE_AS =
  'open it in Excel or LibreOffice, choose "Save As" with the type CSV (in Excel "CSV UTF-8"), and give that file';

/** For files refused as a whole: the message after the name. */
const REFUSED: Readonly<Record<string, string>> = {
  'array-crossed-brackets.json':
    'line 4, column 1: found "]" at the end of record 1, which begins with "{" on line 2; a bracket is missing before this "]"',
  'array-cut.msgpack':
    'the source ends at byte 326, in the middle of record 3 (which begins at byte 231); expected the rest of it',
  'array-missing-comma.json': 'line 3, column 3: found "{" after record 1; expected "," or "]"',
  'array-too-few.msgpack':
    'the source ends at byte 231, after 2 of the 3 records that its array declares; expected the rest of them',
  'array-too-many.msgpack':
    'byte 116: found more bytes after the end of the array of 1 records; expected nothing more',
  'array-trailing-comma.json': 'line 3, column 1: found "]"; expected a record',
  'array-trailing-text.json': 'line 2, column 1: found "T" after the end of the array; expected nothing more',
  'array-unclosed.json': 'line 3, column 1: the source ends inside the array; expected "," or "]"',
  'array-unterminated.json':
    'line 3, column 53: the source ends inside record 2, which begins on line 3; expected its end and "]"',
  'bad-checksum.gz': 'the gzip data is corrupt within its first 120 bytes (incorrect data check)',
  'calendar-cut.ics': 'the source ends inside VCALENDAR; expected END:VCALENDAR',
  'column-twice.csv': 'line 1: columns 2 and 4 are both called time; expected different names',
  'latin-1.csv':
    'line 3 holds the byte dc, which is not UTF-8; expected UTF-8 text; it looks like windows-1252 (Latin 1): in a timetable file, give encoding: windows-1252',
  'no-header.csv':
    'line 1: it looks like data, not like a header: found "00000001-0000-4000-8000-000000000000"; expected the names of the columns, or, in a timetable file, header: with their names',
  'spreadsheet.ods': `line 1, column 1: found a LibreOffice spreadsheet (.ods): ${SAVE_AS}; expected NDJSON, a JSON array, MessagePack, iCalendar or CSV with a header line, plain or gzipped`,
  'workbook.xls': `line 1, column 1: found an old Office document, such as .xls: ${SAVE_AS}; expected NDJSON, a JSON array, MessagePack, iCalendar or CSV with a header line, plain or gzipped`,
  'workbook.xlsx': `line 1, column 1: found an Excel workbook (.xlsx): ${SAVE_AS}; expected NDJSON, a JSON array, MessagePack, iCalendar or CSV with a header line, plain or gzipped`,
  'empty.gz':
    'the source is empty; expected NDJSON, a JSON array, MessagePack, iCalendar or CSV with a header line, plain or gzipped',
  'empty.ndjson':
    'the source is empty; expected NDJSON, a JSON array, MessagePack, iCalendar or CSV with a header line, plain or gzipped',
  'html.txt':
    'line 2, column 1: found HTML or XML; expected NDJSON, a JSON array, MessagePack, iCalendar or CSV with a header line, plain or gzipped',
  'ini.txt': 'line 2, column 1: found "k" after the end of the array; expected nothing more',
  'plain.txt':
    'line 1, column 1: found the text "Monday: "…; expected NDJSON, a JSON array, MessagePack, iCalendar or CSV with a header line, plain or gzipped',
  'pretty-printed.json':
    'line 1, column 2: found the end; expected a property name in double quotes or "}". No line is JSON by itself; expected NDJSON (one record a line), a JSON array, MessagePack or CSV',
  'random.bin':
    'line 1, column 1: found the bytes 00 01 7f c3 (hexadecimal); expected NDJSON, a JSON array, MessagePack, iCalendar or CSV with a header line, plain or gzipped',
  'reserved-byte.msgpack':
    'byte 118, in record 2 (which begins at byte 115): found 0xc1, which MessagePack never uses; the data is corrupt',
  'sequence-cut.msgpack':
    'the source ends at byte 155, in the middle of record 2 (which begins at byte 115); expected the rest of it',
  'trailing-text.gz': 'the gzip data is corrupt within its first 129 bytes (incorrect header check)',
  'truncated.gz': 'the gzip data ends early, after 90 bytes; expected the rest of it',
  'twice.gz':
    'line 1, column 1: found gzip data inside gzip data: unpack it once; expected NDJSON, a JSON array, MessagePack, iCalendar or CSV with a header line, plain or gzipped',
  'utf-16.txt':
    'line 1, column 1: found UTF-16 text without a byte order mark: in a timetable file, give encoding: utf-16le; expected NDJSON, a JSON array, MessagePack, iCalendar or CSV with a header line, plain or gzipped',
  'white-space.ndjson':
    'the source is empty but for white space; expected NDJSON, a JSON array, MessagePack, iCalendar or CSV with a header line, plain or gzipped',
  'zip.bin':
    'line 1, column 1: found a zip archive: unpack it; expected NDJSON, a JSON array, MessagePack, iCalendar or CSV with a header line, plain or gzipped',
  'zstd.bin':
    'line 1, column 1: found zstd data: unpack it, or compress it with gzip; expected NDJSON, a JSON array, MessagePack, iCalendar or CSV with a header line, plain or gzipped',
};

/** For files that cost one of three records: its reason and position. */
const REJECTED: Readonly<Record<string, readonly [RejectionCode, string | null, object]>> = {
  'calendar-day.ics': ['malformed-time', 'time', { record: 2, line: 9 }],
  'element-not-utf8.json': ['malformed-text', null, { record: 2, line: 1 }],
  'element-unquoted-name.json': ['malformed-record', null, { record: 2, line: 3 }],
  'end-before-start.ndjson': ['end-before-start', 'endTime', { record: 2, line: 2 }],
  'extension.msgpack': ['malformed-record', null, { record: 2, byte: 115 }],
  'id-not-uuid.ndjson': ['malformed-identifier', 'id', { record: 2, line: 2 }],
  'id-null.ndjson': ['missing-field', 'id', { record: 2, line: 2 }],
  'integer-keys.msgpack': ['missing-field', 'id', { record: 2, byte: 115 }],
  'line-cut.ndjson': ['malformed-record', null, { record: 3, line: 3 }],
  'line-not-utf8.ndjson': ['malformed-text', null, { record: 2, line: 2 }],
  'line-single-quotes.ndjson': ['malformed-record', null, { record: 2, line: 2 }],
  'lone-surrogate.ndjson': ['malformed-text', 'title', { record: 2, line: 2 }],
  'record-is-array.ndjson': ['malformed-record', null, { record: 2, line: 2 }],
  'record-is-null.json': ['malformed-record', null, { record: 2, line: 1 }],
  'record-structures.msgpack': ['malformed-record', null, { record: 2, byte: 115 }],
  'room-number.ndjson': ['wrong-type', 'roomId', { record: 2, line: 2 }],
  'text-not-utf8.msgpack': ['malformed-text', null, { record: 2, byte: 115 }],
  'time-date-only.ndjson': ['malformed-time', 'time', { record: 2, line: 2 }],
  'time-february-30.ndjson': ['malformed-time', 'time', { record: 2, line: 2 }],
  'time-leap-second.ndjson': ['malformed-time', 'endTime', { record: 2, line: 2 }],
  'time-missing.ndjson': ['missing-field', 'time', { record: 2, line: 2 }],
  'time-number.ndjson': ['wrong-type', 'time', { record: 2, line: 2 }],
  'time-without-offset.ndjson': ['malformed-time', 'time', { record: 2, line: 2 }],
  'timestamp.msgpack': ['wrong-type', 'time', { record: 2, byte: 115 }],
  'cells-missing.csv': ['malformed-record', null, { record: 2, line: 3 }],
  'comma-unquoted.csv': ['malformed-record', null, { record: 2, line: 3 }],
  'nul.csv': ['malformed-record', null, { record: 2, line: 3 }],
  'open-quote.csv': ['malformed-record', null, { record: 2, line: 3 }],
  'row-not-utf8.csv': ['malformed-text', null, { record: 2, line: 3 }],
  'text-after-quote.csv': ['malformed-record', null, { record: 2, line: 3 }],
  'title-object.ndjson': ['wrong-type', 'title', { record: 2, line: 2 }],
};

/** Faults that no single record shows; the build of the snapshot finds them. */
const FOUND_LATER = ['duplicate-id.ndjson'];

const files = readdirSync(FOLDER).filter((name) => name !== 'README.md');

test('files and expectations match one to one, and the list explains each file', async (t) => {
  const expected = [...Object.keys(REFUSED), ...Object.keys(REJECTED), ...FOUND_LATER];
  t.same(files.toSorted(), expected.toSorted());
  const readme = readFileSync(`${FOLDER}README.md`, 'utf8');
  for (const file of files) t.ok(readme.includes(`\`${file}\``), `README.md names ${file}`);
});

for (const [file, message] of Object.entries(REFUSED)) {
  test(`${file} is refused with one clear line`, async (t) => {
    const failure = await failureOf(collect(fileSource(FOLDER + file)));
    t.equal(failure.name, 'LecternError');
    t.equal(failure.code, 'source-malformed');
    t.equal(failure.message, `${FOLDER}${file}: ${message}`);
    t.notOk(failure.message.includes('\n'));
    const slow = await failureOf(collectBytes(readFileSync(FOLDER + file), 1));
    t.equal(slow.message, `test: ${message}`, 'and byte by byte');
  });
}

for (const [file, [code, field, position]] of Object.entries(REJECTED)) {
  test(`${file} costs one record`, async (t) => {
    const normaliser = new Normaliser({ identifiers: 'uuid' });
    for (const pieceBytes of [0, 1]) {
      const all: (NormalisedEvent | Rejection)[] = [];
      const sink: RowSink = {
        row: (row) => all.push(normaliser.event(row)),
        fault: (rejection) => all.push(rejection),
      };
      const pieces = inPieces(readFileSync(FOLDER + file), pieceBytes);
      await readRecords(pieces, sink, { sourceName: 'test', bytesTotal: null, onRead: overwrite });
      const found = all.filter(isRejection);
      t.equal(found.length, 1);
      t.match(found[0], { code, field, position });
      t.match(
        found[0]?.detail,
        file === 'line-not-utf8.ndjson' ? /UTF-8/ : /expected|cannot be read|only one allowed/,
      );
      const titles = all.flatMap((event) => (isRejection(event) ? [] : [event.title]));
      t.same(titles, file === 'line-cut.ndjson' ? ['Lecture 1', 'Lecture 2'] : ['Lecture 1', 'Lecture 3']);
    }
  });
}

test('the source does not check for duplicate ids', async (t) => {
  for (const file of FOUND_LATER) t.equal((await collect(fileSource(FOLDER + file))).records.length, 3);
});
