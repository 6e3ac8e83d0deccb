/** A calendar program takes a changed event only if its DTSTAMP has grown; what did not change keeps its bytes. */
import assert from 'node:assert/strict';
import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { type Test, test } from 'tap';
import { SnapshotView } from '../../src/answer/view.js';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { editImage, eventReader } from '../../src/change/apply.js';
import { reviseEdit, reviseImage } from '../../src/change/revisions.js';
import type { Timetable as Served } from '../../src/index.js';
import { MemorySource } from '../../src/index.js';
import { hiddenDigestOf } from '../../src/snapshot/content-version.js';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import { isSameImage } from '../../src/snapshot/image.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';
import { openHere } from '../app/open-here.js';
import { testFolder } from '../base/files/test-folder.js';
import { size } from '../hard/size.js';
import { fastTest } from '../hard/slow-test.js';
import { eventOf, idOf, imageOf } from '../snapshot/images.js';
import { applied, chains, type Timetable, timetables } from './edits.js';

const START = new Date('2026-03-01T10:00:00Z');

function lesson(n: number, more: object = {}): object {
  const time = `2026-10-0${n}T08:00:00Z`;
  return {
    id: idOf(n),
    time,
    endTime: `2026-10-0${n}T09:30:00Z`,
    title: `Lesson ${n}`,
    roomId: 'Hall 1',
    ...more,
  };
}

const LESSONS = [lesson(1), lesson(2), lesson(3)];
const MOVED = [lesson(1), lesson(2, { roomId: 'Hall 2' }), lesson(3)];

/** The bytes of each VEVENT, by its UID. */
function vevents(calendar: string): Map<string, string> {
  const events = calendar.match(/BEGIN:VEVENT.*?END:VEVENT/gs) ?? [];
  return new Map(events.map((event) => [/^UID:(.*)\r$/m.exec(event)?.[1] ?? '', event]));
}

/** The bytes of each VEVENT, by the number in its UID. */
function eventsOf(timetable: Served): Map<number, string> {
  const events = vevents(Buffer.from(timetable.findBytes({}, 'ics')).toString());
  return new Map([...events].map(([uid, event]) => [Number(/\d+$/.exec(uid)?.[0]), event]));
}

function withoutStamps(event: string): string {
  return event.replace(/^(?:DTSTAMP|LAST-MODIFIED):.*\r\n/gm, '');
}

function stampOf(event: string | undefined): string {
  const stamp = /^DTSTAMP:(\d{8}T\d{6}Z)\r$/m.exec(event ?? '')?.[1] ?? '';
  assert.equal(/^LAST-MODIFIED:(.*)\r$/m.exec(event ?? '')?.[1], stamp, 'both say the same');
  return stamp;
}

function open(t: Test, options: Parameters<typeof openHere>[0]): Served {
  const timetable = openHere({ identifiers: 'derived', ...options });
  t.teardown(() => timetable.close());
  return timetable;
}

function fileOf(t: Test): { path: string; write(records: readonly object[]): void } {
  const path = join(testFolder(t), 'lessons.ndjson');
  const write = (records: readonly object[]): void =>
    writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  return { path, write };
}

fastTest('a changed room, and the change back, get later times; other events keep their bytes', async (t) => {
  const { path, write } = fileOf(t);
  write(LESSONS);
  utimesSync(path, START, START);
  const timetable = open(t, { source: path });
  await timetable.ready;
  const first = eventsOf(timetable);
  t.equal(first.size, 3);
  for (const event of first.values()) t.equal(stampOf(event), '20260301T100000Z', 'the time of the file');

  write(MOVED);
  await timetable.refresh();
  const second = eventsOf(timetable);
  t.match(second.get(2), 'LOCATION:Hall 2');
  t.ok(stampOf(second.get(2)) > stampOf(first.get(2)));
  t.strictSame([second.get(1), second.get(3)], [first.get(1), first.get(3)]);

  // An older file with the earlier content, in the same second.
  write(LESSONS);
  utimesSync(path, START, START);
  await timetable.refresh();
  const third = eventsOf(timetable);
  t.match(third.get(2), 'LOCATION:Hall 1');
  t.ok(stampOf(third.get(2)) > stampOf(second.get(2)));
  t.strictSame([third.get(1), third.get(3)], [first.get(1), first.get(3)]);
});

