/**
 * Every endpoint on real timetables, against the oracles: real values, boundaries and conflicts. Inside,
 * because thousands of queries are asked without a server.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type Test, test } from 'tap';
import type { Answer } from '../../src/answer/answer.js';
import { type ParameterPairs, SnapshotView, type View } from '../../src/answer/view.js';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { SnapshotBuilder } from '../../src/snapshot/builder.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';
import { HARD, SLOW, size } from '../hard/size.js';
import { createNormaliser, isRejection } from '../normalise/objects.js';
import { allConflicts, conflictRecordOf, conflictsInScope, type OracleEntry } from '../oracle/conflicts.js';
import { eventsInOrder, recordOf } from '../oracle/events.js';
import { personalOracle } from '../oracle/personal.js';
import { scheduleOracle } from '../oracle/schedule.js';
import { typesOracle } from '../oracle/types.js';
import {
  conflictPairsOf,
  conflictRecipes,
  recipes,
  requestOf,
  selectedKinds,
  spellInstant,
  type Universe,
  universeOf,
} from './generated-requests.js';
import {
  assertFaults,
  assertSameList,
  assertWhole,
  bytesOf,
  followPages,
  listOf,
  readOf,
  STRICT,
} from './reading.js';
import { type DataSet, findDataSets, NO_DATA, recordsOf } from './real-sets.js';

/** Numbers of conflict entries that were counted by other programs. */
const KNOWN_CONFLICTS: Readonly<Record<string, { room: number; lecturer: number; group: number }>> = {
  'enseeiht-2019': { room: 0, lecturer: 0, group: 0 },
  'rpi-fall-2024': { room: 5744, lecturer: 6582, group: 0 },
};
/** Of longer answers only the first page is compared, except every tenth. */
const WHOLE_ANSWER_EVENTS_MAX = 2000;

interface Loaded {
  readonly view: View;
  readonly ordered: readonly NormalisedEvent[];
  /** The expected JSON of each event, made once. */
  readonly rows: ReadonlyMap<NormalisedEvent, string>;
  readonly universe: Universe;
  /** Requests per generated part: all of them on a small set, fewer on a large one. */
  readonly asked: number;
  /** Instants to place windows around. */
  readonly boundaries: number;
}

/** Field by field, because objects of one shape are scanned many times faster than copies by spreading. */
function plainEventOf(record: Record<string, unknown>): NormalisedEvent {
  const given = record as Record<keyof NormalisedEvent, string>;
  return {
    id: given.id,
    time: Date.parse(given.time),
    endTime: Date.parse(given.endTime),
    title: given.title,
    roomId: given.roomId,
    courseId: given.courseId,
    studyGroup: given.studyGroup,
    lecturer: given.lecturer,
    type: given.type,
    groupId: given.groupId,
    lecturerId: given.lecturerId,
  };
}

/** The view uses the normaliser; the oracle's events come directly from the file. */
function load(dataSet: DataSet): Loaded {
  const records = recordsOf(dataSet);
  const normalise = createNormaliser('uuid');
  const builder = new SnapshotBuilder({ identifiers: 'uuid' });
  records.forEach((record, i) => {
    const position = { record: i + 1 };
    const result = normalise(record, position);
    if (isRejection(result)) builder.reject(result);
    else builder.add(result, position);
  });
  const ordered = eventsInOrder(records.map(plainEventOf));
  const isThorough = HARD || (SLOW && ordered.length < 5000);
  return {
    view: new SnapshotView(new Snapshot(builder.finish())),
    ordered,
    rows: new Map(ordered.map((event) => [event, JSON.stringify(recordOf(event))])),
    universe: universeOf(ordered, 'uuid'),
    asked: isThorough ? 2000 : size(300, 2000, 120),
    boundaries: isThorough ? 60 : 20,
  };
}

/** Compares bytes first, and parses only if they differ, because escapes may be spelled in several ways. */
function assertAnswer(answer: Answer, expectedText: string): void {
  if (bytesOf(answer).equals(Buffer.from(expectedText))) return;
  assertSameList(listOf(answer), JSON.parse(expectedText) as unknown[]);
}

function textOf(events: readonly NormalisedEvent[], loaded: Loaded): string {
  return `[${events.map((event) => loaded.rows.get(event)).join(',')}]`;
}

