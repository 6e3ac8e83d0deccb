/**
 * Cached results kept over a patch, against a new view. Inside, because no answer shows what a view took
 * over.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { generateEvents } from '../../bench/generate.mjs';
import { type ParameterPairs, SnapshotView } from '../../src/answer/view.js';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { FEED_PAGE, FORMATS } from '../../src/base/model/format.js';
import { editImage } from '../../src/change/apply.js';
import { SnapshotBuilder } from '../../src/snapshot/builder.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';
import { runs } from '../hard/size.js';
import { createNormaliser } from '../normalise/objects.js';
import { bytesOf, readOf, STRICT } from './reading.js';

const normalise = createNormaliser('uuid');
const events = [...generateEvents({ events: 600, seed: 9 })].map((record, n) => {
  const event = normalise(record, { record: n + 1 });
  assert.ok(!('code' in event));
  return event;
});

function imageOfEvents() {
  const builder = new SnapshotBuilder({ identifiers: 'uuid' });
  for (const [n, event] of events.entries()) builder.add(event, { record: n + 1 });
  return builder.finish();
}

/** Every list of three fields, and windows with many running events. */
const REQUESTS: ParameterPairs[] = [
  ...(['roomId', 'studyGroup', 'type'] as const).flatMap((field) =>
    [...new Set(events.flatMap((event) => event[field] ?? []))].map(
      (value): ParameterPairs => [[field, value]],
    ),
  ),
  ...[0, 1, 2].map((n): ParameterPairs => {
    const time = (events[n * 150]?.time ?? 0) + 60_000;
    const [startTime, endTime] = [time, time + 60_000].map((ms) => new Date(ms).toISOString());
    return [
      ['startTime', `${startTime}`],
      ['endTime', `${endTime}`],
    ];
  }),
];
const NAMES = [...FORMATS, FEED_PAGE].map(({ name }) => name);

function answers(view: SnapshotView): Buffer[] {
  return REQUESTS.flatMap((pairs) =>
    NAMES.map((name) => bytesOf(readOf(view.schedule(pairs, STRICT)).execute(name))),
  );
}

const aChange = fc.record({
  event: fc.constantFrom(...events),
  like: fc.constantFrom(...events),
  kind: fc.constantFrom('title', 'place', 'time', 'removal', 'new room', 'new event'),
});

/** The new event; null if it was removed. */
function changed({ event, like, kind }: { event: NormalisedEvent; like: NormalisedEvent; kind: string }) {
  if (kind === 'removal') return null;
  if (kind === 'title') return { ...event, title: `${event.title} changed` };
  if (kind === 'place') return { ...event, roomId: like.roomId, studyGroup: like.studyGroup };
  if (kind === 'time') return { ...event, time: like.time, endTime: like.endTime };
  if (kind === 'new room') return { ...event, roomId: `0${event.id.slice(1)}` };
  return { ...event, id: `0${like.id.slice(1)}` };
}

test('answers after patches equal those of a new view, and most lists are reused', (t) => {
  const first = imageOfEvents();
  const shares: number[] = [];
  fc.assert(
    fc.property(
      fc.array(fc.array(aChange, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 }),
      (steps) => {
        let image = first;
        let view = new SnapshotView(new Snapshot(image));
        answers(view);
        for (const step of steps) {
          const after = new Map(
            step.map((change) => {
              const event = changed(change);
              return [event?.id ?? change.event.id, event] as const;
            }),
          );
          const came = [...after.values()].filter((event) => event !== null);
          const went = [...after].flatMap(([id, event]) => (event === null ? [id] : []));
          image = editImage(image, { came, went }).image;
          const next = new SnapshotView(new Snapshot(image, view.snapshot));
          const { listCount } = view.rowCache;
          next.takeOver(view, [...after.keys()]);
          shares.push(next.rowCache.listCount / listCount);
          assert.equal(view.rowCache.listCount, 0, 'the earlier cache holds nothing');
          assert.ok(next.rowCache.bytes > 0);
          view = next;
          assert.deepEqual(answers(view), answers(new SnapshotView(new Snapshot(image))));
        }
      },
    ),
    { seed: 54, numRuns: runs(15) },
  );
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  t.ok(mean > 0.5, `${mean.toFixed(2)} of the lists`);
  t.end();
});