fastTest(
  'a restart keeps the bytes: with a snapshot file those of changed events, without one those of the file',
  async (t) => {
    const { path, write } = fileOf(t);
    const snapshotFile = join(testFolder(t), 'snapshot');
    write(LESSONS);
    utimesSync(path, START, START);
    const timetable = open(t, { source: path, snapshotFile });
    await timetable.ready;
    write(MOVED);
    utimesSync(path, START, new Date('2026-03-02T10:00:00Z'));
    await timetable.refresh();
    const before = eventsOf(timetable);
    await timetable.close();

    const again = open(t, { source: path, snapshotFile });
    await again.ready;
    t.strictSame(eventsOf(again), before);
    t.equal((await again.refresh()).result, 'unchanged');

    const without = [open(t, { source: path }), open(t, { source: path })];
    await Promise.all(without.map((each) => each.ready));
    const [one, other] = without.map(eventsOf);
    t.strictSame(one, other);
    for (const event of one?.values() ?? []) t.equal(stampOf(event), '20260302T100000Z', 'never the clock');
  },
);

fastTest(
  "the source's own time counts if it is later; a time that cannot be read counts as none",
  async (t) => {
    const [own, later] = ['2026-02-01T09:00:00+01:00', '2036-02-01T09:00:00+01:00'];
    const source = new MemorySource([
      lesson(1, { changed: own }),
      lesson(2, { changed: 'yesterday' }),
      lesson(3),
    ]);
    const timetable = open(t, { source, fieldMap: { modified: 'changed' } });
    const { rejected } = await timetable.ready;
    t.equal(rejected, 0);
    const first = eventsOf(timetable);
    t.strictSame([...first.values()].map(stampOf), [
      '20260201T080000Z',
      '19700101T000000Z',
      '19700101T000000Z',
    ]);
    t.notMatch(Buffer.from(timetable.findBytes({})).toString(), 'modified');
    source.apply({
      upsert: [
        // A later time although the event looks the same.
        lesson(1, { changed: later }),
        lesson(2, { changed: later, roomId: 'Hall 2' }),
        lesson(3, { changed: own, roomId: 'Hall 2' }),
      ],
    });
    await timetable.refresh();
    const second = eventsOf(timetable);
    t.equal(second.get(1), first.get(1));
    t.equal(stampOf(second.get(2)), '20360201T080000Z');
    t.equal(stampOf(second.get(3)), '20260201T080000Z');
    // The source says that the lesson has not changed since, but it has.
    source.apply({ upsert: [lesson(2, { changed: own, roomId: 'Hall 3' })] });
    await timetable.refresh();
    t.equal(stampOf(eventsOf(timetable).get(2)), '20360201T080001Z');
  },
);

fastTest('only tags of calendars follow the times of change', async (t) => {
  const events = [eventOf(1), eventOf(2)];
  const [before, after] = [imageOf(events), imageOf(events.map((event) => ({ ...event, modified: 1e12 })))];
  t.equal(before.summary.id, after.summary.id);
  t.not(hiddenDigestOf(before), hiddenDigestOf(after), 'replicas tell both apart');
  for (const format of ['json', 'csv', 'ics'] as const) {
    const tags = [before, after].map((image) => {
      const result = new SnapshotView(new Snapshot(image)).schedule([], { isStrict: true } as never);
      return 'read' in result ? result.read.entityTag(format) : null;
    });
    t.equal(tags[0] === tags[1], format !== 'ics', format);
  }
});

/** The times of change by id, in seconds: the slow version, without lessons. */
function slowly(before: SnapshotImage, image: SnapshotImage, nowS: number): number[] {
  const eventsIn = (each: SnapshotImage): Map<string, readonly [values: string, modified: number]> => {
    const eventAt = eventReader(each);
    return new Map(
      Array.from(each.modified, (seconds, n) => {
        const { modified: _, ...values } = eventAt(n);
        return [values.id, [JSON.stringify(values), seconds]];
      }),
    );
  };
  const earlier = eventsIn(before);
  return [...eventsIn(image)].map(([id, [values]]) => {
    const [earlierValues, seconds] = earlier.get(id) ?? [null, 0];
    if (earlierValues === null) return nowS;
    return earlierValues === values ? seconds : Math.max(nowS, seconds + 1);
  });
}

