/** When to ask the source again. */
export interface ScheduleOptions {
  /** Seconds between the end of one load and the begin of the next; 0 for never. Default 0. */
  readonly refreshSeconds?: number;
}

/** Each pause is made longer or shorter by up to this share, so that replicas do not ask all at once. */
const JITTER_SHARE = 0.1;
/** After a failure the pause begins here and doubles, up to the interval itself. */
const BACK_OFF_MS_MIN = 1000;
/** The longest that a timer takes, 24 days: a longer one would fire at once, over and over. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * The pause before the next load.
 *
 * A failed source is asked again soon, then less and less often, but at least as often as a healthy one: whoever asks
 * every five seconds wants to be caught up within five seconds.
 *
 * @param intervalMs the regular pause; 0 where there is none, and then also no retry
 * @param failures failed loads in a row
 * @param retryAfterMs what the source asked for, or null
 * @param random from 0 to 1
 * @param spentMs how long the last load took. After a failure that counts, so that a hang is not followed by as long a pause.
 * @returns milliseconds, or null for never
 */
export function pauseMs(
  intervalMs: number,
  failures: number,
  retryAfterMs: number | null,
  random: number,
  spentMs = 0,
): number | null {
  if (intervalMs <= 0) return null;
  const regular = failures === 0 ? intervalMs : Math.min(intervalMs, BACK_OFF_MS_MIN * 2 ** (failures - 1));
  const rest = failures === 0 ? regular : Math.max(Math.min(regular, BACK_OFF_MS_MIN), regular - spentMs);
  const jittered = rest * (1 + JITTER_SHARE * (2 * random - 1));
  return Math.min(Math.round(Math.max(jittered, retryAfterMs ?? 0)), TIMER_MS_MAX);
}
