import fc from 'fast-check';

const PARTS = [
  '"',
  '""',
  ',',
  ';',
  '\\',
  '\\n',
  '\r',
  '\n',
  '\r\n',
  '\t',
  '\u0000',
  '\u001b',
  '\u007f',
  '\u0085',
  '\u2028',
  'é',
  '\u05d0\u05d1',
  '\u202e',
  '\u{1F600}',
  '\u{1F468}\u200d\u{1F469}',
  '\ufeff',
  '=1+1',
  "'",
  ' ',
  'a',
  'Doe, John',
  'x'.repeat(60),
  'é'.repeat(40),
];

/** Texts in NFC with characters that writers of CSV and iCalendar often get wrong. Some are long enough for several lines. */
export const nastyTexts: fc.Arbitrary<string> = fc
  .oneof(
    { arbitrary: fc.array(fc.constantFrom(...PARTS), { maxLength: 8 }), weight: 3 },
    { arbitrary: fc.array(fc.string({ unit: 'grapheme', maxLength: 90 }), { maxLength: 2 }), weight: 1 },
  )
  .map((parts) => parts.join('').toWellFormed().normalize('NFC'));
