/** The representations, one descriptor each: what `format=` calls them and which media types mean them. */
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

/** A representation as `format=` calls it. */
export type FormatName = (typeof FORMATS)[number]['name'];
