import { Selection } from '../query/selection.js';
import type { Changes } from '../snapshot/history.js';
import type { Rows } from '../snapshot/rows.js';
import type { Body } from './body.js';
import { jsonRows } from './json.js';
import { messagePackRows, packPlain } from './msgpack.js';

/** What changed, as one JSON object: from, to, added, changed, removed. */
export function jsonChanges(rows: Rows, changes: Changes): Body {
  const head = JSON.stringify({ from: changes.from, to: changes.to }).slice(0, -1);
  return joined([
    text(`${head},"added":`),
    ...jsonRows(rows, selectionOf(changes.added)).chunks,
    text(',"changed":'),
    ...jsonRows(rows, selectionOf(changes.changed)).chunks,
    text(`,"removed":${JSON.stringify(changes.removed)}}`),
  ]);
}

const MAP_OF_FIVE = 0x85;

/** The same as a MessagePack map. */
export function messagePackChanges(rows: Rows, changes: Changes): Body {
  return joined([
    Uint8Array.of(MAP_OF_FIVE),
    packPlain('from'),
    packPlain(changes.from),
    packPlain('to'),
    packPlain(changes.to),
    packPlain('added'),
    ...messagePackRows(rows, selectionOf(changes.added)).chunks,
    packPlain('changed'),
    ...messagePackRows(rows, selectionOf(changes.changed)).chunks,
    packPlain('removed'),
    packPlain(changes.removed),
  ]);
}

function selectionOf(ordinals: readonly number[]): Selection {
  return Selection.ofList(Uint32Array.from(ordinals));
}

function text(content: string): Uint8Array {
  return Buffer.from(content, 'utf8');
}

function joined(chunks: readonly Uint8Array[]): Body {
  return { byteLength: chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0), chunks };
}
