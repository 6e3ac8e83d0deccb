/** Header fields of a request by name. The values may be secrets. */
export type RequestHeaders = Readonly<Record<string, string>>;
