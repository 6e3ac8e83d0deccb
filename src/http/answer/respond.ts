/**
 * Folder http/answer/. How an answer is written: fields, negotiation, conditions, caches, problems. This
 * folder plans no query.
 *
 * All answers are written here: on the lane in one piece, otherwise through Node's response. The bytes are the same.
 */
import { type ServerResponse, STATUS_CODES } from 'node:http';
import { allocateAnswer, type Body, keptBody, releaseAnswer, releaseSlice } from '../../answer/body.js';
import { KEEP_ALIVE_TIMEOUT_MS } from '../../base/limits.js';
import type { Exchange, FlatHeaders } from '../exchange.js';
import { canSendWhole, endWithAnswer, WRITE_BYTES_MAX } from '../node/internals.js';
import type { Lane } from '../node/lane.js';
import type { KnownAnswer } from './answer-cache.js';
import type { AnswerFields } from './answer-fields.js';

/** Bodies up to this size are copied after their head and written at once. */
const BODY_GATHER_BYTES_MAX = 65_536;

/** The header fields of the connection, as node:http would write them. */
const CONNECTION = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(KEEP_ALIVE_TIMEOUT_MS / 1000)}\r\n`;
const DATE_FIELD = '\r\nDate: ';

let dateMs = 0;
let dateText = '';

/** The value of Date (RFC 9110 section 6.6.1); one string for each second. */
function httpDate(): string {
  const nowMs = Date.now();
  // The second also changes when the clock is set back.
  if (nowMs - dateMs >= 1000 || nowMs < dateMs) {
    dateMs = nowMs - (nowMs % 1000);
    dateText = new Date(nowMs).toUTCString();
  }
  return dateText;
}

/** A whole head on the lane. @param headers valid, in ISO 8859-1 */
export function headText(status: number, headers: FlatHeaders, fields: AnswerFields): string {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  // A template would convert each of its values to a text first.
  for (let i = 0; i < headers.length; i += 2) {
    text += headers[i];
    text += ': ';
    text += headers[i + 1];
    text += '\r\n';
  }
  return `${text}${fields.text}Date: ${httpDate()}\r\n${CONNECTION}\r\n`;
}

/** Lane and head of an answer; null if Node's response writes it. */
function onLane(
  { ownsSocket, lane, fields }: Exchange,
  status: number,
  headers: FlatHeaders,
): { readonly lane: Lane; readonly head: string } | null {
  return ownsSocket && lane !== null ? { lane, head: headText(status, headers, fields) } : null;
}

/**
 * Sends a body of chunks. `headers` includes Content-Length if the length is known; otherwise the transfer is
 * chunked (RFC 9112 section 7.1). The fields of every answer are added.
 */
export function sendBody(exchange: Exchange, status: number, headers: FlatHeaders, body: Body): void {
  // HEAD makes no chunks.
  if (exchange.isHead || body.byteLength === 0) sendHead(exchange, status, headers);
  else sendChunks(exchange, status, headers, body);
  exchange.answered(status, exchange.isHead ? 0 : (body.byteLength ?? 0));
}

/** Sends a text as UTF-8, and its Content-Length. */
export function sendText(exchange: Exchange, status: number, headers: FlatHeaders, text: string): void {
  const bytes = Buffer.from(text);
  headers.push('Content-Length', String(bytes.length));
  sendBody(exchange, status, headers, keptBody(bytes));
}

/** Sends a kept answer with status 200. On the lane its bytes are kept, too: only its Date changes, once a second. */
export function sendKnown(exchange: Exchange, answer: KnownAnswer, body: Uint8Array): void {
  const { lane, ownsSocket, fields } = exchange;
  if (exchange.isHead || !ownsSocket || lane === null) {
    sendBody(exchange, 200, answer.headers, keptBody(body));
    return;
  }
  // The bytes must not change while a part of them still waits to be written.
  if (!lane.answer(wireOf(answer, body, fields))) answer.wire = null;
  exchange.answered(200, body.length);
}

function wireOf(answer: KnownAnswer, body: Uint8Array, fields: AnswerFields): Buffer {
  const date = httpDate();
  let { wire } = answer;
  if (wire === null) {
    const head = headText(200, answer.headers, fields);
    const bytes = Buffer.allocUnsafeSlow(head.length + body.length);
    bytes.write(head, 'latin1');
    bytes.set(body, head.length);
    // The last match is the Date after all other fields.
    wire = { bytes, dateOffset: head.lastIndexOf(DATE_FIELD) + DATE_FIELD.length, date };
    answer.wire = wire;
    answer.body = bytes.subarray(head.length);
  }
  if (date !== wire.date) {
    wire.bytes.write(date, wire.dateOffset, 'latin1');
    wire.date = date;
  }
  return wire.bytes;
}

/** Sends a response without a body: 204, 304. */
export function sendEmpty(exchange: Exchange, status: number, headers: FlatHeaders): void {
  sendHead(exchange, status, headers);
  exchange.answered(status, 0);
}

/** Sends a head. @returns the response to which the body is written */
export function beginBody(exchange: Exchange, status: number, headers: FlatHeaders): ServerResponse {
  writeHead(exchange, status, headers);
  exchange.answered(status, 0);
  return exchange.makeResponse();
}

function sendHead(exchange: Exchange, status: number, headers: FlatHeaders): void {
  const direct = onLane(exchange, status, headers);
  if (direct !== null) direct.lane.answer(direct.head);
  else {
    writeHead(exchange, status, headers);
    exchange.makeResponse().end();
  }
}

function writeHead(exchange: Exchange, status: number, headers: FlatHeaders): void {
  const res = exchange.makeResponse();
  // Node ends such a connection, too, but tells it only in the head: a request behind this one would be answered.
  if (exchange.req.httpVersionMinor === 0 && !headers.includes('Content-Length')) endWithAnswer(res);
  res.writeHead(status, headers.concat(exchange.fields.flat));
}

function sendChunks(exchange: Exchange, status: number, headers: FlatHeaders, body: Body): void {
  const { byteLength, write } = body;
  if (write !== undefined && byteLength !== null) {
    const direct = onLane(exchange, status, headers);
    if (direct !== null) {
      writeWhole(direct.lane, direct.head, byteLength, write);
      return;
    }
  }
  const chunks = body.makeChunks();
  const direct = Array.isArray(chunks) ? onLane(exchange, status, headers) : null;
  if (direct !== null) {
    direct.lane.answer([Buffer.from(direct.head, 'latin1'), ...chunks]);
    return;
  }
  writeHead(exchange, status, headers);
  if (!Array.isArray(chunks)) writeSlices(exchange, chunks[Symbol.iterator](), byteLength === null);
  else if (chunks.length > 1 && byteLength !== null && byteLength <= BODY_GATHER_BYTES_MAX)
    exchange.makeResponse().end(Buffer.concat(chunks, byteLength));
  else writeChunks(exchange, chunks);
}

/** Head and body in one write. */
function writeWhole(lane: Lane, head: string, bodyBytes: number, write: NonNullable<Body['write']>): void {
  const whole = allocateAnswer(head.length + bodyBytes);
  whole.write(head, 'latin1');
  write(whole, head.length);
  if (lane.answer(whole)) releaseAnswer(whole);
}

/** Corking passes all chunks to the kernel in one call, without a copy. */
function writeChunks(exchange: Exchange, chunks: readonly Uint8Array[]): void {
  if (!canSendWhole(chunks)) {
    writeSlices(exchange, piecesOf(chunks), false);
    return;
  }
  const res = exchange.makeResponse();
  res.cork();
  for (const chunk of chunks) res.write(chunk);
  res.uncork();
  res.end();
}

function* piecesOf(chunks: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += WRITE_BYTES_MAX) yield chunk.subarray(at, at + WRITE_BYTES_MAX);
  }
}

/**
 * Makes a slice only after the previous one was sent; other requests run in between.
 *
 * @param countsBytes whether the length was unknown when the answer was counted, so that bytes are counted
 * here
 */
function writeSlices(exchange: Exchange, slices: Iterator<Uint8Array>, countsBytes: boolean): void {
  const { ownsSocket } = exchange;
  const res = exchange.makeResponse();
  let sent: Uint8Array | null = null;
  const next = (): void => {
    if (res.destroyed) return;
    // Nothing is left to write, so the kernel has taken the previous slice.
    if (sent !== null && ownsSocket && res.socket?.writableLength === 0) releaseSlice(sent);
    sent = null;
    const slice = slices.next();
    if (slice.done) {
      res.end();
      return;
    }
    sent = slice.value;
    if (countsBytes) exchange.sent(sent.length);
    // Ends the turn even if the kernel took all bytes, so that a fast reader does not make others wait.
    if (res.write(sent)) setImmediate(later);
    else res.once('drain', () => setImmediate(later));
  };
  // The handler catches errors from the first slice.
  const later = (): void => {
    try {
      next();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      process.emitWarning(`an answer was cut off: ${reason}`, { type: 'LecternWarning' });
      res.destroy();
    }
  };
  next();
}
