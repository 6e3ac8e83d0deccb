/** Loads whose image is built on a second thread, compared with loads of one thread. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { type MessagePort, Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { test } from 'tap';
import { LOAD_BASE_BYTES } from '../../../src/base/limits.js';
import type { ReadRules } from '../../../src/base/model/read-rules.js';
import { generateEvents } from '../../../src/cli/generate.js';
import { type BuildTask, runBuild, type SecondThread } from '../../../src/refresh/thread/build-thread.js';
import { loadImage } from '../../../src/refresh/thread/load-image.js';
import { prepareThread, type StartThread } from '../../../src/refresh/thread/start-thread.js';
import { isSameImage, type SnapshotImage } from '../../../src/snapshot/image.js';
import { RefusedLoad } from '../../../src/snapshot/intake-bounds.js';
import { fileSource } from '../../../src/source/file.js';
import { readRecords } from '../../../src/source/formats/read-records.js';
import { mergedSource } from '../../../src/source/merged.js';
import type { Source } from '../../../src/source/source.js';
import { findDataSets, NO_DATA } from '../../answer/real-sets.js';
import { size } from '../../hard/size.js';
import { failureOf, inPieces } from '../../source/collect.js';

const SEED = 37;
const RUNS = size(40, 5000, 100);
const HASH_SEED = [1, 2] as const;
const DATA_SETS = findDataSets();

/** The code of the second thread on the calling thread: each message is a copy and is taken at once. */
const startHere: StartThread = ({ workerData }) => {
  const [worker, port] = [new EventEmitter(), new EventEmitter()];
  const sendsTo = (other: EventEmitter) => ({
    postMessage: (message: unknown) => other.emit('message', structuredClone(message)),
  });
  Object.assign(worker, sendsTo(port), { terminate: async () => 0 });
  Object.assign(port, sendsTo(worker), { close() {} });
  runBuild(workerData as BuildTask, port as unknown as MessagePort);
  return worker as unknown as Worker;
};

function bytesSource(bytes: Uint8Array, pieceBytes: number, name: string): Source {
  return {
    name,
    async load(sink, options = {}) {
      const reading = { ...options, sourceName: name, bytesTotal: null };
      const read = await readRecords(inPieces(Uint8Array.from(bytes), pieceBytes), sink, reading);
      return { ...read, version: null, modifiedMs: 1_700_000_000_000 };
    },
  };
}

/** What a load has made, without its clocks; or its error. */
async function loaded(source: Source, rules: ReadRules, thread: SecondThread | null) {
  try {
    const { image } = await loadImage(source, rules, { hashSeed: HASH_SEED, thread });
    const { builtAtMs: _at, buildMs: _ms, ...summary } = image.summary;
    return { image, summary };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

async function compare(source: Source, rules: ReadRules, thread: SecondThread): Promise<number> {
  const one = await loaded(source, rules, null);
  const two = await loaded(source, rules, thread);
  if (one.image === undefined || two.image === undefined) {
    assert.deepEqual(two, one);
    return -1;
  }
  assert.deepEqual(two.summary, one.summary);
  assert.ok(isSameImage(one.image, two.image));
  assert.deepEqual(partsOf(two.image), partsOf(one.image));
  return one.summary.events;
}

function partsOf({ ids, hashSeed, modified }: SnapshotImage): unknown {
  return { ids, hashSeed, modified };
}

const EVENTS = [...generateEvents({ events: 40, seed: 5 })];
const fields = [
  'id',
  'time',
  'endTime',
  'title',
  'roomId',
  'lecturer',
  'modified',
  'lessonId',
  'note',
  'Raum',
];
const faulty = fc.constantFrom<unknown>(
  ...[null, '', 'x', 17, 1.5, true, [], ['a', 'b'], {}, 'é'.repeat(300), 'a"b\\', '\ud800', 'ß'],
  ...['2026-10-25T02:30', '2026-03-29T02:30', '2026-09-14 08:00', EVENTS[0]?.id, EVENTS[0]?.roomId],
);
/** An event, sometimes with other values or further names, and often one that was there before. */
const record = fc
  .tuple(fc.constantFrom(...EVENTS), fc.array(fc.tuple(fc.constantFrom(...fields), faulty), { maxLength: 2 }))
  .map(([event, others]) => ({ ...event, ...Object.fromEntries(others) }) as Record<string, unknown>);
const records = fc.array(record, { minLength: 1, maxLength: 60, size: 'max' });

function csvOf(all: readonly Record<string, unknown>[]): string {
  const names = [...Object.keys(EVENTS[0] ?? {}), 'note', 'Raum'];
  const cell = (value: unknown): string => `"${String(value ?? '').replaceAll('"', '""')}"`;
  return [names, ...all.map((each) => names.map((name) => each[name]))]
    .map((cells) => `${cells.map(cell).join(',')}\r\n`)
    .join('');
}

const FORMATS: readonly ((all: readonly Record<string, unknown>[]) => Uint8Array)[] = [
  (all) => Buffer.from(all.map((each) => `${JSON.stringify(each)}\n`).join('')),
  (all) => Buffer.from(all.map((each) => JSON.stringify(each)).join('\r\n{"broken\r\n')),
  (all) => Buffer.from(JSON.stringify(all)),
  (all) => Buffer.from(csvOf(all)),
  (all) => Buffer.concat(all.map((each) => encode(each))),
  (all) => gzipSync(Buffer.from(all.map((each) => `${JSON.stringify(each)}\n`).join(''))),
];
const RULES: readonly ReadRules[] = [
  { identifiers: 'uuid' },
  { identifiers: 'any', timeZone: 'Europe/Berlin' },
  { identifiers: 'derived', timeZone: 'Europe/Berlin', fieldMap: { title: '{title} {lecturer}' } },
];

test('a second thread makes the same image, whatever the records, their format and where batches end', async (t) => {
  const source = fc.record({
    all: records,
    format: fc.constantFrom(...FORMATS),
    pieceBytes: fc.constantFrom(0, 101, 5000),
  });
  let events = 0;
  let failed = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(source, { minLength: 1, maxLength: 3 }),
      fc.constantFrom(...RULES),
      fc.constantFrom(600, 4096, 30_000),
      fc.constantFrom(1, 5),
      async (given, rules, batchBytes, batchesBefore) => {
        const sources = given.map(({ all, format, pieceBytes }, n) =>
          bytesSource(format(all), pieceBytes, `source ${n}`),
        );
        const [first] = sources as [Source];
        const whole = sources.length === 1 ? first : mergedSource(sources);
        const found = await compare(whole, rules, { start: startHere, batchBytes, batchesBefore });
        if (found === -1) failed++;
        else events += found;
      },
    ),
    { seed: SEED, numRuns: RUNS },
  );
  t.ok(events > 5 * RUNS && failed < RUNS / 3, `${events} events were loaded, ${failed} loads failed`);
});