const withoutLesson = (event: NormalisedEvent): NormalisedEvent => ({ ...event, lessonId: null });
/** The name of a room may come from other rows. */
const withoutNames = (event: NormalisedEvent): NormalisedEvent => ({
  ...event,
  roomName: null,
  courseName: null,
});

/** Applies a chain of edits to images, with pauses in seconds, and looks at each step. */
function assertSteps(
  map: (event: NormalisedEvent) => NormalisedEvent,
  look: (before: SnapshotImage, after: SnapshotImage, nowS: number) => void,
): void {
  fc.assert(
    fc.property(timetables, chains, fc.array(fc.integer({ min: 0, max: 2 })), (start, steps, pauses) => {
      let events: Timetable = new Map([...start].map(([id, event]) => [id, map(event)]));
      let base = imageOf(events.values());
      reviseImage(base, null, 1_700_000_000_000, 0);
      let nowS = 1_700_000_000;
      for (const [n, { came, went }] of steps.entries()) {
        nowS += pauses[n] ?? 0;
        const step = { came: came.map(map), went };
        events = applied(events, step);
        const built = imageOf(events.values(), 0, base.hashSeed);
        reviseImage(built, base, null, nowS * 1000);
        const patched = editImage(base, reviseEdit(base, step, nowS * 1000)).image;
        assert.deepEqual([...patched.modified], [...built.modified]);
        assert.ok(isSameImage(patched, built));
        look(base, built, nowS);
        base = built;
      }
    }),
    { numRuns: size(30, 10_000, 300), seed: 35 },
  );
}

test('generated changes: patches, whole builds and the slow version give the same times', async () => {
  assertSteps(withoutLesson, (before, after, nowS) =>
    assert.deepEqual([...after.modified], slowly(before, after, nowS)),
  );
});

test('generated changes: each VEVENT that shows something else than before has a later time', async (t) => {
  let changed = 0;
  const shown = (image: SnapshotImage): Map<string, string> => {
    const result = new SnapshotView(new Snapshot(image)).schedule([], {} as never);
    if (!('read' in result)) throw new Error('the query has a fault');
    const chunks = [...result.read.execute('ics').body.makeChunks()];
    return vevents(Buffer.concat(chunks).toString());
  };
  assertSteps(withoutNames, (before, after) => {
    const earlier = shown(before);
    for (const [uid, event] of shown(after)) {
      const prior = earlier.get(uid);
      if (prior === undefined || withoutStamps(prior) === withoutStamps(event)) continue;
      assert.ok(stampOf(event) > stampOf(prior), `${prior}\n${event}`);
      changed++;
    }
  });
  t.ok(changed > 50, `${changed} events have changed`);
});

fastTest(
  'a lesson that loses a room is later than before, and its other dates keep their bytes',
  async (t) => {
    const rooms = (n: number, ...names: string[]): object[] =>
      names.map((roomId) => ({ ...lesson(n), id: `${n} ${roomId}`, roomId, lessonId: 'algebra' }));
    const source = new MemorySource([...rooms(1, 'A', 'B'), ...rooms(2, 'A', 'B'), ...rooms(3, 'A')]);
    const timetable = open(t, { source, identifiers: 'any', gate: { shrinkPercentMax: 100 } });
    await timetable.ready;
    const text = (): string => Buffer.from(timetable.findBytes({}, 'ics')).toString();
    const first = vevents(text());
    t.equal(first.size, 3);
    source.apply({ remove: ['2 B'] });
    await timetable.refresh();
    const second = vevents(text());
    const changed = [...second].filter(([uid, event]) => first.get(uid) !== event);
    t.match(changed, [[/20261002/, 'LOCATION:A\r']]);
    t.equal(changed.length, 1);
    t.ok(stampOf(changed[0]?.[1]) > stampOf(first.get(changed[0]?.[0] ?? '')));
    // The second date is now the first, and so has the UID of the lesson.
    source.apply({ remove: ['1 A', '1 B'] });
    await timetable.refresh();
    const third = vevents(text());
    t.ok(stampOf(third.get('algebra')) > stampOf(second.get('algebra')));
  },
);
