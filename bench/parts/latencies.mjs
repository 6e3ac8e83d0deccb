/** Latency at fixed rates, beside the floor's at the same rates. */
import { LATENCIES, latencyName, RATES, rateName, rowOf, SECOND_ROW } from '../rows.mjs';
import { SECRET } from '../session.mjs';
import { readEvents } from '../sets.mjs';
import { median } from '../statistics.mjs';
import { workloadsOf } from '../workloads.mjs';

/** The most that p99 may be, as a ratio to the floor's. */
const P99_RATIO_MAX = 1.3;

/** @param {import('../session.mjs').Session} session */
export async function measureLatencies(session) {
  const portions = RATES.filter((portion) => session.wants(...LATENCIES.map((p) => latencyName(portion, p))));
  if (portions.length === 0) return;
  const source = await session.sets.file('medium');
  const { requests: count, seed, connections } = session.settings;
  const workloads = workloadsOf(readEvents(source), { secret: SECRET, count, seed });
  const { requests } = workloads.find(({ name }) => name === SECOND_ROW);
  const capacities = [];
  const found = new Map(portions.map((portion) => [portion, { floor: [], lectern: [] }]));
  await session.launch(async () => {
    const lectern = await session.startLectern(source);
    const { answer } = await session.floorOf(lectern.port, requests);
    const floor = await session.startFloor(answer);
    const as = 'at fixed rates';
    const contestants = [
      { name: 'floor', server: floor, as, connections },
      { name: 'Lectern', server: lectern, as, connections },
    ];
    await session.give(as, requests);
    const capacity = await session.capacityOf(contestants[0]);
    capacities.push(capacity);
    for (const portion of portions) {
      const rate = Math.round(capacity * portion);
      await session.give(as, requests);
      const paced = contestants.map((each) => ({ ...each, rate }));
      const rounds = await session.measure({ name: rateName(portion), set: 'medium' }, paced);
      found.get(portion).floor.push(...rounds.get('floor'));
      found.get(portion).lectern.push(...rounds.get('Lectern'));
    }
    await session.stop(lectern, floor);
  });
  const capacity = median(capacities);
  for (const [portion, { floor, lectern }] of found) {
    for (const p of LATENCIES) {
      const about = {
        group: 'latency',
        name: latencyName(portion, p),
        set: 'medium',
        unit: 'ratio',
        target: p === 'p99' ? P99_RATIO_MAX : null,
      };
      const ratios = lectern.map(({ latencyMs }, n) => latencyMs[p] / floor[n].latencyMs[p]);
      const ms = (rounds) => median(rounds.map(({ latencyMs }) => latencyMs[p]));
      session.add(
        rowOf(about, ratios, {
          ms: ms(lectern),
          floorMs: ms(floor),
          perSecond: capacity * portion,
          capacity,
        }),
      );
    }
  }
}
