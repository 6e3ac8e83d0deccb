/**
 * Text in other encodings, known by byte order mark or by name, with bytes cut anywhere; and text of unknown
 * encoding that is not UTF-8.
 */
import { gzipSync } from 'node:zlib';
import { test } from 'tap';
import { MAPPED_FIELDS } from '../../../src/source/field-map.js';
import { readRecords } from '../../../src/source/formats/read-records.js';
import { Transcoder } from '../../../src/source/formats/text-encoding.js';
import { failureOf, inPieces, overwrite } from '../collect.js';

const TITLES = ['Übung', 'Größe “1” – 5 €', 'Œuvre', 'Algebra'];
const WESTERN = new Map(
  [...'€‚ƒ„…†‡ˆ‰Š‹Œ'].map((character, n) => [
    character,
    [0x80, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8b, 0x8c][n] as number,
  ]),
);
for (const [character, byte] of [
  ['Ž', 0x8e],
  ['‘', 0x91],
  ['’', 0x92],
  ['“', 0x93],
  ['”', 0x94],
  ['•', 0x95],
  ['–', 0x96],
  ['—', 0x97],
] as const)
  WESTERN.set(character, byte);

function western(text: string): Buffer {
  return Buffer.from([...text].map((character) => WESTERN.get(character) ?? character.charCodeAt(0)));
}

function utf16(text: string, isBig: boolean): Buffer {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le');
  return isBig ? bytes.swap16() : bytes;
}

const FORMATS: Readonly<Record<string, (titles: readonly string[]) => string>> = {
  ndjson: (titles) => titles.map((title) => `${JSON.stringify({ id: '1', title })}\n`).join(''),
  'json-array': (titles) => JSON.stringify(titles.map((title) => ({ id: '1', title }))),
  csv: (titles) => `id;title\r\n${titles.map((title) => `1;${title}\r\n`).join('')}`,
};

const TITLE = MAPPED_FIELDS.indexOf('title');

async function titlesOf(
  bytes: Uint8Array,
  { encoding, pieceBytes = 0 }: { encoding?: string | undefined; pieceBytes?: number },
): Promise<{ titles: unknown[]; faults: string[]; format: string }> {
  const titles: unknown[] = [];
  const faults: string[] = [];
  const { format } = await readRecords(
    inPieces(Uint8Array.from(bytes), pieceBytes),
    {
      row: (row) => titles.push(row.textOf(TITLE)),
      fault: ({ position, code, detail }) => faults.push(`${position.line} ${code}: ${detail}`),
    },
    { sourceName: 'test', bytesTotal: null, rules: { identifiers: 'any', encoding }, onRead: overwrite },
  );
  return { titles, faults, format };
}

for (const [format, write] of Object.entries(FORMATS)) {
  test(`${format} is read in every encoding, cut anywhere`, async (t) => {
    const text = write(TITLES);
    for (const [what, bytes, encoding] of [
      ['UTF-8', Buffer.from(text), undefined],
      ['UTF-8 with a mark', Buffer.from(`\ufeff${text}`), undefined],
      ['UTF-16, little-endian', utf16(text, false), undefined],
      ['UTF-16, big-endian', utf16(text, true), undefined],
      ['UTF-16 without a mark', utf16(text, false).subarray(2), 'utf-16le'],
      ['windows-1252', western(text), 'windows-1252'],
      ['windows-1252 by another name', western(text), 'ISO-8859-1'],
      ['a mark against the name', utf16(text, false), 'windows-1252'],
      ['UTF-8 by name', Buffer.from(text), 'utf8'],
    ] as const) {
      for (const pieceBytes of [0, 1, 2, 7]) {
        const read = await titlesOf(bytes, { encoding, pieceBytes });
        t.strictSame(read, { titles: TITLES, faults: [], format }, `${what}, by ${pieceBytes}`);
      }
      t.strictSame((await titlesOf(gzipSync(bytes), { encoding })).titles, TITLES, `${what}, gzipped`);
    }
    const [before = '', after = ''] = write(['@']).split('@');
    const cyrillic = Buffer.concat([Buffer.from(before), Buffer.of(0xc0, 0xe1, 0xe2), Buffer.from(after)]);
    const read = await titlesOf(cyrillic, { encoding: 'windows-1251' });
    t.strictSame(read.titles, ['Абв'], 'windows-1251');
  });
}

test('every byte of windows-1252 is read as in the Encoding Standard', (t) => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, n) => n));
  const transcoder = new Transcoder('test', 'windows-1252', bytes);
  const text = Buffer.concat([transcoder.push(bytes), transcoder.finish()]).toString();
  t.equal([...text].length, 256);
  t.equal(text.slice(0, 128), String.fromCharCode(...Array.from({ length: 128 }, (_, n) => n)));
  t.equal(text.slice(160), String.fromCharCode(...Array.from({ length: 96 }, (_, n) => n + 160)));
  t.equal(text.slice(128, 160), '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ');
  t.end();
});

