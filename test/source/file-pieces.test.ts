import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { READ_CHUNK_BYTES } from '../../src/base/limits.js';
import { FilePieces, fileSource } from '../../src/source/file.js';
import { eventOf } from '../snapshot/images.js';

const folder = mkdtempSync(join(tmpdir(), 'lectern-pieces-'));
const path = join(folder, 'file');
const PIECES = 12;
const content = Buffer.alloc(PIECES * READ_CHUNK_BYTES - 5, 'ABCDEFGHIJKLMNOPQRSTUVW');

test('a file comes in pieces', (t) => {
  t.teardown(() => rmSync(folder, { recursive: true }));
  t.test('a file is read in pieces, and returned memory is reused', async (t) => {
    writeFileSync(path, content);
    const handle = await open(path);
    t.teardown(() => handle.close());
    const pieces = new FilePieces(path, handle);
    const memories = new Set<ArrayBufferLike>();
    let at = 0;
    for await (const piece of pieces.read()) {
      if (Buffer.compare(piece, content.subarray(at, at + piece.length)) !== 0)
        t.fail(`other bytes at ${at}`);
      at += piece.length;
      memories.add(piece.buffer);
      pieces.takeBack(piece);
    }
    t.equal(at, content.length);
    t.equal(memories.size, 2, 'one that is worked on, and one that is read meanwhile');
  });

  t.test('only memory that was allocated here and returned is overwritten', async (t) => {
    writeFileSync(path, content);
    const handle = await open(path);
    t.teardown(() => handle.close());
    const pieces = new FilePieces(path, handle);
    const other = new Uint8Array(READ_CHUNK_BYTES);
    const all: Uint8Array[] = [];
    for await (const piece of pieces.read()) {
      all.push(piece);
      pieces.takeBack(other);
    }
    t.ok(Buffer.concat(all).equals(content));
    t.ok(other.every((byte) => byte === 0));
  });

  t.test('a load of NDJSON returns its pieces', async (t) => {
    const lines = Array.from({ length: 5000 }, (_, n) => {
      const { time, endTime, ...event } = eventOf(n, { title: 'x'.repeat(1000) });
      const times = { time: new Date(time).toISOString(), endTime: new Date(endTime).toISOString() };
      return `${JSON.stringify({ ...event, ...times })}\n`;
    });
    writeFileSync(path, lines.join(''));
    const memories = new Set<ArrayBufferLike>();
    await fileSource(path).load({
      row: ({ bytes }) => void memories.add(bytes.buffer),
      fault() {},
    });
    const sizes = [...memories].filter(({ byteLength }) => byteLength === READ_CHUNK_BYTES);
    t.ok(lines.join('').length > 4 * READ_CHUNK_BYTES, 'more pieces than memories');
    t.ok(sizes.length >= 1 && sizes.length <= 2, `${sizes.length} memories`);
  });
  t.end();
});
