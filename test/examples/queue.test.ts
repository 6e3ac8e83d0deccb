import { test } from 'tap';
import type { TimetableEvent } from '../../src/index.js';
import { until } from '../waiting/until.js';
import { runExample } from './run-example.js';

test('queue.mjs serves the messages of its queue', async (t) => {
  const { schedule, end } = await runExample('queue.mjs');
  try {
    const titles = async (): Promise<(string | null)[]> => {
      const answer = await fetch(schedule);
      return ((await answer.json()) as TimetableEvent[]).map(({ title }) => title);
    };
    const expected = ['Lesson 2 is in another room', 'Lesson 3', 'Lesson 4'];
    // A busy machine may take any time; the test itself has a limit.
    await until(
      async () => (await titles()).join(),
      (seen) => seen === expected.join(),
    );
    t.pass('all changes of the queue are there');
  } finally {
    t.strictSame(await end(), { code: 0, stderr: '' });
  }
});
