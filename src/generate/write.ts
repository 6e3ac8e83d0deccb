import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { GeneratedEvent } from './events.js';

/** Text is handed on in pieces of about this many bytes: large enough that a piece costs little. */
const PIECE_BYTES = 64 * 1024;

/** Different texts whose JSON is remembered; titles, names and codes are a few thousand. */
const QUOTED_ENTRIES_MAX = 10_000;

/**
 * NDJSON (one JSON object a line, each line ended by a line feed) in UTF-8, in pieces of many lines.
 *
 * Lines are put together as strings in which every character stands for one byte: with characters beyond that a piece
 * would become a two-byte string, and to encode it would cost as much as to generate it.
 */
export function* toNdjson(events: Iterable<GeneratedEvent>): Generator<Buffer, void, undefined> {
  const quoted = new Map<string, string>();
  function quote(text: string | null): string {
    if (text === null) return 'null';
    let json = quoted.get(text);
    if (json === undefined) {
      json = Buffer.from(JSON.stringify(text), 'utf8').toString('latin1');
      if (quoted.size < QUOTED_ENTRIES_MAX) quoted.set(text, json);
    }
    return json;
  }

  let piece = '';
  for (const e of events) {
    // Twice as fast as JSON.stringify of the object, which would look for escapes in every identifier.
    piece += `{"id":"${e.id}","time":"${e.time}","endTime":"${e.endTime}","title":${quote(e.title)},"roomId":${quote(e.roomId)},"courseId":${quote(e.courseId)},"studyGroup":${quote(e.studyGroup)},"lecturer":${quote(e.lecturer)},"lecturerId":${quote(e.lecturerId)},"type":${quote(e.type)},"groupId":${quote(e.groupId)}}\n`;
    if (piece.length >= PIECE_BYTES) {
      yield Buffer.from(piece, 'latin1');
      piece = '';
    }
  }
  if (piece !== '') yield Buffer.from(piece, 'latin1');
}

/**
 * Writes events as NDJSON, no faster than the stream takes them. The stream is left open.
 *
 * @throws whatever the stream fails with; `EPIPE` where its reader went away.
 */
export async function writeNdjson(events: Iterable<GeneratedEvent>, stream: Writable): Promise<void> {
  // One piece ahead at most: the generator is only asked for what the stream has room for.
  await pipeline(Readable.from(toNdjson(events), { highWaterMark: 1 }), stream, { end: false });
}
