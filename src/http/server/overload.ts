/**
 * Detects that one thread has too many requests, and chooses the requests to refuse.
 *
 * A turn of the event loop reads all requests that have arrived, so its length is the longest wait of a
 * request. A series of long turns with many requests and no idle time is an overload: each turn then accepts
 * requests for a few milliseconds and refuses the rest.
 *
 * libuv may read for seconds in one turn. Such a turn is cut into *slices* by number of requests and by time.
 * After a long turn, every turn is timed for a while. At other times, only samples are timed.
 */
import { performance } from 'node:perf_hooks';
import { OVERLOAD_TURN_MS_MAX } from '../../base/limits.js';

/**
 * Share of a turn that refusing may use. If refusing takes more, turns get longer, so that some requests are
 * still answered.
 */
const OVERLOAD_REFUSING_SHARE_MAX = 0.5;
/** How many times longer than usual a turn may get while other processes use the CPU: 4 × 2.5 = 10 ms. */
const OVERLOAD_PAUSED_TIMES_MAX = 4;
/**
 * When turns have been late for this long, without idle time, the thread is overloaded. A shorter series of
 * late turns comes from a pause of the process and the backlog after it.
 */
const OVERLOAD_SUSTAINED_MS = 200;
const OVERLOAD_TURNS_MIN = 3;
/**
 * Late turns count only above this utilisation, which a thread that waits for the network between turns does
 * not reach.
 */
const OVERLOAD_BUSY_MIN = 0.8;
/**
 * Requests between two measurements of a turn. At 1 ms each, fewer requests take less than 32 ms and are not
 * worth refusing.
 */
export const OVERLOAD_REQUESTS_MIN = 32;
/** libuv's EVENTS_SIZE. Up to 48 such batches come before a timer: 48 × 1,024 × 60 µs = 3 s. */
const OVERLOAD_SLICE_REQUESTS_MAX = 1024;
/** Time between two measurements of the event loop's delay while turns are timed. Waking an idle thread takes 0.2 ms. */
const OVERLOAD_LOOK_MS = 20;
/** How long turns are timed after a late one. Timing costs 0.05 µs a request. */
export const OVERLOAD_WATCH_MS = 1000;
/**
 * The thread has recovered after a period of this length with 5 % idle time and few refusals. Recovery is
 * noticed within 1 s.
 */
export const OVERLOAD_RECOVERY_MS = 500;
const OVERLOAD_UTILISATION_MIN = 0.95;
/** At 1.1 times the capacity, a tenth of the requests is refused. */
const OVERLOAD_REFUSED_SHARE_MAX = 0.1;

export interface OverloadCounts {
  readonly isOverloaded: boolean;
  readonly refused: number;
  readonly overloads: number;
}

const mark = () => ({ ms: performance.now(), loop: performance.eventLoopUtilization() });

