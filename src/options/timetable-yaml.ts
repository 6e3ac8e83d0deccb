/** Reads YAML 1.2, of which JSON is a part, as plain values with their places. */
import type { Node, ParsedNode } from 'yaml';
import { LecternError } from '../errors.js';
import { TIMETABLE_DEPTH_MAX, TIMETABLE_VALUES_MAX } from '../limits.js';
import { type Written, within } from './timetable-check.js';

export interface ReadYaml extends Written {
  readonly value: unknown;
  /** Keys that are given twice. */
  readonly faults: readonly string[];
}

/** Messages in place of those of the parser, which are for its programmers. */
const PROBLEMS: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'this key is given twice; expected one of the two',
  TAB_AS_INDENT: 'a tab indents this line; expected spaces',
  MULTIPLE_DOCS: 'a second document begins here; expected one timetable in a file',
  TAG_RESOLVE_FAILED: 'this tag is not known; expected a plain value',
  BAD_ALIAS: 'this alias names no anchor before it',
  BLOCK_AS_IMPLICIT_KEY:
    'a key with a value begins within another value; check the colon and the indentation',
};

/**
 * @param name of the file, for messages
 * @throws LecternError `option-invalid` with all faults of the syntax
 */
export async function readYaml(text: string, name: string): Promise<ReadYaml> {
  // Other timetables need no parser of YAML.
  const { LineCounter, isAlias, isMap, isScalar, isSeq, parseDocument } = await import('yaml');
  const lineCounter = new LineCounter();
  const placeAt = (offset: number): string => {
    const { line, col } = lineCounter.linePos(offset);
    return `${name}:${line}:${col}`;
  };
  const options = { version: '1.2', schema: 'core', lineCounter, prettyErrors: false } as const;
  const document = readable(name, () => parseDocument(text, options));
  const faults: string[] = [];
  const broken: string[] = [];
  for (const { code, message, pos } of [...document.errors, ...document.warnings]) {
    // The parser calls itself for each level.
    if (/call stack/.test(message)) throw tooDeep(placeAt(pos[0]));
    const problem = `${placeAt(pos[0])}: ${PROBLEMS[code] ?? message.charAt(0).toLowerCase() + message.slice(1)}`;
    (code === 'DUPLICATE_KEY' ? faults : broken).push(problem);
  }
  if (broken.length > 0) throw invalid([...faults, ...broken]);
  const places = new Map<string, string>();
  const numbers = new Map<string, string>();
  let count = 0;
  const plain = (given: Node | null, path: string, depth: number): unknown => {
    const node = isAlias(given) ? (given.resolve(document) ?? null) : given;
    const offset = (given as ParsedNode | null)?.range?.[0];
    const place = placeAt(offset ?? 0);
    if (!places.has(path)) places.set(path, place);
    if (depth > TIMETABLE_DEPTH_MAX) throw tooDeep(place);
    if (++count > TIMETABLE_VALUES_MAX) {
      const problem = `the timetable has more than ${TIMETABLE_VALUES_MAX} values; write out what its aliases repeat`;
      throw invalid([`${place}: ${problem}`]);
    }
    if (isSeq(node))
      return node.items.map((each, n) => plain(each as Node | null, within(path, n), depth + 1));
    if (isMap(node)) {
      return Object.fromEntries(
        node.items.map(({ key, value }) => {
          if (!isScalar(key)) throw invalid([`${place}: a key is a list or a map; expected a text`]);
          const text = typeof key.value === 'string' ? key.value : (key.source ?? String(key.value));
          const here = within(path, text);
          places.set(here, key.range ? placeAt(key.range[0]) : place);
          return [text, plain(value as Node | null, here, depth + 1)];
        }),
      );
    }
    const value = isScalar(node) ? node.value : null;
    if (typeof value === 'number' && isScalar(node) && node.source !== undefined)
      numbers.set(path, node.source);
    return typeof value === 'bigint' ? Number(value) : value;
  };
  const value = readable(name, () => plain(document.contents as Node | null, '', 0));
  return { value, places, numbers, faults };
}

function tooDeep(place: string): LecternError {
  return invalid([`${place}: it is nested more than ${TIMETABLE_DEPTH_MAX} deep`]);
}

function readable<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw tooDeep(`${name}:1:1`);
  }
}

export function invalid(faults: readonly string[]): LecternError {
  return new LecternError('option-invalid', faults.join('; '));
}
