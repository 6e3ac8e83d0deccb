/** Records with several values in a field. Such a record becomes a row for each combination of its values. */
import { ROWS_PER_RECORD_MAX, VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX } from '../limits.js';
import { derivedIdentifier, recordPrefix, rowIdentifier } from '../model/derived-identifier.js';
import type { IdentifierMode } from '../model/event.js';
import { FIELDS, type FieldName, NAMED_FIELDS } from '../model/fields.js';
import { parseIdentifier } from '../model/identifier.js';
import { LIST, type Names, NULL, namesOf, type Row, WHOLE } from '../structures/row.js';
import { TextMemo } from '../structures/text-memo.js';
import { isNothing, SINGLE_FIELDS } from './map-value.js';

const ID = slotOf('id');
const LESSON = slotOf('lessonId');
const SINGLE_SLOTS = SINGLE_FIELDS.map((name) => slotOf(name as FieldName));
const NONE: readonly number[] = [];
const NO_NAMES: Names = namesOf([]);

/**
 * Fields that vary together: an identifier and its names. The items of their lists belong together by their place.
 */
const FAMILIES: readonly (readonly number[])[] = (() => {
  const named = NAMED_FIELDS.map(({ name, namedBy }) => [name, ...namedBy].map(slotOf).sort((a, b) => a - b));
  const others = FIELDS.filter(({ name }) => !SINGLE_FIELDS.includes(name))
    .map(({ name }) => [slotOf(name)])
    .filter(([slot]) => !named.flat().includes(slot as number));
  return [...named, ...others];
})();

type Item = string | number | null;

/** A family whose fields have several values. */
interface Varying {
  readonly slots: readonly number[];
  /** For each different item, the value of each slot. */
  readonly items: readonly (readonly Item[])[];
}

/** A row, and what becomes of it. */
interface Target {
  readonly row: Row;
  readonly identifiers: IdentifierMode;
  /** Change each row before it is given. */
  readonly steps: readonly ((row: Row) => void)[];
  give(): void;
  refuse(field: FieldName | null, detail: string): void;
}

/** Gives a row once for each combination of its values. */
export class SeveralValues {
  readonly #target: Target;
  readonly #base: Int32Array;
  /** The different items of lists that are alone in their family. */
  readonly #lone = new TextMemo<Varying['items']>(VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX);

  constructor(target: Target) {
    this.#target = target;
    this.#base = new Int32Array(target.row.spans.length);
  }

  /** Gives the combinations of the row, which has lists. The row stays as it is. */
  give(): void {
    const { row } = this.#target;
    row.refuseLists(SINGLE_SLOTS);
    const all: Varying[] = [];
    for (const slots of FAMILIES) {
      const varying = this.#varying(slots);
      if (typeof varying === 'string') {
        this.#target.refuse(FIELDS[slots[0] as number]?.name ?? null, varying);
        return;
      }
      if (varying !== null) all.push(varying);
    }
    const count = all.reduce((product, { items }) => product * items.length, 1);
    if (count <= ROWS_PER_RECORD_MAX) {
      this.#giveAll(all, count);
      return;
    }
    const shown = all.map(({ slots, items }) => `${items.length} of ${namesOfSlots(slots)}`).join(' × ');
    const expected = `expected at most ${ROWS_PER_RECORD_MAX}`;
    this.#target.refuse(null, `the record has ${count} combinations of values: ${shown}; ${expected}`);
  }

