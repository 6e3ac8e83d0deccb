/** Finds the first fault of a JSON text (RFC 8259). V8's messages differ between versions and often lack the position. */
export interface JsonFault {
  /** Offset in UTF-16 units. */
  readonly offset: number;
  /** `found …; expected …`, without the position. */
  readonly problem: string;
}

const SCALAR = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const ESCAPES = 'one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX';

const VALUE = 'a value';
const NAME = 'a property name in double quotes';
const COLON = '":" after the property name';
const NOTHING = 'nothing more';

/** Null for good JSON. */
export function findJsonFault(text: string): JsonFault | null {
  /**
   * Open brackets, outermost first. The search is not recursive, because deep nesting could exhaust the
   * stack.
   */
  const open: ('{' | '[')[] = [];
  /** The state of the parser, as text for messages. */
  let expected = VALUE;
  let i = 0;
  const endValue = (end: number): void => {
    i = end;
    const bracket = open.at(-1);
    expected = bracket === undefined ? NOTHING : bracket === '{' ? '"," or "}"' : '"," or "]"';
  };
  for (;;) {
    while (i < text.length && ' \t\n\r'.includes(text.charAt(i))) i++;
    if (i === text.length) {
      return expected === NOTHING ? null : { offset: i, problem: `found the end; expected ${expected}` };
    }
    const character = text.charAt(i);
    if (expected.endsWith(` or "${character}"`)) {
      open.pop();
      endValue(i + 1);
    } else if (expected === COLON && character === ':') {
      expected = VALUE;
      i++;
    } else if (expected.startsWith('","') && character === ',') {
      expected = open.at(-1) === '{' ? NAME : VALUE;
      i++;
    } else if (expected.startsWith(NAME) && character === '"') {
      const end = endOfString(text, i);
      if (typeof end !== 'number') return end;
      expected = COLON;
      i = end;
    } else if (expected.startsWith(VALUE) && (character === '{' || character === '[')) {
      open.push(character);
      expected = character === '{' ? `${NAME} or "}"` : `${VALUE} or "]"`;
      i++;
    } else {
      const end = expected.startsWith(VALUE) ? endOfScalar(text, i) : null;
      if (end === null) return { offset: i, problem: `found ${show(text, i)}; expected ${expected}` };
      if (typeof end !== 'number') return end;
      endValue(end);
    }
  }
}

function endOfScalar(text: string, start: number): number | JsonFault | null {
  if (text.charAt(start) === '"') return endOfString(text, start);
  SCALAR.lastIndex = start;
  return SCALAR.test(text) ? SCALAR.lastIndex : null;
}

function endOfString(text: string, start: number): number | JsonFault {
  let i = start + 1;
  for (;;) {
    const unit = text.charCodeAt(i);
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

/** Quotes a visible character, and gives the number of any other character. */
function show(text: string, offset: number): string {
  const codePoint = text.codePointAt(offset) ?? 0;
  const character = String.fromCodePoint(codePoint);
  if (character === '"') return `'"'`;
  return /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character)
    ? `"${character}"`
    : `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** `line 3, column 7: found …; expected …`. Shows at most one character of the text. */
export function describeJsonFault(text: string): string {
  const fault = findJsonFault(text) ?? { offset: 0, problem: 'it cannot be parsed' };
  const { line, column } = placeOf(text, fault.offset);
  return `line ${line}, column ${column}: ${fault.problem}`;
}

/** Line and column of an offset, from 1, in code points. */
export function placeOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset);
  const lines = before.split('\n');
  let column = 1;
  for (const _ of lines.at(-1) ?? '') column++;
  return { line: lines.length, column };
}
