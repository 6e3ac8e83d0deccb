/** The cost of a token's first request, beyond jose's verification. */
import { ROW_NAMES, rowOf } from '../rows.mjs';
import { SECRET } from '../session.mjs';
import { readEvents } from '../sets.mjs';
import { median } from '../statistics.mjs';
import { firstSights } from '../workloads.mjs';

const MICROS_MAX = 4;

/** @param {import('../session.mjs').Session} session */
export async function measureFirstSight(session) {
  if (!session.wants(ROW_NAMES.firstSight)) return;
  const source = await session.sets.file('medium');
  const { requests: count, seed, connections } = session.settings;
  const requests = firstSights(readEvents(source), { secret: SECRET, count, seed });
  const found = { floor: [], jose: [], lectern: [] };
  await session.launch(async () => {
    const lectern = await session.startLectern(source);
    const { answer } = await session.floorOf(lectern.port, requests.slice(0, 1));
    const floor = await session.startFloor(answer);
    const jose = await session.start('./servers/jose.mjs', JSON.stringify(answer), SECRET);
    // Each token is new to Lectern: earlier tokens are forgotten before the list repeats.
    await session.give('tokens', requests);
    const rounds = await session.measure({ name: ROW_NAMES.firstSight, set: 'medium' }, [
      { name: 'floor', server: floor, as: 'tokens', connections },
      { name: 'floor with jose', server: jose, as: 'tokens', connections },
      { name: 'Lectern', server: lectern, as: 'tokens', connections },
    ]);
    found.floor.push(...rounds.get('floor'));
    found.jose.push(...rounds.get('floor with jose'));
    found.lectern.push(...rounds.get('Lectern'));
    await session.stop(lectern, floor, jose);
  });
  const micros = (some) => median(some.map(({ cpuMicros }) => cpuMicros));
  session.add(
    rowOf(
      { group: 'token', name: ROW_NAMES.firstSight, set: 'medium', unit: 'µs', target: MICROS_MAX },
      found.lectern.map(({ cpuMicros }, n) => cpuMicros - found.jose[n].cpuMicros),
      {
        requestMicros: micros(found.lectern),
        floorWithJoseMicros: micros(found.jose),
        joseMicros: median(found.jose.map(({ cpuMicros }, n) => cpuMicros - found.floor[n].cpuMicros)),
      },
    ),
  );
}
