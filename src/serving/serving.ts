import type { KeyFeed } from '../auth/remote-key-set.js';
import type { KeyFetches } from '../auth/remote-keys.js';
import type { Logger } from '../http/logger.js';
import type { ListenAddress } from '../http/server/listen-address.js';
import type { Meter } from '../metrics/meter.js';
import type { Follower } from '../view/present.js';
import type { SourceState, ViewSource } from '../view/view-source.js';
import type { ServingCondition } from './condition.js';
import type { HandlerPlan } from './handler-plan.js';

export interface ServingOptions {
  readonly plan: HandlerPlan;
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Serving threads: 1 for this one. */
  readonly workers: number;
  /** Connections at a time, of each thread; see HttpServerOptions. */
  readonly connectionsMax: number | undefined;
  /** Of each thread; see HttpServerOptions. */
  readonly overloadMs: number | undefined;
  /** What is served before the first publication. */
  readonly source: SourceState;
  /** See PresentOptions. */
  readonly staleMsMax: number;
  /** Of all caches together, also those of several threads. */
  readonly cacheBytesMax: number;
  /** Whether threads count what they do. */
  readonly isMetered: boolean;
  readonly log?: Logger | undefined;
  /** A thread was lost, and why; another takes its place. */
  readonly onLost: (error: Error) => void;
}

/** With the keys that this thread fetches for all. */
export interface FedServingOptions extends ServingOptions {
  /** Null where no keys are fetched. */
  readonly feed: KeyFeed | null;
  /** See Serving. */
  readonly hasKeys: () => boolean;
  /** See Serving. */
  readonly keyFetches: KeyFetches | null;
  /** To be called once nothing is served any more. */
  readonly onClose: () => void;
}

/** What one thread has counted. */
export interface ThreadMeter {
  /** `main`, or a number from 1 on, which a thread has that takes the place of another. */
  readonly thread: string;
  readonly meter: Meter;
}

/** A port that is listened on, by this thread or by several. */
export interface Serving {
  readonly address: ListenAddress;
  readonly workers: number;
  /** One for each thread that serves; empty where nothing is counted. */
  readonly meters: readonly ThreadMeter[];
  /** Whether at least one thread has what it is to answer from. Nothing that only the timetable itself knows. */
  readonly isServing: boolean;
  /** Whether any token can be verified: there is a key that was given, or one that was fetched and may still be used. */
  readonly hasKeys: boolean;
  /** How fetching keys went; null where none are fetched. */
  readonly keyFetches: KeyFetches | null;
  /** To be told of publications; null where this thread serves. */
  readonly follower: Follower | null;
  /**
   * Resolves when every thread listens; until then the port takes no connection, or nobody answers on it.
   *
   * Rejects with a LecternError `address-unavailable`.
   */
  readonly started: Promise<void>;
  /**
   * What this thread answers from; until then no request must come in. Nothing where other threads serve.
   *
   * @throws LecternError `option-invalid` for a plan that cannot be
   */
  answerFrom(views: ViewSource): void;
  /** At the moment. */
  readonly condition: ServingCondition;
  /** As HttpServer has it. */
  drain(): void;
  /** As HttpServer has it. */
  close(options?: { readonly deadlineMs?: number }): Promise<void>;
}
