import type { IncomingMessage } from 'node:http';
import type { IdentityValues } from '../auth/identity.js';
import type { TokenType } from '../auth/verifier.js';
import type { Logger } from '../http/logger.js';
import type { IdentifierMode } from '../model/event.js';
import type { DateOrder, FieldMap, ReadRules } from '../model/read-rules.js';
import type { Room } from '../model/room.js';
import type { GateOptions } from '../refresh/gate.js';
import type { AnySource } from '../refresh/loader.js';
import type { Records } from '../source/records.js';
import type { LoadProgress } from '../source/source.js';
import type { LOG_LEVELS, Place } from './setting.js';

/** How a timetable is opened. Only the source has no default. */
export interface TimetableOptions {
  /**
   * A path (`-` for standard input), an http(s) address, the address of a store that a publisher fills (`nats://…` or `folder://…`), a {@link SourceSpec}, records in memory, a {@link MemorySource}
   * or a {@link RecordSource}. Files and addresses give CSV, iCalendar, NDJSON, a JSON array or MessagePack, plain or gzipped.
   */
  readonly source: string | AnySource | Records;
  /** Form of identifiers. Default `uuid`. */
  readonly identifiers?: IdentifierMode | undefined;
  /** Columns, paths or templates by event field, such as `{ title: 'Subject', time: '{date}T{start}' }`. Default: none. */
  readonly fieldMap?: FieldMap | undefined;
  /** Order of day, month and year in dates that are not ISO 8601. Default: such dates are rejected. */
  readonly dateOrder?: DateOrder | undefined;
  /** IANA time zone of times without an offset, which are otherwise rejected, and of local days in queries. */
  readonly timeZone?: string | undefined;
  /** Encoding of text files, as TextDecoder names it. Default: UTF-8, or UTF-16 with a byte order mark. */
  readonly encoding?: string | undefined;
  /** First day of the expansion of recurring events, such as `2026-09-01`. Default: a year before the load. */
  readonly calendarFrom?: string | undefined;
  /** Day before which the expansion ends. Default: two years after the load. */
  readonly calendarTo?: string | undefined;
  /** Further rooms for free-time queries: the path of a file, which is watched, or a list. Default: none. */
  readonly rooms?: string | readonly Room[] | undefined;
  /** Answer an unknown query parameter with a fault, or ignore it. Default `reject`. */
  readonly unknownParameters?: 'reject' | 'ignore' | undefined;
  /** Seconds between two loads, varied by up to 10 %: 0 to 31,536,000; 0 for none. Default 0. */
  readonly refreshSeconds?: number | undefined;
  /** Whether a changed file or MemorySource is loaded at once. Default true. */
  readonly watch?: boolean | undefined;
  /** Checks of a new snapshot before it is published; false publishes everything. Default: see {@link GateOptions}. */
  readonly gate?: GateOptions | false | undefined;
  /**
   * Seconds after the last good load until reads fail, 0 to 31,536,000. Pinned snapshots never become stale.
   * Default: never.
   */
  readonly staleSecondsMax?: number | undefined;
  /** Each published snapshot is written to this file, and served at once at the next start. Default: none. */
  readonly snapshotFile?: string | undefined;
  /** Serves exactly this snapshot file and asks no source. Default: none. */
  readonly pin?: string | undefined;
  /** For a store: a file with the public keys of its publishers. Required, unless `unsigned` is true. */
  readonly publisherPublicKey?: string | undefined;
  /** For a store that is a folder of the own account: announcements need no signature. Default false. */
  readonly unsigned?: boolean | undefined;
  /** MiB of memory for caches besides the snapshot, 0 to 1,048,576; 0 for none. Default 256. */
  readonly cacheMb?: number | undefined;
  /** MiB of memory for one load, 64 to 1,048,576; larger loads are refused. Default: three quarters of the free memory. */
  readonly memoryMbMax?: number | undefined;
  /**
   * Called several times during the first load. If the function throws, the load fails. Returned promises are
   * not awaited.
   */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
}