/** The whole answer, or the first page of a long one; the total in both cases. */
function assertEvents(
  endpoint: (pairs: ParameterPairs) => ReturnType<View['all']>,
  pairs: ParameterPairs,
  expected: readonly NormalisedEvent[],
  loaded: Loaded,
  isWhole: boolean,
): void {
  const limit = isWhole || expected.length <= WHOLE_ANSWER_EVENTS_MAX ? null : WHOLE_ANSWER_EVENTS_MAX;
  const answer = readOf(endpoint(limit === null ? pairs : [...pairs, ['limit', `${limit}`]])).execute('json');
  assert.equal(answer.total, expected.length, `total of ${JSON.stringify(pairs)}`);
  assert.equal(answer.nextCursor === null, limit === null);
  assertAnswer(answer, textOf(limit === null ? expected : expected.slice(0, limit), loaded));
}

function compareAll(t: Test, { view, ordered, rows }: Loaded): void {
  t.equal(view.summary.events, ordered.length);
  t.equal(view.summary.rejected, 0);
  const all = readOf(view.all([], STRICT));
  assertAnswer(all.execute('json'), `[${[...rows.values()].join(',')}]`);
  assertWhole(all, ordered.map(recordOf), 'msgpack');
  assertWhole(readOf(view.types([], STRICT)), typesOracle(ordered));
  const endpoint = (pairs: ParameterPairs) => view.all(pairs, STRICT);
  const limit = Math.ceil(ordered.length / 7);
  assert.ok(limit <= 10_000);
  t.equal(followPages(endpoint, [], limit, ordered.length).length, ordered.length);
}

function compareSchedule(t: Test, loaded: Loaded): void {
  const { view, ordered, universe } = loaded;
  const schedule = (pairs: ParameterPairs) => view.schedule(pairs, STRICT);
  const sample = fc.sample(recipes, { seed: 20240930, numRuns: loaded.asked });
  let selective = 0;
  sample.forEach((recipe, i) => {
    const request = requestOf(recipe, universe);
    if (request.faults.length > 0) {
      assertFaults(schedule(request.pairs), request.faults);
      return;
    }
    const expected = scheduleOracle(ordered, request.query);
    if (expected.length > 0 && expected.length < ordered.length) selective++;
    assertEvents(schedule, request.pairs, expected, loaded, i % 10 === 0);
    if (i % 20 === 0 && expected.length <= WHOLE_ANSWER_EVENTS_MAX) {
      const limit = 1 + Math.floor(expected.length / 4);
      assertSameList(
        followPages(schedule, request.pairs, limit, expected.length),
        expected.map((event) => recordOf(event)),
      );
    }
  });
  t.ok(selective > sample.length / 4, `${selective} of ${sample.length} requests selected some events`);
}

/** Windows of one and two milliseconds at, before and after starts and ends, and windows open on one side. */
function compareBoundaries(t: Test, loaded: Loaded): void {
  const { view, ordered, universe } = loaded;
  const schedule = (pairs: ParameterPairs) => view.schedule(pairs, STRICT);
  const boundaries = universe.boundariesMs;
  const step = Math.max(1, Math.floor(boundaries.length / loaded.boundaries));
  let compared = 0;
  for (let b = 0; b < boundaries.length; b += step) {
    const boundaryMs = boundaries[b] as number;
    for (const [fromMs, toMs] of [
      [-1, 0],
      [-1, 1],
      [0, 1],
      [1, 2],
    ] as const) {
      const query = { filters: [], startMs: boundaryMs + fromMs, endMs: boundaryMs + toMs };
      const pairs = [
        ['startTime', spellInstant(query.startMs, b)],
        ['endTime', spellInstant(query.endMs, b + 1)],
      ] as const;
      assertEvents(schedule, pairs, scheduleOracle(ordered, query), loaded, true);
      compared++;
    }
    for (const delta of [-1, 0, 1]) {
      const atMs = boundaryMs + delta;
      const since = scheduleOracle(ordered, { filters: [], startMs: atMs, endMs: null });
      assertEvents(schedule, [['startTime', spellInstant(atMs, 0)]], since, loaded, false);
      const until = scheduleOracle(ordered, { filters: [], startMs: null, endMs: atMs });
      assertEvents(schedule, [['endTime', spellInstant(atMs, 0)]], until, loaded, false);
      compared += 2;
    }
  }
  t.ok(compared >= 10 * loaded.boundaries, `${compared} windows around boundaries compared`);
}