/** Processor time of all threads of the process. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

export class Overload {
  /** Whether the rest of the slice is refused. */
  isFull = false;
  readonly #delayMsMax: number;
  readonly #turnMsMax: number;
  readonly #onChange: (isOverloaded: boolean) => void;
  #timer: NodeJS.Timeout | undefined;
  #isListening = false;
  #isOverloaded = false;
  #refused = 0;
  /** Requests since the last measurement, and how many of them were refused. */
  #asked = 0;
  #turnedAway = 0;
  #overloads = 0;
  #lookedMs = 0;
  #watchedUntilMs = 0;
  #measured = mark();
  #turnBeganMs = 0;
  #turnRequests = 0;
  #isInTurn = false;
  #isLate = false;
  #sliceBeganMs = 0;
  #sliceProcessorMs = 0;
  #sliceRequests = 0;
  #fullSinceMs = 0;
  /** The mean time that recent slices spent on refusing. */
  #refusingMs = 0;
  #late = mark();
  #lateSlices = 0;
  #passed = 0;
  #probedMs: number | null = null;

  /** @param delayMsMax 0: nothing is ever refused */
  constructor(delayMsMax: number, onChange: (isOverloaded: boolean) => void = () => {}) {
    this.#delayMsMax = delayMsMax;
    this.#turnMsMax = Math.min(OVERLOAD_TURN_MS_MAX, delayMsMax);
    this.#onChange = onChange;
  }

  get isWatching(): boolean {
    return this.#timer !== undefined;
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

  /** While turns are not timed, one request in OVERLOAD_REQUESTS_MIN measures its turn. */
  #pass(): void {
    if (++this.#passed < OVERLOAD_REQUESTS_MIN) return;
    this.#passed = 0;
    if (!this.#isListening) return;
    if (this.#probedMs === null) {
      this.#probedMs = performance.now();
      setImmediate(() => {
        this.#probe();
        this.#probedMs = null;
      });
    } else this.#probe();
  }

  /** Measures the turn of one request; on average the request sees half of it. */
  #probe(): void {
    const nowMs = performance.now();
    if (nowMs - (this.#probedMs ?? nowMs) > this.#delayMsMax / 4) this.#watch(nowMs);
  }

  #watch(nowMs: number): void {
    if (!this.#isListening) return;
    this.#watchedUntilMs = nowMs + OVERLOAD_WATCH_MS;
    if (this.#timer !== undefined) return;
    this.#lookedMs = nowMs;
    this.#measured = mark();
    this.#timer = setInterval(() => this.#look(), OVERLOAD_LOOK_MS).unref();
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#passed = 0;
  }

  /** Call this once for each request, before any work. The first request of a turn is never refused. */
  refuses(): boolean {
    if (this.#timer === undefined) {
      this.#pass();
      return false;
    }
    this.#asked++;
    if (++this.#sliceRequests >= OVERLOAD_SLICE_REQUESTS_MAX) this.#endSlice();
    // This check comes before reading the clock, which costs as much as all other steps.
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
      // If the slice went on, then under three times the load that the thread can take, each turn would be
      // three times as long as the turn before.
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

  count(): void {
    this.#refused++;
  }

  readonly #endTurn = (): void => {
    this.#endSlice();
    this.#isInTurn = false;
  };

  /** Compares processor time too, because other processes may use the processor. */
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

  #judge(): void {
    this.#lateSlices++;
    if (this.#lateSlices > 1 && performance.now() - this.#late.ms < OVERLOAD_SUSTAINED_MS) return;
    // Clients send in bursts, so some turns are short, but an overload leaves no idle time.
    const isBusy = performance.eventLoopUtilization(this.#late.loop).utilization >= OVERLOAD_BUSY_MIN;
    if (this.#lateSlices >= OVERLOAD_TURNS_MIN && isBusy) this.#become(true);
    else if (this.#lateSlices === 1 || !isBusy) {
      this.#lateSlices = 1;
      this.#late = mark();
    }
  }

  #look(): void {
    const nowMs = performance.now();
    const delayMs = nowMs - this.#lookedMs - OVERLOAD_LOOK_MS;
    this.#lookedMs = nowMs;
    // On average a measurement is late by half a turn.
    if (delayMs > this.#delayMsMax / 4) this.#watch(nowMs);
    if (nowMs - this.#measured.ms >= OVERLOAD_RECOVERY_MS) this.#measure();
    if (!this.#isOverloaded && nowMs >= this.#watchedUntilMs) this.#rest();
  }

  #measure(): void {
    const { utilization } = performance.eventLoopUtilization(this.#measured.loop);
    // Refusing is cheap, so even a thread that refuses most requests is sometimes idle.
    const isFitting = this.#turnedAway <= OVERLOAD_REFUSED_SHARE_MAX * this.#asked;
    this.#measured = mark();
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
      this.#measured = mark();
    }
    this.#onChange(isOverloaded);
  }
}
