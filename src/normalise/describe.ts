const SHOWN_CHARACTERS_MAX = 40;

/** JSON leaves these bare, but terminals and readers stumble over them: C1 controls, bidirectional marks, separators. */
const UNSAFE = /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** In JSON's quotes, cut to 40 characters with an ellipsis behind. */
export function quote(text: string): string {
  // JSON would show half of a surrogate pair as an escape that is not in the source.
  const isPairCut = (text.codePointAt(SHOWN_CHARACTERS_MAX - 1) ?? 0) > 0xffff;
  const shown = text.slice(0, isPairCut ? SHOWN_CHARACTERS_MAX - 1 : SHOWN_CHARACTERS_MAX);
  const quoted = JSON.stringify(shown).replace(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return text.length > SHOWN_CHARACTERS_MAX ? `${quoted}…` : quoted;
}

/** With its article: "a number (17)", "an array". */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  switch (typeof value) {
    case 'string':
      return `the string ${quote(value)}`;
    case 'number':
      return `a number (${value})`;
    case 'bigint':
      return value > -(2n ** 64n) && value < 2n ** 64n ? `a number (${value})` : 'a number';
    case 'boolean':
      return `a boolean (${value})`;
    case 'object':
      // Only MessagePack and the in-process source can bring these.
      if (value instanceof Date) return 'a timestamp, not a text';
      return value instanceof Uint8Array ? 'binary data' : 'an object';
    case 'undefined':
      return 'undefined';
    default:
      return `a ${typeof value}`;
  }
}
