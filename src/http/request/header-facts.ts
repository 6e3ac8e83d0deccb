/** Room http/request/. What a request says: target, header fields, query string. It makes no answer. */

/** Several fields of one name are one list (RFC 9110 section 5.3), or the last one counts. */
export interface HeaderFacts {
  readonly accept: string | undefined;
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly expect: string | undefined;
  readonly transferEncoding: string | undefined;
  readonly authorization: string | undefined;
  readonly authorizations: number;
  /** Anything but one is malformed in HTTP/1.1 (RFC 9112 section 3.2). */
  readonly hosts: number;
  /** Empty if there is none. */
  readonly host: string;
  readonly hasContent: boolean;
  readonly origin: string | undefined;
}

/** Lengths of the names below: they settle most fields without comparing any text. */
const LENGTHS: readonly boolean[] = Array.from({ length: 18 }, (_, n) => [4, 6, 8, 13, 14, 17].includes(n));

/** One pass over the raw headers: node's `headers` object would hide repeated fields. */
export function readHeaderFacts(rawHeaders: readonly string[]): HeaderFacts {
  const facts: { -readonly [Name in keyof HeaderFacts]: HeaderFacts[Name] } = {
    accept: undefined,
    ifMatch: undefined,
    ifNoneMatch: undefined,
    expect: undefined,
    transferEncoding: undefined,
    authorization: undefined,
    authorizations: 0,
    hosts: 0,
    host: '',
    hasContent: false,
    origin: undefined,
  };
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (!LENGTHS[name.length]) continue;
    const value = rawHeaders[i + 1] as string;
    switch (name.toLowerCase()) {
      case 'host':
        facts.hosts++;
        facts.host = value;
        break;
      case 'accept':
        facts.accept = joined(facts.accept, value);
        break;
      case 'expect':
        facts.expect = joined(facts.expect, value);
        break;
      case 'origin':
        facts.origin = value;
        break;
      case 'if-match':
        facts.ifMatch = joined(facts.ifMatch, value);
        break;
      case 'if-none-match':
        facts.ifNoneMatch = joined(facts.ifNoneMatch, value);
        break;
      case 'authorization':
        facts.authorizations++;
        facts.authorization = value;
        break;
      case 'content-length':
        if (!/^0+$/.test(value)) facts.hasContent = true;
        break;
      case 'transfer-encoding':
        facts.hasContent = true;
        facts.transferEncoding = joined(facts.transferEncoding, value);
    }
  }
  return facts;
}

function joined(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}
