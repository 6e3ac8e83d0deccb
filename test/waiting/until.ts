import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';

/** Only a test that fails waits so long: on a busy machine everything takes long. */
const WAIT_MS_MAX = 60_000;
const PAUSE_MS = 5;

/**
 * Waits for a condition that no event announces, and resolves to the value that held. Rejects with the last value.
 *
 * @param look reads the present value
 * @param holds whether it is the wanted value. Default: it is true
 */
export async function until<Seen>(
  look: () => Seen | Promise<Seen>,
  holds: (seen: Seen) => boolean = Boolean,
): Promise<Seen> {
  const untilMs = performance.now() + WAIT_MS_MAX;
  for (;;) {
    const seen = await look();
    if (holds(seen)) return seen;
    if (performance.now() > untilMs) {
      const wanted = holds === Boolean ? '' : ` with ${holds}`;
      throw new Error(
        `the condition did not hold within ${WAIT_MS_MAX / 1000} s: ${look}${wanted}; seen last: ${inspect(seen)}`,
      );
    }
    await delay(PAUSE_MS);
  }
}

/**
 * Waits for some time in which a fault would show. No event announces that something does not happen. A slow machine can
 * hide the fault, but cannot fail the test.
 */
export function timeForAFault(ms: number): Promise<void> {
  return delay(ms);
}
