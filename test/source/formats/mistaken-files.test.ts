/** Files given by mistake are named, with the remedy. */

import { test } from 'tap';
import { rowsOf } from '../collect.js';

const CSV = 'Datum;Fach\r\n31.08.2026;Algebra\r\n';
const inUtf16be = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();
const TAR = Buffer.concat([Buffer.from('a.csv'.padEnd(257, '\0')), Buffer.from('ustar\x0000')]);

const FILES: readonly (readonly [name: string, bytes: Buffer, problem: RegExp])[] = [
  [
    'UTF-16',
    Buffer.from(CSV, 'utf16le'),
    /found UTF-16 text .*: in a timetable file, give encoding: utf-16le;/,
  ],
  [
    'UTF-16, the other way round',
    inUtf16be(CSV),
    /found UTF-16 text .*: in a timetable file, give encoding: utf-16be;/,
  ],
  ['JSON in UTF-16', Buffer.from('[{"id":1}]', 'utf16le'), /in a timetable file, give encoding: utf-16le;/],
  [
    'JSON in UTF-16, the other way round',
    inUtf16be('{"id":1}'),
    /in a timetable file, give encoding: utf-16be;/,
  ],
  [
    'a calendar in UTF-16',
    Buffer.from('BEGIN:VCALENDAR\r\n', 'utf16le'),
    /in a timetable file, give encoding: utf-16le;/,
  ],
  ['a tar archive', TAR, /found a tar archive: unpack it;/],
  ['a 7z archive', Buffer.from('377abcaf271c0004', 'hex'), /found a 7z archive: unpack it;/],
  ['a RAR archive', Buffer.from('Rar!\x1a\x07\x01\x00'), /found a RAR archive: unpack it;/],
  ['a PDF document', Buffer.from('%PDF-1.7\n'), /found a PDF document: a timetable needs a table/],
  ['other bytes', Buffer.from([0, 1, 0, 2]), /found the bytes 00 01 00 02 \(hexadecimal\);/],
  ['one bar', Buffer.from('this | that\n'), /found the text "this \| t"…;/],
];

for (const [name, bytes, problem] of FILES) {
  test(name, (t) => t.rejects(rowsOf(bytes), { code: 'source-malformed', message: problem }));
}

test('a first line sep=| makes cells between | readable', async (t) => {
  t.match((await rowsOf('sep=|\nid|time|title\n1|2|3\n')).summary, { format: 'csv' });
});
