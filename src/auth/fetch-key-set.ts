import { LecternError } from '../errors.js';
import { KEY_SET_BYTES_MAX, KEY_SET_FETCH_MS_MAX, KEY_SET_FRAMING_BYTES_MAX } from '../limits.js';
import { redactAddress } from '../upstream/address.js';
import { UpstreamCall } from '../upstream/call.js';
import { refused, unreadable } from '../upstream/failure.js';

/**
 * One GET of a JSON Web Key Set (RFC 7517 section 8.5), at most KEY_SET_BYTES_MAX within KEY_SET_FETCH_MS_MAX. Redirects
 * are followed, but never from https to http. The media type is not looked at: many issuers say `application/json`.
 *
 * @param msMax for tests
 * @returns the parsed document
 * @throws LecternError `source-unreadable`, `source-too-large`, `key-invalid`; no message quotes the answer
 */
export async function fetchKeySet(
  url: URL,
  signal?: AbortSignal,
  msMax: number = KEY_SET_FETCH_MS_MAX,
): Promise<unknown> {
  const call = new UpstreamCall(url, {
    headers: { accept: 'application/jwk-set+json, application/json;q=0.9', 'user-agent': 'lectern' },
    secretHeaders: {},
    headersMsMax: msMax,
    idleMsMax: msMax,
    totalMsMax: msMax,
    bytesMax: KEY_SET_BYTES_MAX,
    signal,
  });
  try {
    const answer = await call.get(url, false);
    const { headers } = answer.message;
    const { 'content-encoding': encoding = 'identity' } = headers;
    if (answer.status !== 200) throw refused(answer.url, answer.status, headers, '');
    if (encoding !== 'identity')
      throw unreadable(answer.url, 'the answer is compressed, which was not asked for');
    const chunks: Uint8Array[] = [];
    const before = call.bytesRead;
    for await (const chunk of call.body(answer)) {
      chunks.push(chunk);
      // What has come and is not body: chunked byte by byte, it is most of the answer, and each chunk costs as much as a large one.
      const bodyBytes = call.bytesRead - before;
      if (answer.message.socket.bytesRead - 2 * bodyBytes > KEY_SET_FRAMING_BYTES_MAX) {
        throw unreadable(answer.url, 'it comes in chunks of a few bytes each');
      }
    }
    return parse(Buffer.concat(chunks), answer.url);
  } finally {
    call.close();
  }
}

function parse(bytes: Buffer, url: URL): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    // The parser's message quotes the text around the fault.
    throw new LecternError('key-invalid', `${redactAddress(url)} is not JSON`);
  }
}
