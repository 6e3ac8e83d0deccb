/**
 * Compares by code point, which is also the order of the UTF-8 bytes. JavaScript's own `<` compares UTF-16 units and
 * puts U+10000 and above before U+E000 to U+FFFF.
 *
 * @returns negative, zero or positive
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

/** Surrogates stand for code points above every other UTF-16 unit. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** ASCII only, and so both well formed and already in NFC. Cheaper than normalising. */
const ASCII = /^\p{ASCII}*$/u;

/** The NFC form of a text, or null where it holds a lone surrogate and so has no UTF-8 form. */
export function normaliseText(text: string): string | null {
  if (ASCII.test(text)) return text;
  return text.isWellFormed() ? text.normalize('NFC') : null;
}

/** Whether bytes of UTF-8 are, between quotes, a text of JSON that holds no escape: so they are its value. */
export function isPlainJsonText(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const byte = bytes[at] as number;
    if (byte < 0x20 || byte === 0x22 || byte === 0x5c) return false;
  }
  return true;
}
