/** Where lessons stand: nothing overlaps, nothing is lost, and each has room to be read. */
import fc from 'fast-check';
import { test } from 'tap';
import { type Box, layOut } from '../../pages/layout.js';
import { dayOf, type Lesson, lessonsOf, type Row, type Span } from '../../pages/lessons.js';

const MINUTES_MIN = 22;

function span(from: number, to: number, n = 0): Span {
  const lesson: Lesson = {
    ...{ id: `${n}`, ids: [`${n}`], start: from, end: to, title: `${n}`, kind: '', course: null },
    ...{ rooms: [], lecturers: [], groups: [] },
  };
  return { lesson, from, to, isContinued: false, continues: false };
}

const spans = fc.array(fc.tuple(fc.integer({ min: 0, max: 1440 }), fc.integer({ min: 0, max: 300 })), {
  maxLength: 60,
});
const columnsMax = fc.integer({ min: 1, max: 6 });

function overlap(a: Box, b: Box): boolean {
  const [left, right] = [a.column / a.columns, (a.column + a.width) / a.columns];
  const isBeside = left >= (b.column + b.width) / b.columns - 1e-9 || right <= b.column / b.columns + 1e-9;
  return !isBeside && a.from < b.to && b.from < a.to;
}

/** The slow version: how many lessons there are at once, minute by minute. */
function mostAtOnce(all: readonly Span[]): number {
  let most = 0;
  for (let minute = 0; minute < 1440; minute++) {
    const count = all.filter(({ from, to }) => {
      const begin = Math.min(from, 1440 - MINUTES_MIN);
      return begin <= minute && minute < Math.max(to, begin + MINUTES_MIN);
    }).length;
    most = Math.max(most, count);
  }
  return most;
}

test('boxes never overlap, hold every lesson once, and stay within the day and their columns', (t) => {
  fc.assert(
    fc.property(spans, columnsMax, (times, most) => {
      const all = times.map(([from, length], n) => span(from, Math.min(1440, from + length), n));
      const boxes = layOut(all, most, MINUTES_MIN);
      for (const [n, box] of boxes.entries()) {
        if (box.columns > most || box.column + box.width > box.columns || box.width < 1) return false;
        if (box.from < 0 || box.to > 1440 || box.to - box.from < MINUTES_MIN) return false;
        if (boxes.slice(n + 1).some((other) => overlap(box, other))) return false;
      }
      const held = boxes.flatMap((box) => box.spans.map(({ lesson }) => lesson.id)).sort();
      return (
        held.join() ===
        all
          .map(({ lesson }) => lesson.id)
          .sort()
          .join()
      );
    }),
    { seed: 36, numRuns: 400 },
  );
  t.end();
});

test('without more lessons at once than fit, each has a box of its own at its time', (t) => {
  fc.assert(
    fc.property(spans, (times) => {
      const all = times.map(([from, length], n) => span(from, Math.min(1440, from + length), n));
      const boxes = layOut(all, Math.max(1, mostAtOnce(all)), MINUTES_MIN);
      return boxes.every((box) => {
        const [only] = box.spans;
        return box.spans.length === 1 && box.to >= (only?.to ?? 0) && box.from <= (only?.from ?? 0);
      });
    }),
    { seed: 36, numRuns: 60 },
  );
  t.end();
});

test('what does not fit becomes one block with all of the others', (t) => {
  const hour = Array.from({ length: 300 }, (_, n) => span(600, 660, n));
  const boxes = layOut(hour, 3, MINUTES_MIN);
  t.same(
    boxes.map(({ spans: { length }, column, columns }) => [length, column, columns]),
    [
      [1, 0, 3],
      [1, 1, 3],
      [298, 2, 3],
    ],
  );
  t.same(
    layOut(hour, 1, MINUTES_MIN).map((box) => box.spans.length),
    [300],
    'where only one fits',
  );
  t.end();
});

