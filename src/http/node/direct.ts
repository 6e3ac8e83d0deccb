/** Sends whole answers in one write. node:http would check the header fields of every answer again. */
import { STATUS_CODES } from 'node:http';
import { DIRECT_HEAD_BYTES_MAX, KEEP_ALIVE_TIMEOUT_MS } from '../../limits.js';
import type { Exchange, FlatHeaders } from '../exchange.js';
import { type Outgoing, writeOut } from './fast-path.js';
import { usable } from './internals.js';

/** The header fields of the connection, as node:http would write them. */
const CONNECTION = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(KEEP_ALIVE_TIMEOUT_MS / 1000)}\r\n`;

let dateMs = 0;
let dateText = '';

/** The value of Date (RFC 9110 section 6.6.1); one string for each second. */
export function httpDate(): string {
  const nowMs = Date.now();
  // The second also changes when the clock is set back.
  if (nowMs - dateMs >= 1000 || nowMs < dateMs) {
    dateMs = nowMs - (nowMs % 1000);
    dateText = new Date(nowMs).toUTCString();
  }
  return dateText;
}

/** True on the fast path, and for HTTP/1.1 on Lectern's own connections that stay open and have no unsent bytes. */
export function canSendDirectly(exchange: Exchange): boolean {
  const { req, ownsSocket, fastPath } = exchange;
  if (!ownsSocket) return false;
  if (fastPath !== null) return true;
  if (!usable.directAnswers) return false;
  const { shouldKeepAlive, socket } = exchange.makeResponse();
  if (!shouldKeepAlive || socket === null || req.httpVersionMinor !== 1) return false;
  return !socket.destroyed && socket.writableLength === 0;
}

/**
 * The head of an answer; null if it does not fit into the room before a body.
 *
 * @param headers valid, in ISO 8859-1
 * @param more further lines, each with its line end
 */
export function directHead(status: number, headers: FlatHeaders, more = ''): string | null {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  head += `${more}Date: ${httpDate()}\r\n${CONNECTION}\r\n`;
  return head.length <= DIRECT_HEAD_BYTES_MAX ? head : null;
}

/** Call this only if {@link canSendDirectly} returns true. @returns whether the kernel has taken the bytes */
export function sendDirectly(exchange: Exchange, what: Outgoing): boolean {
  const { fastPath } = exchange;
  if (fastPath !== null) return fastPath.answer(what);
  const res = exchange.makeResponse();
  const { socket } = res;
  if (socket === null) return false;
  // Sets `headersSent` and `writableEnded`. On `finish` Node continues with the connection.
  Object.assign(res, { _header: ' ', finished: true });
  if (writeOut(socket, what)) {
    res.emit('finish');
    return true;
  }
  // The connection continues when everything is sent. An error ends connection and answer.
  socket.write('', (error) => {
    if (error === undefined || error === null) res.emit('finish');
  });
  return false;
}
