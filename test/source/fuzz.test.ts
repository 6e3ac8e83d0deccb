/** Files with arbitrary content are loaded as far as possible, or refused with a reason. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { test } from 'tap';
import { generateEvents } from '../../bench/generate.mjs';
import { SnapshotView } from '../../src/answer/view.js';
import { LecternError } from '../../src/base/errors.js';
import { loadImage } from '../../src/refresh/thread/load-image.js';
import { readImageFile } from '../../src/snapshot/image-file.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';
import { fileSource } from '../../src/source/file.js';
import { size } from '../hard/size.js';

const folder = mkdtempSync(join(tmpdir(), 'lectern-fuzz-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const path = join(folder, 'file');
const RUNS = size(80, 20_000, 250);

const events = [...generateEvents({ events: 12, seed: 3 })];
const ndjson = Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
const GOOD: readonly Buffer[] = [
  ndjson,
  Buffer.from(ndjson.toString().replaceAll('\n', '\r\n')),
  Buffer.from(JSON.stringify(events, null, 1)),
  Buffer.from(encode(events)),
  Buffer.concat(events.map((event) => encode(event))),
  gzipSync(ndjson),
  gzipSync(encode(events)),
];

/** One change of some bytes: overwritten, inserted, removed, or moved. */
const change = fc.record({
  at: fc.noBias(fc.integer({ min: 0, max: 9999 })).map((n) => n / 10_000),
  length: fc.nat({ max: 40 }),
  bytes: fc.oneof(
    fc.uint8Array({ maxLength: 8 }),
    fc
      .constantFrom(
        '"',
        '\\',
        '\\u',
        '\\ud800',
        '{',
        '}',
        '[',
        ']',
        '\n',
        '\r',
        ',',
        ':',
        'null',
        '1e999',
        '\0',
        '\ufeff',
        'é',
      )
      .map((text) => new Uint8Array(Buffer.from(text))),
  ),
});
const mutated = fc
  .tuple(fc.constantFrom(...GOOD), fc.array(change, { minLength: 1, maxLength: 6 }))
  .map(([good, changes]) => {
    let bytes: Buffer = good;
    for (const { at, length, bytes: put } of changes) {
      const from = Math.floor(at * bytes.length);
      bytes = Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(from + length)]);
    }
    return bytes;
  });
const anything = fc.oneof(
  { weight: 5, arbitrary: mutated },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
);

test('arbitrary bytes are loaded in part, or refused with a reason', async (t) => {
  const seen = { loaded: 0, events: 0, rejected: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(anything, async (bytes) => {
      writeFileSync(path, bytes);
      try {
        const { image } = await loadImage(fileSource(path), { identifiers: 'uuid' });
        const { events: count, rejected, rejections } = image.summary;
        seen.loaded++;
        seen.events += count;
        seen.rejected += rejected;
        assert.ok(rejections.length <= rejected);
        // The loaded events can be served: every row is JSON, and all rows are one array.
        const { rows } = new Snapshot(image);
        const all: unknown = JSON.parse(rows.bytes.toString('utf8'));
        assert.ok(Array.isArray(all) && all.length === count);
        new SnapshotView(new Snapshot(image)).conflicts([], { unknownParameters: 'reject' });
      } catch (error) {
        if (!(error instanceof LecternError)) throw error;
        seen.refused++;
        assert.match(error.message, /\S/);
        assert.ok(error.message.length < 2000);
      }
    }),
    { numRuns: RUNS, seed: 17 },
  );
  // Each outcome occurred often.
  t.ok(seen.loaded > RUNS / 10 && seen.events > RUNS, JSON.stringify(seen));
  t.ok(seen.rejected > RUNS / 10 && seen.refused > RUNS / 20, JSON.stringify(seen));
});

test('arbitrary bytes are no snapshot file', async (t) => {
  const place = join(folder, 'image');
  let tried = 0;
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.boolean(), async (bytes, withMagic) => {
      writeFileSync(place, withMagic ? Buffer.concat([Buffer.from('LECTERN\0'), bytes]) : bytes);
      tried++;
      assert.throws(() => readImageFile(place), LecternError);
    }),
    { numRuns: size(150, 20_000, 500), seed: 23 },
  );
  t.equal(tried, size(150, 20_000, 500));
});
