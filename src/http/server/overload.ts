/**
 * Whether one thread has more requests than it can answer, and which of them it refuses.
 *
 * Requests are answered in the turn of the event loop in which they are read, so what waits, waits in the sockets, and one
 * turn reads all of it: the time that a turn spends on requests is how long the last of them has waited. Late turns of many
 * requests, one after the other and without a pause between them, are an overload; then each turn admits requests for a few
 * milliseconds and refuses the rest of that turn, so that the next begins soon. No more is refused than did not fit, which is
 * nothing once a turn has no more to do.
 *
 * A turn in which libuv finds as many connections ready as it asks for goes on reading, for seconds if need be; it counts as
 * several, *slices*, one for each time that it may have asked, and one for each time that the limit has passed. Turns are only
 * timed after one was seen to be long: every so many requests it is looked when the turn they came in ends. Until then a
 * request costs one comparison and one addition, and an idle thread is never woken.
 */
import { performance } from 'node:perf_hooks';
import {
  OVERLOAD_BUSY_MIN,
  OVERLOAD_LOOK_MS,
  OVERLOAD_MS_DEFAULT,
  OVERLOAD_PAUSED_TIMES_MAX,
  OVERLOAD_RECOVERY_MS,
  OVERLOAD_REFUSED_SHARE_MAX,
  OVERLOAD_REFUSING_SHARE_MAX,
  OVERLOAD_REQUESTS_MIN,
  OVERLOAD_SLICE_REQUESTS_MAX,
  OVERLOAD_SUSTAINED_MS,
  OVERLOAD_TURN_MS_MAX,
  OVERLOAD_TURNS_MIN,
  OVERLOAD_UTILISATION_MIN,
  OVERLOAD_WATCH_MS,
} from '../../limits.js';

/** What has been seen of the event loop since the server listens. */
export interface OverloadCounts {
  readonly isOverloaded: boolean;
  /** Requests that were refused. */
  readonly refused: number;
  /** How often an overload began. */
  readonly overloads: number;
}

