/**
 * The rows of a record: one for each date of a weekly pattern, and for each combination of the values of its fields. The
 * rows are one lesson.
 */
import { ROWS_PER_RECORD_MAX, VALUE_MEMO_ENTRIES_MAX } from '../base/limits.js';
import {
  derivedIdentifier,
  RECORD_PREFIX_UNITS,
  recordPrefix,
  rowHalf,
  writeRecordPrefix,
} from '../base/model/derived-identifier.js';
import type { IdentifierMode } from '../base/model/event.js';
import { FIELDS, type FieldName, NAMED_FIELDS, slotOf } from '../base/model/fields.js';
import { isCanonicalUuid, parseIdentifier } from '../base/model/identifier.js';
import {
  type Item,
  LIST,
  type Names,
  NULL,
  namesOf,
  type Row,
  RowState,
  STRIDE,
  WHOLE,
} from '../base/structures/row.js';
import { isNothing, SINGLE_FIELDS } from './map-value.js';

const ID = slotOf('id');
const LESSON = slotOf('lessonId');
const TIME = slotOf('time');
const END_TIME = slotOf('endTime');
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

/** A family whose fields have several values. */
interface Varying {
  readonly slots: readonly number[];
  /** For each different item, the value of each slot. */
  readonly items: readonly (readonly Item[])[];
  /** For each item, its part of the text from which the second half of an id is made. */
  readonly texts: readonly string[];
  /** For each item, the second half of an id if nothing else varies. */
  readonly halves: (Buffer | undefined)[];
}

/** One meeting of a weekly pattern: the values that its rows have of their own. */
export interface Meeting {
  /** The places of several rooms, of which each meeting has one, and its room. */
  readonly rooms: readonly (readonly [slot: number, room: Item])[];
  readonly starts: readonly string[];
  readonly ends: readonly string[];
  /** `2026-09-28`. */
  readonly dates: readonly string[];
  /** The second half of the id of each row. */
  readonly ids: readonly string[];
}

/** A table whose records become rows. */
interface Target {
  readonly row: Row;
  /** The field of the row for the id of a record. */
  readonly recordField: number;
  readonly identifiers: IdentifierMode;
  /** Takes the row. */
  readonly give: () => void;
  /** Change each row before it is given. */
  readonly steps: readonly ((row: Row) => void)[];
  refuse(field: FieldName | null, detail: string): void;
}

/** Gives a row for each date of a record, and for each combination of its values. */
export class RecordRows {
  readonly #target: Target;
  /** The row as the record gives it, at one meeting, and before its combinations. */
  readonly #record: RowState;
  readonly #dated: RowState;
  readonly #combinations: RowState;
  /** The first half of the ids of a record's rows. */
  readonly #prefix = Buffer.alloc(RECORD_PREFIX_UNITS);
  /** What became of lists that are alone in their family: steps of a map give one list for one text. */
  readonly #lone = FIELDS.map(() => new Map<readonly Item[], Varying>());

  constructor(target: Target) {
    this.#target = target;
    this.#record = new RowState(target.row);
    this.#dated = new RowState(target.row);
    this.#combinations = new RowState(target.row);
  }

  /** @param meetings of a weekly pattern; null for a record that has its own time */
  give(meetings: readonly Meeting[] | null): void {
    const { row, steps } = this.#target;
    if (meetings === null && !row.hasLists) {
      for (const step of steps) step(row);
      this.#target.give();
      return;
    }
    // The rooms of the meetings are no combinations.
    for (const [slot, room] of meetings?.[0]?.rooms ?? []) row.put(slot, room);
    const all = row.hasLists ? this.#allVarying() : [];
    if (all === null) return;
    this.#nameRecord();
    if (meetings === null) this.#giveAll(all, null);
    else this.#giveMeetings(meetings, all);
    row.recordField = -1;
  }

