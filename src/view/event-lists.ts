import type { Body } from '../encode/body.js';
import { calendarForm, feedOpening } from '../encode/calendar-rows.js';
import { CSV } from '../encode/csv-rows.js';
import { jsonRows } from '../encode/json.js';
import { messagePackRows } from '../encode/msgpack.js';
import { NDJSON } from '../encode/ndjson-rows.js';
import type { RowCache } from '../encode/row-cache.js';
import { type RowListForm, rowList } from '../encode/row-lists.js';
import type { FormatName } from '../model/format.js';
import { encodeEventCursor } from '../query/cursor.js';
import { executePlan } from '../query/execute.js';
import type { Parameters } from '../query/parameters.js';
import type { Plan } from '../query/plan.js';
import type { Selection } from '../query/selection.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import type { Encode } from './answer.js';

/** Lists of the events of one snapshot, in each representation. */
export class EventLists {
  readonly #snapshot: Snapshot;
  readonly #rowCache: RowCache;
  /** Two calendars: without and with marked clashes. */
  readonly #calendars: RowListForm[] = [];

  constructor(snapshot: Snapshot, rowCache: RowCache) {
    this.#snapshot = snapshot;
    this.#rowCache = rowCache;
  }

  /** @param feedName name of a feed, for its iCalendar head */
  find(plan: Plan, parameters: Parameters, feedName?: string): Encode {
    const selection = executePlan(this.#snapshot, plan);
    const { page, nextCursor } = this.#page(selection, parameters);
    return (format) => {
      const body = this.#body(page, format, parameters.clashes, feedName);
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

  #body(page: Selection, format: FormatName, marksClashes: boolean, feedName?: string): Body {
    const { rows } = this.#snapshot;
    if (format === 'json') return jsonRows(rows, page, this.#rowCache);
    if (format === 'msgpack') return messagePackRows(rows, page, this.#rowCache);
    const form = this.#formOf(format, marksClashes);
    const isFeed = format === 'ics' && feedName !== undefined;
    return rowList(rows, page, isFeed ? { ...form, opening: feedOpening(feedName) } : form, this.#rowCache);
  }

  #formOf(format: 'ndjson' | 'csv' | 'ics', marksClashes: boolean): RowListForm {
    if (format === 'ndjson') return NDJSON;
    if (format === 'csv') return CSV;
    const number = marksClashes ? 1 : 0;
    this.#calendars[number] ??= calendarForm(this.#snapshot, marksClashes);
    return this.#calendars[number];
  }
}