/** Of all threads of the process. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

export class Overload {
  /** Turns are timed, and {@link Overload.refuses} has to be asked; otherwise {@link Overload.pass} has to be told. */
  isWatching = false;
  /** There is no time left in the present slice: what it still reads is refused. */
  isFull = false;
  readonly #delayMsMax: number;
  readonly #turnMsMax: number;
  readonly #onChange: (isOverloaded: boolean) => void;
  /** Only while turns are timed. */
  #timer: NodeJS.Timeout | null = null;
  #isListening = false;
  #isOverloaded = false;
  #refused = 0;
  /** Requests since the utilisation was measured last, and those of them for which there was no time. */
  #asked = 0;
  #turnedAway = 0;
  #overloads = 0;
  #lookedMs = 0;
  #watchedUntilMs = 0;
  #utilised = performance.eventLoopUtilization();
  #utilisedMs = 0;
  #turnBeganMs = 0;
  #turnRequests = 0;
  #isInTurn = false;
  #isLate = false;
  #sliceBeganMs = 0;
  #sliceProcessorMs = 0;
  #sliceRequests = 0;
  /** When the present slice was full, and how long it took to refuse the rest of the slices before it, the latest of them most. */
  #fullSinceMs = 0;
  #refusingMs = 0;
  /** When the first of the late slices ended. */
  #lateSinceMs = 0;
  #lateSince = performance.eventLoopUtilization();
  #lateSlices = 0;
  /** Requests since it was looked last. */
  #passed = 0;
  /** When a request asked for the end of its turn; null where none has. */
  #probedMs: number | null = null;

  /**
   * @param delayMsMax the limit; 0 for none
   * @param onChange told when an overload begins and when it is over
   */
  constructor(
    delayMsMax: number = OVERLOAD_MS_DEFAULT,
    onChange: (isOverloaded: boolean) => void = () => {},
  ) {
    this.#delayMsMax = delayMsMax;
    this.#turnMsMax = Math.min(OVERLOAD_TURN_MS_MAX, delayMsMax);
    this.#onChange = onChange;
  }

  get isOverloaded(): boolean {
    return this.#isOverloaded;
  }

  get counts(): OverloadCounts {
    return { isOverloaded: this.#isOverloaded, refused: this.#refused, overloads: this.#overloads };
  }

  start(): void {
    this.#isListening = this.#delayMsMax > 0;
  }

  stop(): void {
    this.#isListening = false;
    this.#rest();
    this.#become(false);
  }

  /** A request has come while turns are not timed. */
  pass(): void {
    if (++this.#passed < OVERLOAD_REQUESTS_MIN) return;
    this.#passed = 0;
    if (!this.#isListening) return;
    if (this.#probedMs === null) {
      this.#probedMs = performance.now();
      setImmediate(this.#endProbe);
    } else this.#probe(this.#probedMs);
  }

  readonly #endProbe = (): void => {
    if (this.#probedMs !== null) this.#probe(this.#probedMs);
    this.#probedMs = null;
  };

  /** Those that ask are anywhere in their turn, so that half of it is left on average; the turn before was as long, perhaps. */
  #probe(sinceMs: number): void {
    const nowMs = performance.now();
    if (nowMs - sinceMs > this.#delayMsMax / 4) this.#watch(nowMs);
  }

  /** Does not keep the process alive. */
  #watch(nowMs: number): void {
    if (!this.#isListening) return;
    this.#watchedUntilMs = nowMs + OVERLOAD_WATCH_MS;
    this.isWatching = true;
    if (this.#timer !== null) return;
    this.#lookedMs = nowMs;
    this.#utilisedMs = nowMs;
    this.#utilised = performance.eventLoopUtilization();
    this.#timer = setInterval(() => this.#look(), OVERLOAD_LOOK_MS).unref();
  }

  #rest(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.isWatching = false;
    this.#passed = 0;
  }

  /**
   * Whether the request that has just been read is refused; the first of a turn never is. To be asked once for each, before
   * any work, where {@link Overload.isWatching}.
   */
  refuses(): boolean {
    this.#asked++;
    if (++this.#sliceRequests >= OVERLOAD_SLICE_REQUESTS_MAX) this.#endSlice();
    // Without a look at the clock: it would cost as much as the rest of this.
    if (this.isFull) {
      this.#turnedAway++;
      return true;
    }
    const nowMs = performance.now();
    if (!this.#isInTurn) {
      this.#isInTurn = true;
      this.#turnBeganMs = nowMs;
      this.#turnRequests = 1;
      this.#beginSlice(nowMs);
      setImmediate(this.#endTurn);
      return false;
    }
    if (++this.#turnRequests >= OVERLOAD_REQUESTS_MIN && nowMs - this.#turnBeganMs > this.#delayMsMax) {
      this.#isLate = true;
      // Under three times the capacity each turn is three times as long as the one before: that is not waited for.
      if (!this.#isOverloaded && nowMs - this.#sliceBeganMs > this.#delayMsMax) this.#endSlice();
    }
    if (this.#sliceRequests === 0) this.#beginSlice(nowMs);
    else if (this.#isOverloaded && this.#isUsedUp(nowMs - this.#sliceBeganMs)) {
      this.isFull = true;
      this.#fullSinceMs = nowMs;
    }
    if (this.isFull) this.#turnedAway++;
    return this.isFull;
  }

  /** A request was refused, for whatever reason. */
  count(): void {
    this.#refused++;
  }

  readonly #endTurn = (): void => {
    this.#endSlice();
    this.#isInTurn = false;
  };

  /** Where others have the processor meanwhile, it is the time on it that counts: otherwise a pause of theirs would pass for work. */
  #isUsedUp(sliceMs: number): boolean {
    const admittingMs =
      this.#turnMsMax - Math.min(this.#refusingMs, OVERLOAD_REFUSING_SHARE_MAX * this.#turnMsMax);
    if (sliceMs < admittingMs) return false;
    return (
      sliceMs >= OVERLOAD_PAUSED_TIMES_MAX * admittingMs ||
      processorMs() - this.#sliceProcessorMs >= admittingMs
    );
  }

  #beginSlice(nowMs: number): void {
    this.#sliceBeganMs = nowMs;
    this.#sliceRequests = 0;
    if (this.#isOverloaded) this.#sliceProcessorMs = processorMs();
  }

  #endSlice(): void {
    this.#sliceRequests = 0;
    if (this.#isOverloaded) {
      const refusingMs = this.isFull ? performance.now() - this.#fullSinceMs : 0;
      this.#refusingMs += (refusingMs - this.#refusingMs) / 2;
    }
    this.isFull = false;
    if (this.#isLate && !this.#isOverloaded) this.#judge();
    this.#isLate = false;
  }

  /** After something late. */
  #judge(): void {
    this.#lateSlices++;
    const nowMs = performance.now();
    if (this.#lateSlices > 1 && nowMs - this.#lateSinceMs < OVERLOAD_SUSTAINED_MS) return;
    // Turns in between may be short, as clients answer in bursts; what there is not in an overload is idleness.
    const isBusy = performance.eventLoopUtilization(this.#lateSince).utilization >= OVERLOAD_BUSY_MIN;
    if (this.#lateSlices >= OVERLOAD_TURNS_MIN && isBusy) this.#become(true);
    else if (this.#lateSlices === 1 || !isBusy) {
      this.#lateSlices = 1;
      this.#lateSinceMs = nowMs;
      this.#lateSince = performance.eventLoopUtilization();
    }
  }

  #look(): void {
    const nowMs = performance.now();
    const delayMs = nowMs - this.#lookedMs - OVERLOAD_LOOK_MS;
    this.#lookedMs = nowMs;
    // A look falls anywhere into a turn, so that it is late by half of one on average.
    if (delayMs > this.#delayMsMax / 4) this.#watch(nowMs);
    if (nowMs - this.#utilisedMs >= OVERLOAD_RECOVERY_MS) this.#measure(nowMs);
    if (!this.#isOverloaded && nowMs >= this.#watchedUntilMs) this.#rest();
  }

  #measure(nowMs: number): void {
    const utilised = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(utilised, this.#utilised);
    // Refusing is cheap, so that a thread that refuses most is idle between turns, too.
    const isFitting = this.#turnedAway <= OVERLOAD_REFUSED_SHARE_MAX * this.#asked;
    this.#utilised = utilised;
    this.#utilisedMs = nowMs;
    this.#asked = 0;
    this.#turnedAway = 0;
    if (utilization < OVERLOAD_UTILISATION_MIN && isFitting) this.#become(false);
  }

  #become(isOverloaded: boolean): void {
    if (isOverloaded === this.#isOverloaded) return;
    this.#isOverloaded = isOverloaded;
    this.#lateSlices = 0;
    this.#refusingMs = 0;
    this.isFull = false;
    if (isOverloaded) {
      this.#overloads++;
      // What is measured from here on is the overload.
      this.#utilised = performance.eventLoopUtilization();
      this.#utilisedMs = performance.now();
    }
    this.#onChange(isOverloaded);
  }
}
