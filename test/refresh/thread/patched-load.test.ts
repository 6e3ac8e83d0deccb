/** Loads that patch the served image, compared with loads that build everything. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'tap';
import { type Change, differingIds, earlierRowsIn } from '../../../src/change/change.js';
import { runTaskHere } from '../../../src/refresh/thread/task.js';
import type { LoadDone, LoadTask } from '../../../src/refresh/thread/task-messages.js';
import type { SnapshotImage } from '../../../src/snapshot/image.js';
import { isSameImage } from '../../../src/snapshot/image.js';
import { Snapshot } from '../../../src/snapshot/snapshot.js';
import type { SourceSpec } from '../../../src/source/spec.js';
import { findDataSets, NO_DATA, recordsOf } from '../../answer/real-sets.js';
import { size } from '../../hard/size.js';
import { fastTest } from '../../hard/slow-test.js';
import { imageOfCount } from '../../snapshot/images.js';

// Real timetables are loaded fifteen times each.
const SEED = 70;
const RUNS = size(5, 1000, 20);
const HOURS = { time: '2024-10-26T08:00:00Z', endTime: '2024-10-26T09:00:00Z' };
const DATA_SETS = findDataSets();

function folderFor(t: { teardown(callback: () => void): unknown }): string {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-patched-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function load(
  source: SourceSpec,
  served: SnapshotImage | null,
  mayPatch: boolean,
  bounds: Partial<LoadTask['bounds']> = {},
): Promise<LoadDone> {
  const rules = { identifiers: 'any', timeZone: 'Europe/Paris' } as const;
  const none = { memoryBytesMax: null };
  return runTaskHere(
    {
      task: 'load',
      source,
      rules,
      previousVersion: null,
      served,
      mayPatch,
      past: [],
      bounds: { ...none, ...bounds },
      parts: [],
      allowMissing: false,
    },
    {},
  ) as Promise<LoadDone>;
}

/** What answers show of a change. Only a change with an edit names events that differ in other values. */
function shownOf({ edit: _, earlier, ...counts }: Change): unknown {
  const empty = new Snapshot(imageOfCount(0));
  return [counts, [...earlierRowsIn(earlier, empty)]];
}

/** Loads with and without a patch, and asserts that both results are equal, to the byte. */
async function compare(source: SourceSpec, served: SnapshotImage): Promise<LoadDone> {
  const patched = await load(source, served, true);
  const whole = await load(source, served, false);
  if (patched.kind !== 'loaded' || whole.kind !== 'loaded') {
    assert.deepEqual(patched, whole);
    return patched;
  }
  const { image, isPatched, isWholeLoad, changes, history, ...rest } = patched;
  const { image: built, changes: compared, history: expected, ...others } = whole;
  assert.deepEqual(rest, others);
  assert.deepEqual(changes.map(shownOf), compared.map(shownOf));
  assert.deepEqual(history?.differences, expected?.differences);
  assert.equal(isWholeLoad, isPatched);
  const { builtAtMs: _a, buildMs: _b, modifiedMs: _am, ...summary } = image.summary;
  const { builtAtMs: _c, buildMs: _d, modifiedMs: _cm, ...builtSummary } = built.summary;
  assert.deepEqual(summary, builtSummary);
  // Each load has its own clock.
  assert.ok(isSameImage({ ...image, modified: built.modified }, built));
  assert.deepEqual(image.ids, built.ids);
  return patched;
}

/** Good, rejected and repeated records, with unserved names and local times at a clock change. */
const line: fc.Arbitrary<string> = fc
  .record({
    id: fc.constantFrom('a', 'b', 'c', 'd', 'e', '"f', 'é', 'g', 'h', ''),
    day: fc.constantFrom('2024-10-26', '2024-10-27', '2024-10-28'),
    hour: fc.constantFrom('02:30', '08:00', '25:00'),
    title: fc.constantFrom('Lesson', 'Übung', 'Lab "1"'),
    roomId: fc.constantFrom(null, 'R1', 'R2'),
    more: fc.constantFrom({}, { colour: 'red' }, { romId: 'x' }, { roomName: 'Aula' }, { lecturerId: 'L' }),
    isBroken: fc.constantFrom(false, false, false, false, false, true),
  })
  .map(({ id, day, hour, title, roomId, more, isBroken }) => {
    const text = JSON.stringify({
      id,
      time: `${day}T${hour}:00`,
      endTime: `${day}T23:00:00`,
      title,
      roomId,
      ...more,
    });
    return isBroken ? text.slice(1) : text;
  });

type LineEdit = (lines: readonly string[]) => readonly string[];