/** How bearer tokens are verified. At least one kind of key is required. */
export interface EmbeddedAuthOptions {
  /** The secret of HS256 tokens, at least 32 bytes. A text may be `base64:…` or `base64url:…`; its further lines are earlier secrets, whose tokens remain valid. */
  readonly hs256Secret?: string | Uint8Array | undefined;
  /** A file with the secret, in place of `hs256Secret`, read at the start and again when it changes. */
  readonly hs256SecretFile?: string | undefined;
  /**
   * A JSON Web Key Set (RFC 7517) with public keys: parsed; the path of a file, which is read again when it changes; or an
   * http(s) address, which is fetched at once and regularly.
   */
  readonly jwks?: object | string | undefined;
  /** Seconds between two regular fetches of an address, 1 to 86,400. Default 300. */
  readonly jwksRefreshSeconds?: number | undefined;
  /** `at+jwt` accepts only access tokens of RFC 9068, and needs issuer and audience. Default `any`. */
  readonly tokenType?: TokenType | undefined;
  /** If given, every token must have exactly this `iss`. */
  readonly issuer?: string | undefined;
  /** If given, every token's `aud` must be or contain this audience. */
  readonly audience?: string | undefined;
  /** Token claims by field, which replace the default claims of the field. */
  readonly claims?: Readonly<Record<string, readonly string[]>> | undefined;
  /** User → field → values, in addition to the claims. */
  readonly enrolments?: object | undefined;
  /** Instead of the object, a JSON file of this form, read at the start and again when it changes. */
  readonly enrolmentsFile?: string | undefined;
}

/** Feeds: addresses that show one timetable without a token, for calendar programs. */
export interface FeedServingOptions {
  /** Signs the addresses: at least 32 bytes. A text may be `base64:…` or `base64url:…`; its further lines are earlier secrets, whose addresses remain valid. */
  readonly secret?: string | Uint8Array | undefined;
  /** A file with the secret, in place of `secret`, read at the start and again when it changes. */
  readonly secretFile?: string | undefined;
  /** Days for which a new address is valid, 1 to 3660. Default 400. */
  readonly days?: number | undefined;
  /** Subject → time: addresses of the subject made before this time are refused. Default: none. */
  readonly revocations?: object | undefined;
  /** Instead of the object, a JSON file of this form, read at the start and again when it changes. */
  readonly revocationsFile?: string | undefined;
}

/** A handler for an existing server. CORS is left to that server. `Request` is the type of its requests. */
export interface EmbeddedHandlerOptions<Request extends IncomingMessage = IncomingMessage> {
  /**
   * Path of the resources, as the handler sees it: `/` if the framework removes a prefix. Default `/api/v1`.
   */
  readonly basePath?: string | undefined;
  /** Whether answers to repeated requests are compressed, as Accept-Encoding allows. Default true. */
  readonly compression?: boolean | undefined;
  /** Event streams of /schedule/changes at a time, 0 to 1,048,576. Default 10,000. */
  readonly streamsMax?: number | undefined;
  /**
   * How bearer tokens are verified. Without `auth` every request is accepted: the embedding program
   * authenticates.
   */
  readonly auth?: EmbeddedAuthOptions | undefined;
  /**
   * Without `auth`: returns the values that select a user's events for /schedule/personal; null if the user
   * has none. Default: none.
   */
  readonly identify?: ((req: Request) => IdentityValues | null) | undefined;
  /** Receives log records, as a pino logger does. Default: nothing is logged. */
  readonly log?: Logger | undefined;
  /** Feeds for calendar programs. Needs `auth`. Default: no feeds. */
  readonly feed?: FeedServingOptions | undefined;
  /** Address under which clients reach the service, for feeds. Default: the address of the connection, if the Host header names this address. */
  readonly publicUrl?: string | undefined;
}

