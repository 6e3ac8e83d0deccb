/** Most events of one generated timetable: 84 terms, or 42 years. Identifiers stay distinct up to 2^32. */
export const GENERATED_EVENTS_MAX = 10_000_000;
