/**
 * Keys in a serving thread: its requests for newer keys. Inside, because its requests and replies are
 * messages between threads.
 */

import { test } from 'tap';
import { PostedKeys } from '../../src/app/thread-messages.js';
import type { KeyState } from '../../src/auth/key-set.js';
import { monotonicMs } from '../../src/base/model/clock.js';

function state(more: Partial<KeyState> = {}): KeyState {
  return {
    name: 'keys',
    number: 1,
    keys: [],
    usableUntilMs: monotonicMs() + 60_000,
    nextFetchMs: monotonicMs(),
    problem: null,
    ...more,
  };
}

test('requests for newer keys that come together are posted once', async (t) => {
  let asked = 0;
  let told = 0;
  const keys = new PostedKeys(state(), () => asked++);
  keys.listen(() => told++);
  const settled: number[] = [];
  const waiting = [1, 2, 3].map(async (n) => {
    await keys.want();
    settled.push(n);
  });
  t.equal(asked, 1, 'one question for all');
  keys.receive(state({ number: 2 }), false);
  await new Promise((resolve) => setImmediate(resolve));
  t.same(settled, [], 'what comes meanwhile is no reply');
  t.equal(keys.state.number, 2, 'and is taken all the same');
  keys.receive(state({ number: 3, nextFetchMs: monotonicMs() + 30_000 }), true);
  await Promise.all(waiting);
  t.same(settled, [1, 2, 3]);
  t.equal(told, 2);
  for (let n = 0; n < 1000; n++) await keys.want();
  t.equal(asked, 1, 'within the cooldown no request is posted');
  keys.receive(state({ number: 3 }), false);
  const again = keys.want();
  t.equal(asked, 2, 'after the cooldown a request is posted');
  keys.receive(keys.state, true);
  await again;
});

test('an unexpected reply does no harm', async (t) => {
  const keys = new PostedKeys(state(), () => t.fail('asked'));
  keys.receive(state({ number: 7, nextFetchMs: monotonicMs() + 1000 }), true);
  await keys.want();
  t.equal(keys.state.number, 7);
});
