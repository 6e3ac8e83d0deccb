/**
 * The difference of a whole load from the served image. Inside, because answers do not show how an image was made.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { BUILD_PATCH_SHARE_MAX, PATCH_EVENTS_MIN } from '../../src/base/limits.js';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { namesOf } from '../../src/base/structures/row.js';
import { eventReader } from '../../src/change/apply.js';
import type { EventEdit } from '../../src/change/change.js';
import { buildByPatch, differingEvents } from '../../src/change/compare.js';
import { SnapshotBuilder } from '../../src/snapshot/builder.js';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import { size } from '../hard/size.js';
import { fastTest } from '../hard/slow-test.js';
import { eventOf, idOf, imageOf, imageOfCount } from '../snapshot/images.js';
import { applied, assertSameAsBuilt, chains, NOW_MS, timetables } from './edits.js';

const SEED = 63;
const RUNS = size(40, 10_000, 400);

function fed(base: SnapshotImage, events: Iterable<NormalisedEvent>): SnapshotBuilder {
  const builder = new SnapshotBuilder({ identifiers: 'uuid', hashSeed: base.hashSeed });
  let record = 0;
  for (const event of events) builder.add(event, { record: ++record });
  return builder;
}

/** The slow version: every event as an object, by id. */
function slowlyDiffering(base: SnapshotImage, events: readonly NormalisedEvent[]): EventEdit {
  const eventAt = eventReader(base);
  const before = new Map<string, string>();
  for (let ordinal = 0; ordinal < base.summary.events; ordinal++) {
    const event = eventAt(ordinal);
    before.set(event.id, textOf(event));
  }
  const ids = new Set(events.map(({ id }) => id));
  return {
    came: events.filter((event) => before.get(event.id) !== textOf(event)),
    went: [...before.keys()].filter((id) => !ids.has(id)),
  };
}

/** Fields without a value are left out, and the time of change, which follows from the others. */
function textOf({ modified: _, ...event }: NormalisedEvent): string {
  const fields = Object.entries(event).filter(([, value]) => value !== null && value !== undefined);
  return JSON.stringify(fields.sort(([a], [b]) => (a < b ? -1 : 1)));
}

test('generated changes are found, and the patched image equals a whole build, to the byte', async () => {
  let patched = 0;
  fc.assert(
    fc.property(timetables, chains, fc.infiniteStream(fc.nat()), (start, steps, order) => {
      let events = start;
      let base = imageOf(events.values());
      for (const step of steps) {
        events = applied(events, step);
        // The order of records does not count.
        const places = new Map([...events.keys()].map((id) => [id, order.next().value ?? 0]));
        const arrived = [...events.values()].sort(
          (a, b) => (places.get(a.id) ?? 0) - (places.get(b.id) ?? 0),
        );
        const builder = fed(base, arrived);
        const found = differingEvents(base, builder.arrived());
        const expected = slowlyDiffering(base, arrived);
        assert.deepEqual(found?.came.map(textOf), expected.came.map(textOf));
        assert.deepEqual(found?.went, expected.went);
        const result = buildByPatch(builder, base, {}, NOW_MS);
        assert.ok(result !== null);
        assertSameAsBuilt(result.image, arrived, base);
        base = result.image;
        patched++;
      }
    }),
    { numRuns: RUNS, seed: SEED },
  );
  assert.ok(patched >= RUNS);
});

fastTest('without a difference all arrays are those of the served image', async (t) => {
  const base = imageOfCount(50);
  const result = buildByPatch(
    fed(
      base,
      Array.from({ length: 50 }, (_, n) => eventOf(n)),
    ),
    base,
    {},
  );
  t.strictSame([result?.came, result?.went], [[], []]);
  for (const part of ['rows', 'slots', 'fields', 'ids', 'clusters'] as const) {
    t.equal(result?.image[part], base[part], part);
  }
});

fastTest('many differences are not patched, and the builder can still finish', async (t) => {
  const count = Math.ceil(2 * PATCH_EVENTS_MIN);
  const base = imageOfCount(count);
  const eventsMax = Math.max(PATCH_EVENTS_MIN, BUILD_PATCH_SHARE_MAX * count);
  const after = (changed: number, gone: number, added: number): NormalisedEvent[] =>
    Array.from({ length: count - gone + added }, (_, n) =>
      eventOf(n + gone, n + gone < gone + changed ? { title: 'Another title' } : {}),
    );
  const edits: readonly (readonly [number, number, number])[] = [
    [eventsMax / 2, 0, 0],
    [0, eventsMax, 0],
    [0, 0, eventsMax],
    [eventsMax / 4, eventsMax / 4, eventsMax / 4],
  ];
  for (const [changed, gone, added] of edits) {
    const events = after(changed, gone, added);
    const result = buildByPatch(fed(base, events), base, {}, NOW_MS);
    t.equal((result?.came.length ?? 0) + (result?.went.length ?? 0), changed + gone + added);
    if (result) assertSameAsBuilt(result.image, events, base);
    const more = after(changed, gone, added + 1);
    const builder = fed(base, more);
    t.equal(buildByPatch(builder, base, {}), null);
    assertSameAsBuilt(builder.finish(), more);
  }
});

fastTest('events that swap all values but their ids are found', async (t) => {
  const events = Array.from({ length: 30 }, (_, n) => eventOf(n));
  const base = imageOf(events);
  const swapped = events.map((event, n) => {
    if (n === 3) return { ...eventOf(4), id: idOf(3) };
    return n === 4 ? { ...eventOf(3), id: idOf(4) } : event;
  });
  const result = buildByPatch(fed(base, swapped), base, {}, NOW_MS);
  t.strictSame(result?.came.map(({ id }) => id).sort(), [idOf(3), idOf(4)]);
  t.strictSame(result?.went, []);
  if (result) assertSameAsBuilt(result.image, swapped, base);
});

fastTest('the summary has the rejections, names and times of the new load alone', async (t) => {
  const base = imageOfCount(5, {}, 3);
  const notes = {
    ambiguousTimes: { gaps: 2, overlaps: 1 },
    expanded: { from: '2024-01-01', to: '2024-02-01' } as never,
  };
  const events = Array.from({ length: 5 }, (_, n) => eventOf(n, n === 0 ? { title: 'Another title' } : {}));
  const fill = (seedOf: SnapshotImage): SnapshotBuilder => {
    const builder = fed(seedOf, [...events, eventOf(1, { title: 'A duplicate' })]);
    const { view, places, count } = namesOf(['colour']);
    builder.unserved.countNames(view, places, count);
    return builder;
  };
  const timeless = (image: SnapshotImage | undefined): object => {
    if (image === undefined) return {};
    const { builtAtMs, buildMs, modifiedMs: _, ...summary } = image.summary;
    t.ok(builtAtMs > 0 && buildMs >= 0);
    return summary;
  };
  const first = buildByPatch(fill(base), base, notes);
  t.strictSame(timeless(first?.image), timeless(fill(base).finish(notes)));
  t.equal(first?.image.summary.rejectedByCode['duplicate-id'], 1);
  const served = first?.image ?? base;
  const next = buildByPatch(fill(served), served, {});
  t.strictSame(timeless(next?.image), timeless(fill(served).finish()));
  t.notOk('expanded' in (next?.image.summary ?? {}));
});
