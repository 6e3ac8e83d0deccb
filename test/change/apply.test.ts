/** Edits of an image, compared with whole builds. Inside, because it compares bytes. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { editImage } from '../../src/change/apply.js';
import type { EventEdit } from '../../src/change/change.js';
import { byteLengthOf, isSameImage, type SnapshotImage } from '../../src/snapshot/image.js';
import { namedRecordsOf } from '../answer/named-records.js';
import { findDataSets, NO_DATA } from '../answer/real-sets.js';
import { size } from '../hard/size.js';
import { fastTest } from '../hard/slow-test.js';
import { createNormaliser, isRejection } from '../normalise/objects.js';
import { eventOf, idOf, imageOf, imageOfCount } from '../snapshot/images.js';
import {
  applied,
  assertChain,
  assertSameAsBuilt,
  chains,
  edited,
  type Timetable,
  timetables,
} from './edits.js';

// Many builds: on a busy machine they take minutes.
const RUNS = size(60, 10_000, 600);
const LARGE_EVENTS = size(3000, 100_000, 10_000);
const LARGE_PATCHES = 100;

function timetableOf(events: Iterable<NormalisedEvent>): Timetable {
  return new Map([...events].map((event) => [event.id, event]));
}

function first(count: number, more: Partial<NormalisedEvent> = {}): NormalisedEvent[] {
  return Array.from({ length: count }, (_, n) => eventOf(n, more));
}

/** Every typed array, by path. */
function arraysOf(part: unknown, path = ''): [string, Uint8Array][] {
  if (ArrayBuffer.isView(part)) return [[path, part as Uint8Array]];
  if (typeof part !== 'object' || part === null) return [];
  return Object.entries(part).flatMap(([name, inner]) => arraysOf(inner, `${path}.${name}`));
}

test('every step of generated changes equals a whole build, to the byte', async () => {
  fc.assert(
    fc.property(timetables, chains, (start, steps) => {
      assertChain(start, steps);
    }),
    { numRuns: RUNS, seed: 53 },
  );
});

const NO_CHANGES: EventEdit = { came: [], went: [] };
const upsert = (...came: NormalisedEvent[]): EventEdit => ({ ...NO_CHANGES, came });
const remove = (...went: string[]): EventEdit => ({ ...NO_CHANGES, went });
const eventIds = (count: number): string[] => Array.from({ length: count }, (_, n) => idOf(n));

const CASES: readonly (readonly [why: string, start: NormalisedEvent[], steps: EventEdit[]])[] = [
  ['the first event', [], [upsert(eventOf(0))]],
  ['the last event', [eventOf(0)], [remove(idOf(0))]],
  ['all events, and back', first(60), [remove(...eventIds(60)), upsert(...first(60))]],
  ['a new first and a new last event', first(20).slice(1, -1), [upsert(eventOf(0), eventOf(19))]],
  ['the first and the last event go', first(20), [remove(idOf(0), idOf(19))]],
  [
    'an event moves',
    first(40),
    [upsert({ ...eventOf(35), time: eventOf(2).time, endTime: eventOf(2).endTime })],
  ],
  ['an unknown id is removed', first(5), [remove('unknown')]],
  [
    'codes get wider and narrower',
    first(300, {}).map((event, n) => ({ ...event, title: `T${n % 254}`, courseId: `C${n % 255}` })),
    [
      upsert(
        eventOf(400, { title: 'T1000', courseId: 'C1000' }),
        eventOf(401, { title: 'T1001', courseId: 'C1001' }),
      ),
      remove(idOf(400), idOf(401)),
    ],
  ],
  [
    'the only display name comes and goes',
    first(10),
    [upsert(eventOf(3, { roomName: 'Aula' })), upsert(eventOf(3, { roomName: null })), remove(idOf(3))],
  ],
  [
    'two clusters become one, and two again',
    [0, 1, 8, 9].map((n) => eventOf(n, { roomId: 'R' })),
    [
      upsert({ ...eventOf(50, { roomId: 'R' }), time: eventOf(0).time, endTime: eventOf(20).endTime }),
      remove(idOf(50)),
    ],
  ],
  ['another year', first(30), [upsert({ ...eventOf(4), time: 0, endTime: 1 }), upsert(eventOf(4))]],
];

for (const [why, start, steps] of CASES) {
  fastTest(`a patch equals a whole build: ${why}`, async (t) => {
    const image = assertChain(timetableOf(start), steps);
    t.ok(image.summary.events >= 0);
  });
}

fastTest('a change without effect returns the very same arrays', async (t) => {
  const base = imageOf(first(50, { lecturerId: 'L', roomName: 'Aula' }));
  const same = first(3, { lecturerId: 'L', roomName: 'Aula' });
  const next = edited(base, { came: same, went: ['unknown'] });
  t.equal(next.summary.id, base.summary.id);
  const before = new Map(arraysOf(base));
  for (const [path, array] of arraysOf(next)) if (array !== before.get(path)) t.fail(path);
  for (const more of [{ lecturerId: null }, { lecturerId: 'M' }, { roomName: null }, { roomName: 'Hall' }]) {
    const changed = edited(base, upsert({ ...same[0], ...more } as NormalisedEvent));
    t.notOk(isSameImage(changed, base), JSON.stringify(more));
  }
});

