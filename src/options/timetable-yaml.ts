/** Reads YAML 1.2, of which JSON is a part, as plain values with their places. */
import type { Node, ParsedNode } from 'yaml';
import { LecternError } from '../base/errors.js';
import { onFirstUse } from '../base/files/load-on-use.js';
import {
  TIMETABLE_DEPTH_MAX,
  TIMETABLE_FAULTS_MAX,
  TIMETABLE_FILE_BYTES_MAX,
  TIMETABLE_VALUES_MAX,
} from '../base/limits.js';
import { type Written, within } from './timetable-check.js';

interface ReadYaml extends Written {
  readonly value: unknown;
  /** Keys that are given twice, and tabs. */
  readonly faults: readonly string[];
}

/** Messages in place of those of the parser, which are for its programmers. */
const PROBLEMS: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'a tab indents this line; expected spaces',
  MULTIPLE_DOCS: 'a second document begins here; expected one timetable in a file',
  TAG_RESOLVE_FAILED: 'this tag is not known; expected a plain value',
  BLOCK_AS_IMPLICIT_KEY:
    'a key with a value begins within another value; check the colon and the indentation',
};

/** Other timetables need no parser of YAML. */
const loadYaml = onFirstUse(() => import('yaml'));

/**
 * @param name of the file, for messages
 * @throws LecternError `option-invalid` with all faults of the syntax
 */
export async function readYaml(text: string, name: string): Promise<ReadYaml> {
  const { Lexer, LineCounter, isAlias, isMap, isScalar, isSeq, parseDocument } = await loadYaml();
  const deep = tooDeepAt(new Lexer().lex(text));
  if (deep !== null) {
    const lines = text.slice(0, deep).split('\n');
    throw tooDeep(`${name}:${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}`);
  }
  const parse = (given: string) => {
    const lineCounter = new LineCounter();
    const options = { version: '1.2', schema: 'core', prettyErrors: false, uniqueKeys: false } as const;
    return { document: parseDocument(given, { ...options, lineCounter }), lineCounter };
  };
  let { document, lineCounter } = parse(text);
  const tabs = tabsOf(text);
  const isTabbed = document.errors.some(({ pos }) => tabs.has(lineCounter.linePos(pos[0]).line));
  // With spaces in their place the other faults can be told, too.
  for (const width of isTabbed ? TAB_WIDTHS : []) {
    const spaced = text.replace(TABS, (space) => space.replaceAll('\t', ' '.repeat(width)));
    ({ document, lineCounter } = parse(spaced));
    for (const [line, tab] of tabs) tabs.set(line, { ...tab, added: tab.count * (width - 1) });
    if (document.errors.length === 0) break;
  }
  const placeAt = (offset: number): string => {
    const { line, col } = lineCounter.linePos(offset);
    return `${name}:${line}:${Math.max(1, col - (tabs.get(line)?.added ?? 0))}`;
  };
  const faults: string[] = [];
  for (const { code, message, pos } of [...document.errors, ...document.warnings]) {
    const problem = `${placeAt(pos[0])}: ${PROBLEMS[code] ?? message.charAt(0).toLowerCase() + message.slice(1)}`;
    faults.push(problem);
  }
  const tabFaults = [...tabs].map(
    ([line, { column }]) => `${name}:${line}:${column}: ${PROBLEMS.TAB_AS_INDENT}`,
  );
  if (isTabbed) faults.push(...tabFaults);
  if (document.errors.length + document.warnings.length > 0) throw invalid(faults);
  const places = new Map<string, string>();
  const numbers = new Map<string, string>();
  // The parser would search the whole document for each alias.
  const anchors = new Map<string, Node>();
  let count = 0;
  const plain = (given: Node | null, path: string, depth: number): unknown => {
    const node = isAlias(given) ? (anchors.get(given.source) ?? null) : given;
    const offset = (given as ParsedNode | null)?.range?.[0];
    const place = placeAt(offset ?? 0);
    if (!places.has(path)) places.set(path, place);
    if (isAlias(given) && node === null) throw invalid([`${place}: this alias names no anchor before it`]);
    if (node !== null && 'anchor' in node && node.anchor !== undefined) anchors.set(node.anchor, node);
    if (depth > TIMETABLE_DEPTH_MAX) throw tooDeep(place);
    if (++count > TIMETABLE_VALUES_MAX) {
      const problem = `the timetable has more than ${TIMETABLE_VALUES_MAX} values; write out what its aliases repeat`;
      throw invalid([`${place}: ${problem}`]);
    }
    if (isSeq(node))
      return node.items.map((each, n) => plain(each as Node | null, within(path, n), depth + 1));
    if (isMap(node)) {
      const seen = new Set<string>();
      return Object.fromEntries(
        node.items.map(({ key, value }) => {
          if (!isScalar(key)) throw invalid([`${place}: a key is a list or a map; expected a text`]);
          const text = typeof key.value === 'string' ? key.value : (key.source ?? String(key.value));
          const here = within(path, text);
          const keyPlace = key.range ? placeAt(key.range[0]) : place;
          if (seen.has(text)) faults.push(`${keyPlace}: this key is given twice; expected one of the two`);
          seen.add(text);
          places.set(here, keyPlace);
          return [text, plain(value as Node | null, here, depth + 1)];
        }),
      );
    }
    const value = isScalar(node) ? node.value : null;
    if (typeof value === 'number' && isScalar(node) && node.source !== undefined)
      numbers.set(path, node.source);
    return typeof value === 'bigint' ? Number(value) : value;
  };
  const value = plain(document.contents as Node | null, '', 0);
  return { value, places, numbers, faults };
}