function comparePersonal(t: Test, loaded: Loaded): void {
  const { view, ordered, universe } = loaded;
  const groups = universe.values.get('studyGroup') ?? [];
  const lecturers = universe.values.get('lecturerId') ?? [];
  let some = 0;
  fc.sample(recipes, { seed: 20241001, numRuns: 100 }).forEach((recipe, i) => {
    const request = requestOf({ ...recipe, filters: recipe.filters.slice(0, 1) }, universe);
    if (request.faults.length > 0) return;
    const values = [groups[(i * 31) % groups.length], groups[(i * 57) % groups.length]];
    const identities = [
      { field: 'studyGroup', values: [...new Set(values as string[])].sort() },
      { field: 'lecturerId', values: [lecturers[(i * 13) % lecturers.length] as string] },
    ] as const;
    const personal = (pairs: ParameterPairs) => view.personal(pairs, STRICT, identities);
    const expected = personalOracle(ordered, request.query, identities);
    if (expected.length > 0) some++;
    assertEvents(personal, request.pairs, expected, loaded, true);
  });
  t.ok(some > 15, `${some} users with events compared`);
}

function compareConflicts(t: Test, dataSet: DataSet, loaded: Loaded): void {
  const { view, ordered, universe } = loaded;
  const conflicts = { true: allConflicts(ordered, true), false: allConflicts(ordered, false) };
  const known = KNOWN_CONFLICTS[dataSet.name];
  if (known !== undefined) {
    for (const [by, count] of Object.entries(known)) {
      const answer = readOf(view.conflicts([['by', by]], STRICT)).execute('json');
      t.equal(answer.total, count, `${count} conflicts by ${by}`);
      t.equal(conflicts.true.filter((entry) => entry.by === by).length, count, 'and as many in the oracle');
    }
  }
  const texts = new Map<OracleEntry, string>();
  const textOfEntries = (entries: readonly OracleEntry[]): string => {
    const parts = entries.map((entry) => {
      const text = texts.get(entry) ?? JSON.stringify(conflictRecordOf(entry));
      texts.set(entry, text);
      return text;
    });
    return `[${parts.join(',')}]`;
  };
  for (const merge of ['true', 'false'] as const) {
    const answer = readOf(view.conflicts([['merge', merge]], STRICT)).execute('json');
    assertAnswer(answer, textOfEntries(conflicts[merge]));
    t.equal(answer.total, conflicts[merge].length, `all conflicts, merge=${merge}`);
  }
  const scopes = fc.sample(fc.tuple(recipes, conflictRecipes), {
    seed: 20241002,
    numRuns: loaded.asked / 10,
  });
  for (const [recipe, conflictRecipe] of scopes) {
    const request = requestOf(recipe, universe);
    if (request.faults.length > 0) continue;
    const all = conflicts[conflictRecipe.merge ?? 'true'];
    const expected = conflictsInScope(all, selectedKinds(conflictRecipe), request.query);
    const pairs: ParameterPairs = [
      ...request.pairs,
      ...conflictPairsOf(conflictRecipe),
      ['limit', String(WHOLE_ANSWER_EVENTS_MAX)],
    ];
    const answer = readOf(view.conflicts(pairs, STRICT)).execute('json');
    assert.equal(answer.total, expected.length, `total of ${JSON.stringify(pairs)}`);
    assertAnswer(answer, textOfEntries(expected.slice(0, WHOLE_ANSWER_EVENTS_MAX)));
  }
}

/** One small and one large set; the other sets, which are similar, in long runs. */
const USUAL = new Set(['enseeiht-2019', 'rpi-fall-2024']);
const dataSets = findDataSets().filter(({ name }) => HARD || USUAL.has(name));
if (dataSets.length === 0) {
  test('real timetables agree with the oracles', { skip: NO_DATA }, () => {});
}
for (const dataSet of dataSets) {
  test(`${dataSet.name} agrees with the oracles`, async (t) => {
    const loaded = load(dataSet);
    await t.test('all, types and their MessagePack agree', async (t) => compareAll(t, loaded));
    await t.test('generated requests agree', async (t) => compareSchedule(t, loaded));
    await t.test('windows around boundaries agree', async (t) => compareBoundaries(t, loaded));
    await t.test('personal timetables agree', async (t) => comparePersonal(t, loaded));
    await t.test('conflicts agree', async (t) => compareConflicts(t, dataSet, loaded));
  });
}
