/**
 * A whole answer as it goes over the wire, head and body in one buffer, to be sent again and again. Of all its bytes only
 * those of Date change, once a second.
 */

import type { Exchange, FlatHeaders } from '../exchange.js';
import { directHead, httpDate, sendDirectly } from '../node/direct.js';

const DATE_FIELD = '\r\nDate: ';

export interface Wire {
  readonly bytes: Buffer;
  /** The end of `bytes`. */
  readonly body: Buffer;
  readonly dateOffset: number;
  date: string;
}

/**
 * @param more header lines after `headers`, each with its end
 * @returns null where the head is too long
 */
export function createWire(
  status: number,
  headers: FlatHeaders,
  more: string,
  body: Uint8Array,
): Wire | null {
  const head = directHead(status, headers, more);
  if (head === null) return null;
  const bytes = Buffer.allocUnsafeSlow(head.length + body.length);
  bytes.write(head, 'latin1');
  bytes.set(body, head.length);
  // The last one: no value of a header field before it has a line break.
  return {
    bytes,
    body: bytes.subarray(head.length),
    dateOffset: head.lastIndexOf(DATE_FIELD) + DATE_FIELD.length,
    date: httpDate(),
  };
}

/**
 * Sends it with the present date.
 *
 * @returns false where some of it waits to be written: from then on it must not change, so this was the last time
 */
export function sendWire(exchange: Exchange, wire: Wire): boolean {
  const date = httpDate();
  if (date !== wire.date) {
    wire.bytes.write(date, wire.dateOffset, 'latin1');
    wire.date = date;
  }
  return sendDirectly(exchange, wire.bytes);
}