  #giveAll(all: readonly Varying[], count: number): void {
    const { row, identifiers, steps, give } = this.#target;
    // A row of a weekly pattern is one date of its record.
    const date = row.recordId === null ? null : row.textOf(ID);
    const record = row.recordId ?? recordIdOf(row, identifiers);
    const isNameless = row.kindOf(ID) <= NULL || row.isEmptyText(ID);
    const hasLesson = row.kindOf(LESSON) > NULL && !row.isEmptyText(LESSON);
    if (!hasLesson) this.#nameLesson(date ?? record, isNameless);
    const prefix = record === null ? '' : recordPrefix(record);
    const base = this.#base;
    base.set(row.spans);
    const { mark } = row;
    // A record that is refused for its id is refused once.
    const rows = record === null && !(isNameless && identifiers === 'derived') ? 1 : count;
    row.recordId = record;
    for (let n = 0; n < rows; n++) {
      let rest = n;
      let values = date === null ? '' : `${date}\n`;
      for (const { slots, items } of all) {
        const item = items[rest % items.length] as readonly Item[];
        rest = Math.floor(rest / items.length);
        for (let m = 0; m < slots.length; m++) {
          const value = item[m] as Item;
          row.put(slots[m] as number, value);
          values += `${FIELDS[slots[m] as number]?.name}:${value ?? ''}\n`;
        }
      }
      if (record !== null) row.put(ID, rowIdentifier(prefix, values));
      for (const step of steps) step(row);
      give();
      // The columns that are not served count once for each record.
      row.names = NO_NAMES;
      row.spans.set(base);
      row.rewind(mark);
    }
    if (date === null) row.recordId = null;
    if (!hasLesson) row.clear(LESSON, NULL);
  }

  /** The id of a record is its lesson. A record without an id is known by all of its values. */
  #nameLesson(record: string | null, isNameless: boolean): void {
    const { row, identifiers } = this.#target;
    if (record !== null) row.put(LESSON, record);
    else if (isNameless && identifiers === 'derived') {
      const content = FIELDS.map((_, slot) => (row.kindOf(slot) <= NULL ? null : row.textOf(slot)));
      row.put(LESSON, derivedIdentifier('lessonId', JSON.stringify(content)));
    }
  }

  /** Null if no field of the family has a list; a clause on the fault if lists of different lengths cannot be joined. */
  #varying(family: readonly number[]): Varying | null | string {
    const { row } = this.#target;
    let slots = NONE;
    for (const slot of family)
      if (row.kindOf(slot) === LIST) slots = slots.length === 0 ? [slot] : [...slots, slot];
    const [only] = slots;
    if (only === undefined) return null;
    if (slots.length > 1)
      return joined(
        slots,
        slots.map((slot) => row.textOf(slot)),
      );
    const json = row.textOf(only);
    let items = this.#lone.get(json);
    if (items === undefined) {
      items = (joined(slots, [json]) as Varying).items;
      this.#lone.set(json, items);
    }
    return { slots, items };
  }
}

/** The items of lists that belong together by their place. A clause on the fault if they have different lengths. */
function joined(slots: readonly number[], texts: readonly string[]): Varying | string {
  const lists = texts.map(itemsOf);
  const length = Math.max(...lists.map((list) => list.length));
  const odd = lists.findIndex((list) => list.length > 1 && list.length < length);
  if (odd !== -1) {
    const shown = lists
      .map((list, n) => `${list.length} of ${namesOfSlots([slots[n] as number])}`)
      .join(', ');
    return `the record has ${shown}; expected a name for each identifier`;
  }
  const items = new Map<string, Item[]>();
  for (let n = 0; n < length; n++) {
    const item = lists.map((list) => list[list.length === 1 ? 0 : n] ?? null);
    // A number and its digits are the same value.
    const key =
      item.length === 1 ? String(item[0]) : JSON.stringify(item.map((value) => value && String(value)));
    if (item.some((value) => value !== null) && !items.has(key)) items.set(key, item);
  }
  return { slots, items: items.size === 0 ? [slots.map(() => null)] : [...items.values()] };
}

function itemsOf(json: string): Item[] {
  return (JSON.parse(json) as Item[]).map((item) => {
    const text = typeof item === 'string' ? item.trim() : item;
    return typeof text === 'string' && isNothing(text) ? null : text;
  });
}

/** The canonical id that the source gave to a record; null if the record has none, or one that is refused. */
export function recordIdOf(row: Row, identifiers: IdentifierMode): string | null {
  const isId = row.isText(ID) || (row.kindOf(ID) === WHOLE && identifiers !== 'uuid');
  return isId ? parseIdentifier(row.textOf(ID), identifiers, 'id') : null;
}

function namesOfSlots(slots: readonly number[]): string {
  return slots.map((slot) => FIELDS[slot]?.name).join(' with ');
}

function slotOf(name: FieldName): number {
  return FIELDS.findIndex((field) => field.name === name);
}
