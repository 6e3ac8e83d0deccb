/** Builds views of event arrays, and reads answers like a client. */
import assert from 'node:assert/strict';
import { decode } from '@msgpack/msgpack';
import type { Answer, Read, ReadResult } from '../../src/answer/answer.js';
import { type ParameterPairs, SnapshotView, type View } from '../../src/answer/view.js';
import type { DirectoryEntry, IdentifierMode, NormalisedEvent } from '../../src/base/model/event.js';
import type { DirectoryName } from '../../src/base/model/fields.js';
import type { FormatName } from '../../src/base/model/format.js';
import type { RoomTable } from '../../src/base/model/room.js';
import { SnapshotBuilder } from '../../src/snapshot/builder.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';
import type { ExpectedFault } from './generated-requests.js';

export const STRICT = { unknownParameters: 'reject' } as const;

export function viewOfEvents(
  events: readonly NormalisedEvent[],
  identifiers: IdentifierMode,
  rooms?: RoomTable,
): View {
  return new SnapshotView(snapshotOfEvents(events, identifiers), undefined, undefined, rooms);
}

export function snapshotOfEvents(events: readonly NormalisedEvent[], identifiers: IdentifierMode): Snapshot {
  const builder = new SnapshotBuilder({ identifiers });
  events.forEach((event, i) => {
    builder.add(event, { record: i + 1 });
  });
  return new Snapshot(builder.finish());
}

/** The read, if the parameters are valid. */
export function readOf(result: ReadResult): Read {
  assert.ok('read' in result, `faults: ${'faults' in result ? JSON.stringify(result.faults) : ''}`);
  return result.read;
}

/** Asserts exactly these faults, in any order, each with a detail. */
export function assertFaults(result: ReadResult, expected: readonly ExpectedFault[]): void {
  assert.ok('faults' in result, `expected faults ${JSON.stringify(expected)}`);
  const told = result.faults.map((fault) => {
    assert.ok(fault.detail.length > 0);
    const isEither = expected.some((other) => other.code === fault.code && other.parameter === null);
    return `${isEither ? '' : fault.parameter} ${fault.code}`;
  });
  assert.deepEqual(told.sort(), expected.map((fault) => `${fault.parameter ?? ''} ${fault.code}`).sort());
}

/** The whole body as bytes; its length must be the announced one, if any. */
export function bytesOf(answer: Answer): Buffer {
  const bytes = Buffer.concat([...answer.body.makeChunks()]);
  const { byteLength } = answer.body;
  if (byteLength !== null) assert.equal(byteLength, bytes.length, 'byteLength is the length of the chunks');
  return bytes;
}

/** The JSON array of an answer, parsed. The decoder refuses bytes that are not UTF-8. */
export function listOf(answer: Answer): unknown[] {
  const list: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(answer)));
  assert.ok(Array.isArray(list), 'the body is an array');
  assert.equal(answer.count, list.length, 'count is the number of entries in the body');
  return list;
}

/** The same for MessagePack, with a decoder from another library. */
export function unpackedListOf(answer: Answer): unknown[] {
  const list = decode(bytesOf(answer));
  assert.ok(Array.isArray(list), 'the body is an array');
  assert.equal(answer.count, list.length, 'count is the number of entries in the body');
  return list;
}

/** Checks that an unpaged answer is exactly this list: values, order of entries, and order of fields. */
export function assertWhole(read: Read, expected: readonly unknown[], format: FormatName = 'json'): void {
  const answer = read.execute(format);
  const list = format === 'json' ? listOf(answer) : unpackedListOf(answer);
  assertSameList(list, expected);
  assert.equal(answer.total, expected.length, 'total');
  assert.equal(answer.nextCursor, null, 'an unpaged answer has no next page');
}

/** Compares values, order of entries and order of fields; reports the first entry that differs. */
export function assertSameList(actual: readonly unknown[], expected: readonly unknown[]): void {
  for (let i = 0; i < Math.max(actual.length, expected.length); i++) {
    // Texts also compare the order of the fields; the deep comparison is for its message.
    if (JSON.stringify(actual[i]) === JSON.stringify(expected[i])) continue;
    assert.deepEqual(actual[i], expected[i], `entry ${i} of ${actual.length}, expected ${expected.length}`);
    assert.fail(`entry ${i} has its fields in another order: ${JSON.stringify(actual[i])}`);
  }
}

/**
 * Follows the next cursors from the first page to the last with `limit` entries a page, and returns all
 * entries. Every page except the last must be full, and all must announce the same total.
 */
export function followPages(
  endpoint: (pairs: ParameterPairs) => ReadResult,
  pairs: ParameterPairs,
  limit: number,
  total: number,
): unknown[] {
  const entries: unknown[] = [];
  let cursor: string | null = null;
  do {
    const paging: [string, string][] = [['limit', String(limit)]];
    if (cursor !== null) paging.push(['cursor', cursor]);
    const answer: Answer = readOf(endpoint([...pairs, ...paging])).execute('json');
    const page = listOf(answer);
    assert.equal(answer.total, total, 'total on every page');
    const left = total - entries.length;
    assert.equal(page.length, Math.min(limit, left), 'pages are full but the last');
    assert.equal(answer.nextCursor === null, left <= limit, 'the last page, and only it, has no cursor');
    entries.push(...page);
    cursor = answer.nextCursor;
  } while (cursor !== null);
  return entries;
}

export function directoryCursorOf(view: View, name: DirectoryName, pairs: ParameterPairs): string {
  const { nextCursor } = readOf(view.directory(name, pairs, STRICT)).execute('json');
  assert.ok(nextCursor !== null);
  return nextCursor;
}

export function entriesOf(view: View, name: DirectoryName, pairs: ParameterPairs = []): DirectoryEntry[] {
  return listOf(readOf(view.directory(name, pairs, STRICT)).execute('json')) as DirectoryEntry[];
}
