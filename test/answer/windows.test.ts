/** Windows on alternating long and short slots: every way of narrowing gives the bytes of a scan. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import type { FieldFilter } from '../../src/answer/query.js';
import type { ParameterPairs, View } from '../../src/answer/view.js';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { runs, SLOW } from '../hard/size.js';
import { fastTest } from '../hard/slow-test.js';
import { compareText, eventsInOrder, recordOf } from '../oracle/events.js';
import { personalOracle } from '../oracle/personal.js';
import { type OracleQuery, scheduleOracle } from '../oracle/schedule.js';
import { alternatingEvents, BEGIN_MS, groupOf, MINUTE_MS, someGroups } from './alternating-slots.js';
import { assertSameList, bytesOf, followPages, readOf, STRICT, viewOfEvents } from './reading.js';

const pairOf = (name: string, ms: number): [string, string] => [name, new Date(ms).toISOString()];

/** Asserts that an answer is, byte for byte, the JSON of these events. */
function assertBytes(
  view: View,
  pairs: ParameterPairs,
  expected: readonly NormalisedEvent[],
  identities?: FieldFilter[],
): void {
  const result =
    identities === undefined ? view.schedule(pairs, STRICT) : view.personal(pairs, STRICT, identities);
  const answer = readOf(result).execute('json');
  assert.equal(answer.total, expected.length);
  const bytes = bytesOf(answer);
  if (!bytes.equals(Buffer.from(JSON.stringify(expected.map(recordOf))))) {
    assertSameList(JSON.parse(bytes.toString()), expected.map(recordOf));
    assert.fail('the same events in other bytes');
  }
}

/** The leading index, in a few words. */
function wayOf(view: View, pairs: ParameterPairs): string {
  const explained = view.explain(pairs, STRICT);
  assert.ok('plan' in explained);
  const lead = explained.plan.split('\n').find((line) => line.startsWith('LEAD ')) ?? '';
  if (lead.startsWith('LEAD window')) return 'window';
  if (lead.startsWith('LEAD nothing')) return 'nothing';
  if (!lead.includes('narrowed by the window')) return 'no window';
  return lead.includes('whose runs lead') ? 'runs' : 'postings';
}

const layouts = fc.record({
  events: fc.integer({ min: 1, max: 900 }),
  groups: fc.constantFrom(1, 2, 3, 10, 50, 200),
  longEvery: fc.constantFrom(1, 2, 2, 2, 3, 10, 100, 300),
  longMinutes: fc.constantFrom(0, 2, 3, 50, 400, 2000),
});

const questions = fc.record({
  start: fc.option(
    fc.record({ minute: fc.integer({ min: -5, max: 950 }), ms: fc.constantFrom(-1, 0, 0, 1) }),
    {
      freq: 9,
    },
  ),
  minutes: fc.option(fc.constantFrom(1 / MINUTE_MS, 1, 2, 60, 500, 5000), { freq: 3 }),
  asked: fc.constantFrom(1, 1, 2, 5, 9, 30, 100),
  more: fc.constantFrom('', '', 'type', 'roomId'),
  limit: fc.integer({ min: 1, max: 400 }),
});

test('windows of all sizes agree with a linear scan when long and short slots alternate', (t) => {
  const ways = new Map<string, number>();
  fc.assert(
    fc.property(layouts, fc.array(questions, { minLength: 10, maxLength: 14 }), (layout, asked) => {
      const events = alternatingEvents(layout);
      const view = viewOfEvents(events, 'any');
      const ordered = eventsInOrder(events);
      for (const [n, question] of asked.entries()) {
        const startMs =
          question.start === null ? null : BEGIN_MS + question.start.minute * MINUTE_MS + question.start.ms;
        const endMs =
          question.minutes === null ? null : Math.round((startMs ?? BEGIN_MS) + question.minutes * MINUTE_MS);
        const values = someGroups(question.asked, Math.max(layout.groups, question.asked));
        const filters: OracleQuery['filters'][number][] = [{ field: 'studyGroup', values }];
        if (question.more === 'type') filters.push({ field: 'type', values: ['LEC'] });
        if (question.more === 'roomId') filters.push({ field: 'roomId', values: ['room 1', 'room 4'] });
        const pairs = filters.flatMap(({ field, values: all }) =>
          all.map((value): [string, string] => [field, value]),
        );
        if (startMs !== null) pairs.push(pairOf('startTime', startMs));
        if (endMs !== null) pairs.push(pairOf('endTime', endMs));
        const expected = scheduleOracle(ordered, { filters, startMs, endMs });
        assertBytes(view, pairs, expected);
        const way = wayOf(view, pairs);
        ways.set(way, (ways.get(way) ?? 0) + 1);
        if (n % 4 !== 0) continue;
        const schedule = (page: ParameterPairs) => view.schedule(page, STRICT);
        const limit = Math.max(question.limit, Math.ceil(expected.length / 5));
        assertSameList(followPages(schedule, pairs, limit, expected.length), expected.map(recordOf));
      }
    }),
    { seed: 20241101, numRuns: runs(120) },
  );
  t.comment(JSON.stringify([...ways]));
  for (const way of ['window', 'postings', 'runs', 'nothing', 'no window']) {
    t.ok((ways.get(way) ?? 0) >= (SLOW ? 15 : 3), `${way}: ${ways.get(way)} times`);
  }
  t.end();
});

