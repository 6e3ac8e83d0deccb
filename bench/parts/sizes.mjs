/**
 * The effect of the size of a set: the same queries with equally many events in the answer, on a small and on
 * a large set.
 */
import { answerOf, fieldOf } from '../answers.mjs';
import { ROW_NAMES, rowOf, SECOND_ROW, workloadRow } from '../rows.mjs';
import { SECRET } from '../session.mjs';
import { readEvents } from '../sets.mjs';
import { median } from '../statistics.mjs';
import { WORKLOADS, workloadsOf } from '../workloads.mjs';

const MIB = 1024 * 1024;
/** The default size of all caches together. */
const CACHE_BYTES_DEFAULT = 256 * MIB;
/** More than the rows of a million events in each of five posting lists. */
const CACHE_MB_LARGE = 4096;
const CACHED = 'large, caches large enough';
/** Of the bytes of `/schedule/all`: before the first request, and with full caches of the default size. */
const MEMORY_RATIO_MAX = { idle: 1.4, full: 2.1 };
/** The cost of filter + window in a set of a million events, where most rows are not in the caches. */
const LARGE_RATIO_MAX = 1.05;

/** @param {import('../session.mjs').Session} session */
export async function measureSizes(session) {
  const names = [SECOND_ROW, ...Object.values(ROW_NAMES).filter((name) => /^(large|memory)/.test(name))];
  if (!session.wants(...names)) return;
  /** The rounds of each server by name, and the memory of the large one, from all launches. */
  const rounds = new Map();
  const memory = { idle: [], full: [] };
  let about;
  await session.launch(async () => {
    const { cases, idle, full, found } = await measureLaunch(session);
    for (const [name, some] of found) rounds.set(name, [...(rounds.get(name) ?? []), ...some]);
    memory.idle.push(idle);
    memory.full.push(full);
    about = cases.map(({ set, detail, allBytes }) => ({ set, detail, allBytes }));
  });
  const { target: usual } = WORKLOADS.find(({ name }) => name === SECOND_ROW);
  for (const { set, detail } of about) {
    const target = set === 'large' ? LARGE_RATIO_MAX : usual;
    const row = { group: 'workload', name: SECOND_ROW, set, target };
    session.add(workloadRow(row, rounds.get(`floor, ${set}`), rounds.get(`Lectern, ${set}`), detail));
  }
  const against = (set) =>
    rounds
      .get(`Lectern, ${set}`)
      .map(({ cpuMicros }, n) => cpuMicros / rounds.get('Lectern, small')[n].cpuMicros);
  const size = { group: 'size', set: 'large', unit: 'times' };
  session.add(rowOf({ ...size, name: ROW_NAMES.largeAgainstSmall, target: 1.6 }, against('large')));
  session.add(rowOf({ ...size, name: ROW_NAMES.largeAgainstSmallCached, target: 1.3 }, against(CACHED)));
  addMemory(session, memory, about.find(({ set }) => set === 'large').allBytes);
}

/** Compares both sets with the floor and with each other; the large one also with large caches. */
async function measureLaunch(session) {
  const small = await prepare(session, 'small');
  const large = await prepare(session, 'large');
  const cached = {
    ...large,
    set: CACHED,
    server: await session.startLectern(large.source, { cacheMb: CACHE_MB_LARGE }),
    floor: await session.startFloor(large.answer),
  };
  const cases = [small, large, cached];
  const { connections } = session.settings;
  const contestants = cases.flatMap(({ set, as, floor, server }) => [
    { name: `floor, ${set}`, server: floor, as, connections },
    { name: `Lectern, ${set}`, server, as, connections },
  ]);
  const settings = { ...session.settings, warmUp: session.settings.warmUpOfSizes };
  const found = await session.measure({ name: SECOND_ROW, set: 'small and large' }, contestants, settings);
  const full = memoryIn(await session.usageAtRest(large.server));
  await session.stop(...cases.flatMap(({ floor, server }) => [floor, server]));
  return { cases, idle: large.idle, full, found };
}

async function prepare(session, set) {
  const { requests: count, seed } = session.settings;
  const source = await session.sets.file(set);
  const server = await session.startLectern(source);
  const idle = set === 'large' ? memoryIn(await session.usageAtRest(server)) : null;
  const events = readEvents(source);
  const workloads = workloadsOf(events, { secret: SECRET, count, seed });
  const { requests } = workloads.find(({ name }) => name === SECOND_ROW);
  const { answer, meanEvents } = await session.floorOf(server.port, requests);
  await session.give(set, requests);
  const all = { ...requests[0], path: '/api/v1/schedule/all' };
  const allBytes = Number(fieldOf(await answerOf(server.port, all, 'HEAD'), 'content-length'));
  const floor = await session.startFloor(answer);
  const detail = { setEvents: events.length, meanEvents, bodyBytes: answer.bodyBytes };
  return { set, as: set, source, server, floor, answer, detail, idle, allBytes };
}

function memoryIn({ rssBytes, heapUsedBytes, heapTotalBytes, externalBytes }) {
  return { rssBytes, heapUsedBytes, heapTotalBytes, externalBytes };
}

function addMemory(session, { idle, full }, allBytes) {
  const about = { group: 'memory', set: 'large', unit: 'times' };
  const ratios = (some) => some.map(({ rssBytes }) => rssBytes / allBytes);
  session.add(
    rowOf({ ...about, name: ROW_NAMES.memoryIdle, target: MEMORY_RATIO_MAX.idle }, ratios(idle), {
      ...mediansOf(idle),
      allBytes,
    }),
  );
  session.add(
    rowOf({ ...about, name: ROW_NAMES.memoryFull, target: MEMORY_RATIO_MAX.full }, ratios(full), {
      ...mediansOf(full),
      allBytes,
      cacheBytes: CACHE_BYTES_DEFAULT,
    }),
  );
}

/** [{ a, b }, …] to { a, b }, each the median. */
function mediansOf(some) {
  return Object.fromEntries(
    Object.keys(some[0]).map((name) => [name, median(some.map((each) => each[name]))]),
  );
}
