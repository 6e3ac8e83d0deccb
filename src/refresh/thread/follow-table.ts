import { PostgresFollower } from '../../source/postgres/follower.js';
import type { FollowedLoad } from '../../source/postgres/postgres-address.js';
import type { DoneOf, EndWholeTask, FollowTask, TaskListeners } from './task-messages.js';

/** The follower of this thread. */
let follower: PostgresFollower | null = null;
/** The whole load that is still running. */
let whole: Extract<FollowedLoad, { readonly whole: unknown }> | null = null;

/** Asks for the changes of a table, on a thread that {@link DatabaseThread} keeps. */
export async function followTable(
  { source, rules, previous, served }: FollowTask,
  { onFollow, onChange = () => {} }: TaskListeners,
): Promise<DoneOf<FollowTask>> {
  if (follower === null) {
    let isTelling = false;
    const made = new PostgresFollower(source, rules, () => {
      if (isTelling) return;
      isTelling = true;
      // One message for all commits that came together: a server may send more than the main thread can take.
      setImmediate(() => {
        isTelling = false;
        onChange();
      });
    });
    follower = made;
    onFollow?.(() => made.state);
  }
  const load = await follower.next({ previous, served });
  if (!('whole' in load)) return { kind: 'followed', load };
  whole = load;
  const { end: _, ...sent } = load;
  return { kind: 'followed', load: sent };
}

export async function endWhole({ isGood }: EndWholeTask): Promise<DoneOf<EndWholeTask>> {
  const load = whole;
  whole = null;
  await load?.end(isGood);
  return { kind: 'done' };
}
