/**
 * One process: changes records of a served timetable, and measures how soon and at what cost the changes are
 * served.
 *
 *     node changes.mjs <file of NDJSON> single|rate|memory|requests
 */
import { createReadStream } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { MemorySource, openTimetable } from '../../dist/index.js';
import { forgetPeak, mainThreadTimes, residentBytes } from '../reload/process-status.mjs';
import { ReadTurns } from '../turns.mjs';

const [file = '', scenario = ''] = process.argv.slice(2);
const SETTLE_MS = 5000;
/** By then the garbage of the patch is collected. */
const AFTER_MS = 700;
/** By then all changes are seen, even on a busy machine. */
const SEEN_MS_MAX = 60_000;
/** The longest pause after a patch. */
const PAUSE_MS_MAX = 2000;

async function* records() {
  for await (const line of createInterface({ input: createReadStream(file) })) yield JSON.parse(line);
}

// Neither patches nor their pauses keep a process alive.
const alive = setInterval(() => {}, 60_000);
const source = new MemorySource(records());
const timetable = openTimetable({ source, cacheMb: 256 });
const { span, events } = await timetable.ready;
await delay(SETTLE_MS);

let number = 0;
/** An existing event with another title. Successive calls take events from all over the set. */
function changedRecord() {
  const at = span.startMs + ((number * 7_919 * 3_600_000) % (span.endMs - span.startMs));
  const { events: found } = timetable.find({ startTime: new Date(at), limit: 1 });
  const { events: first } = found.length > 0 ? { events: found } : timetable.find({ limit: 1 });
  return { ...first[0], title: `changed ${++number}` };
}

const cpuMs = (since) => {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
};
const published = () => new Promise((resolve) => timetable.on('published', resolve));

/** Applies records; resolves once an answer has the last of them. */
async function apply(changed) {
  const last = changed.at(-1);
  const beganMs = performance.now();
  const beganCpu = process.cpuUsage();
  source.apply({ upsert: changed });
  const listening = new Promise((resolve) => {
    const look = () => {
      if (timetable.get(last.id)?.title !== last.title) return;
      timetable.off('published', look);
      resolve();
    };
    timetable.on('published', look);
  });
  await listening;
  const seenMs = performance.now() - beganMs;
  await delay(AFTER_MS);
  return { seenMs, cpuMs: cpuMs(beganCpu) };
}

/**
 * Reads the timetable until the returned function is called, which returns the longest turn and the longest
 * garbage collection.
 */
function watchReads() {
  let collectionLongestMs = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries())
      collectionLongestMs = Math.max(collectionLongestMs, duration);
  });
  observer.observe({ entryTypes: ['gc'] });
  const turns = new ReadTurns(timetable);
  return () => {
    turns.stop();
    observer.disconnect();
    return { ...turns.figures, collectionLongestMs };
  };
}

const SCENARIOS = {
  /** The first change starts the thread for later ones. */
  async single() {
    const changes = [];
    for (let run = 0; run < 6; run++) {
      changes.push(await apply([changedRecord()]));
      await delay(PAUSE_MS_MAX);
    }
    return { changes };
  },
  async rate() {
    /** Calls `change` with each of 500 changed records, one every 20 ms; returns the processor time. */
    const changing = async (change) => {
      const beganMs = performance.now();
      const beganCpu = process.cpuUsage();
      for (let n = 0; n < 500; n++) {
        change(changedRecord());
        await delay(Math.max(0, beganMs + (n + 1) * 20 - performance.now()));
      }
      return cpuMs(beganCpu);
    };
    const endBefore = watchReads();
    const readsCpuMs = await changing(() => {});
    endBefore();
    const lags = [];
    const waiting = new Map();
    let publications = 0;
    timetable.on('published', () => {
      publications++;
      const now = performance.now();
      for (const [id, { title, atMs }] of waiting) {
        if (timetable.get(id)?.title !== title) continue;
        lags.push(now - atMs);
        waiting.delete(id);
      }
    });
    const end = watchReads();
    forgetPeak();
    const cpu = await changing((record) => {
      waiting.set(record.id, { title: record.title, atMs: performance.now() });
      source.apply({ upsert: [record] });
    });
    const untilMs = performance.now() + SEEN_MS_MAX;
    while (waiting.size > 0 && performance.now() < untilMs) await delay(100);
    if (waiting.size > 0) throw new Error(`${waiting.size} changes were never seen`);
    lags.sort((a, b) => a - b);
    const quantile = (share) => lags[Math.floor(share * (lags.length - 1))];
    return {
      cpuMs: cpu,
      readsCpuMs,
      p50: quantile(0.5),
      p99: quantile(0.99),
      publications,
      ...end(),
      ...residentBytes(),
    };
  },
  async memory() {
    const { now: steadyBytes } = residentBytes();
    forgetPeak();
    const end = watchReads();
    for (let run = 0; run < 8; run++) {
      const seen = published();
      source.apply({ upsert: Array.from({ length: 10 }, changedRecord) });
      await seen;
    }
    const { peak: peakBytes } = residentBytes();
    await delay(15_000);
    return { steadyBytes, peakBytes, afterBytes: residentBytes().now, ...end() };
  },
  async requests() {
    const rooms = timetable.directory('rooms').entries.map(({ id }) => id);
    const groups = timetable.directory('groups').entries.map(({ name }) => name);
    let request = 0;
    const read = () => {
      request++;
      const startMs = span.startMs + ((request * 86_400_000) % (span.endMs - span.startMs));
      const window = { startTime: new Date(startMs), endTime: new Date(startMs + 7 * 86_400_000) };
      const roomId = rooms[(request * 31) % rooms.length];
      const studyGroup = groups[(request * 17) % groups.length];
      timetable.findBytes(request % 2 === 0 ? { roomId, ...window } : { studyGroup, ...window });
    };
    /** Microseconds of this thread for each read, measured over `ms`. */
    const measure = async (ms) => {
      const endMs = performance.now() + ms;
      let ranMs = 0;
      let reads = 0;
      while (performance.now() < endMs) {
        const { ranMs: before } = mainThreadTimes();
        for (let n = 0; n < 200; n++) read();
        ranMs += mainThreadTimes().ranMs - before;
        reads += 200;
        await new Promise((resolve) => setImmediate(resolve));
      }
      return (1000 * ranMs) / reads;
    };
    await measure(4000);
    const ratios = [];
    for (let run = 0; run < 5; run++) {
      await measure(1000);
      const before = await measure(1000);
      const seen = published();
      source.apply({ upsert: Array.from({ length: 10 }, changedRecord) });
      await seen;
      const after = await measure(1000);
      ratios.push({ before, after, ratio: after / before });
    }
    return { ratios };
  },
};

const run = SCENARIOS[scenario];
if (run === undefined) throw new Error(`there is no ${scenario}`);
const result = await run();
clearInterval(alive);
await timetable.close();
process.stdout.write(`${JSON.stringify({ events, ...result })}\n`);
