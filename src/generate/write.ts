import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { GeneratedEvent } from './events.js';

/** Text is handed on in pieces of about this many characters: large enough that a piece costs little. */
const PIECE_CHARACTERS = 64 * 1024;

/** Different texts whose JSON form is remembered; titles, names and codes are a few thousand. */
const QUOTED_ENTRIES_MAX = 10_000;

/** NDJSON (one JSON object a line, each line ended by a line feed) in pieces of many lines. */
export function* toNdjson(events: Iterable<GeneratedEvent>): Generator<string, void, undefined> {
  const quoted = new Map<string, string>();
  function quote(text: string | null): string {
    if (text === null) return 'null';
    let json = quoted.get(text);
    if (json === undefined) {
      json = JSON.stringify(text);
      if (quoted.size < QUOTED_ENTRIES_MAX) quoted.set(text, json);
    }
    return json;
  }

  let piece = '';
  for (const e of events) {
    // Twice as fast as JSON.stringify of the object, which would look for escapes in every identifier.
    piece += `{"id":"${e.id}","time":"${e.time}","endTime":"${e.endTime}","title":${quote(e.title)},"roomId":${quote(e.roomId)},"courseId":${quote(e.courseId)},"studyGroup":${quote(e.studyGroup)},"lecturer":${quote(e.lecturer)},"lecturerId":${quote(e.lecturerId)},"type":${quote(e.type)},"groupId":${quote(e.groupId)}}\n`;
    if (piece.length >= PIECE_CHARACTERS) {
      yield piece;
      piece = '';
    }
  }
  if (piece !== '') yield piece;
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
