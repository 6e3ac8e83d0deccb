/** Control characters, of which `\u001b` and `\u009b` begin sequences for terminals, and those that reorder or hide text. */
const UNPRINTABLE = /(?![\t\n]|\r\n)[\p{Cc}\p{Cf}\u2028\u2029]/gu;
/** Most lines of a log have none of these, and are not searched for each kind. */
const OTHER_THAN_PLAIN = /[^ -~\t\n]/;

/**
 * A text for a terminal or a log. Texts of sources, stores, servers and clients may hold sequences that move the
 * cursor, change the title or answer as if the operator typed. They become escapes like those of JSON, so a JSON
 * text stays the same value.
 */
export function printable(text: string): string {
  if (!OTHER_THAN_PLAIN.test(text)) return text;
  return text.replace(UNPRINTABLE, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}

/** Every command writes its texts to standard output by this function. */
export function writeOut(text: string): void {
  process.stdout.write(printable(text));
}

/** A text as one word of a command line. */
export function shellQuoted(text: string): string {
  return /^[\w@%+:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