test('invalid bytes of an encoding cost only their record', async (t) => {
  const lone = utf16('{"id":"1","title":"a"}\n{"id":"2","title":"\ud800"}\n{"id":"3","title":"b"}\n', false);
  const read = await titlesOf(lone, {});
  t.strictSame(read.titles, ['a', 'b']);
  t.match(read.faults, [
    /^2 malformed-text: the record holds bytes that are not utf-16le; expected utf-16le text/,
  ]);
  const broken = Buffer.concat([
    Buffer.from('id,title\n1,'),
    Buffer.of(0x82, 0xa0),
    Buffer.from('\n2,'),
    Buffer.of(0xff),
    Buffer.from('\n'),
  ]);
  const japanese = await titlesOf(broken, { encoding: 'shift_jis' });
  t.strictSame(japanese.titles, ['あ']);
  t.match(japanese.faults, [/^3 malformed-text: the record holds bytes that are not shift_jis/]);
});

const WESTERN_HINT = 'it looks like windows-1252 (Latin 1): in a timetable file, give encoding: windows-1252';

test('the message for CSV in another encoding names it', async (t) => {
  for (const [text, message] of [
    [
      'id;title\n1;Übung\n',
      `test: line 2 holds the byte dc, which is not UTF-8; expected UTF-8 text; ${WESTERN_HINT}`,
    ],
    [
      'Übung;title\n1;x\n',
      `test: line 1 holds the byte dc, which is not UTF-8; expected UTF-8 text; ${WESTERN_HINT}`,
    ],
    [
      'id;title\n1;ÀÁÂÃÄÅ ÆÇÈÉ\n',
      /expected UTF-8 text; if all of it has another encoding, give it as encoding in a timetable file, such as/,
    ],
  ] as const) {
    const failure = await failureOf(titlesOf(western(text), {}));
    t.match(failure, { code: 'source-malformed', message });
  }
  const utf32 = Buffer.from('\ufeffa,b', 'utf16le');
  const wide = Buffer.concat(
    [...(utf32.toString('latin1').match(/../gs) ?? [])].map((unit) => Buffer.from(`${unit}\0\0`, 'latin1')),
  );
  t.match((await failureOf(titlesOf(wide, {}))).message, /found UTF-32 text; expected it as UTF-8/);
  t.match(await failureOf(titlesOf(wide, { encoding: 'utf-nonsense' })), {
    code: 'option-invalid',
    message:
      /the encoding "utf-nonsense" is not known; expected the name of an encoding, such as windows-1252/,
  });
});

/** The bytes of a text in an encoding of one byte a character. */
function inEncoding(text: string, encoding: string): Buffer {
  const decoder = new TextDecoder(encoding);
  const bytes = new Map(Array.from({ length: 256 }, (_, n) => [decoder.decode(Uint8Array.of(n)), n]));
  return Buffer.from([...text].map((character) => bytes.get(character) ?? 0));
}

test('the message tells the encodings of western and central Europe apart', async (t) => {
  const polish = ['Łódź;piątek', 'środa;ćwiczenia', 'Wykład;zajęcia, część, łąka', 'dzień;godz. 8'];
  const czech = ['Přednáška;pondělí', 'čtvrtek;cvičení', 'Místnost;učebna', 'Týden;středa', 'Žák;úterý'];
  for (const text of [...polish, ...czech, [...polish, ...czech].join('\n'), 'Štvrtok;cvičenie']) {
    const message = /it looks like windows-1250 .*give encoding: windows-1250/;
    const bytes = inEncoding(`title;group\n${text}\n`, 'windows-1250');
    const likely = (await failureOf(titlesOf(bytes, {}))).message;
    if (['Místnost;učebna', 'Týden;středa'].includes(text)) t.match(likely, /windows-125[02]/, text);
    else t.match(likely, message, text);
  }
  for (const text of [polish.join('\n'), czech.join('\n')])
    t.match(
      (await failureOf(titlesOf(inEncoding(`title;group\n${text}\n`, 'iso-8859-2'), {}))).message,
      /it looks like iso-8859-2 .*give encoding: iso-8859-2/,
    );
  for (const text of [
    'Übung;Größe',
    'élève;père, où à la très',
    'lunedì;università, perché è così',
    'mañana;niño',
    'sessão;lições, ação',
    'Øvelse;Søren på år, læsning',
    'Föreläsning;måndag på kväll',
    '3º;aula 2ª, análise',
    'Résumé;Noël',
  ])
    t.match(
      (await failureOf(titlesOf(inEncoding(`title;group\n${text}\n`, 'iso-8859-1'), {}))).message,
      WESTERN_HINT,
      text,
    );
});

test('a single row or line in another encoding is rejected alone, with a hint', async (t) => {
  const stray = Buffer.concat([
    Buffer.from('id;title\n1;Übung\n'),
    western('2;Übung\n'),
    Buffer.from('3;x\n'),
  ]);
  const rows = await titlesOf(stray, {});
  t.strictSame(rows.titles, ['Übung', 'x']);
  const fault = `the record holds bytes that are not UTF-8; expected UTF-8 text; ${WESTERN_HINT}`;
  t.strictSame(rows.faults, [`3 malformed-text: ${fault}`]);
  const lines = await titlesOf(western('{"title":"Übung"}\n{"title":"x"}\n'), {});
  t.strictSame(lines, { titles: ['x'], faults: [`1 malformed-text: ${fault}`], format: 'ndjson' });
});
