/**
 * /schedule/changes on generated histories, against a comparison of the full sets. Inside, because thousands
 * of histories are made without a load for each publication.
 */
import assert from 'node:assert/strict';
import { decode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { test } from 'tap';
import { SnapshotView, type View } from '../../src/answer/view.js';
import { BODY_WHOLE_BYTES_MAX, EARLIER_ROWS_MAX, SNAPSHOT_DELTA_ENTRIES_MAX } from '../../src/base/limits.js';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { type Change, decodeChanges, encodeChanges } from '../../src/change/change.js';
import { compare } from '../../src/change/compare.js';
import { extendHistory, type History, NO_DIFFERENCES, numbered } from '../../src/change/history.js';
import type { Snapshot } from '../../src/snapshot/snapshot.js';
import { runs, SLOW } from '../hard/size.js';
import { fastTest } from '../hard/slow-test.js';
import { changesOracle } from '../oracle/changes.js';
import { recordOf } from '../oracle/events.js';
import { eventOf, idOf } from '../snapshot/images.js';
import { bytesOf, readOf, STRICT, snapshotOfEvents } from './reading.js';

type Events = readonly NormalisedEvent[];

/** Ids that are hard to encode or sort, and the longest possible ones. */
const IDS = [
  'a',
  'b"quoted"',
  'back\\slash',
  'tab\t',
  '\u{1F600}',
  '\uFF5E',
  'é'.repeat(15),
  'é'.repeat(16),
  'x'.repeat(64),
  '\u{1F600}'.repeat(32),
];

/** Few events with few variants, so that events and whole sets reappear. */
const contents: fc.Arbitrary<Events> = fc
  .uniqueArray(fc.tuple(fc.nat(IDS.length - 1), fc.nat(2), fc.nat(2)), {
    selector: ([n]) => n,
    maxLength: IDS.length,
  })
  .map((all) =>
    all.map(([n, hours, form]) => {
      const { time } = eventOf(0);
      const span = { time: time + hours * 3_600_000, endTime: time + (hours + 1) * 3_600_000 };
      return eventOf(n, { ...span, id: IDS[n] ?? '', title: `form "${form}" \u{1F600}` });
    }),
  );

/** The views of consecutive publications, each with all sets published until then. */
function* publish(sets: readonly Events[]): Generator<{ view: View; present: Snapshot; past: Snapshot[] }> {
  const past: Snapshot[] = [];
  let history: History | null = null;
  for (const events of sets) {
    const present = snapshotOfEvents(events, 'any');
    const last = past.at(-1);
    if (last !== undefined) {
      const change = compare(last, present, SNAPSHOT_DELTA_ENTRIES_MAX);
      history = extendHistory(history?.changes ?? [], [change], present);
    }
    past.push(present);
    const sequence = past.length * 1000;
    const differences = history?.differences ?? NO_DIFFERENCES;
    yield { view: new SnapshotView(present, differences, undefined, null, sequence), present, past };
    if (history !== null) history = numbered(history, sequence);
  }
}

/** Checks the whole answer in both formats; returns the length of each. */
function assertChanges(view: View, from: Snapshot, to: Snapshot, before: Events, after: Events): number[] {
  const expected = {
    from: from.summary.id,
    to: to.summary.id,
    ...changesOracle(before, after),
  };
  const count = expected.added.length + expected.changed.length + expected.removed.length;
  const read = readOf(view.changes([['since', from.summary.id]], STRICT));
  const [json, packed] = [read.execute('json'), read.execute('msgpack')];
  const bytes = bytesOf(json);
  const isSame = bytes.toString('utf8') === JSON.stringify(expected);
  if (!isSame) assert.deepEqual(JSON.parse(bytes.toString('utf8')), expected);
  assert.ok(isSame, 'the JSON is the same to the byte');
  assert.deepEqual(decode(bytesOf(packed)), expected);
  for (const answer of [json, packed]) {
    assert.deepEqual([answer.total, answer.count, answer.nextCursor], [count, count, null]);
  }
  return [json, packed].map((answer) => bytesOf(answer).length) as [number, number];
}

test('changes since each past snapshot equal the difference of the full sets, to the byte', async (t) => {
  let compared = 0;
  const check = (): void =>
    fc.assert(
      fc.property(fc.array(contents, { minLength: 1, maxLength: 8 }), (sets) => {
        for (const { view, present, past } of publish(sets)) {
          for (const [n, from] of past.entries()) {
            assertChanges(view, from, present, sets[n] ?? [], sets[past.length - 1] ?? []);
            compared++;
          }
        }
      }),
      { seed: 20250301, numRuns: runs(80) },
    );
  t.doesNotThrow(check);
  t.ok(compared > runs(800), `${compared} differences compared`);
});

test('earlier rows are those of the past snapshot, and since also takes a time at which it was served', (t) => {
  let compared = 0;
  fc.assert(
    fc.property(fc.array(contents, { minLength: 1, maxLength: 6 }), (sets) => {
      for (const { view, present, past } of publish(sets)) {
        for (const [n, from] of past.entries()) {
          const [before, after] = [sets[n] ?? [], sets[past.length - 1] ?? []];
          const { changed, removed } = changesOracle(before, after);
          const ids = [...changed.map(({ id }) => id), ...removed];
          const earlier = ids
            .map((id) => before.find((event) => event.id === id))
            .map((event) => event && recordOf(event));
          const answerOf = (since: string, format: 'json' | 'msgpack'): Buffer => {
            const pairs = [
              ['since', since],
              ['earlier', 'true'],
            ] as const;
            return bytesOf(readOf(view.changes(pairs, STRICT)).execute(format));
          };
          const json = answerOf(from.summary.id, 'json');
          const { earlier: found, ...rest } = JSON.parse(json.toString('utf8')) as { earlier: unknown };
          assert.deepEqual(found, earlier);
          assert.deepEqual(decode(answerOf(from.summary.id, 'msgpack')), { ...rest, earlier });
          // Each snapshot was served from its sequence on.
          for (const at of n === 0 ? [0, 1999] : [(n + 1) * 1000, (n + 1) * 1000 + 999])
            assert.deepEqual(answerOf(new Date(at).toISOString(), 'json'), json);
          compared += ids.length;
        }
        assert.equal(
          readOf(view.changes([['since', '2100-01-01T00:00:00Z']], STRICT)).execute('json').count,
          0,
        );
        assert.equal(present.summary.id, past.at(-1)?.summary.id);
      }
    }),
    { seed: 20250302, numRuns: runs(60) },
  );
  t.ok(compared > runs(300), `${compared} earlier rows compared`);
  t.end();
});

fastTest('earlier rows of a large change are not kept, and a history in bytes keeps the others', (t) => {
  const large = Array.from({ length: EARLIER_ROWS_MAX + 1 }, (_, n) => eventOf(n));
  const [moved, all] = [
    [{ ...large[0], title: 'moved' } as NormalisedEvent, ...large.slice(1)],
    large.map((event) => ({ ...event, title: 'changed' })),
  ];
  const [one, two, three] = [large, moved, all].map((events) => snapshotOfEvents(events, 'uuid')) as [
    Snapshot,
    Snapshot,
    Snapshot,
  ];
  const first = compare(one, two, SNAPSHOT_DELTA_ENTRIES_MAX);
  const [again] = decodeChanges(encodeChanges([first]));
  if (again === undefined) throw new Error('there is one');
  const earlierIn = (present: Snapshot, ...changes: Change[]): unknown => {
    const view = new SnapshotView(present, extendHistory([], changes, present).differences);
    const pairs = [
      ['since', one.summary.id],
      ['earlier', 'true'],
    ] as const;
    const bytes = bytesOf(readOf(view.changes(pairs, STRICT)).execute('json'));
    return (JSON.parse(bytes.toString('utf8')) as { earlier: unknown }).earlier;
  };
  t.same(earlierIn(two, again), [recordOf(large[0] as NormalisedEvent)]);
  const second = compare(two, three, SNAPSHOT_DELTA_ENTRIES_MAX);
  t.same(earlierIn(three, again, second), [recordOf(large[0] as NormalisedEvent)], 'of the small change');
  t.end();
});

test('changes in slices equal whole answers, around the bound between them', async (t) => {
  const large = Array.from({ length: 2600 }, (_, n) => eventOf(n));
  const changed = (every: number, count = large.length): Events =>
    large.map((event, n) =>
      n < count && n % every === 0 ? { ...event, title: `"changed" ${n} \u{1F600}` } : event,
    );
  const lengths: number[][] = [];
  const cases: Record<string, readonly Events[]> = {
    'every event': [large, changed(1)],
    'every second': [large, changed(2)],
    'every third, then every second': [large, changed(3), changed(2)],
    'removed and added': [large, large.filter((_, n) => n % 3 !== 0), large.filter((_, n) => n % 2 === 0)],
    'removed in large numbers': [
      [...large, ...Array.from({ length: 9000 }, (_, n) => eventOf(5000 + n))],
      large,
    ],
    nothing: [large, changed(1), large],
  };
  const counts = SLOW ? [912, 913, 914, 915, 1083, 1084, 1085, 1086] : [914, 915, 1084, 1085];
  for (const count of counts) {
    cases[`${count} events`] = [large, changed(1, count)];
  }
  for (const [name, sets] of Object.entries(cases)) {
    for (const { view, present, past } of publish(sets)) {
      for (const [n, from] of past.entries()) {
        t.doesNotThrow(
          () => lengths.push(assertChanges(view, from, present, sets[n] ?? [], sets[past.length - 1] ?? [])),
          name,
        );
      }
    }
  }
  for (const [n, format] of ['JSON', 'MessagePack'].entries()) {
    const all = lengths.map((each) => each[n] ?? 0);
    t.ok(Math.max(...all) > 2 * BODY_WHOLE_BYTES_MAX, `slices of ${format}`);
    const near = all.filter((length) => Math.abs(length - BODY_WHOLE_BYTES_MAX) < 500);
    t.ok(Math.min(...near) <= BODY_WHOLE_BYTES_MAX && Math.max(...near) > BODY_WHOLE_BYTES_MAX, `${near}`);
  }
});

fastTest('both spellings of since are accepted, and unknown snapshots are refused', async (t) => {
  const sets = [[eventOf(1)], [eventOf(1), eventOf(2)]];
  const [first, second] = [...publish(sets)].map(({ view }) => view);
  if (first === undefined || second === undefined) throw new Error('there are two');
  const { id } = first.summary;
  const tags = [id, `W/"${id}-abc"`, `"${id}-"`].map((since) =>
    readOf(second.changes([['since', since]], STRICT)).entityTag('json'),
  );
  t.equal(new Set(tags).size, 1, 'they mean the same');
  t.ok('gone' in second.changes([['since', 'x'.repeat(22)]], STRICT));
  const never = [
    'x',
    'x'.repeat(21),
    'x'.repeat(23),
    `${id} `,
    `"${id}"`,
    `W/${id}`,
    `W/"${id}-a`,
    `x"${id}-"`,
  ];
  for (const since of [...never, idOf(1)]) {
    const expected = { faults: [{ parameter: 'since', code: 'malformed-snapshot' }] };
    t.match(second.changes([['since', since]], STRICT), expected, since);
  }
  t.ok('gone' in first.changes([['since', second.summary.id]], STRICT), 'a later one is not known');
  t.ok('faults' in second.changes([], STRICT));
});