test('the events of many identities are found when long and short slots alternate', (t) => {
  const identitySets = fc.record({
    groups: fc.constantFrom(1, 40, 300, 850),
    courses: fc.constantFrom(0, 2, 11),
    tutorials: fc.constantFrom(0, 1, 13),
  });
  fc.assert(
    fc.property(
      layouts,
      identitySets,
      fc.array(questions, { minLength: 4, maxLength: 6 }),
      (layout, sizes, asked) => {
        const events = alternatingEvents({ ...layout, groups: layout.groups * 5 });
        const view = viewOfEvents(events, 'any');
        const ordered = eventsInOrder(events);
        const identities: FieldFilter[] = [{ field: 'studyGroup', values: someGroups(sizes.groups, 1000) }];
        const listed = (count: number, name: string) =>
          Array.from({ length: count }, (_, i) => `${name} ${i}`);
        if (sizes.courses > 0)
          identities.push({ field: 'courseId', values: listed(sizes.courses, 'course') });
        if (sizes.tutorials > 0)
          identities.push({ field: 'groupId', values: listed(sizes.tutorials, 'tutorial') });
        const sorted = identities.map(({ field, values }) => ({
          field,
          values: [...new Set(values)].sort(compareText),
        }));
        for (const question of asked) {
          const startMs = question.start === null ? null : BEGIN_MS + question.start.minute * MINUTE_MS;
          const endMs =
            question.minutes === null
              ? null
              : Math.round((startMs ?? BEGIN_MS) + question.minutes * MINUTE_MS);
          const pairs: [string, string][] = [];
          if (startMs !== null) pairs.push(pairOf('startTime', startMs));
          if (endMs !== null) pairs.push(pairOf('endTime', endMs));
          const expected = personalOracle(ordered, { filters: [], startMs, endMs }, sorted);
          assertBytes(view, pairs, expected, sorted);
          const limit = Math.max(question.limit, Math.ceil(expected.length / 4));
          const personal = (page: ParameterPairs) => view.personal(page, STRICT, sorted);
          assertSameList(followPages(personal, pairs, limit, expected.length), expected.map(recordOf));
        }
      },
    ),
    { seed: 20241102, numRuns: runs(80) },
  );
  t.end();
});

fastTest('answers are right at the sizes where the leading index changes', (t) => {
  // One group, with a varying number of events before the window: about as many as are looked up one by one,
  // and many more.
  for (const before of [1, 31, 32, 33, 34, 64, 500]) {
    const events = alternatingEvents({ events: before + 20, groups: 1, longMinutes: 2 * before + 50 });
    const view = viewOfEvents(events, 'any');
    const ordered = eventsInOrder(events);
    const at = BEGIN_MS + before * MINUTE_MS;
    const longEndsMs = BEGIN_MS + (2 * before + 50) * MINUTE_MS;
    const windows: [why: string, startMs: number, endMs: number | null][] = [
      ['from the start of an event', at, null],
      ['a millisecond before it', at - 1, null],
      ['a millisecond after it', at + 1, null],
      ['for a millisecond', at, at + 1],
      ['for a minute', at, at + MINUTE_MS],
      ['after the last start', BEGIN_MS + (before + 20) * MINUTE_MS, null],
      ['when the first long event ends', longEndsMs, null],
      ['a millisecond before it ends', longEndsMs - 1, null],
      ['after everything', longEndsMs + events.length * MINUTE_MS, null],
    ];
    for (const [why, startMs, endMs] of windows) {
      const pairs: [string, string][] = [['studyGroup', groupOf(0)], pairOf('startTime', startMs)];
      if (endMs !== null) pairs.push(pairOf('endTime', endMs));
      const filters = [{ field: 'studyGroup', values: [groupOf(0)] }] as const;
      t.doesNotThrow(
        () => assertBytes(view, pairs, scheduleOracle(ordered, { filters, startMs, endMs })),
        `${before} events before the window: ${why}`,
      );
    }
  }
  t.end();
});

fastTest('explain names the index that led the query', (t) => {
  const events = alternatingEvents({ events: 4000, groups: 20 });
  const view = viewOfEvents(events, 'any');
  const planOf = (groups: number, startMinute: number, minutes: number | null, set = view): string => {
    const startMs = BEGIN_MS + startMinute * MINUTE_MS;
    const pairs: [string, string][] = someGroups(groups, 20).map((group) => ['studyGroup', group]);
    pairs.push(pairOf('startTime', startMs));
    if (minutes !== null) pairs.push(pairOf('endTime', startMs + minutes * MINUTE_MS));
    const explained = set.explain(pairs, STRICT);
    assert.ok('plan' in explained);
    return explained.plan.split('\n').slice(1).join('\n');
  };
  t.equal(
    planOf(1, 2000, null),
    'LEAD studyGroup of 1 value: 200 postings, narrowed by the window',
    '100 events of it before the window, 1,000 runs: the postings lead',
  );
  t.equal(
    planOf(20, 2000, null),
    'LEAD window: 3000 candidates\nCHECK studyGroup of 20 values per event (4000 postings not walked)',
    'every group: 2,000 events before the window against 1,000 runs, so the window leads for all of them',
  );
  const few = viewOfEvents(alternatingEvents({ events: 4000, groups: 20, longEvery: 500 }), 'any');
  t.equal(
    planOf(1, 2000, null, few),
    'LEAD studyGroup of 1 value: 500 postings, narrowed by the window, whose runs lead in 1 of 1 list',
    '500 events before the window and 5 runs',
  );
  t.end();
});