/** White space with a tab before the first text of a line. */
const TABS = /^ *\t[ \t]*(?=[^\s#])/gm;
/** What a tab may stand for; the last is the usual indentation. */
const TAB_WIDTHS = [4, 8, 2];

interface Tabs {
  readonly column: number;
  readonly count: number;
  /** Characters that the spaces in place of the tabs have more. */
  readonly added: number;
}

/** The lines that tabs indent. */
function tabsOf(text: string): Map<number, Tabs> {
  const lines = text.split('\n').map((line, n): [number, Tabs] => {
    const [space = ''] = line.match(TABS) ?? [];
    return [n + 1, { column: space.indexOf('\t') + 1, count: space.split('\t').length - 1, added: 0 }];
  });
  return new Map(lines.filter(([, { column }]) => column > 0));
}

/** What the lexer puts before the text of a scalar, and its other marks, which are not in the file. */
const SCALAR_FOLLOWS = '\x1f';
const MARKS = ['\x02', '\x18', SCALAR_FOLLOWS];

/**
 * The offset at which brackets and indicators of one line are nested too deeply; null if they are not. The parser calls
 * itself for each level, and takes quadratic time, so it must not see them.
 */
function tooDeepAt(tokens: Iterable<string>): number | null {
  let offset = 0;
  let brackets = 0;
  let indicators = 0;
  let isScalar = false;
  for (const token of tokens) {
    if (!isScalar) {
      if (token === '[' || token === '{') brackets++;
      else if (token === ']' || token === '}') brackets = Math.max(0, brackets - 1);
      else if (token === '-' || token === '?') indicators++;
      else if (token.includes('\n')) indicators = 0;
      if (brackets + indicators > TIMETABLE_DEPTH_MAX) return offset;
    }
    isScalar = token === SCALAR_FOLLOWS;
    if (!MARKS.includes(token)) offset += token.length;
  }
  return null;
}

function tooDeep(place: string): LecternError {
  return invalid([`${place}: it is nested more than ${TIMETABLE_DEPTH_MAX} deep`]);
}

/** @param found each with its line and column, if the timetable is in a file; they are told in their order there */
export function invalid(found: readonly string[]): LecternError {
  const faults = [...found].sort((a, b) => placeOf(a) - placeOf(b));
  const more = faults.length - TIMETABLE_FAULTS_MAX;
  const shown = [...faults.slice(0, TIMETABLE_FAULTS_MAX), ...(more > 0 ? [`and ${more} more faults`] : [])];
  return new LecternError('option-invalid', shown.join('; '));
}

/** A number that grows with line and column; 0 without them. */
function placeOf(fault: string): number {
  const [, line = 0, column = 0] = /:(\d+):(\d+): /.exec(fault) ?? [];
  return Number(line) * TIMETABLE_FILE_BYTES_MAX + Number(column);
}