test('lessons that touch stand below one another, and fill the width that is free', (t) => {
  t.same(
    layOut([span(600, 660), span(660, 720)], 4, MINUTES_MIN).map(({ column, width, columns }) => [
      column,
      width,
      columns,
    ]),
    [
      [0, 1, 1],
      [0, 1, 1],
    ],
  );
  const [, , last] = layOut(
    [span(600, 720, 1), span(600, 630, 2), span(660, 720, 3), span(600, 630, 4)],
    4,
    MINUTES_MIN,
  )
    .sort((a, b) => a.from - b.from || a.column - b.column)
    .filter(({ spans: [only] }) => only?.lesson.id !== '2')
    .map(({ column, width, columns }) => [column, width, columns]);
  t.same(last, [1, 2, 3], 'beside it nothing is left');
  t.end();
});

test('rows of several groups, rooms and lecturers are one lesson', (t) => {
  const row = (id: string, more: Partial<Row>): Row => ({
    ...{ id, start: 0, end: 1, title: 'Algebra', kind: 'Lecture', course: { id: 'c', name: 'Algebra' } },
    ...{ room: null, lecturer: null, group: null, ...more },
  });
  const named = (name: string) => ({ id: name, name });
  const lessons = lessonsOf([
    row('1', { group: named('A'), room: named('R1') }),
    row('2', { group: named('B'), room: named('R1') }),
    row('3', { group: named('A'), lecturer: named('Zoë') }),
    row('4', { kind: 'Lab' }),
    row('5', { title: '', course: null }),
    row('6', { title: '', course: null }),
  ]);
  t.same(
    lessons.map(({ ids }) => ids),
    [['1', '2', '3'], ['4'], ['5'], ['6']],
  );
  t.match(lessons[0], { groups: [named('A'), named('B')], rooms: [named('R1')], lecturers: [named('Zoë')] });
  t.end();
});

test('a lesson of 40,000 groups looks at each name a few times', (t) => {
  let looks = 0;
  const rows = Array.from({ length: 80_000 }, (_, n): Row => {
    const group = {
      id: `${n % 40_000}`,
      get name() {
        looks++;
        return `Group ${n % 40_000}`;
      },
    };
    return {
      ...{ id: `${n}`, start: 0, end: 1, title: 'Algebra', kind: 'Lecture', course: null },
      ...{ room: { id: null, name: `${n % 3}` }, lecturer: null, group },
    };
  });
  const [lesson, ...others] = lessonsOf(rows);
  t.same(others, []);
  t.ok(looks <= 4 * rows.length, `${looks} times`);
  t.equal(lesson?.ids.length, 80_000);
  t.same(
    lesson?.rooms.map(({ name }) => name),
    ['0', '1', '2'],
  );
  t.same(
    lesson?.groups.map(({ id }) => id),
    Array.from({ length: 40_000 }, (_, n) => `${n}`),
  );
  t.end();
});

test('a lesson over midnight has a part on each day; a lesson of days has none', (t) => {
  const row = (start: number, end: number): Row => ({
    ...{
      id: `${start}`,
      start,
      end,
      title: 'x',
      kind: '',
      course: null,
      room: null,
      lecturer: null,
      group: null,
    },
  });
  const night = lessonsOf([row(Date.UTC(2026, 9, 5, 22), Date.UTC(2026, 9, 6, 2))]);
  t.match(dayOf(night, '2026-10-05', 'UTC').spans, [
    { from: 1320, to: 1440, isContinued: false, continues: true },
  ]);
  t.match(dayOf(night, '2026-10-06', 'UTC').spans, [
    { from: 0, to: 120, isContinued: true, continues: false },
  ]);
  t.same(dayOf(night, '2026-10-07', 'UTC').spans, []);
  const weeks = lessonsOf([row(Date.UTC(2026, 9, 5), Date.UTC(2026, 9, 26))]);
  t.same(dayOf(weeks, '2026-10-08', 'UTC').spans, []);
  const moment = lessonsOf([row(Date.UTC(2026, 9, 5), Date.UTC(2026, 9, 5))]);
  t.match(dayOf(moment, '2026-10-05', 'UTC').spans, [{ from: 0, to: 0 }], 'no length');
  t.same(dayOf(moment, '2026-10-04', 'UTC').spans, []);
  t.end();
});
