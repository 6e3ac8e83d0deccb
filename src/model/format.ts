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