test('a second thread makes the same image of real timetables', {
  skip: DATA_SETS.length === 0 && NO_DATA,
}, async (t) => {
  for (const { path } of DATA_SETS) {
    const rules = { identifiers: 'any', timeZone: 'Europe/Paris' } as const;
    t.ok((await compare(fileSource(path), rules, { start: startHere, batchesBefore: 1 })) > 0, path);
  }
});

test('a second thread takes back what a later version of a calendar event replaces', async (t) => {
  const versions = Array.from({ length: 40 }, (_, n) =>
    [
      ...['BEGIN:VEVENT', `UID:event ${n % 15}`, `SEQUENCE:${(n * 7) % 5}`, `SUMMARY:version ${n}`],
      ...[`DTSTART:202610${10 + (n % 15)}T080000Z`, `DTEND:202610${10 + (n % 15)}T090000Z`, 'END:VEVENT'],
    ].join('\r\n'),
  );
  const text = ['BEGIN:VCALENDAR', 'VERSION:2.0', ...versions, 'END:VCALENDAR', ''].join('\r\n');
  const source = bytesSource(Buffer.from(text), 0, 'calendar');
  const rules = { identifiers: 'derived', timeZone: 'Europe/Berlin' } as const;
  t.equal(await compare(source, rules, { start: startHere, batchesBefore: 1, batchBytes: 1024 }), 15);
});

function manyEvents(count: number): Source {
  const lines = [...generateEvents({ events: count, seed: 1 })].map((event) => JSON.stringify(event));
  // A fault and an event that was there before.
  lines.splice(count / 2, 0, '{"id":', lines[0] as string);
  return bytesSource(Buffer.from(lines.join('\n')), 65_536, 'many events');
}

test('a real second thread makes the same image', async (t) => {
  const start = await prepareThread('/refresh/thread/task-worker.ts', async () => '');
  const thread = { start, batchesBefore: 1, batchBytes: 8192 };
  t.equal(await compare(manyEvents(3000), { identifiers: 'uuid' }, thread), 3000);
});

test('what the second thread refuses or throws ends the load', async (t) => {
  const many = manyEvents(3000);
  const rules = { identifiers: 'uuid' } as const;
  const thread = { start: startHere, batchesBefore: 1, batchBytes: 8192 };
  const bounds = { memoryBytesMax: 2 * LOAD_BASE_BYTES };
  const refused = await failureOf(loadImage(many, rules, { thread, bounds }));
  t.ok(refused instanceof RefusedLoad);
  t.match(refused.message, /^the load takes more than 48 MiB, the limit for a load: after \d+ events/);
  const twice: Source = {
    ...many,
    async load(sink, options) {
      await many.load(sink, options);
      throw new Error('the source has failed');
    },
  };
  t.match(await failureOf(loadImage(twice, rules, { thread })), { message: 'the source has failed' });
});

function startScript(script: string): StartThread {
  return (options) => new Worker(script, { ...options, eval: true });
}

test('a second thread that hangs or dies ends the load with a sentence', async (t) => {
  const rules = { identifiers: 'uuid' } as const;
  const few = { batchesBefore: 1, batchBytes: 2048, silentMsMax: 50 };
  const hangs = startScript('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)');
  t.match(await failureOf(loadImage(manyEvents(1000), rules, { thread: { start: hangs, ...few } })), {
    code: 'source-unreadable',
    message: 'the thread that builds the image took no records for 0.05 s, and was ended',
  });
  const dies = startScript('require("node:worker_threads").parentPort.on("message", () => process.exit())');
  t.match(await failureOf(loadImage(manyEvents(100), rules, { thread: { start: dies, ...few } })), {
    message: 'the thread that builds the image ended without a result',
  });
});
