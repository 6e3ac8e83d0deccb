import { availableParallelism, totalmem } from 'node:os';
import type { LiveViews, Receiver } from '../answer/present.js';
import type { AccessSource } from '../auth/access.js';
import { RemoteKeys } from '../auth/remote-keys.js';
import { SERVING_THREADS_MAX } from '../base/limits.js';
import type { Meter } from '../base/metrics/meter.js';
import { monotonicMs } from '../base/model/clock.js';
import type { Logger } from '../http/logger.js';
import type { ListenAddress } from '../http/server/listen-address.js';
import type { OverloadCounts } from '../http/server/overload.js';
import type { ServerPlan } from './server-plan.js';

/** The heaps of the threads that do not serve, for metrics. */
export { reportedHeaps, type ThreadHeap } from '../refresh/thread/start-thread.js';

/**
 * Plain data for every serving thread. Limits apply to one thread. Only in ServingSurroundings, `cacheBytesMax`
 * and `streamsMax` are totals for all threads.
 */
export interface ServingSettings extends ServerPlan {
  readonly host: string;
  readonly port: number;
  /** Number of serving threads: 1 means the main thread. */
  readonly workers: number;
  readonly staleMsMax: number;
}

export interface ServingSurroundings {
  readonly settings: ServingSettings;
  /** The served snapshot on this thread. The `receiver` passes it to other threads. */
  readonly views: LiveViews;
  readonly access: AccessSource;
  readonly isMetered: boolean;
  readonly log: Logger | undefined;
  readonly onLost: (error: Error) => void;
}

/** The keys that verify tokens. Keys from an address are fetched once for all threads. */
export class ServingKeys {
  readonly fetched: RemoteKeys | null;
  readonly #hasOthers: boolean;

  constructor({ auth, development }: ServerPlan, { access }: AccessSource, log: Logger | undefined) {
    this.fetched = auth.remoteKeys === null ? null : new RemoteKeys(auth.remoteKeys, { log });
    this.#hasOthers = access.tokenKeys.secrets !== null || development !== null;
  }

  /** Whether tokens can be verified now. */
  get areThere(): boolean {
    return this.fetched === null || this.#hasOthers || monotonicMs() < this.fetched.state.usableUntilMs;
  }
}

export interface ThreadMeter {
  /** `main`, or a number from 1. A replacement has the number of the lost thread. */
  readonly thread: string;
  readonly meter: Meter;
}

export interface Serving {
  readonly address: ListenAddress;
  readonly workers: number;
  readonly keys: ServingKeys;
  /** One for each serving thread; empty without metrics. */
  readonly meters: readonly ThreadMeter[];
  /** Whether at least one thread has a snapshot to answer from. */
  readonly isServing: boolean;
  /** Gets publications for other threads; null if this thread serves. */
  readonly receiver: Receiver | null;
  /** Resolves when every thread listens. Rejects with a LecternError `address-unavailable`. */
  readonly started: Promise<void>;
  readonly condition: ServingCondition;
  drain(): void;
  close(options?: { readonly deadlineMs?: number }): Promise<void>;
}

/** The condition of a port, for load balancers. */
export interface ServingCondition {
  /** The port will close soon and should get no new connections. */
  readonly isDraining: boolean;
  /** Every serving thread has more requests than it can answer. */
  readonly isOverloaded: boolean;
  readonly threadsOverloaded: number;
  /** Requests refused for overload. Refusals in the last second of a lost thread may be missing. */
  readonly refused: number;
  /** How often a thread became overloaded; counted like `refused`. */
  readonly overloads: number;
}

export function conditionOf(
  isDraining: boolean,
  loads: readonly OverloadCounts[],
  past: Omit<OverloadCounts, 'isOverloaded'> = { refused: 0, overloads: 0 },
): ServingCondition {
  const threadsOverloaded = loads.filter((load) => load.isOverloaded).length;
  return {
    isDraining,
    isOverloaded: threadsOverloaded > 0 && threadsOverloaded === loads.length,
    threadsOverloaded,
    refused: loads.reduce((sum, load) => sum + load.refused, past.refused),
    overloads: loads.reduce((sum, load) => sum + load.overloads, past.overloads),
  };
}

/**
 * MB for the semi-spaces of all serving threads together. The young generations then take 3 × 32 = 96 MB, as
 * much as those of two threads by default.
 */
const SERVING_SEMI_SPACES_MB_MAX = 32;

/** @param workers serving threads; `auto`: one for each core */
export function threadsOf(workers: number | 'auto'): number {
  return workers === 'auto' ? Math.min(availableParallelism(), SERVING_THREADS_MAX) : workers;
}

/** A young generation consists of three semi-spaces. V8 makes the size of a semi-space a power of two. */
const SEMI_SPACES = 3;
const SEMI_SPACE_MB_MIN = 2;
const WORKERS_OF_V8_MAX = 2;
/**
 * V8 gives each semi-space at least this share of the memory, but at most 16 MB (Node 20; later versions give
 * more).
 */
const V8_SHARE = 1 / 512;

/**
 * MB that the young generation of each serving thread may take. Null leaves the size to V8, which lets each
 * thread take as much as a whole process: 48 MB, and more under load. `--max-semi-space-size` and
 * `--max-heap-size` override this.
 */
export function youngGenerationMbOf(
  workers: number,
  memoryBytes: number = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem()),
): number | null {
  if (workers <= WORKERS_OF_V8_MAX) return null;
  const part = 2 ** Math.floor(Math.log2(SERVING_SEMI_SPACES_MB_MAX / workers));
  const semiSpaceMb = Math.max(SEMI_SPACE_MB_MIN, part);
  return semiSpaceMb < memoryBytes * 2 ** -20 * V8_SHARE ? SEMI_SPACES * semiSpaceMb : null;
}
