import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'tap';
import type { PublishedEvent, Timetable } from '../../src/index.js';
import { timeForAFault } from '../waiting/until.js';
import { idOf, LecternError, MemorySource, openTimetable, record, temporaryFolder } from './built.js';

/** Resolves when a snapshot with that many events was published. */
function published(timetable: Timetable, events: number): Promise<PublishedEvent> {
  return new Promise((resolve) => {
    timetable.on('published', (event) => {
      if (event.summary.events === events) resolve(event);
    });
  });
}

const idsOf = (timetable: Timetable): string[] => timetable.all().events.map((event) => event.id);

test('changes made together cause one rebuild', async (t) => {
  const memory = new MemorySource([record(1), record(2)]);
  const timetable = openTimetable({ source: memory });
  await timetable.ready;
  const events: PublishedEvent[] = [];
  timetable.on('published', (event) => events.push(event));

  const done = published(timetable, 102);
  for (let n = 3; n <= 103; n++) memory.apply({ upsert: [record(n)] });
  memory.apply({ remove: [idOf(1)], upsert: [record(2, { title: 'changed' })] });
  await done;
  t.equal(events.length, 1, '102 calls');
  t.match(events[0], { origin: 'source', changes: { added: 101, changed: 1, removed: 1 } });
  t.equal(timetable.get(idOf(2))?.title, 'changed');
  t.equal(timetable.get(idOf(1)), null);

  const again = published(timetable, 90);
  memory.replace([record(500)]);
  memory.replace(Array.from({ length: 90 }, (_, n) => record(n + 1)));
  await again;
  t.equal(events.length, 2, 'the last of two replacements');
  await timetable.close();
});

