/** All requests of the bench can be answered, for sets with any times. */
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { test } from 'tap';

interface Workload {
  readonly name: string;
  readonly requests: readonly { readonly path: string }[];
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { workloadsOf } = (await import(pathToFileURL(join(ROOT, 'bench/workloads.mjs')).href)) as {
  workloadsOf(events: readonly object[], options: object): readonly Workload[];
};

test('no window of the bench is empty, even where hundreds of events begin at once', async (t) => {
  const events = Array.from({ length: 400 }, (_, n) => {
    const time = Date.UTC(2024, 8, 2 + Math.floor(n / 200), 8);
    return {
      id: `event-${n}`,
      time: new Date(time).toISOString(),
      endTime: new Date(time + 3_600_000).toISOString(),
      roomId: `room ${n % 2}`,
      lecturerId: `lecturer ${n % 3}`,
      studyGroup: 'group',
      courseId: null,
      type: 'LEC',
    };
  });
  const workloads = workloadsOf(events, {
    secret: 'a secret of 32 bytes or more, of a test',
    count: 20_000,
    seed: 3,
  });
  let windows = 0;
  for (const { name, requests } of workloads) {
    for (const { path } of requests) {
      const { searchParams } = new URL(path, 'http://a');
      const [start, end] = [searchParams.get('startTime'), searchParams.get('endTime')];
      if (start === null || end === null) continue;
      windows++;
      if (!(Date.parse(start) < Date.parse(end))) t.fail(`${name}: ${path}`);
    }
  }
  t.ok(windows > 80_000, `${windows} windows`);
});
