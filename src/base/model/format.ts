/** The representations, in order of preference. `name` is the value for `format=`. */
export const FORMATS = [
  {
    name: 'json',
    mediaType: 'application/json',
    contentType: 'application/json; charset=utf-8',
    aliases: [],
    /** Whether the format exists only for lists of events. */
    isOfEvents: false,
    /** The file name of a saved answer. */
    fileName: null,
  },
  {
    name: 'msgpack',
    mediaType: 'application/vnd.msgpack',
    contentType: 'application/vnd.msgpack',
    aliases: ['application/msgpack', 'application/x-msgpack'],
    isOfEvents: false,
    fileName: null,
  },
  {
    name: 'ndjson',
    mediaType: 'application/x-ndjson',
    contentType: 'application/x-ndjson',
    aliases: ['application/ndjson', 'application/jsonl'],
    isOfEvents: true,
    fileName: 'timetable.ndjson',
  },
  {
    name: 'csv',
    mediaType: 'text/csv',
    contentType: 'text/csv; header=present',
    aliases: ['text/csv;charset=utf-8'],
    isOfEvents: true,
    fileName: 'timetable.csv',
  },
  {
    name: 'ics',
    mediaType: 'text/calendar',
    contentType: 'text/calendar; charset=utf-8',
    aliases: [],
    isOfEvents: true,
    fileName: 'timetable.ics',
  },
] as const;

export type Format = (typeof FORMATS)[number];
export type FormatName = Format['name'];

/** The representations that every list has. */
export const LIST_FORMATS: readonly Format[] = FORMATS.filter(({ isOfEvents }) => !isOfEvents);

/** The week page of a feed. Queries cannot ask for it. */
export const FEED_PAGE = {
  name: 'html',
  mediaType: 'text/html',
  contentType: 'text/html; charset=utf-8',
} as const;

export type FeedFormat = Format | typeof FEED_PAGE;
/** The name of any representation of a list of events. */
export type AnyFormatName = FeedFormat['name'];

/** The endings of feed addresses, which are names of formats. New addresses use the first ending. */
export const FEED_EXTENSIONS: readonly string[] = ['ics', 'json', 'csv', FEED_PAGE.name];

export const FEED_FORMATS: readonly FeedFormat[] = FEED_EXTENSIONS.flatMap((extension) =>
  [...FORMATS, FEED_PAGE].filter(({ name }) => name === extension),
);

/** The PRODID of calendars that Lectern writes, and a parameter of a DESCRIPTION that has only a study group. */
export const OWN_CALENDAR = '-//Lectern//Lectern//EN';
export const GROUP_ONLY = 'X-LECTERN=GROUP';
