import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { GeneratedEvent } from './events.js';

/** Text is handed on in pieces of about this many characters. */
const PIECE_CHARACTERS = 64 * 1024;

/** NDJSON in UTF-8, in pieces of many lines. */
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

/**
 * Writes events as NDJSON, no faster than the stream takes them, and leaves the stream open.
 *
 * @throws whatever the stream fails with; `EPIPE` where its reader went away.
 */
export async function writeNdjson(events: Iterable<GeneratedEvent>, stream: Writable): Promise<void> {
  // One piece ahead at most: the generator is only asked for what the stream has room for.
  await pipeline(Readable.from(toNdjson(events), { highWaterMark: 1 }), stream, { end: false });
}
