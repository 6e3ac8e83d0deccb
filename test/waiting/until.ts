import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';

/** Only a test that fails waits so long. A busy machine may take long for everything. */
const WAIT_MS_MAX = 60_000;
/** Looking may cost a request. */
const PAUSE_MS = 10;

/**
 * Waits for a condition that no event tells of. Rejects with what was seen last.
 *
 * @param what says what is waited for, as in "both replicas serve it"
 * @param look sees the present state
 * @param holds whether this state is the wanted one. Default: it is true
 */
export async function until<Seen>(
  what: string,
  look: () => Seen | Promise<Seen>,
  holds: (seen: Seen) => boolean = Boolean,
): Promise<Seen> {
  const untilMs = performance.now() + WAIT_MS_MAX;
  for (;;) {
    const seen = await look();
    if (holds(seen)) return seen;
    if (performance.now() > untilMs)
      throw new Error(`after ${WAIT_MS_MAX / 1000} s it was not so: ${what}; seen was ${inspect(seen)}`);
    await delay(PAUSE_MS);
  }
}
