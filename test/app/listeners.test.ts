import { once } from 'node:events';
import { test } from 'tap';
import { Listeners } from '../../src/app/timetable-events.js';

interface Told {
  news: [item: string, more: number];
  error: [error: Error];
}

test('listeners are called in order, once for each time they were added', (t) => {
  const listeners = new Listeners<Told>();
  const told: string[] = [];
  const first = (item: string, more: number): void => void told.push(`first ${item} ${more}`);
  listeners.add('news', first);
  listeners.add('news', (item) => void told.push(`second ${item}`));
  listeners.add('news', first);
  listeners.tell('news', 'a', 1);
  listeners.remove('news', first);
  listeners.remove('news', first);
  listeners.remove('news', first);
  listeners.tell('news', 'b', 2);
  t.strictSame(told, ['first a 1', 'second a', 'first a 1', 'second b']);
  listeners.tell('error', new Error('without a listener nothing happens'));
  t.end();
});

test('errors of a listener go to the error listeners; the others are still called', async (t) => {
  const listeners = new Listeners<Told>();
  const told: string[] = [];
  const errors: Error[] = [];
  const thrown = new Error('of the first');
  listeners.add('news', () => {
    throw thrown;
  });
  listeners.add('news', async () => {
    throw new Error('of the second');
  });
  listeners.add('news', (item) => void told.push(item));
  listeners.add('error', (error) => void errors.push(error));
  listeners.tell('news', 'a', 1);
  t.strictSame(told, ['a']);
  await new Promise((resolve) => setImmediate(resolve));
  t.strictSame(
    errors.map((error) => error.message),
    ["a listener of 'news' threw: of the first", "a listener of 'news' threw: of the second"],
  );
  t.equal(errors[0]?.cause, thrown);
});

test('without error listeners, or if one throws, there is a process warning', async (t) => {
  const failing = (): never => {
    throw new Error('a mistake');
  };
  for (const name of ['news', 'error'] as const) {
    const listeners = new Listeners<Told>();
    listeners.add(name, failing);
    const warned = once(process, 'warning');
    if (name === 'news') listeners.tell('news', 'a', 1);
    else listeners.tell('error', new Error('a load failed'));
    const [warning] = (await warned) as [Error & { detail?: string }];
    t.equal(warning.name, 'LecternWarning');
    t.equal(warning.message, `a listener of '${name}' threw: a mistake`);
    t.match(warning.detail, /listeners\.test/, 'with the place');
  }
});