/** How `serve()` serves a timetable. Production needs a key that verifies tokens. */
export interface ServeOptions {
  /** How bearer tokens are verified. Required unless `dev` is true. */
  readonly auth?: EmbeddedAuthOptions | undefined;
  /** TCP port, 0 to 65,535; 0 takes any free one. Default 3000. */
  readonly port?: number | undefined;
  /** Address or name to listen on. Default 127.0.0.1: reachable from this machine only. */
  readonly host?: string | undefined;
  /** Path before every endpoint except /health: segments of letters, digits, `-._~`. Default `/api/v1`. */
  readonly basePath?: string | undefined;
  /** Whether answers to repeated requests are compressed, as Accept-Encoding allows. Default true. */
  readonly compression?: boolean | undefined;
  /** Development: adds /view, /login, /docs and /health and makes its own key. Default false. */
  readonly dev?: boolean | undefined;
  /** Whether the pages for people are at /view. Default false, in development true. */
  readonly pages?: boolean | undefined;
  /**
   * Serving threads, 1 to 128, which share one snapshot. `auto` starts one per core. Default 1: the program's
   * own thread.
   */
  readonly workers?: number | 'auto' | undefined;
  /** Open connections per serving thread, 1 to 1,048,576; more are closed at once. Default 16,384. */
  readonly connectionsMax?: number | undefined;
  /** Event streams of /schedule/changes at a time, over all serving threads, 0 to 1,048,576. Default 10,000. */
  readonly streamsMax?: number | undefined;
  /** Longest wait for the CPU in milliseconds, 0 to 10,000, before excess requests get 503; 0 disables. Default 100. */
  readonly overloadMs?: number | undefined;
  /** Origins of web pages that may read answers, such as `https://timetable.example.org`, at most 100. Default none. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Feeds for calendar programs. Default: no feeds. */
  readonly feed?: FeedServingOptions | undefined;
  /** Address under which clients reach the service, for feeds. Default: the address of the connection, if the Host header names this address. */
  readonly publicUrl?: string | undefined;
  /** Share of requests in the access log, 0 to 1. Default 0. */
  readonly accessLog?: number | undefined;
  /** A second port for operators, with /live, /ready and /metrics. Default: no second port. */
  readonly admin?: AdminListenerOptions | undefined;
  /** Receives log records, as a pino logger does. Default: nothing is logged. */
  readonly log?: Logger | undefined;
}

/** The options of a timetable that concern its loads. */
export type PublishedTimetable = Omit<
  TimetableOptions,
  | 'rooms'
  | 'unknownParameters'
  | 'staleSecondsMax'
  | 'pin'
  | 'cacheMb'
  | 'publisherPublicKey'
  | 'unsigned'
  | 'onProgress'
>;

/** Where and how a timetable is published. */
export interface PublishingOptions {
  /** The store: `nats://…`, `tls://…`, `folder://…`, or the path of a folder. */
  readonly to: string;
  /** File with the private key that signs announcements: Ed25519 or P-256, as PEM (PKCS #8) or JWK. Required, unless `unsigned` is true. */
  readonly publisherKey?: string | undefined;
  /** For a store that is a folder of the own account: announcements are not signed. Default false. */
  readonly unsigned?: boolean | undefined;
  /** The admin listener: probes and metrics of this publisher. Default: none. */
  readonly admin?: AdminListenerOptions | undefined;
  /** Receives log records, as a pino logger does. Default: nothing is logged. */
  readonly log?: Logger | undefined;
}

/** The admin listener. */
export interface AdminListenerOptions {
  /** TCP port, 0 to 65,535; 0 takes any free one. */
  readonly port: number;
  /** Address or name to listen on. Default 127.0.0.1. */
  readonly host?: string | undefined;
  /** Host names that requests may use besides IP addresses, localhost and `host`; at most 100. Default none. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Bearer token of POST /refresh, at least 22 characters. Default: no /refresh. */
  readonly token?: string | undefined;
  /** A file with the token, in place of `token`, read at the start and again when it changes. */
  readonly tokenFile?: string | undefined;
}