test('changes that arrive during a build cause one more build', async (t) => {
  const memory = new MemorySource([record(1)]);
  const timetable = openTimetable({ source: memory });
  await timetable.ready;
  let count = 0;
  timetable.on('published', () => count++);
  const done = published(timetable, 41);
  for (let n = 2; n <= 41; n++) {
    memory.apply({ upsert: [record(n)] });
    // Changes arrive one by one.
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await done;
  t.ok(count < 20, `${count} rebuilds for 40 changes`);
  t.equal(timetable.all().total, 41);
  await timetable.close();
});

test('records are served after apply() and refresh()', async (t) => {
  const memory = new MemorySource();
  const timetable = openTimetable({ source: memory, gate: false });
  await timetable.ready;
  t.equal(timetable.all().total, 0);
  memory.apply({ upsert: new Set([record(1), record(2)]) });
  await timetable.refresh();
  t.strictSame(idsOf(timetable), [idOf(1), idOf(2)]);
  memory.apply({ remove: [idOf(1), idOf(77)] });
  await timetable.refresh();
  t.strictSame(idsOf(timetable), [idOf(2)], 'an unknown id is skipped');
  await timetable.close();
});

test('without watching, a change waits for a refresh', async (t) => {
  const memory = new MemorySource([record(1)]);
  const timetable = openTimetable({ source: memory, watch: false });
  await timetable.ready;
  memory.apply({ upsert: [record(2)] });
  await timeForAFault(150);
  t.equal(timetable.all().total, 1);
  await timetable.refresh();
  t.equal(timetable.all().total, 2);
  await timetable.close();
});

test('apply() ignores the case of ids', async (t) => {
  const id = 'ABCDEF00-0000-4000-8000-00000000000A';
  const memory = new MemorySource([record(1, { id })]);
  const timetable = openTimetable({ source: memory });
  await timetable.ready;
  memory.apply({ upsert: [record(1, { id: id.toLowerCase(), title: 'once' })] });
  await timetable.refresh();
  t.match(timetable.all().events, [{ id: id.toLowerCase(), title: 'once' }]);
  await timetable.close();
});

test('an invalid apply() changes nothing', async (t) => {
  const memory = new MemorySource([record(1)]);
  const timetable = openTimetable({ source: memory });
  await timetable.ready;
  let count = 0;
  timetable.on('published', () => count++);
  const invalid = { code: 'option-invalid', message: /a record to upsert needs an id/ };
  t.throws(() => memory.apply({ remove: [idOf(1)], upsert: [record(2), {}] }), invalid);
  t.throws(() => memory.apply({ upsert: [record(2, { id: 7.5 })] }), invalid);
  t.throws(() => memory.apply({ upsert: [null as unknown as object] }), invalid);
  await timetable.refresh();
  t.strictSame(idsOf(timetable), [idOf(1)]);
  t.equal(count, 0);
  await timetable.close();
});

test('changes apply to records of any kind, and no copy of them is kept', async (t) => {
  const kinds: readonly [name: string, records: () => Iterable<object> | AsyncIterable<object>][] = [
    ['array', () => [record(1), record(2)]],
    ['Set', () => new Set([record(1), record(2)])],
    ['generator', () => [record(1), record(2)][Symbol.iterator]()],
    ['stream', () => Readable.from([record(1), record(2)])],
  ];
  for (const [name, records] of kinds) {
    const memory = new MemorySource(records());
    memory.apply({ upsert: [record(3)], remove: [idOf(1)] });
    const timetable = openTimetable({ source: memory, gate: false });
    await timetable.ready;
    t.strictSame(idsOf(timetable), [idOf(2), idOf(3)], `${name}: applied before the first load`);
    memory.apply({ upsert: [record(1, { title: 'back' })], remove: [idOf(3)] });
    await timetable.refresh();
    t.strictSame(idsOf(timetable), [idOf(1), idOf(2)], `${name}: applied after it`);
    t.equal(timetable.get(idOf(1))?.title, 'back');
    await timetable.close();
  }
});

test('several timetables may read one memory source', async (t) => {
  const memory = new MemorySource([record(1), record(2)]);
  const first = openTimetable({ source: memory, watch: false, gate: false });
  await first.ready;
  memory.apply({ remove: [idOf(2)], upsert: [record(3)] });
  await first.refresh();
  const second = openTimetable({ source: memory, watch: false, gate: false });
  await second.ready;
  t.strictSame(idsOf(second), idsOf(first), 'one that is opened later has all changes');
  memory.apply({ upsert: [record(4)] });
  await first.refresh();
  memory.apply({ remove: [idOf(1)] });
  await second.refresh();
  t.strictSame(idsOf(second), [idOf(3), idOf(4)], 'what the other has served already is not lost');
  await first.close();
  memory.apply({ upsert: [record(5)] });
  await second.refresh();
  t.strictSame(idsOf(second), [idOf(3), idOf(4), idOf(5)]);
  await second.close();
});

test('records need not be JSON: dates are times, impossible values are rejected', async (t) => {
  const circle: Record<string, unknown> = { ...record(3) };
  circle.title = circle;
  const timetable = openTimetable({
    source: [
      record(1, { time: new Date('2024-09-02T08:00:00Z'), endTime: new Date('2024-09-02T09:30:00Z') }),
      undefined,
      circle,
      record(4, { title: 10n }),
      record(5, { time: new Date(Number.NaN) }),
      () => record(6),
      record(7),
    ],
  });
  const { rejections, rejected, events } = await timetable.ready;
  t.strictSame([events, rejected], [2, 5]);
  t.strictSame(
    rejections.map(({ position }) => 'record' in position && position.record),
    [2, 3, 4, 5, 6],
    'under the number that each has in the array',
  );
  t.match(timetable.get(idOf(1)), {
    time: '2024-09-02T08:00:00.000Z',
    endTime: '2024-09-02T09:30:00.000Z',
  });
  await timetable.close();
});

test('records may be an async generator, and its failure is reported', async (t) => {
  const timetable = openTimetable({
    source: (async function* () {
      for (let n = 1; n <= 5000; n++) yield record(n % 1000, { id: idOf(n) });
    })(),
  });
  t.equal((await timetable.ready).events, 5000);
  await timetable.close();

  let cleanedUp = false;
  const failing = openTimetable({
    source: (async function* () {
      try {
        yield record(1);
        throw new LecternError('source-unreadable', 'the cursor was closed');
      } finally {
        cleanedUp = true;
      }
    })(),
  });
  await t.rejects(failing.ready, { code: 'source-unreadable', message: /the cursor was closed/ });
  t.ok(cleanedUp);
  await failing.close();
});

test('an image from another process is not taken for the present records', async (t) => {
  const snapshotFile = join(await temporaryFolder(t), 'snapshot.image');
  const before = openTimetable({ source: [record(1)], snapshotFile });
  await before.ready;
  await before.close();

  const after = openTimetable({ source: [record(2)], snapshotFile });
  const origins: string[] = [];
  const fresh = new Promise<void>((resolve) => {
    after.on('published', ({ origin }) => {
      origins.push(origin);
      if (origin === 'source') resolve();
    });
  });
  await after.ready;
  await fresh;
  t.strictSame(origins, ['disk', 'source']);
  t.strictSame(idsOf(after), [idOf(2)]);
  await after.close();
});

test('a change applies to all records with its id', async (t) => {
  const memory = new MemorySource([
    record(1, { title: 'a' }),
    record(1, { title: 'b' }),
    record(2),
    { title: 'without an id' },
  ]);
  const timetable = openTimetable({ source: memory, watch: false, gate: false });
  await timetable.ready;
  const counts = async (): Promise<unknown> => {
    await timetable.refresh();
    return [idsOf(timetable), timetable.summary?.rejected];
  };
  t.strictSame(await counts(), [[idOf(1), idOf(2)], 2]);
  memory.apply({});
  t.strictSame(await counts(), [[idOf(1), idOf(2)], 2], 'what was wrong before is wrong still');
  memory.apply({ remove: [idOf(1).toUpperCase()] });
  t.strictSame(await counts(), [[idOf(2)], 1], 'the one that was hidden does not come to light');
  memory.apply({ upsert: [record(1, { title: 'c' }), record(1, { title: 'd' })] });
  t.strictSame(await counts(), [[idOf(1), idOf(2)], 1]);
  t.equal(timetable.get(idOf(1))?.title, 'd', 'the last of two');
  memory.apply({ upsert: [record(1, { title: 'kept' })], remove: [idOf(1), idOf(2)] });
  t.strictSame(await counts(), [[idOf(1)], 1], 'what is removed and upserted is there');
  await timetable.close();
});

test('invalid changes and records are refused at once, and change nothing', async (t) => {
  const memory = new MemorySource([record(1)]);
  const timetable = openTimetable({ source: memory, watch: false });
  await timetable.ready;
  const changes: [change: unknown, problem: RegExp][] = [
    [undefined, /^apply\(\) takes \{ upsert: \[records\], remove: \[ids\] \}: it got no object$/],
    [{ remove: idOf(1) }, /remove is not a list$/],
    [{ upsert: record(2) }, /upsert is not a list$/],
    [{ upsert: null }, /upsert is not a list$/],
    [{ upserts: [record(2)] }, /it does not take "upserts"$/],
    [{ upsert: [record(2)], remove: idOf(1) }, /remove is not a list$/],
  ];
  for (const [change, message] of changes) {
    t.throws(() => memory.apply(change as object), { code: 'option-invalid', message });
  }
  const failing = (function* () {
    yield idOf(1);
    throw new Error('half-way');
  })();
  t.throws(() => memory.apply({ remove: failing }), { message: 'half-way' });
  for (const records of [undefined, null, 'events.ndjson', 7, { id: idOf(1) }]) {
    const refusal = { code: 'option-invalid', message: /takes an iterable of records/ };
    t.throws(() => memory.replace(records as unknown as object[]), refusal);
    if (records !== undefined) t.throws(() => new MemorySource(records as unknown as object[]), refusal);
  }
  memory.apply({ remove: [7 as unknown as string] });
  await timetable.refresh();
  t.strictSame(idsOf(timetable), [idOf(1)]);
  await timetable.close();
});

test('a consumed stream does not count as an empty set, even by force', async (t) => {
  const streams = {
    generator: (function* () {
      yield record(1);
    })(),
    readable: Readable.from([record(1)]),
    web: new Blob([]).stream(),
  };
  for (const [name, stream] of Object.entries(streams)) {
    const memory = new MemorySource(stream as Iterable<object>);
    const timetable = openTimetable({ source: memory, gate: name === 'web' ? false : {} });
    const { events } = await timetable.ready;
    await timetable.refresh({ force: true });
    t.equal(timetable.all().total, events, name);
    t.match(timetable.source, { state: 'loaded', lastError: null }, 'nothing changed');
    t.equal(timetable.status, 'ok');
    const other = openTimetable({ source: memory });
    await t.rejects(other.ready, { message: /are a stream that was already read/ }, 'nothing is served yet');
    await other.close();
    memory.replace([record(1), record(2)]);
    await timetable.refresh();
    t.equal(timetable.all().total, 2);
    await timetable.close();
  }
});

test('replace() and apply() during a load take effect in the next one', async (t) => {
  let go = (): void => {};
  const begun = new Promise<void>((begin) => {
    go = begin;
  });
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const memory = new MemorySource(
    (async function* () {
      yield record(1);
      go();
      await released;
      yield record(2);
    })(),
  );
  const timetable = openTimetable({ source: memory });
  await begun;
  memory.replace([record(3), record(4), record(5)]);
  memory.apply({ remove: [idOf(5)], upsert: [record(6)] });
  const done = published(timetable, 3);
  release();
  t.equal((await timetable.ready).events, 2, 'the load under way is of what was there when it began');
  await done;
  t.strictSame(idsOf(timetable), [idOf(3), idOf(4), idOf(6)]);
  await timetable.close();
});

test('a memory source without events is refused, and published once it has some', async (t) => {
  const refused = openTimetable({ source: new MemorySource() });
  await t.rejects(refused.ready, { code: 'snapshot-refused', message: /it has no events$/ });
  await refused.close();

  const memory = new MemorySource();
  const timetable = openTimetable({ source: memory, gate: { shrinkPercentMax: 100 } });
  t.equal((await timetable.ready).events, 0);
  const done = published(timetable, 1);
  memory.apply({ upsert: [record(1)] });
  await done;
  memory.apply({ remove: [idOf(1)] });
  await published(timetable, 0);
  t.equal(timetable.status, 'ok', 'down to nothing again, as is allowed');
  await timetable.close();
});
