import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { GeneratedEvent } from './events.js';

const PIECE_CHARACTERS = 64 * 1024;

/** NDJSON in UTF-8, in pieces of about PIECE_CHARACTERS. */
export function* toNdjson(events: Iterable<GeneratedEvent>): Generator<Buffer, void, undefined> {
  let piece = '';
  for (const event of events) {
    piece += `${JSON.stringify(event)}\n`;
    if (piece.length >= PIECE_CHARACTERS) {
      yield Buffer.from(piece);
      piece = '';
    }
  }
  if (piece !== '') yield Buffer.from(piece);
}

/** Waits while the stream is full, and does not close it. Throws `EPIPE` if the reader closes the stream. */
export async function writeNdjson(events: Iterable<GeneratedEvent>, stream: Writable): Promise<void> {
  // The generator is at most one piece ahead.
  await pipeline(Readable.from(toNdjson(events), { highWaterMark: 1 }), stream, { end: false });
}
