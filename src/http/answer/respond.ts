/**
 * Folder http/answer/. How an answer is written: fields, negotiation, conditions, caches, problems. This
 * folder plans no query.
 */
import type { ServerResponse } from 'node:http';
import { type Body, keptBody, releaseBody, releaseSlice } from '../../answer/body.js';
import type { Exchange, FlatHeaders } from '../exchange.js';
import { canSendDirectly, directHead, sendDirectly } from '../node/direct.js';
import { canSendWhole, WRITE_BYTES_MAX } from '../node/internals.js';

/** Bodies up to this size are copied after their head and written at once. */
const BODY_GATHER_BYTES_MAX = 65_536;

/**
 * Sends a body of chunks. `headers` includes Content-Length if the length is known; otherwise the transfer is
 * chunked (RFC 9112 section 7.1). The fields of every answer are added.
 */
export function sendBody(exchange: Exchange, status: number, headers: FlatHeaders, body: Body): void {
  // HEAD makes no chunks.
  if (exchange.head || body.byteLength === 0) sendHead(exchange, status, headers);
  else sendChunks(exchange, status, headers, body);
  exchange.answered(status, exchange.head ? 0 : (body.byteLength ?? 0));
}

/** Sends a text as UTF-8, and its Content-Length. */
export function sendText(exchange: Exchange, status: number, headers: FlatHeaders, text: string): void {
  const byteLength = Buffer.byteLength(text);
  headers.push('Content-Length', String(byteLength));
  const head = exchange.head ? null : headToSend(exchange, status, headers);
  if (head === null) {
    sendBody(exchange, status, headers, keptBody(Buffer.from(text)));
    return;
  }
  const whole = Buffer.allocUnsafe(head.length + byteLength);
  whole.write(text, whole.write(head, 'latin1'));
  sendDirectly(exchange, whole);
  exchange.answered(status, byteLength);
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
  const head = headToSend(exchange, status, headers);
  if (head !== null) sendDirectly(exchange, head);
  else {
    writeHead(exchange, status, headers);
    exchange.makeResponse().end();
  }
}

/** Null if the answer cannot be sent directly. */
function headToSend(exchange: Exchange, status: number, headers: FlatHeaders): string | null {
  return canSendDirectly(exchange) ? directHead(status, headers, exchange.fields.text) : null;
}

function writeHead(exchange: Exchange, status: number, headers: FlatHeaders): void {
  exchange.makeResponse().writeHead(status, headers.concat(exchange.fields.flat));
}

function sendChunks(exchange: Exchange, status: number, headers: FlatHeaders, body: Body): void {
  const { byteLength, hasHeadRoom } = body;
  const chunks = body.makeChunks();
  const isWhole = Array.isArray(chunks) && canSendWhole(chunks);
  const head = isWhole ? headToSend(exchange, status, headers) : null;
  if (head !== null) {
    if (hasHeadRoom) sendWithHead(exchange, head, (chunks as Uint8Array[])[0] as Uint8Array);
    else sendDirectly(exchange, [Buffer.from(head, 'latin1'), ...chunks]);
    return;
  }
  writeHead(exchange, status, headers);
  if (!Array.isArray(chunks)) writeSlices(exchange, chunks[Symbol.iterator](), byteLength === null);
  else if (chunks.length > 1 && byteLength !== null && byteLength <= BODY_GATHER_BYTES_MAX)
    exchange.makeResponse().end(Buffer.concat(chunks, byteLength));
  else writeChunks(exchange, chunks);
}

/** @param body has room for the head before it */
function sendWithHead(exchange: Exchange, head: string, body: Uint8Array): void {
  const whole = Buffer.from(body.buffer, body.byteOffset - head.length, head.length + body.length);
  whole.write(head, 'latin1');
  if (sendDirectly(exchange, whole)) releaseBody(body);
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
