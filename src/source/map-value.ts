/**
 * Values of field maps that are objects: what becomes of a text of the source before it is the value of a field. Texts
 * repeat in columns, so the results are remembered.
 */

import type { RE2JS } from 're2js';
import { optionInvalid } from '../base/errors.js';
import { onFirstUse } from '../base/files/load-on-use.js';
import {
  MATCHED_UNITS_MAX,
  PATTERN_UNITS_MAX,
  ROWS_PER_RECORD_MAX,
  VALUE_MEMO_ENTRIES_MAX,
  VALUE_MEMO_UNITS_MAX,
} from '../base/limits.js';
import type { Rejection } from '../base/model/event.js';
import { FIELDS } from '../base/model/fields.js';
import { type FieldValue, type MapValue, OTHERWISE, type ReadRules } from '../base/model/read-rules.js';
import { suggest } from '../base/model/suggest.js';
import { quoteEscaped } from '../base/model/text.js';
import { RecentValues } from '../base/structures/recent-values.js';
import { type Item, LIST, NULL, OTHER, type Row } from '../base/structures/row.js';
import { TextMemo } from '../base/structures/text-memo.js';

/** A part of a template: plain text, or a column whose value is inserted. */
type TemplatePart = string | { readonly column: string };

/** The parts of a text such as `{date}T{start}`. A text without braces is one column. `{{` and `}}` stand for braces. */
export type MapTemplate = readonly TemplatePart[];

/** @returns a clause on the fault, such as "it names no column" */
export function parseTemplate(text: string): MapTemplate | string {
  if (text === '') return 'it names no column';
  if (!/[{}]/.test(text)) return [{ column: text }];
  const parts: TemplatePart[] = [];
  let plain = '';
  for (const [token, column] of text.matchAll(/\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+/g)) {
    if (column !== undefined) {
      if (column === '') return '{} names no column';
      if (plain !== '') parts.push(plain);
      plain = '';
      parts.push({ column });
    } else if (token === '{' || token === '}') {
      return `"${token}" has no partner: write {column}, or ${token}${token} for a brace`;
    } else plain += token === '{{' ? '{' : token === '}}' ? '}' : token;
  }
  if (plain !== '') parts.push(plain);
  if (parts.every((part) => typeof part === 'string')) return 'it names no column: write {column}';
  return parts;
}

/** Where a value is found, and the steps that make it. */
export interface Entry {
  readonly template: MapTemplate;
  /** Absent if the value is what is found. */
  readonly steps?: FieldValue | undefined;
}

/** Null for a text that is no template. */
export function entryOf(value: MapValue): Entry | null {
  const steps = typeof value === 'string' ? undefined : value;
  const template = parseTemplate(typeof value === 'string' ? value : value.from);
  return typeof template === 'string' ? null : { template, steps };
}

/** The columns that are read for a value. */
export function columnsOf(entry: Pick<Entry, 'template'> | undefined): string[] {
  return entry?.template.flatMap((part) => (typeof part === 'string' ? [] : [part.column])) ?? [];
}

const MEMBERS = ['from', 'split', 'each', 'match', 'values', 'otherwise'] as const;
/** An event has one value of these fields. */
export const SINGLE_FIELDS: readonly string[] = [
  ...FIELDS.filter(({ kind, required }) => required || kind === 'instant').map(({ name }) => name),
  'lessonId',
  'modified',
];
/** What people write for nothing. */
const NOTHING: readonly string[] = ['', '-', '--'];

/** Whether one of several texts is no value. @param text without white space around it */
export function isNothing(text: string): boolean {
  return NOTHING.includes(text);
}
const VALUES_SHOWN_MAX = 8;

/**
 * The fault of a value of a map, as a sentence that begins with the field; null if it has none.
 *
 * @param isSingle whether an event has one value
 */
