/** Counts in shared memory. Inside, because they are counted without a server and without a scrape. */
import { test } from 'tap';
import * as cells from '../../../src/base/metrics/cells.js';
import { Meter } from '../../../src/base/metrics/meter.js';

test('a request is counted by route, status, bytes and class of duration', async (t) => {
  const meter = new Meter();
  const route = cells.routeNumber('/schedule/all');
  meter.answered(route, 200, 100, 0.05);
  meter.answered(route, 200, 50, 0.06);
  meter.answered(route, 503, 0, 1e9);
  const requests = (status: number): number =>
    meter.get(cells.REQUESTS_AT + route * cells.STATUS_PLACES + cells.STATUSES.indexOf(status));
  t.same([requests(200), requests(503), requests(404)], [2, 1, 0]);
  t.equal(meter.get(cells.BYTES_AT + route), 150);
  const classes = Array.from({ length: cells.DURATION_CLASSES }, (_, n) =>
    meter.get(cells.DURATIONS_AT + route * cells.DURATION_CLASSES + n),
  );
  t.same([classes[0], classes[1], classes.at(-1)], [1, 1, 1], 'ends are inclusive; the last class has none');
  t.equal(
    classes.reduce((sum, each) => sum + each, 0),
    3,
  );
  const other = cells.routeNumber('/schedule');
  t.equal(meter.get(cells.BYTES_AT + other), 0, 'other routes count nothing');
});

test('a status that is in no table has a place of its own', async (t) => {
  const meter = new Meter();
  meter.answeredUntimed(0, 299, 1);
  t.equal(meter.get(cells.REQUESTS_AT + cells.STATUSES.length), 1);
});

test('another meter of the same memory continues the counts', async (t) => {
  const first = new Meter();
  first.add(cells.CELL.answerHits, 3);
  first.failed('expired');
  const second = new Meter(first.memory);
  second.add(cells.CELL.answerHits);
  t.equal(first.get(cells.CELL.answerHits), 4);
  t.equal(second.get(cells.FAILURES_AT + cells.TOKEN_FAILURES.indexOf('expired')), 1);
});

test('sampled counts add their growth, also after they start again at zero', async (t) => {
  const meter = new Meter();
  let count = 5;
  meter.onSampleOfCounts(() => [[cells.CELL.slowReaders, count]]);
  const sampled = (next: number): number => {
    count = next;
    meter.sample();
    return meter.get(cells.CELL.slowReaders);
  };
  t.same([sampled(5), sampled(5), sampled(7), sampled(2), sampled(3)], [5, 5, 7, 9, 10]);
});
