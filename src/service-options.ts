import type { TokenType } from './auth/verifier.js';
import type { IdentifierMode } from './model/event.js';
import type { WorkerCount } from './serving/worker-count.js';
import type { TimetableOptions } from './timetable-options.js';

/** Everything that configures a service. Only the source has no default; production also needs a key. */
export interface ServiceOptions {
  /** As {@link TimetableOptions.source}; several paths or addresses are merged, the later winning. */
  readonly source: TimetableOptions['source'] | readonly string[];
  /** Header fields for addresses; values may refer to the environment as `env:NAME`. Default none. */
  readonly sourceHeaders?: Readonly<Record<string, string>> | undefined;
  /** Path of a JSON object from lecturers' names to identifiers, for sources that give names only. Default none. */
  readonly lecturerIdsFile?: string | undefined;
  /** Seconds between two loads; 0 for never. Default 0. */
  readonly refreshSeconds?: number | undefined;
  /** Whether a file that changes is loaded at once. Default true. */
  readonly watch?: boolean | undefined;
  /** A new snapshot that is smaller by more percent than this is refused. 0 to 100, default 30. */
  readonly shrinkPercentMax?: number | undefined;
  /**
   * A new snapshot of whose records more percent than this were rejected is refused where another is served; a first one is
   * published, with a warning. 0 to 100, default 10.
   */
  readonly rejectPercentMax?: number | undefined;
  /**
   * A load of more records is given up while it is read, where another set is served: percent more than that has. 0 to
   * 1,000,000,000, default 1000. A set of at most 1,000 records is let through.
   */
  readonly growthPercentMax?: number | undefined;
  /** What happens to a new snapshot without events. Default `refuse`. */
  readonly emptySet?: 'refuse' | 'publish' | undefined;
  /** Seconds after the last success from which on reads are answered with 503. Default: never. */
  readonly staleSecondsMax?: number | undefined;
  /** Path of the file that snapshots are written to, and served from at the next start. Default none. */
  readonly snapshotFile?: string | undefined;
  /** Earlier snapshots to keep beside it. 0 to 100, default 0. */
  readonly snapshotFilesKept?: number | undefined;
  /** Path of a snapshot file to serve in place of any source. Default none. */
  readonly pin?: string | undefined;
  /** MiB of memory for caches besides the snapshot; 0 for none. Default 256. */
  readonly cacheMb?: number | undefined;
  /**
   * MiB of memory that one load may take, 64 to 1,048,576. Default: three quarters of what the machine and the container have left
   * when it begins.
   */
  readonly memoryMbMax?: number | undefined;
  /** Events of one load; one with more is refused. Default: any number. */
  readonly eventsMax?: number | undefined;
  /** TCP port, 0 to 65535; 0 takes any free one. Default 3000. */
  readonly port?: number | undefined;
  /** Address or name to listen on. Default 127.0.0.1: reachable from this machine only. */
  readonly host?: string | undefined;
  /** Threads that serve: 1 to 128, or `auto` for as many as there are cores. Default 1. */
  readonly workers?: WorkerCount | undefined;
  /** Connections at a time, of each thread that serves: 1 to 1,048,576. More are closed as they come. Default 16,384. */
  readonly connectionsMax?: number | undefined;
  /**
   * Milliseconds that requests may wait for the processor of their thread, 0 to 10,000. While they wait longer, those that are
   * too many are answered with 503 at once. 0: none ever is. Default 100.
   */
  readonly overloadMs?: number | undefined;
  /** Origins of web pages that may read answers, such as `https://timetable.example.org`. Default none. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** TCP port of the admin listener, 0 to 65535; 0 takes any free one. Default: there is none. */
  readonly adminPort?: number | undefined;
  /** Address or name that it listens on. Default 127.0.0.1: reachable from this machine only. */
  readonly adminHost?: string | undefined;
  /** Path of a file with the token of POST /refresh, at least 22 characters. Default none: nobody may load over HTTP. */
  readonly adminTokenFile?: string | undefined;
  /** Share of the requests that are logged, 0 to 1. Default 0. */
  readonly accessLog?: number | undefined;
  /** Path in front of every endpoint but /health: segments of letters, digits, `-._~`. Default /api/v1. */
  readonly basePath?: string | undefined;
  /** `development` adds /login, /docs and /health and makes a key of its own. Default `production`. */
  readonly mode?: 'production' | 'development' | undefined;
  /** What identifiers of the data look like. Default `uuid`. */
  readonly identifiers?: IdentifierMode | undefined;
  /** Whether an unknown query parameter is a fault. Default `reject`. */
  readonly unknownParameters?: 'reject' | 'ignore' | undefined;
  /** Once given, every token must have exactly this `iss`. Default: not looked at. */
  readonly issuer?: string | undefined;
  /** Once given, every token's `aud` must be or contain it. Default: not looked at. */
  readonly audience?: string | undefined;
  /** Path or http(s) address of a JSON Web Key Set (RFC 7517) with public keys; an address is fetched again. Default none. */
  readonly jwks?: string | undefined;
  /** Seconds between two regular fetches of that address, 1 to 86,400. Default 300. */
  readonly jwksRefreshSeconds?: number | undefined;
  /** Least seconds between any two fetches of it, also after a failure or for a key that is not known, 1 to 3,600. Default 30. */
  readonly jwksCooldownSeconds?: number | undefined;
  /** Seconds that its keys serve while they cannot be fetched again, 2 to 31,536,000; then 503. Default 86,400. */
  readonly jwksStaleSecondsMax?: number | undefined;
  /** `at+jwt` accepts only access tokens as RFC 9068 has them, and needs issuer and audience. Default `any`. */
  readonly tokenType?: TokenType | undefined;
  /** The HS256 secret, at least 32 bytes of UTF-8. Default none. Not together with `hs256SecretFile`. */
  readonly hs256Secret?: string | undefined;
  /** Path of a file that holds the HS256 secret; one line end after it does not count. Default none. */
  readonly hs256SecretFile?: string | undefined;
  /** Token claims by the field that they select on, in place of the field's own. Default: the contract's. */
  readonly claims?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Path of an enrolment map, JSON: user → field → values. Default none. */
  readonly enrolmentsFile?: string | undefined;
}

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What `lectern serve` takes: the service's options, how much is logged, and how it ends. */
export interface ServeSettings extends ServiceOptions {
  /** Default `info` in production, `warn` in development. */
  readonly logLevel?: LogLevel | undefined;
  /**
   * Seconds between the signal that ends the service and the closing of its port, 0 to 3,600. Requests are answered meanwhile,
   * each with `Connection: close`. Default 0.
   */
  readonly drainSeconds?: number | undefined;
}
