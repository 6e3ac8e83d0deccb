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
 * several, *slices*, one for each time that it may have asked. Turns are only timed after the event loop was seen to be
 * late. Until then a request costs one comparison and one addition.
 */
import { performance } from 'node:perf_hooks';
import {
  OVERLOAD_IDLE_LOOKS,
  OVERLOAD_LOOK_MS,
  OVERLOAD_MS_DEFAULT,
  OVERLOAD_PAUSED_TIMES_MAX,
  OVERLOAD_RECOVERY_MS,
  OVERLOAD_REQUESTS_MIN,
  OVERLOAD_SLICE_REQUESTS_MAX,
  OVERLOAD_SUSTAINED_MS,
  OVERLOAD_TURN_MS_MAX,
  OVERLOAD_TURNS_MIN,
  OVERLOAD_UTILISATION_MIN,
  OVERLOAD_WATCH_MS,
} from '../limits.js';

/** What has been seen of the event loop since the server listens. */
export interface OverloadCounts {
  readonly isOverloaded: boolean;
  /** Requests that were refused. */
  readonly refused: number;
  /** How often an overload began. */
  readonly overloads: number;
  /** How late the last look came, in ms. */
  readonly delayMs: number;
  /** The part of the last half second or so in which the thread was not idle, 0 to 1. */
  readonly utilisation: number;
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
  #timer: NodeJS.Timeout | null = null;
  #isOverloaded = false;
  #refused = 0;
  #overloads = 0;
  #delayMs = 0;
  #lookedMs = 0;
  #watchedUntilMs = 0;
  #utilised = performance.eventLoopUtilization();
  #utilisedMs = 0;
  #utilisation = 0;
  #turnBeganMs = 0;
  #turnRequests = 0;
  #isInTurn = false;
  #isLate = false;
  #sliceBeganMs = 0;
  #sliceProcessorMs = 0;
  #sliceRequests = 0;
  /** When the first of the late slices ended. */
  #lateSinceMs = 0;
  #lateSince = performance.eventLoopUtilization();
  #lateSlices = 0;
  /** Requests since the last look. */
  #passed = 0;
  /** Looks one after the other between which no request came. */
  #idleLooks = 0;
  #isResting = false;

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

  /** No request has come for a while, and until one does there are no looks. */
  get isResting(): boolean {
    return this.#isResting;
  }

  get counts(): OverloadCounts {
    return {
      isOverloaded: this.#isOverloaded,
      refused: this.#refused,
      overloads: this.#overloads,
      delayMs: this.#delayMs,
      utilisation: this.#utilisation,
    };
  }

  /** Does not keep the process alive. */
  start(): void {
    if (this.#delayMsMax === 0 || this.#timer !== null) return;
    this.#isResting = false;
    this.#idleLooks = 0;
    this.#lookedMs = performance.now();
    this.#utilisedMs = this.#lookedMs;
    this.#utilised = performance.eventLoopUtilization();
    this.#timer = setInterval(() => this.#look(), OVERLOAD_LOOK_MS).unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#isResting = false;
    this.isWatching = false;
    this.#become(false);
  }

  /** A request has come while turns are not timed. Timers, and with them looks, may wait for thousands of requests. */
  pass(): void {
    if (++this.#passed < OVERLOAD_SLICE_REQUESTS_MAX && !this.#isResting) return;
    if (this.#isResting) this.start();
    else if (this.#timer !== null) this.#look();
  }

  /** To wake an idle thread for each look costs a hundred times what the look does. */
  #restIfIdle(): void {
    this.#idleLooks = this.#passed === 0 && !this.isWatching && !this.#isOverloaded ? this.#idleLooks + 1 : 0;
    if (this.#idleLooks < OVERLOAD_IDLE_LOOKS) return;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#isResting = true;
    this.#delayMs = 0;
    this.#utilisation = 0;
  }

  /**
   * Whether the request that has just been read is refused; the first of a turn never is. To be asked once for each, before
   * any work, where {@link Overload.isWatching}.
   */
  refuses(): boolean {
    if (++this.#sliceRequests >= OVERLOAD_SLICE_REQUESTS_MAX) this.#endSlice();
    // Without a look at the clock: it would cost as much as the rest of this.
    if (this.isFull) return true;
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
    }
    if (this.#sliceRequests === 0) this.#beginSlice(nowMs);
    else if (this.#isOverloaded) this.isFull = this.#isUsedUp(nowMs - this.#sliceBeganMs);
    return this.isFull;
  }

  /** A request was refused. */
  count(): void {
    this.#refused++;
  }

  readonly #endTurn = (): void => {
    this.#endSlice();
    this.#isInTurn = false;
  };

  /** Where others have the processor meanwhile, it is the time on it that counts: otherwise a pause of theirs would pass for work. */
  #isUsedUp(sliceMs: number): boolean {
    if (sliceMs < this.#turnMsMax) return false;
    return (
      sliceMs >= OVERLOAD_PAUSED_TIMES_MAX * this.#turnMsMax ||
      processorMs() - this.#sliceProcessorMs >= this.#turnMsMax
    );
  }

  #beginSlice(nowMs: number): void {
    this.#sliceBeganMs = nowMs;
    this.#sliceRequests = 0;
    if (this.#isOverloaded) this.#sliceProcessorMs = processorMs();
  }

  #endSlice(): void {
    this.#sliceRequests = 0;
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
    const isBusy = performance.eventLoopUtilization(this.#lateSince).utilization >= OVERLOAD_UTILISATION_MIN;
    if (this.#lateSlices >= OVERLOAD_TURNS_MIN && isBusy) this.#become(true);
    else if (this.#lateSlices === 1 || !isBusy) {
      this.#lateSlices = 1;
      this.#lateSinceMs = nowMs;
      this.#lateSince = performance.eventLoopUtilization();
    }
  }

  #look(): void {
    this.#restIfIdle();
    this.#passed = 0;
    if (this.#isResting) return;
    const nowMs = performance.now();
    this.#delayMs = Math.max(0, nowMs - this.#lookedMs - OVERLOAD_LOOK_MS);
    this.#lookedMs = nowMs;
    // A look falls anywhere into a turn, so that it is late by half of one on average.
    if (this.#delayMs > this.#delayMsMax / 4) this.#watchedUntilMs = nowMs + OVERLOAD_WATCH_MS;
    this.isWatching = this.#isOverloaded || nowMs < this.#watchedUntilMs;
    if (nowMs - this.#utilisedMs >= OVERLOAD_RECOVERY_MS) this.#measure(nowMs);
  }

  #measure(nowMs: number): void {
    const utilised = performance.eventLoopUtilization();
    this.#utilisation = performance.eventLoopUtilization(utilised, this.#utilised).utilization;
    this.#utilised = utilised;
    this.#utilisedMs = nowMs;
    if (this.#utilisation < OVERLOAD_UTILISATION_MIN) this.#become(false);
  }

  #become(isOverloaded: boolean): void {
    if (isOverloaded === this.#isOverloaded) return;
    this.#isOverloaded = isOverloaded;
    this.#lateSlices = 0;
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
