import { validateHeaderName, validateHeaderValue } from 'node:http';
import { LecternError } from '../../base/errors.js';
import type { RequestHeaders } from './call.js';

/** Fields that control the transfer. With a range, for example, a part of the data would look like all data. */
const RESERVED: ReadonlySet<string> = new Set(
  'accept-encoding connection content-length expect host if-match if-modified-since if-none-match if-range if-unmodified-since keep-alive range te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
);

/** Fields in lower case, with the address's credentials (RFC 7617). Messages show no value and no malformed name. */
export function checkHeaders(headers: RequestHeaders, url: URL): RequestHeaders {
  const checked: Record<string, string> = {};
  for (const [i, [name, value]] of Object.entries(headers).entries()) {
    const key = name.toLowerCase();
    if (!isName(name)) {
      const expected = "expected a name such as 'Authorization' as the key and the content as its value";
      throw invalid(`field ${i + 1}`, `its name is not valid as the name of a header field; ${expected}`);
    }
    if (typeof value !== 'string' || !isAccepted(() => validateHeaderValue(name, value))) {
      throw invalid(name, 'its value is not valid in a header');
    }
    if (RESERVED.has(key)) throw invalid(name, 'this field must not be set; the source may set it itself');
    if (Object.hasOwn(checked, key)) throw invalid(name, 'it is given twice');
    checked[key] = value;
  }
  if (url.username === '' && url.password === '') return checked;
  if (Object.hasOwn(checked, 'authorization')) {
    throw invalid('Authorization', 'the address holds a user and password as well; give one of the two');
  }
  let credentials: string;
  try {
    credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  } catch {
    throw invalid('Authorization', 'the percent-encoding of the user or password in the address is broken');
  }
  return { ...checked, authorization: `Basic ${Buffer.from(credentials, 'utf8').toString('base64')}` };
}

export function isName(name: string): boolean {
  return isAccepted(() => validateHeaderName(name));
}

function isAccepted(validate: () => void): boolean {
  try {
    validate();
    return true;
  } catch {
    return false;
  }
}

function invalid(name: string, problem: string): LecternError {
  return new LecternError('option-invalid', `header ${name} of the source is not valid: ${problem}`);
}
