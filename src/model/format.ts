/** The representations. `name` is their value of `format=`. */
export const FORMATS = [
  {
    name: 'json',
    mediaType: 'application/json',
    contentType: 'application/json; charset=utf-8',
    aliases: [],
  },
  {
    name: 'msgpack',
    mediaType: 'application/vnd.msgpack',
    contentType: 'application/vnd.msgpack',
    aliases: ['application/msgpack', 'application/x-msgpack'],
  },
] as const;

/** The name of a representation. */
export type FormatName = (typeof FORMATS)[number]['name'];

/** What the address of a feed can end with; new addresses have the first of them that there is. */
const FEED_EXTENSIONS: readonly string[] = ['ics', 'json', 'csv'];

export const FEED_FORMATS: readonly FormatName[] = FORMATS.map(({ name }) => name)
  .filter((name) => FEED_EXTENSIONS.includes(name))
  .sort((a, b) => FEED_EXTENSIONS.indexOf(a) - FEED_EXTENSIONS.indexOf(b));
