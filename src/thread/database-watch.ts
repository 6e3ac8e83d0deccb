import type { MessagePort } from 'node:worker_threads';
import { THREAD_PULSE_MS } from '../limits.js';
import { type FollowedLoad, PostgresFollower } from '../source/postgres/follower.js';
import type { FromDatabases, ToDatabases, WatchTask } from './database-messages.js';
import { ownHeap } from './start-thread.js';
import { taskFailureOf } from './task-failure.js';

/** Runs in a thread of its own, for {@link DatabaseThread}. */
export function watchDatabases({ source, rules }: WatchTask, port: MessagePort): void {
  const tell = (message: FromDatabases): void => port.postMessage(message);
  const follower = new PostgresFollower(source, rules);
  const tellState = (): void => tell({ kind: 'alive', state: follower.state, heap: ownHeap() });
  /** The whole loads that are still running. */
  const whole = new Map<number, Extract<FollowedLoad, { readonly whole: unknown }>>();
  // Nothing aborts this signal: ending the thread ends its loads.
  const { signal } = new AbortController();
  const answer = async (message: ToDatabases): Promise<FromDatabases> => {
    const { number } = message;
    if (message.kind === 'end') {
      const load = whole.get(number);
      whole.delete(number);
      await load?.end(message.isGood);
      return { kind: 'ended', number };
    }
    const load = await follower.next({ previous: message.previous, served: message.served, signal });
    if (!('whole' in load)) return { kind: 'given', number, load };
    whole.set(number, load);
    const { end: _, ...sent } = load;
    return { kind: 'given', number, load: sent };
  };
  port.on('message', (message: ToDatabases) => {
    answer(message).then(
      (answered) => {
        tellState();
        tell(answered);
      },
      (error: unknown) => tell({ kind: 'failed', number: message.number, failure: taskFailureOf(error) }),
    );
  });
  follower.watch(() => {
    tellState();
    tell({ kind: 'changed' });
  });
  tellState();
  setInterval(tellState, THREAD_PULSE_MS);
}
