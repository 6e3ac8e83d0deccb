import build, { type Schema } from 'fast-json-stringify';
import type { FreeEntry } from '../model/event.js';
import { InstantTexts } from '../model/instant-texts.js';
import { FREE_ENTRY_SCHEMA } from '../model/schemas.js';
import type { DirectoryKey } from '../query/directory.js';
import type { Gap } from '../query/gaps.js';
import { allocateBody, type MeasuredBody, madeBody } from './body.js';
import { arrayHeader, packPlain } from './msgpack.js';
import { gather } from './slices.js';

const serialise: (entry: FreeEntry) => string = build({
  ...FREE_ENTRY_SCHEMA,
  // The serialiser takes instants as text.
  properties: Object.fromEntries(
    Object.keys(FREE_ENTRY_SCHEMA.properties as object).map((name) => [name, { type: ['string', 'null'] }]),
  ),
} as unknown as Schema);

const instants = new InstantTexts();

function textOf(instantMs: number | null): string | null {
  return instantMs === null ? null : instants.of(instantMs);
}

function* entriesOf(free: Iterable<readonly [DirectoryKey, Gap]>): Generator<FreeEntry> {
  for (const [{ id, name }, { fromMs, untilMs }] of free) {
    yield { id, name, freeFrom: textOf(fromMs), freeUntil: textOf(untilMs) };
  }
}

export function jsonFree(free: Iterable<readonly [DirectoryKey, Gap]>): MeasuredBody {
  let text = '';
  for (const entry of entriesOf(free)) text += `${text === '' ? '[' : ','}${serialise(entry)}`;
  const json = text === '' ? '[]' : `${text}]`;
  const body = allocateBody(Buffer.byteLength(json, 'utf8'));
  body.write(json, 'utf8');
  return madeBody(body);
}

export function messagePackFree(free: Iterable<readonly [DirectoryKey, Gap]>, count: number): MeasuredBody {
  const pieces: Uint8Array[] = [arrayHeader(count)];
  for (const entry of entriesOf(free)) pieces.push(packPlain(entry));
  const byteLength = pieces.reduce((sum, { length }) => sum + length, 0);
  return madeBody(gather(pieces, allocateBody(byteLength)));
}
