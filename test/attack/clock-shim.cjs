/**
 * Preloaded by a service whose clock a test sets (NODE_OPTIONS=--require): the clock of the day is off by as many milliseconds as the
 * file CLOCK_OFFSET_FILE says, in every thread. performance.now(), process.hrtime() and timers go on as they did.
 */
const { readFileSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');

const file = process.env.CLOCK_OFFSET_FILE;
const RealDate = Date;
const realNow = RealDate.now.bind(RealDate);
/** How long an offset is used before the file is read again. */
const READ_MS = 5;

let offsetMs = 0;
let readMs = Number.NEGATIVE_INFINITY;

function now() {
  const atMs = performance.now();
  if (atMs - readMs >= READ_MS) {
    readMs = atMs;
    // Half-written, or not there yet: as it was.
    try {
      const text = readFileSync(file, 'utf8');
      if (/^-?\d+\n$/.test(text)) offsetMs = Number(text);
    } catch {}
  }
  return realNow() + offsetMs;
}

class SetDate extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(now());
    else super(...parts);
  }
  static now() {
    return now();
  }
}
if (file !== undefined) {
  globalThis.Date = SetDate;
  // Where the test is killed, nothing else ends the service.
  const { ppid } = process;
  if (isMainThread) setInterval(() => process.ppid === ppid || process.exit(1), 1000).unref();
}