export function mapValueFault(
  field: string,
  value: unknown,
  isSingle: boolean = SINGLE_FIELDS.includes(field),
): string | null {
  if (typeof value === 'string') {
    const template = parseTemplate(value);
    return typeof template === 'string' ? `${field} is ${JSON.stringify(value)}: ${template}` : null;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return `the column of ${field} must be a text, or an object with ${MEMBERS.join(', ')}`;
  for (const name of Object.keys(value)) {
    if (MEMBERS.some((member) => member === name)) continue;
    const near = suggest(name, MEMBERS);
    const hint = near === null ? `the members are ${MEMBERS.join(', ')}` : `did you mean ${near}?`;
    return `${field} has no member ${quoteEscaped(name)}: ${hint}`;
  }
  const steps = value as Readonly<Record<(typeof MEMBERS)[number], unknown>>;
  if (typeof steps.from !== 'string') return `from of ${field} must be a column, a path or a template`;
  const template = parseTemplate(steps.from);
  if (typeof template === 'string') return `from of ${field} is ${JSON.stringify(steps.from)}: ${template}`;
  for (const name of ['split', 'each', 'match'] as const) {
    const text = steps[name];
    if (text === undefined) continue;
    if (typeof text !== 'string' || text === '')
      return `${name} of ${field} must be a text that is not empty`;
    if (name !== 'match' && isSingle) return `an event has one ${field}: ${name} is for other fields`;
  }
  if (steps.each !== undefined && (template.length > 1 || typeof template[0] === 'string'))
    return `each of ${field} needs one column or path in from, not a template`;
  const pattern = steps.match === undefined ? null : patternFault(steps.match as string);
  if (pattern !== null) return `match of ${field} is ${quoteEscaped(steps.match as string)}: ${pattern}`;
  return valuesFault(field, steps);
}

function valuesFault(
  field: string,
  { values, otherwise }: Readonly<Record<'values' | 'otherwise', unknown>>,
): string | null {
  if (otherwise !== undefined && !OTHERWISE.some((each) => each === otherwise))
    return `otherwise of ${field} must be ${OTHERWISE.slice(0, -1).join(', ')} or ${OTHERWISE.at(-1)}`;
  if (values === undefined)
    return otherwise === undefined ? null : `otherwise of ${field} needs values, which it completes`;
  if (typeof values !== 'object' || values === null || Array.isArray(values))
    return `values of ${field} must be an object from texts to texts`;
  for (const [text, value] of Object.entries(values)) {
    if (typeof value !== 'string' && value !== null)
      return `values of ${field} has no text for ${quoteEscaped(text)}: expected a text, or null for no value`;
  }
  return null;
}

/** The engine has 260 KB, and few maps have patterns. It takes time linear in the text for every pattern. */
let engine: typeof RE2JS | null = null;
const loadEngine = onFirstUse(() => import('re2js'));

/**
 * Loads the engine of patterns, if the rules have any: call this before they are used, and before `fieldMapFault` if that
 * is to check patterns.
 */
export async function preparePatterns(rules: Pick<ReadRules, 'fieldMap' | 'when'> = {}): Promise<void> {
  if (engine === null && hasPattern(rules)) engine = (await loadEngine()).RE2JS;
}

export function hasPattern({ fieldMap, when }: Pick<ReadRules, 'fieldMap' | 'when'>): boolean {
  return hasMatch(fieldMap, 2) || hasMatch(when, 1);
}

/** @param depth of the values: a field map may have maps of formats */
function hasMatch(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return 'match' in value || (depth > 0 && Object.values(value).some((each) => hasMatch(each, depth - 1)));
}

/** Null while the engine is not loaded: the load then checks the pattern. */
function patternFault(pattern: string): string | null {
  if (pattern.length > PATTERN_UNITS_MAX)
    return `it has ${pattern.length} characters; expected at most ${PATTERN_UNITS_MAX}`;
  try {
    engine?.compile(pattern);
    return null;
  } catch (error) {
    const reason = (error as Error).message.replace(/^error parsing regexp: /, '');
    return `it is no pattern of RE2, which has neither look-around nor references back: ${reason}`;
  }
}

/** A text that `values` does not name, and `otherwise` refuses: one sentence. */
interface RefusedText {
  readonly detail: string;
}

/** What a text gives: a value, none, or several. */
type ReadText = string | null | RefusedText | readonly Item[];

/** What becomes of a value; undefined if it stays as it is. */
type Result = ReadText | undefined;
/** Most values are shorter: 4,096 of 128 bytes are 0.5 MB for a field. */
const RECENT_BYTES_MAX = 128;

/** What makes the value of one field from a text. */
export class ValueSteps {
  readonly #field: string;
  readonly #pattern: RE2JS | null;
  readonly #hasGroup: boolean;
  readonly #values: ReadonlyMap<string, string | null> | null;
  readonly #otherwise: FieldValue['otherwise'];
  readonly #split: string | undefined;
  readonly #memo = new TextMemo<ReadText>(VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX);
  /** The results of recent values, which need no text. */
  readonly #recent = new RecentValues(RECENT_BYTES_MAX);
  readonly #results: Result[] = new Array(this.#recent.size);

  /** @throws LecternError `option-invalid` for a pattern that is none */
  constructor(field: string, { split, match, values, otherwise = 'keep' }: FieldValue) {
    this.#field = field;
    this.#split = split;
    const fault = match === undefined ? null : patternFault(match);
    if (fault !== null) throw optionInvalid(`match of ${field} is ${quoteEscaped(match ?? '')}: ${fault}`);
    if (match !== undefined && engine === null) throw new Error('the engine of patterns was not loaded');
    this.#pattern = match === undefined ? null : (engine as typeof RE2JS).compile(match);
    this.#hasGroup = this.#pattern !== null && Object.hasOwn(this.#pattern.namedGroups(), 'value');
    this.#values = values === undefined ? null : new Map(Object.entries(values));
    this.#otherwise = otherwise;
  }

  /** Puts the value in the place of its text. @returns why the text is refused */
  apply(row: Row, slot: number): Pick<Rejection, 'code' | 'field' | 'detail'> | undefined {
    const kind = row.kindOf(slot);
    if (kind === OTHER || (kind <= NULL && this.#split === undefined)) return undefined;
    if (kind === LIST) return this.#put(row, slot, this.#readList(row.lists[slot] ?? []));
    if (kind <= NULL) return this.#put(row, slot, this.#known(''));
    let entry = this.#recent.find(row, slot);
    if (entry !== -1) return this.#put(row, slot, this.#results[entry]);
    const text = row.textOf(slot);
    const read = this.#known(text);
    // A number stays a number.
    const result = read === text ? undefined : read;
    entry = this.#recent.keep(row, slot);
    if (entry !== -1) this.#results[entry] = result;
    return this.#put(row, slot, result);
  }

  #put(row: Row, slot: number, value: Result): Pick<Rejection, 'code' | 'field' | 'detail'> | undefined {
    if (value === undefined) return undefined;
    if (value === null) row.clear(slot, NULL);
    else if (typeof value === 'string') row.put(slot, value);
    else if (!('detail' in value)) row.putList(slot, value);
    else {
      const field = FIELDS.find(({ name }) => name === this.#field)?.name ?? null;
      return { code: 'malformed-text', field, detail: value.detail };
    }
    return undefined;
  }

  #known(text: string): ReadText {
    let value = this.#memo.get(text);
    if (value === undefined) {
      value = this.#split === undefined ? this.#read(text) : this.#readAll(text.split(this.#split));
      this.#memo.set(text, value);
    }
    return value;
  }

  #readList(items: readonly Item[]): ReadText {
    const split = this.#split;
    if (split === undefined) return this.#readAll(items);
    return this.#readAll(
      items.flatMap<Item>((item) => (typeof item === 'string' ? item.split(split) : item)),
    );
  }

  #readAll(items: readonly Item[]): ReadText {
    const values: Item[] = [];
    const known = new Map<string, string | null>();
    for (const item of items) {
      const text = item === null ? '' : String(item).trim();
      let value = known.get(text);
      if (value === undefined) {
        const read = isNothing(text) ? null : this.#read(text);
        if (typeof read === 'object' && read !== null) return read;
        value = read;
        known.set(text, value);
      }
      if (known.size > ROWS_PER_RECORD_MAX + 1)
        return {
          detail: `${this.#field} has more than ${ROWS_PER_RECORD_MAX} values; expected at most as many`,
        };
      values.push(typeof item === 'number' && value === text ? item : value);
    }
    return values;
  }

  /** Reads one value. */
  #read(text: string): string | null | RefusedText {
    const matched = this.#pattern === null ? text : this.#match(this.#pattern, text);
    if (matched === null || this.#values === null) return matched;
    const known = this.#values.get(matched) ?? this.#values.get(matched.trim());
    if (known !== undefined || this.#values.has(matched)) return known ?? null;
    if (this.#otherwise === 'keep') return matched;
    if (this.#otherwise === 'null') return null;
    const names = [...this.#values.keys()];
    const listed = names.slice(0, VALUES_SHOWN_MAX).map(quoteEscaped);
    if (names.length > listed.length) listed.push('…');
    const expected = `expected one of ${listed.join(', ')}, which the field map names`;
    return { detail: `${this.#field} is ${quoteEscaped(matched)}; ${expected}` };
  }

  #match(pattern: RE2JS, text: string): string | null {
    if (text.length > MATCHED_UNITS_MAX) return null;
    const matcher = pattern.matcher(text);
    if (!matcher.find()) return null;
    return (this.#hasGroup ? matcher.group('value') : matcher.group()) || null;
  }
}
