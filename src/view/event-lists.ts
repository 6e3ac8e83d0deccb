import type { Body } from '../encode/body.js';
import { calendarForm } from '../encode/calendar-rows.js';
import { CSV } from '../encode/csv-rows.js';
import { jsonRows } from '../encode/json.js';
import { messagePackRows } from '../encode/msgpack.js';
import { NDJSON } from '../encode/ndjson-rows.js';
import { pageForm } from '../encode/page-rows.js';
import type { RowCache } from '../encode/row-cache.js';
import { type FeedHead, type RowListForm, rowList } from '../encode/row-lists.js';
import type { AnyFormatName } from '../model/format.js';
import { encodeEventCursor } from '../query/cursor.js';
import { executePlan } from '../query/execute.js';
import type { Parameters } from '../query/parameters.js';
import type { Plan } from '../query/plan.js';
import type { Selection } from '../query/selection.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import type { Encode } from './answer.js';

/**
 * For each representation with an opening, rows and a closing: a function that makes its form. EventLists
 * keeps the forms.
 */
const FORMS: Readonly<
  Record<
    Exclude<AnyFormatName, 'json' | 'msgpack'>,
    (snapshot: Snapshot, marksClashes: boolean) => RowListForm
  >
> = { ndjson: () => NDJSON, csv: () => CSV, ics: calendarForm, html: pageForm };

/** Lists of the events of one snapshot, in each representation. */
export class EventLists {
  readonly #snapshot: Snapshot;
  readonly #rowCache: RowCache;
  /** Forms by format name: first the forms without marked clashes, then the forms with them. */
  readonly #forms = [new Map<string, RowListForm>(), new Map<string, RowListForm>()] as const;

  constructor(snapshot: Snapshot, rowCache: RowCache) {
    this.#snapshot = snapshot;
    this.#rowCache = rowCache;
  }

  /** @param feed the head of the feed, if the list is a feed */
  find(plan: Plan, parameters: Parameters, feed?: FeedHead): Encode {
    const selection = executePlan(this.#snapshot, plan);
    const { page, nextCursor } = this.#page(selection, parameters);
    return (format) => {
      const body = this.#body(page, format, parameters.clashes, feed);
      return { total: selection.count, count: page.count, nextCursor, body };
    };
  }

  /** The requested part of a result. */
  #page(
    selection: Selection,
    { eventCursor, limit }: Parameters,
  ): { page: Selection; nextCursor: string | null } {
    const from = eventCursor === null ? 0 : selection.positionOf(this.#snapshot.ordinalAfter(eventCursor));
    const to = Math.min(selection.count, from + limit);
    const page = selection.slice(from, to);
    const isLast = to === selection.count;
    return { page, nextCursor: isLast ? null : encodeEventCursor(this.#snapshot.keyOf(page.last())) };
  }

  #body(page: Selection, format: AnyFormatName, marksClashes: boolean, feed?: FeedHead): Body {
    const { rows } = this.#snapshot;
    if (format === 'json') return jsonRows(rows, page, this.#rowCache);
    if (format === 'msgpack') return messagePackRows(rows, page, this.#rowCache);
    const form = this.#formOf(format, marksClashes);
    const opening = feed === undefined ? undefined : form.openingOf?.(feed);
    return rowList(rows, page, opening === undefined ? form : { ...form, opening }, this.#rowCache);
  }

  #formOf(format: keyof typeof FORMS, marksClashes: boolean): RowListForm {
    const forms = this.#forms[marksClashes ? 1 : 0];
    let form = forms.get(format);
    if (form === undefined) {
      form = FORMS[format](this.#snapshot, marksClashes);
      forms.set(format, form);
    }
    return form;
  }
}
