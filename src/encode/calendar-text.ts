/** Content lines of RFC 5545 section 3.1. */

export const LINE_OCTETS_MAX = 75;

const SPECIAL = /[\\;,]/g;
const LINE_BREAK = /\r\n?|\n/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: RFC 5545 section 3.1 excludes these
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const NEEDS_ESCAPES = /[\\;,\x00-\x08\x0a-\x1f\x7f]/;

/** TEXT of section 3.3.11. Control characters are left out, because iCalendar cannot represent them. */
export function escapeText(text: string): string {
  if (!NEEDS_ESCAPES.test(text)) return text;
  return text.replace(SPECIAL, '\\$&').replace(LINE_BREAK, '\\n').replace(CONTROLS, '');
}

/** A line with its end, folded after at most 75 octets and never within a character. @param value in its written form */
export function contentLine(name: string, value: string): string {
  const line = `${name}:${value}`;
  if (line.length * 3 <= LINE_OCTETS_MAX) return `${line}\r\n`;
  let folded = '';
  let from = 0;
  let octets = 0;
  for (let at = 0; at < line.length; ) {
    const code = line.codePointAt(at) as number;
    const size = octetsOf(code);
    if (octets + size > LINE_OCTETS_MAX) {
      folded += `${line.slice(from, at)}\r\n `;
      from = at;
      octets = 1;
    }
    octets += size;
    at += code > 0xffff ? 2 : 1;
  }
  return `${folded}${line.slice(from)}\r\n`;
}

function octetsOf(code: number): number {
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}
