/**
 * Reloads one timetable many times, and prints the memory of the process after each round and a garbage
 * collection. Needs --expose-gc.
 *
 *     node --expose-gc leak.mjs <built index module> <events> <reloads> <reloads per round> <snapshot file>
 */
const [module = '', events = '', reloads = '', perRound = '', snapshotFile = ''] = process.argv.slice(2);
const { MemorySource, openTimetable } = await import(module);

function* records(generation) {
  for (let n = 0; n < Number(events); n++) {
    const time = Date.UTC(2024, 8, 2, 8) + Math.floor(n / 20) * 900_000;
    yield {
      id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
      time: new Date(time).toISOString(),
      endTime: new Date(time + 3_600_000).toISOString(),
      // One in a hundred events changes each time, so the history stays small.
      title: n % 100 === generation % 100 ? `generation ${generation}` : 'the same',
      studyGroup: `group ${n % 40}`,
      roomId: `2c3c9bfd-5da4-5a45-8bdb-${String(n % 50).padStart(12, '0')}`,
    };
  }
}

const again = (generation) => ({ [Symbol.iterator]: () => records(generation) });
const source = new MemorySource(again(0));
const timetable = openTimetable({ source, snapshotFile });
await timetable.ready;
const rounds = [];
/** A snapshot's summary lives as long as the snapshot. */
const summaries = [new WeakRef(timetable.summary)];
for (let generation = 1; generation <= Number(reloads); generation++) {
  const published = new Promise((resolve) => {
    const listener = () => {
      timetable.off('published', listener);
      resolve();
    };
    timetable.on('published', listener);
  });
  source.replace(again(generation));
  await published;
  summaries.push(new WeakRef(timetable.summary));
  timetable.find({ studyGroup: 'group 3', limit: 10 });
  timetable.conflicts({ limit: 10 });
  timetable.changes(timetable.summary.id);
  if (generation % Number(perRound) !== 0) continue;
  // Shared memory returns to the system some time after its collection.
  for (let n = 0; n < 3; n++) {
    await new Promise((resolve) => setTimeout(resolve, 30));
    globalThis.gc();
  }
  const { rss, heapUsed } = process.memoryUsage();
  const alive = summaries.filter((summary) => summary.deref() !== undefined).length;
  rounds.push({ rssBytes: rss, heapBytes: heapUsed, alive });
}
await timetable.close();
process.stdout.write(JSON.stringify({ rounds }));
