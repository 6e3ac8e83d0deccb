import { formatInstant } from '../base/model/time.js';
import type { FreeKeys, FreeQuery, Marks } from './free.js';
import { countListsByRuns } from './narrow.js';
import type { Clause, Plan } from './plan.js';
import type { Window } from './query.js';

/** Explains how a query is answered, with the time of each step. */
export interface Explanation {
  /** One step a line; see {@link explainPlan}. */
  readonly plan: string;
  /** Matching events, or entries of a directory. */
  readonly total: number;
  /** Events or entries on the page. */
  readonly count: number;
  /** Bytes of the page as JSON. */
  readonly bodyBytes: number;
  /** The time of each step. */
  readonly timings: {
    /** Time to read the parameters. */
    readonly parseMs: number;
    /** Time to choose the indexes. */
    readonly planMs: number;
    /** Time to find the events and, for a directory, to count them. */
    readonly executeMs: number;
    /** Time to write the page. */
    readonly encodeMs: number;
  };
}

/** A plan as text, one step a line. Tests compare it to check which index was used. */
export function explainPlan(plan: Plan): string {
  const lines: string[] = [];
  const { window } = plan.window;
  if (window !== null) {
    const { runs, count: events, slotsRunning } = plan.window.all;
    lines.push(
      `WINDOW ${describeWindow(window)}: ${countOf(runs.length / 2, 'run')} of ordinals, ` +
        `${countOf(events, 'event')}, ${countOf(slotsRunning, 'slot')} running at its start`,
    );
  }
  lines.push(`LEAD ${describeLead(plan)}`);
  for (const clause of plan.checks) {
    lines.push(
      `CHECK ${describeClause(clause)} per event (${countOf(clause.postings, 'posting')} not walked)`,
    );
  }
  return lines.join('\n');
}

function describeLead({ lead, window }: Plan): string {
  if (lead.kind === 'nothing') return 'nothing can match';
  if (lead.kind === 'runs') {
    return `${window.window === null ? 'all events' : 'window'}: ${countOf(window.all.count, 'candidate')}`;
  }
  const { clause, narrowing } = lead;
  const text = `${describeClause(clause)}: ${countOf(clause.postings, 'posting')}`;
  if (window.window === null) return text;
  const byRuns = countListsByRuns(narrowing);
  const narrowed = `${text}, narrowed by the window`;
  if (byRuns === 0) return narrowed;
  return `${narrowed}, whose runs lead in ${byRuns} of ${countOf(narrowing.spans.length, 'list')}`;
}

export function describeWindow(window: Window | undefined): string {
  if (window === undefined) return '';
  const start = Number.isFinite(window.startMs) ? formatInstant(window.startMs) : '-∞';
  const end = Number.isFinite(window.endMs) ? formatInstant(window.endMs) : '∞';
  return `[${start}, ${end})`;
}

function describeClause(clause: Clause): string {
  const known = clause.terms.reduce((sum, term) => sum + term.codes.length, 0);
  const fields = clause.terms.map((term) => term.field).join(' or ');
  const name = clause.label === 'identities' && fields !== '' ? `identities (${fields})` : clause.label;
  return `${clause.isExcluding ? 'not ' : ''}${name} of ${countOf(clause.values, 'value')}${known === clause.values ? '' : `, ${known} known`}`;
}

/** `1 run`, `2 runs`. */
export function countOf(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** Explains how free time is found, one step a line. */
export function explainFree(keys: FreeKeys, query: FreeQuery, found: number, marks: Marks): string {
  const { by, windows, among, buildings, capacityMin } = query;
  const more = windows.length === 1 ? '' : `, and ${windows.length - 1} in later weeks`;
  const searched = marks.lists === 0 ? '' : ` and ${countOf(marks.lists, 'posting list')}`;
  const lines = [
    `FREE ${by}: ${keys.order.length} known, ${keys.usedCount} of them with events`,
    `WINDOW ${describeWindow(windows[0])}${more}: ${countOf(marks.slots, 'slot')}${searched} searched; ${countOf(marks.count, by)} with events in it`,
  ];
  if (among !== null) {
    const { ids, texts } = among;
    lines.push(`CHECK among: ${countOf(ids.length, 'identifier')}, ${countOf(texts.length, 'text')}`);
  }
  if (buildings !== null) lines.push(`CHECK building of ${countOf(buildings.length, 'value')}`);
  if (capacityMin !== null) lines.push(`CHECK capacity of at least ${capacityMin}`);
  lines.push(`GAP for the entries on the page (${found} free on all pages)`);
  return lines.join('\n');
}
