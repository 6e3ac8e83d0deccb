/**
 * Sends answers that are there as a whole in one write: head and body in one buffer where the body was copied, else the head and views
 * of what it is made of. node:http would check and join the header fields of every answer anew; here they are known to be good.
 *
 * Where there is a response of node's, what happens when an answer is over stays node's. So this sets what the response sets itself
 * otherwise: `_header`, by which `headersSent` is known, and `finished`, by which `writableEnded` is; and it emits `finish`, on which
 * the server lets the connection go on.
 */
import { STATUS_CODES } from 'node:http';
import { DIRECT_HEAD_BYTES_MAX, KEEP_ALIVE_TIMEOUT_MS } from '../../limits.js';
import type { Exchange, FlatHeaders } from '../exchange.js';
import { usable } from './inner-parts.js';
import { type Outgoing, writeOut } from './write-out.js';

/** What node:http adds where a connection stays open. */
const CONNECTION = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(KEEP_ALIVE_TIMEOUT_MS / 1000)}\r\n`;

let dateMs = 0;
let dateText = '';

/** The value of Date (RFC 9110 section 6.6.1), always 29 characters. Equal texts are one string until the second has passed. */
export function httpDate(): string {
  const nowMs = Date.now();
  // Also where the clock was set back.
  if (nowMs - dateMs >= 1000 || nowMs < dateMs) {
    dateMs = nowMs - (nowMs % 1000);
    dateText = new Date(nowMs).toUTCString();
  }
  return dateText;
}

/**
 * Whether an answer to this request may be sent directly: any that stands alone, or one of HTTP/1.1 whose turn it is, on a
 * connection of Lectern's own server that stays open and has nothing left to write.
 */
export function canSendDirectly(exchange: Exchange): boolean {
  const { req, ownsSocket, lone } = exchange;
  if (!ownsSocket) return false;
  if (lone !== null) return true;
  if (!usable.directAnswers) return false;
  const res = exchange.makeResponse();
  if (!res.shouldKeepAlive) return false;
  const { socket } = res;
  return socket !== null && !socket.destroyed && socket.writableLength === 0 && req.httpVersionMinor === 1;
}

/**
 * The head of an answer, to the empty line.
 *
 * @param headers complete but for `more`; only characters of ISO 8859-1 that a header field may have
 * @param more lines that follow them, each with its end
 * @returns null where it is longer than the room that is kept for it
 */
export function directHead(status: number, headers: FlatHeaders, more = ''): string | null {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  head += `${more}Date: ${httpDate()}\r\n${CONNECTION}\r\n`;
  return head.length <= DIRECT_HEAD_BYTES_MAX ? head : null;
}

/** `finished`, which the types call deprecated, is what node's own end() sets. */
interface Sent {
  _header: string;
  finished: boolean;
}

/**
 * Sends a whole answer, head included. Only where {@link canSendDirectly}.
 *
 * @returns whether the kernel has taken the bytes: then they are free
 */
export function sendDirectly(exchange: Exchange, what: Outgoing): boolean {
  const { lone } = exchange;
  if (lone !== null) return lone.answer(what);
  const res = exchange.makeResponse();
  const { socket } = res;
  if (socket === null) return false;
  const sent = res as unknown as Sent;
  sent._header = ' ';
  sent.finished = true;
  if (writeOut(socket, what)) {
    res.emit('finish');
    return true;
  }
  // Behind what waits; the connection goes on when all of it has gone. An error ends the connection, and with it this answer.
  socket.write('', (error) => {
    if (error === undefined || error === null) res.emit('finish');
  });
  return false;
}
