/** The days for which recurring events of calendars were expanded. Dates such as `2026-09-01`. */
export interface ExpansionWindow {
  /** The first day. */
  readonly from: string;
  /** The day after the last day. */
  readonly to: string;
  /** Recurring events without an occurrence in these days; null if all have one. */
  readonly outside: OutsideEvents | null;
}

/** Recurring events that need another window. */
interface OutsideEvents {
  readonly events: number;
  /** The day of their first occurrence. */
  readonly from: string;
  /** The day after the last known occurrence. */
  readonly to: string;
}

/**
 * The latest of the windows of several sources. A source that has failed since an earlier day has an earlier
 * window.
 */
export function joinExpansions(
  windows: readonly (ExpansionWindow | undefined)[],
): ExpansionWindow | undefined {
  const known = windows.filter((each) => each !== undefined);
  const [latest] = known.toSorted((a, b) => (a.to < b.to ? 1 : a.to > b.to ? -1 : 0));
  if (latest === undefined) return undefined;
  const [first, ...others] = known.flatMap(({ outside }) => outside ?? []);
  if (first === undefined) return { ...latest, outside: null };
  const outside = others.reduce(
    (sum, { events, from, to }) => ({
      events: sum.events + events,
      from: from < sum.from ? from : sum.from,
      to: to > sum.to ? to : sum.to,
    }),
    first,
  );
  return { ...latest, outside };
}

/** The remedy for recurring events outside the window; null if every event has an occurrence in it. */
export function outsideHint({ outside }: ExpansionWindow): string | null {
  if (outside === null) return null;
  const { events, from, to } = outside;
  const [have, whose] = events === 1 ? ['recurring event has', 'its'] : ['recurring events have', 'their'];
  return (
    `${events} ${have} no occurrence in these days; ${whose} occurrences are from ${from} until ${to} (exclusive): ` +
    `set calendarFrom and calendarTo (on the command line --calendar-from ${from} --calendar-to ${to}) to serve them`
  );
}
