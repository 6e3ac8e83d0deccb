/** Room http/request/. What a request says: target, header fields, query string. It makes no answer. */

/** What the service wants to know of the header fields. */
export interface HeaderFacts {
  /** Several fields are one list (RFC 9110 section 5.3). */
  readonly accept: string | undefined;
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  /** The last of the Authorization fields. */
  readonly authorization: string | undefined;
  /** Their number; more than one is nothing that can be answered. */
  readonly authorizations: number;
  /** Number of Host fields; anything but one is malformed in HTTP/1.1 (RFC 9112 section 3.2). */
  readonly hosts: number;
  /** The last of them; empty where there is none. */
  readonly host: string;
  /** The request announces a body. */
  readonly hasContent: boolean;
  /** Transfer codings, several fields as one list; undefined where there are none. */
  readonly transferEncoding: string | undefined;
  readonly expect: string | undefined;
  /** The last of the Origin fields. */
  readonly origin: string | undefined;
}

/** A Content-Length of nothing. */
const NO_BYTES = /^0+$/;

/** One pass over the raw headers: node's `headers` object would hide repeated fields. */
export function readHeaderFacts(rawHeaders: readonly string[]): HeaderFacts {
  let accept: string | undefined;
  let ifMatch: string | undefined;
  let ifNoneMatch: string | undefined;
  let authorization: string | undefined;
  let authorizations = 0;
  let hosts = 0;
  let host = '';
  let hasContent = false;
  let transferEncoding: string | undefined;
  let expect: string | undefined;
  let origin: string | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    const value = rawHeaders[i + 1] as string;
    // Lengths first: they settle most fields without comparing any text.
    switch (name.length) {
      case 4:
        if (name === 'Host' || name.toLowerCase() === 'host') {
          hosts++;
          host = value;
        }
        break;
      case 6:
        if (name === 'Accept' || name.toLowerCase() === 'accept') {
          accept = accept === undefined ? value : `${accept}, ${value}`;
        } else if (name.toLowerCase() === 'expect') {
          expect = expect === undefined ? value : `${expect}, ${value}`;
        } else if (name.toLowerCase() === 'origin') origin = value;
        break;
      case 8:
        if (name.toLowerCase() === 'if-match')
          ifMatch = ifMatch === undefined ? value : `${ifMatch}, ${value}`;
        break;
      case 13:
        if (name === 'authorization' || name === 'Authorization' || name.toLowerCase() === 'authorization') {
          authorizations++;
          authorization = value;
        } else if (name.toLowerCase() === 'if-none-match') {
          ifNoneMatch = ifNoneMatch === undefined ? value : `${ifNoneMatch}, ${value}`;
        }
        break;
      case 14:
        if (name.toLowerCase() === 'content-length' && !NO_BYTES.test(value)) hasContent = true;
        break;
      case 17:
        if (name.toLowerCase() === 'transfer-encoding') {
          hasContent = true;
          transferEncoding = transferEncoding === undefined ? value : `${transferEncoding}, ${value}`;
        }
        break;
    }
  }
  return {
    accept,
    ifMatch,
    ifNoneMatch,
    authorization,
    authorizations,
    hosts,
    host,
    hasContent,
    transferEncoding,
    expect,
    origin,
  };
}
