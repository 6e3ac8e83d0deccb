import type { MessagePort } from 'node:worker_threads';
import { THREAD_PULSE_MS } from '../../base/limits.js';
import { type FollowedLoad, PostgresFollower } from '../../source/postgres/follower.js';
import type { FollowTask, FromFollower, ToFollower } from './database-thread.js';
import { ownHeap } from './start-thread.js';
import { taskFailureOf } from './task-failure.js';

/** Runs in a thread of its own, for {@link DatabaseThread}, which ends it. */
export function followTable({ source, rules }: FollowTask, port: MessagePort): void {
  const tell = (message: FromFollower): void => port.postMessage(message);
  const tellState = (): void => tell({ kind: 'alive', state: follower.state, heap: ownHeap() });
  let isTelling = false;
  const follower = new PostgresFollower(source, rules, () => {
    if (isTelling) return;
    isTelling = true;
    // One message for all commits that came together: a server may send more than the main thread can take.
    setImmediate(() => {
      isTelling = false;
      tellState();
      tell({ kind: 'changed' });
    });
  });
  /** The whole loads that are still running. */
  const whole = new Map<number, Extract<FollowedLoad, { readonly whole: unknown }>>();
  const answer = async (message: ToFollower): Promise<FromFollower> => {
    const { number } = message;
    if (message.kind === 'end') {
      const load = whole.get(number);
      whole.delete(number);
      await load?.end(message.isGood);
      return { kind: 'ended', number };
    }
    const load = await follower.next(message);
    if (!('whole' in load)) return { kind: 'given', number, load };
    whole.set(number, load);
    const { end: _, ...sent } = load;
    return { kind: 'given', number, load: sent };
  };
  port.on('message', (message: ToFollower) => {
    answer(message).then(
      (answered) => {
        tellState();
        tell(answered);
      },
      (error: unknown) => tell({ kind: 'failed', number: message.number, failure: taskFailureOf(error) }),
    );
  });
  tellState();
  setInterval(tellState, THREAD_PULSE_MS);
}