const edit: fc.Arbitrary<LineEdit> = fc.oneof(
  fc.tuple(fc.nat(), line).map(
    ([n, text]): LineEdit =>
      (lines) =>
        lines.toSpliced(at(n, lines), 1, text),
  ),
  fc.tuple(fc.nat(), line).map(
    ([n, text]): LineEdit =>
      (lines) =>
        lines.toSpliced(at(n, lines), 0, text),
  ),
  fc.nat().map(
    (n): LineEdit =>
      (lines) =>
        lines.toSpliced(at(n, lines), 1),
  ),
  fc.nat().map(
    (n): LineEdit =>
      (lines) => [...lines.slice(at(n, lines)), ...lines.slice(0, at(n, lines))],
  ),
  fc.constant<LineEdit>((lines) => lines.toReversed()),
  fc.constant<LineEdit>((lines) => lines),
);

function at(n: number, lines: readonly string[]): number {
  return n % Math.max(1, lines.length);
}

test('generated edits of a file: a patch equals a whole load', async (t) => {
  const path = join(folderFor(t), 'events.ndjson');
  const other = join(folderFor(t), 'other.ndjson');
  writeFileSync(other, JSON.stringify({ id: 'a', ...HOURS }));
  let patches = 0;
  // An empty source is an error, so one record stays.
  const first = JSON.stringify({ id: 'first', ...HOURS });
  const write = (lines: readonly string[]): void => writeFileSync(path, [first, ...lines].join('\n'));
  const lineLists = fc.array(line, { maxLength: 14 });
  const edits = fc.array(edit, { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(lineLists, edits, fc.boolean(), async (start, steps, isMerged) => {
      const file = { kind: 'file', path } as const;
      const source: SourceSpec = isMerged
        ? { kind: 'merged', specs: [file, { kind: 'file', path: other }] }
        : file;
      let lines: readonly string[] = start;
      write(lines);
      const done = await load(source, null, false);
      assert.ok(done.kind === 'loaded');
      let served = done.image;
      for (const step of steps) {
        lines = step(lines);
        write(lines);
        const done = await compare(source, served);
        if (done.kind !== 'loaded') continue;
        if (done.isPatched) patches++;
        served = done.image;
      }
    }),
    { numRuns: RUNS, seed: SEED },
  );
  t.ok(patches > RUNS / 2, `${patches} patches`);
});

for (const { name } of DATA_SETS.length === 0 ? [{ name: 'real data' }] : DATA_SETS) {
  test(`edits of ${name}: a patch equals a whole load`, {
    skip: DATA_SETS.length === 0 && NO_DATA,
  }, async (t) => {
    const set = DATA_SETS.find((each) => each.name === name);
    if (set === undefined) return;
    const path = join(folderFor(t), 'events.ndjson');
    const source = { kind: 'file', path } as const;
    const records = recordsOf(set);
    const write = (edited: readonly object[]): void =>
      writeFileSync(path, edited.map((each) => JSON.stringify(each)).join('\n'));
    write(records);
    const first = await load(source, null, false);
    if (first.kind !== 'loaded') throw new Error(first.kind);
    const middle = Math.floor(records.length / 2);
    const [record, next] = [records[middle], records[middle + 1]];
    const edits: readonly (readonly [string, readonly object[], number | null])[] = [
      ['one other title', records.with(middle, { ...record, title: 'Another title' }), 1],
      ['a record that moves to another time', records.with(middle, { ...next, id: record?.id }), 1],
      ['a vanished record', records.toSpliced(middle, 1), 1],
      ['a record that appears twice', [...records, { ...record, title: 'Late' }], null],
      ['a rejected record', records.with(middle, { ...record, time: 'never' }), 1],
      ['another order', records.toReversed(), null],
      ['half of the records', records.slice(middle), null],
    ];
    for (const [why, edited, changed] of edits) {
      write(edited);
      const done = await compare(source, first.image);
      const ids = done.kind === 'loaded' ? differingIds(done.changes) : undefined;
      if (changed !== null) t.equal(ids?.length, changed, why);
    }
  });
}

fastTest('a load that patches is refused like any other', async (t) => {
  const path = join(folderFor(t), 'events.ndjson');
  const source = { kind: 'file', path } as const;
  const text = (n: number): string => JSON.stringify({ id: `${n}`, ...HOURS });
  const lines = Array.from({ length: 20 }, (_, n) => text(n));
  writeFileSync(path, lines.join('\n'));
  const first = await load(source, null, false);
  if (first.kind !== 'loaded') throw new Error(first.kind);
  writeFileSync(path, [...lines, text(20)].join('\n'));
  t.match(await load(source, first.image, true, { memoryBytesMax: 2 ** 20 }), { kind: 'refused' });
  t.match(await load(source, first.image, true), { kind: 'loaded', isPatched: true });
});
