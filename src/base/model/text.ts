/**
 * Compares by code point, which is the order of the UTF-8 bytes. `<` would put U+10000 and above before
 * U+E000 to U+FFFF.
 */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/** The rank of a UTF-16 unit by code point: surrogates stand for code points above all other units. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** Errors show at most this many characters of a value. */
export const SHOWN_CHARACTERS_MAX = 40;

const ASCII = /^\p{ASCII}*$/u;

/** The bound of stream-safe text (UAX #15). Normalising a run takes quadratic time: 4 s for 120,000 marks. */
const MARKS_IN_A_ROW_MAX = 30;
/** A match can begin only at the first mark of a run, so that the search takes linear time. */
const TOO_MANY_MARKS = new RegExp(`(?<!\\p{M})\\p{M}{${MARKS_IN_A_ROW_MAX + 1}}`, 'u');

/**
 * The NFC form. Null for a text with a lone surrogate, which UTF-8 cannot encode, or with too many combining marks in
 * a row.
 */
export function normaliseText(text: string): string | null {
  if (ASCII.test(text)) return text;
  return text.isWellFormed() && !TOO_MANY_MARKS.test(text) ? text.normalize('NFC') : null;
}

/** Why `normaliseText` refuses a text, as the rest of a sentence. */
export function textFault(text: string): string {
  return text.isWellFormed()
    ? `has more than ${MARKS_IN_A_ROW_MAX} combining marks in a row`
    : 'holds half of a surrogate pair and so has no UTF-8 form; expected well-formed Unicode';
}

/**
 * The form of a text for searches that ignore case and diacritics: NFD without marks, case-folded. JavaScript
 * has no case folding. Converting to upper case and back also folds letters that become several letters, such
 * as ß.
 */
export function searchForm(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  const bare = text.normalize('NFD').replace(/\p{M}/gu, '');
  // The lower case of sigma depends on its place in the word.
  return bare.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ');
}

/** Whether the bytes of a JSON string, without its quotes, have no escapes. */
export function isPlainJsonText(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const byte = bytes[at] as number;
    if (byte < 0x20 || byte === 0x22 || byte === 0x5c) return false;
  }
  return true;
}

/**
 * Characters that JSON leaves unescaped, but that confuse terminals and readers: C1 controls, bidirectional
 * marks, separators.
 */
const UNSAFE = /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** The text quoted as in JSON; a long text is cut to 40 characters, followed by an ellipsis. */
export function quoteEscaped(text: string): string {
  // JSON would show half of a surrogate pair as an escape, which the source does not have.
  const isPairCut = (text.codePointAt(SHOWN_CHARACTERS_MAX - 1) ?? 0) > 0xffff;
  const shown = text.slice(0, isPairCut ? SHOWN_CHARACTERS_MAX - 1 : SHOWN_CHARACTERS_MAX);
  const quoted = JSON.stringify(shown).replace(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return text.length > SHOWN_CHARACTERS_MAX ? `${quoted}…` : quoted;
}
