/**
 * Finds where a text stops being JSON (RFC 8259), for the message: the engine's own messages differ between versions
 * and often name no place. Runs only on texts that JSON.parse refused.
 */

/** Where a text stops being JSON. */
export interface JsonFault {
  /** Offset in UTF-16 units. */
  readonly offset: number;
  /** `found …; expected …`, without the place. */
  readonly problem: string;
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const LITERAL = /true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const ESCAPES = 'one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX';

type Expectation =
  | 'a value'
  | 'a value or "]"'
  | 'a property name in double quotes'
  | 'a property name in double quotes or "}"'
  | '":" behind the property name'
  | '"," or "}"'
  | '"," or "]"'
  | 'nothing more';

/** @returns null where the text is JSON after all */
export function findJsonFault(text: string): JsonFault | null {
  /** The open brackets, outermost first. Not recursive: nesting must not exhaust the stack. */
  const open: ('{' | '[')[] = [];
  let expected: Expectation = 'a value';
  let i = 0;

  const afterValue = (): Expectation => {
    const bracket = open.at(-1);
    if (bracket === undefined) return 'nothing more';
    return bracket === '{' ? '"," or "}"' : '"," or "]"';
  };

  for (;;) {
    while (i < text.length && ' \t\n\r'.includes(text.charAt(i))) i++;
    if (i === text.length) {
      return expected === 'nothing more'
        ? null
        : { offset: i, problem: `found the end; expected ${expected}` };
    }
    const character = text.charAt(i);
    const fault: JsonFault = { offset: i, problem: `found ${show(text, i)}; expected ${expected}` };
    switch (expected) {
      case 'nothing more':
        return fault;
      case '":" behind the property name':
        if (character !== ':') return fault;
        i++;
        expected = 'a value';
        break;
      case '"," or "}"':
      case '"," or "]"':
        if (character === ',') {
          expected = expected === '"," or "}"' ? 'a property name in double quotes' : 'a value';
        } else if (character === (expected === '"," or "}"' ? '}' : ']')) {
          open.pop();
          expected = afterValue();
        } else {
          return fault;
        }
        i++;
        break;
      case 'a property name in double quotes':
      case 'a property name in double quotes or "}"':
        if (character === '"') {
          const end = endOfString(text, i);
          if (typeof end !== 'number') return end;
          i = end;
          expected = '":" behind the property name';
        } else if (character === '}' && expected === 'a property name in double quotes or "}"') {
          open.pop();
          expected = afterValue();
          i++;
        } else {
          return fault;
        }
        break;
      default:
        if (character === '{' || character === '[') {
          open.push(character);
          expected = character === '{' ? 'a property name in double quotes or "}"' : 'a value or "]"';
          i++;
        } else if (character === ']' && expected === 'a value or "]"') {
          open.pop();
          expected = afterValue();
          i++;
        } else {
          const end = character === '"' ? endOfString(text, i) : endOfScalar(text, i);
          if (end === null) return fault;
          if (typeof end !== 'number') return end;
          i = end;
          expected = afterValue();
        }
    }
  }
}

function endOfScalar(text: string, start: number): number | null {
  for (const pattern of [NUMBER, LITERAL]) {
    pattern.lastIndex = start;
    if (pattern.test(text)) return pattern.lastIndex;
  }
  return null;
}

function endOfString(text: string, start: number): number | JsonFault {
  let i = start + 1;
  for (;;) {
    const unit = text.charCodeAt(i);
    // NaN: behind the last character.
    if (Number.isNaN(unit)) {
      return { offset: i, problem: 'found the end inside a string; expected a closing double quote' };
    }
    if (unit === 0x22) return i + 1;
    if (unit < 0x20) {
      const problem = `found the control character ${show(text, i)} inside a string; expected it to be escaped`;
      return { offset: i, problem };
    }
    if (unit === 0x5c) {
      ESCAPE.lastIndex = i;
      if (!ESCAPE.test(text)) {
        const problem = `found an escape that JSON does not have; expected ${ESCAPES}`;
        return { offset: i, problem };
      }
      i = ESCAPE.lastIndex;
    } else {
      i++;
    }
  }
}

/** One character, quoted; invisible ones by their number. */
function show(text: string, offset: number): string {
  const codePoint = text.codePointAt(offset) ?? 0;
  const visible = /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(String.fromCodePoint(codePoint));
  if (!visible) return `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`;
  const character = String.fromCodePoint(codePoint);
  return character === '"' ? `'"'` : `"${character}"`;
}

/** `line 3, column 7: found …; expected …`, with at most one character of a text that is not JSON. */
export function describeJsonFault(text: string): string {
  const fault = findJsonFault(text) ?? { offset: 0, problem: 'it cannot be parsed' };
  const { line, column } = placeOf(text, fault.offset);
  return `line ${line}, column ${column}: ${fault.problem}`;
}

/** Line and column, counted from 1 in characters (code points), of an offset into a text. */
export function placeOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset);
  const lines = before.split('\n');
  const last = lines[lines.length - 1] ?? '';
  let column = 1;
  for (const _ of last) column++;
  return { line: lines.length, column };
}
