/**
 * Log lines of serving threads: a bounded number is in transit. Inside, because the main thread must be too
 * slow.
 */

import { test } from 'tap';
import { createThreadLog, type FromThread } from '../../src/app/thread-messages.js';
import { LOG_MESSAGES_MAX } from '../../src/base/limits.js';
import { CELL } from '../../src/base/metrics/cells.js';
import { Meter } from '../../src/base/metrics/meter.js';

test('lines that the main thread does not take are dropped, counted and reported', (t) => {
  const told: FromThread[] = [];
  const memory = new SharedArrayBuffer(4);
  const waiting = new Int32Array(memory);
  const meter = new Meter();
  const log = createThreadLog((message) => told.push(message), memory, meter);
  for (let n = 0; n < LOG_MESSAGES_MAX + 5; n++) log.info({ n }, 'request');
  t.equal(told.length, LOG_MESSAGES_MAX);
  t.equal(waiting[0], LOG_MESSAGES_MAX);
  t.equal(meter.get(CELL.logLinesDropped), 5);
  // The main thread has taken three.
  waiting[0] = LOG_MESSAGES_MAX - 3;
  log.error({ n: 'last' }, 'a request failed');
  t.match(told.slice(LOG_MESSAGES_MAX), [
    { kind: 'log', level: 'warn', fields: { lines: 5 } },
    { kind: 'log', level: 'error', fields: { n: 'last' }, message: 'a request failed' },
  ]);
  t.equal(waiting[0], LOG_MESSAGES_MAX - 1);
  log.info({}, 'request');
  t.equal(told.length, LOG_MESSAGES_MAX + 3, 'told of once');
  t.end();
});

test('values that cannot be cloned are left out of a line', (t) => {
  const told: FromThread[] = [];
  const tell = (message: FromThread): void => void told.push(structuredClone(message));
  const memory = new SharedArrayBuffer(4);
  const log = createThreadLog(tell, memory, null);
  log.error({ err: Object.assign(new Error('odd'), { call() {} }) }, 'a request failed');
  log.warn({ call() {} }, 'odd');
  t.match(told, [
    { level: 'error', fields: { err: /odd/ }, message: 'a request failed' },
    { level: 'warn', fields: {}, message: 'odd' },
  ]);
  t.equal(new Int32Array(memory)[0], 2, 'each counts once');
  t.end();
});