/** All settings of `lectern serve`, flat. Only the source has no default; production also needs a key. */
export type ServiceOptions = Omit<TimetableOptions, 'source' | 'gate' | 'onProgress'> &
  GateOptions &
  Omit<ServeOptions, 'auth' | 'feed' | 'admin' | 'log'> &
  Omit<EmbeddedAuthOptions, 'jwks' | 'enrolments' | 'hs256Secret'> & {
    /** Several paths or addresses are merged; the later source wins. */
    readonly source: TimetableOptions['source'] | readonly string[];
    readonly hs256Secret?: string | undefined;
    /** A path or an http(s) address. */
    readonly jwks?: string | undefined;
    /** Values by name, or by origin and name: `https://host Authorization`. */
    readonly sourceHeaders?: Readonly<Record<string, string>> | undefined;
    readonly upstreamTokenUrl?: string | undefined;
    readonly upstreamClientId?: string | undefined;
    readonly upstreamClientSecret?: string | undefined;
    readonly upstreamClientSecretFile?: string | undefined;
    readonly upstreamScope?: string | undefined;
    readonly upstreamTokenOrigin?: string | undefined;
    readonly lecturerIdsFile?: string | undefined;
    readonly mapFile?: string | undefined;
    readonly table?: string | undefined;
    readonly query?: string | undefined;
    readonly postgresPasswordFile?: string | undefined;
    readonly versionQuery?: string | undefined;
    readonly follow?: boolean | undefined;
    readonly feedSecret?: string | undefined;
    readonly feedSecretFile?: string | undefined;
    readonly feedDays?: number | undefined;
    readonly feedRevocationsFile?: string | undefined;
    readonly adminPort?: number | undefined;
    readonly adminHost?: string | undefined;
    readonly adminAllowedHosts?: readonly string[] | undefined;
    readonly adminTokenFile?: string | undefined;
    readonly drainSeconds?: number | undefined;
    readonly logLevel?: (typeof LOG_LEVELS)[number] | undefined;
  };

/** All settings of `lectern publish`, flat. */
export type PublisherSettings = Omit<ResolvedSettings, 'rooms' | 'unknownParameters' | 'cacheMb'> & {
  readonly publishTo: string;
  readonly publisherKey: string | undefined;
  readonly once: boolean;
};

/** The options from which the rules of reading are made. */
export type RuleOption = Exclude<keyof ReadRules, 'from' | 'to'> | 'calendarFrom' | 'calendarTo';

/** The settings of reading a source. */
export type ReadingSettings = Pick<
  ResolvedSettings,
  RuleOption | 'mapFile' | 'sourceHeaders' | 'table' | 'query' | 'postgresPasswordFile'
>;

interface OptionsByPlace {
  readonly openTimetable: TimetableOptions;
  readonly gate: GateOptions;
  readonly serve: ServeOptions;
  readonly handler: EmbeddedHandlerOptions;
  readonly publish: PublishingOptions;
  readonly auth: EmbeddedAuthOptions;
  readonly feed: FeedServingOptions;
  readonly admin: AdminListenerOptions;
}

export type DefaultedName =
  | 'port'
  | 'host'
  | 'workers'
  | 'connectionsMax'
  | 'streamsMax'
  | 'overloadMs'
  | 'drainSeconds'
  | 'basePath'
  | 'compression'
  | 'dev'
  | 'pages'
  | 'identifiers'
  | 'unknownParameters'
  | 'cacheMb'
  | 'refreshSeconds'
  | 'watch'
  | 'shrinkPercentMax'
  | 'rejectPercentMax'
  | 'once'
  | 'unsigned'
  | 'jwksRefreshSeconds'
  | 'tokenType'
  | 'adminHost'
  | 'feedDays'
  | 'days'
  | 'follow'
  | 'accessLog';

type Filled<T> = Omit<T, DefaultedName> & {
  readonly [Name in DefaultedName & keyof T]-?: NonNullable<T[Name]>;
};

export type Resolved<P extends Place> = Filled<OptionsByPlace[P]>;

export type ResolvedSettings = Filled<ServiceOptions>;