fastTest('unchanged arrays are shared with the earlier image, which stays intact', async (t) => {
  const events = first(200);
  const base = edited(imageOf(events), upsert(eventOf(500)));
  const copy = new Map(arraysOf(base).map(([path, array]) => [path, array.slice()]));
  // Hashes of ids depend on a random seed.
  for (let n = 0; n < 20; n++) {
    const next = edited(base, upsert(eventOf(n, { title: 'Another title' })));
    for (const part of ['slots', 'fields', 'ids'] as const) {
      const before = new Map(arraysOf(base[part]));
      for (const [path, array] of arraysOf(next[part]))
        if (array !== before.get(path)) t.fail(`${part}${path} after a change of event ${n}`);
    }
  }
  for (const [path, array] of arraysOf(base))
    t.ok(
      array.every((value, n) => value === copy.get(path)?.[n]),
      path,
    );
});

fastTest('no array keeps memory beyond its own', async (t) => {
  let image: SnapshotImage = imageOfCount(3000);
  for (let n = 0; n < 20; n++) {
    image = edited(image, n % 2 === 0 ? upsert(eventOf(n, { title: 'x' })) : remove(idOf(n)));
    for (const [path, { buffer, byteLength }] of arraysOf(image)) {
      if (buffer.byteLength !== byteLength) t.fail(`${path} is ${byteLength} of ${buffer.byteLength} bytes`);
    }
  }
  t.equal(image.summary.bytes, byteLengthOf({ ...image, summary: null, hashSeed: null }));
});

fastTest('a summary keeps the counts of rejected records', async (t) => {
  const base = imageOfCount(5, {}, 3);
  const kept = edited(base, remove(idOf(0))).summary;
  t.equal(kept.rejected, 3);
  t.strictSame(kept.rejections, base.summary.rejections);
  t.ok(kept.builtAtMs >= base.summary.builtAtMs);
});

fastTest('a change of most events equals a whole build, to the byte', async (t) => {
  const start = first(3000, { lecturerId: 'L', roomName: 'Aula' });
  const came = start.slice(1000, 2500).map((event) => ({ ...event, title: 'Other', roomName: null }));
  const image = edited(imageOf(start, 2), { came, went: eventIds(700) });
  t.equal(image.summary.rejected, 2);
  const counts = { rejected: 0, rejectedByCode: {}, rejections: [] };
  const summary = { ...image.summary, ...counts };
  assertSameAsBuilt(
    { ...image, summary },
    applied(timetableOf(start), { came, went: eventIds(700) }).values(),
  );
});

fastTest('naming an id twice in the changes is an error', async (t) => {
  const base = imageOfCount(5);
  t.throws(() => edited(base, { came: [eventOf(1)], went: [idOf(1)] }), { message: /twice/ });
  t.throws(() => edited(base, upsert(eventOf(9), eventOf(9))), { message: /twice/ });
});

/** Realistic changes: moved, renamed, cancelled and added events. */
function changesOf(events: Timetable, random: (below: number) => number, n: number): EventEdit {
  const ids = [...events.keys()];
  const any = (): NormalisedEvent => events.get(ids[random(ids.length)] ?? '') as NormalisedEvent;
  const came = new Map<string, NormalisedEvent>();
  const went = new Set<string>();
  for (let k = 0; k <= random(10); k++) {
    const [event, other] = [any(), any()];
    const { id } = event;
    const kind = random(5);
    if (kind === 0) went.add(id);
    else if (kind === 1) came.set(id, { ...event, time: other.time, endTime: other.endTime });
    else if (kind === 2)
      came.set(id, { ...event, title: `${event.title} (moved ${n})`, roomId: other.roomId });
    else if (kind === 3) came.set(id, { ...other, id });
    else came.set(idOf(900_000_000 + 100 * n + k), { ...other, id: idOf(900_000_000 + 100 * n + k) });
  }
  return { came: [...came.values()].filter(({ id }) => !went.has(id)), went: [...went] };
}

function assertManyPatches(start: Timetable, patches: number, seed: number): void {
  let state = seed;
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  let events = start;
  let image = imageOf(events.values());
  for (let n = 0; n < patches; n++) {
    const changes = changesOf(events, random, n);
    events = applied(events, changes);
    image = editImage(image, changes).image;
  }
  assertSameAsBuilt(image, events.values());
}

test(`${LARGE_PATCHES} patches of ${LARGE_EVENTS} events equal a whole build`, async (t) => {
  assertManyPatches(timetableOf(first(LARGE_EVENTS)), LARGE_PATCHES, 1);
  t.pass();
});

const DATA_SETS = findDataSets();
if (DATA_SETS.length === 0) test(NO_DATA, async (t) => t.comment(NO_DATA));
for (const dataSet of DATA_SETS) {
  test(`patches of real data equal a whole build: ${dataSet.name}`, async () => {
    const normalise = createNormaliser('uuid');
    const events = namedRecordsOf(dataSet).map((record, n) => normalise(record, { record: n + 1 }));
    const good = events.filter((event): event is NormalisedEvent => !isRejection(event));
    assert.ok(good.length > 0);
    assertManyPatches(timetableOf(good), size(10, 200), 2);
  });
}
