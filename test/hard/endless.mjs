/**
 * Endless data, as fast as a load can take it: pieces of whole records whose ids all differ. Only the ids are
 * rewritten for each piece; with `isVaried` also the texts of every field.
 */
import { createGzip } from 'node:zlib';

const RECORDS_PER_PIECE = 500;
const HEX_DIGITS = 12;
const GROUPS = 40;

/**
 * @param {'ndjson' | 'json-array' | 'messagepack' | 'icalendar' | 'csv'} format
 * @param {{ isVaried?: boolean, title?: string }} options
 */
export function* endless(format, { isVaried = false, title = 'Introduction to Something' } = {}) {
  const { bytes, places } = piece(format, isVaried, title);
  const head = HEADS[format];
  if (head !== undefined) yield Buffer.from(head);
  let number = 0;
  for (;;) {
    const copy = Buffer.from(bytes);
    for (const at of places) {
      const digits = (number++ >>> 0).toString(16).padStart(HEX_DIGITS, '0');
      for (const offset of at) copy.write(digits, offset, 'latin1');
    }
    yield copy;
  }
}

/** The first pieces, followed by the end of the data. */
export function* someOf(pieces, count, format) {
  let n = 0;
  for (const each of pieces) {
    if (n++ === count) break;
    yield each;
  }
  // The comma after the last record.
  if (format === 'icalendar') yield Buffer.from('END:VCALENDAR\r\n');
  if (format === 'json-array') yield Buffer.from(`${JSON.stringify(recordOf(0, false, 'last', 'f'))}]`);
}

/** A little gzip data that unpacks to a lot: the title is long and equal in each record. */
export function packed(pieces) {
  const gzip = createGzip({ level: 9 });
  (async () => {
    for (const each of pieces)
      if (!gzip.write(each)) await new Promise((resolve) => gzip.once('drain', resolve));
    gzip.end();
  })();
  return gzip;
}

/** 200 good events. */
export function goodEvents() {
  return Array.from({ length: 200 }, (_, n) => recordOf(n, false, 'Good', 'a'));
}

/** Records for a source of the embedding program. */
export function* endlessRecords() {
  for (let n = 0; ; n++) yield recordOf(n, true, 'From a program', 'b');
}

const MARK = '~'.repeat(HEX_DIGITS);

function recordOf(n, isVaried, title, kind) {
  const id = n === null ? MARK : (n >>> 0).toString(16).padStart(HEX_DIGITS, '0');
  const start = Date.UTC(2026, 8, 14, 8) + ((n ?? 0) % 5000) * 3_600_000;
  const vary = (text) => (isVaried ? `${text} ${id}` : text);
  return {
    id: `${kind}0000000-0000-4000-8000-${id}`,
    time: new Date(start).toISOString(),
    endTime: new Date(start + 5_400_000).toISOString(),
    title: vary(title),
    roomId: isVaried ? `c0000000-0000-4000-8000-${id}` : null,
    courseId: null,
    studyGroup: vary('CS-1'),
    lecturer: vary('Doe, John'),
    type: 'Lecture',
    groupId: null,
  };
}

function piece(format, isVaried, title) {
  const encode = ENCODERS[format];
  const records = [];
  for (let n = 0; n < RECORDS_PER_PIECE; n++) {
    const varied = recordOf(n % GROUPS, false, title, 'e');
    records.push(
      encode({ ...recordOf(null, isVaried, title, 'e'), time: varied.time, endTime: varied.endTime }),
    );
  }
  const bytes = Buffer.concat(records);
  const places = [];
  let from = 0;
  for (const record of records) {
    const end = from + record.length;
    const at = [];
    for (let offset = bytes.indexOf(MARK, from); offset !== -1 && offset < end; ) {
      at.push(offset);
      offset = bytes.indexOf(MARK, offset + 1);
    }
    places.push(at);
    from = end;
  }
  return { bytes, places };
}

const FIELDS = Object.keys(recordOf(0, false, '', 'e'));
const HEADS = {
  'json-array': '[',
  icalendar: 'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//endless//EN\r\n',
  csv: `${FIELDS.join(',')}\r\n`,
};
const compact = (time) => time.replace(/[-:]|\.000/g, '');

const ENCODERS = {
  csv: (record) => {
    const cells = FIELDS.map((field) => (record[field] === null ? '' : `"${record[field]}"`));
    return Buffer.from(`${cells.join(',')}\r\n`);
  },
  icalendar: ({ id, time, endTime, title, lecturer, studyGroup, type }) =>
    Buffer.from(
      [
        'BEGIN:VEVENT',
        `UID:${id}`,
        'DTSTAMP:20260101T000000Z',
        `DTSTART:${compact(time)}`,
        `DTEND:${compact(endTime)}`,
        `SUMMARY:${title}`,
        `LOCATION:Building ${studyGroup}`,
        `ORGANIZER;CN="${lecturer}":mailto:someone@example.org`,
        `CATEGORIES:${type}`,
        'DESCRIPTION:Bring your notes\\nand a pencil. The course has further pages under',
        '  an address that is long enough to be folded.',
        'END:VEVENT',
        '',
      ].join('\r\n'),
    ),
  ndjson: (record) => Buffer.from(`${JSON.stringify(record)}\n`),
  'json-array': (record) => Buffer.from(`${JSON.stringify(record)},\n`),
  messagepack: (record) => {
    const texts = Object.entries(record).flat();
    return Buffer.concat([Buffer.from([0x80 + texts.length / 2]), ...texts.map(packedText)]);
  },
};

function packedText(text) {
  if (text === null) return Buffer.from([0xc0]);
  const bytes = Buffer.from(text);
  const { length } = bytes;
  const head = length < 32 ? [0xa0 + length] : length < 256 ? [0xd9, length] : [0xdb, 0, 0, 0, 0];
  const header = Buffer.from(head);
  if (length >= 256) header.writeUInt32BE(length, 1);
  return Buffer.concat([header, bytes]);
}