  /** Keeps the canonical id of the record, if it has one. */
  #nameRecord(): void {
    const { row, identifiers, recordField } = this.#target;
    const [from, to] = [row.spans[STRIDE * ID] as number, row.spans[STRIDE * ID + 1] as number];
    if (identifiers === 'any' || !isCanonicalUuid(row.bytesOf(ID), from, to)) {
      const id = recordIdOf(row, identifiers);
      if (id === null) return;
      row.put(ID, id);
    }
    row.copy(ID, recordField);
    row.recordField = recordField;
  }

  #giveMeetings(meetings: readonly Meeting[], all: readonly Varying[]): void {
    const { row, steps } = this.#target;
    const { recordId } = row;
    const prefix = recordId === null ? null : recordPrefix(recordId);
    const dated = this.#dated;
    row.keep(this.#record);
    for (const { rooms, starts, ends, dates, ids } of meetings) {
      row.back(this.#record);
      for (const [slot, room] of rooms) row.put(slot, room);
      // Once for all dates, unless each of their combinations has other values.
      if (all.length === 0) for (const step of steps) step(row);
      const lesson = row.kindOf(LESSON) <= NULL ? '' : row.textOf(LESSON);
      row.keep(dated);
      for (let at = 0; at < dates.length; at++) {
        row.back(dated);
        row.put(TIME, starts[at]);
        row.put(END_TIME, ends[at]);
        if (prefix !== null) row.put(ID, prefix + ids[at]);
        if (lesson !== '') row.put(LESSON, `${lesson} ${dates[at]}`);
        if (all.length > 0) this.#giveAll(all, prefix && prefix + ids[at]);
        else this.#give();
        // A record that is refused for its id is refused once.
        if (prefix === null && !this.#isNameless()) return;
      }
    }
  }

  /** @param date the id of the record at one date */
  #giveAll(all: readonly Varying[], date: string | null): void {
    const { row, steps, recordField } = this.#target;
    const combinations = this.#combinations;
    const isNamed = row.recordField !== -1;
    const isRefused = !isNamed && !this.#isNameless();
    if (row.kindOf(LESSON) <= NULL || row.isEmptyText(LESSON)) this.#nameLesson(date, isRefused);
    const count = isRefused ? 1 : countOf(all);
    if (count > 1) row.keep(combinations);
    const prefix = this.#prefix;
    if (isNamed) {
      const [from, to] = [row.spans[STRIDE * recordField], row.spans[STRIDE * recordField + 1]];
      writeRecordPrefix(row.bytesOf(recordField), from as number, to as number, prefix);
    }
    const only = date === null && all.length === 1 ? (all[0] as Varying) : null;
    for (let n = 0; n < count; n++) {
      if (n > 0) row.back(combinations);
      let half: Buffer | undefined;
      let rest = n;
      let values = date === null ? '' : `${date}\n`;
      for (const { slots, items, texts, halves } of all) {
        const at = rest % items.length;
        const item = items[at] as readonly Item[];
        rest = Math.floor(rest / items.length);
        for (let m = 0; m < slots.length; m++) row.put(slots[m] as number, item[m]);
        if (only === null) values += texts[at];
        else half = halves[at] ??= rowHalf(texts[at] as string);
      }
      if (isNamed) row.join(ID, [prefix, half ?? rowHalf(values)]);
      for (const step of steps) step(row);
      this.#give();
    }
  }

  #give(): void {
    const { row, give } = this.#target;
    give();
    // The columns that are not served count once for each record.
    row.names = NO_NAMES;
  }

  /** Whether the row gets an id from its values. */
  #isNameless(): boolean {
    const { row, identifiers } = this.#target;
    return identifiers === 'derived' && (row.kindOf(ID) <= NULL || row.isEmptyText(ID));
  }

  /** The id of a record is its lesson. A record without an id is known by all of its values. */
  #nameLesson(date: string | null, isRefused: boolean): void {
    const { row, recordField } = this.#target;
    if (date !== null) row.put(LESSON, date);
    else if (row.recordField !== -1) row.copy(recordField, LESSON);
    else if (!isRefused) {
      const content = FIELDS.map((_, slot) => (row.kindOf(slot) <= NULL ? null : row.textOf(slot)));
      row.put(LESSON, derivedIdentifier('lessonId', JSON.stringify(content)));
    }
  }

  /** The families that have several values. Null if the record is refused. */
  #allVarying(): readonly Varying[] | null {
    const { row, refuse } = this.#target;
    row.refuseLists(SINGLE_SLOTS);
    const all: Varying[] = [];
    for (const slots of FAMILIES) {
      const varying = this.#varying(slots);
      if (typeof varying === 'string') {
        refuse(FIELDS[slots[0] as number]?.name ?? null, varying);
        return null;
      }
      if (varying !== null) all.push(varying);
    }
    const count = countOf(all);
    if (count <= ROWS_PER_RECORD_MAX) return all;
    const shown = all.map(({ slots, items }) => `${items.length} of ${namesOfSlots(slots)}`).join(' × ');
    const expected = `expected at most ${ROWS_PER_RECORD_MAX}`;
    refuse(null, `the record has ${count} combinations of values: ${shown}; ${expected}`);
    return null;
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
        slots.map((slot) => row.lists[slot] ?? []),
      );
    const list = row.lists[only] ?? [];
    const known = this.#lone[only] as Map<readonly Item[], Varying>;
    let varying = known.get(list);
    if (varying === undefined) {
      varying = joined(slots, [list]) as Varying;
      if (known.size >= VALUE_MEMO_ENTRIES_MAX) known.clear();
      known.set(list, varying);
    }
    return varying;
  }
}

function countOf(all: readonly Varying[]): number {
  return all.reduce((product, { items }) => product * items.length, 1);
}

/** The items of lists that belong together by their place. A clause on the fault if they have different lengths. */
function joined(slots: readonly number[], given: readonly (readonly Item[])[]): Varying | string {
  const lists = given.map(itemsOf);
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
  const all = items.size === 0 ? [slots.map(() => null)] : [...items.values()];
  const texts = all.map((item) =>
    item.map((value, n) => `${FIELDS[slots[n] as number]?.name}:${value ?? ''}\n`).join(''),
  );
  return { slots, items: all, texts, halves: [] };
}

function itemsOf(list: readonly Item[]): Item[] {
  return list.map((item) => {
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
