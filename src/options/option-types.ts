/** Made from the table of settings by `npm run docs`. Do not edit. */
import type { IncomingMessage } from 'node:http';
import type { IdentityValues } from '../auth/identity.js';
import type { TokenType } from '../auth/verifier.js';
import type { IdentifierMode } from '../base/model/event.js';
import type { DateOrder, FieldMap, FieldValue, Term, WeeklyPattern } from '../base/model/read-rules.js';
import type { Room } from '../base/model/room.js';
import type { Logger } from '../http/logger.js';
import type { GateOptions } from '../refresh/gate.js';
import type { AnySource } from '../refresh/loader.js';
import type { Records } from '../source/memory-source.js';
import type { PostgresSpec } from '../source/postgres/postgres-address.js';
import type { LoadProgress } from '../source/source.js';
import type { Place } from './setting.js';

/** How a timetable is opened: from a source, or from a timetable file. The other options have defaults. */
export interface TimetableOptions {
  /** Where events come from: a path (- for standard input), an address (http(s), postgres, or a store), a SourceSpec, records in memory, a MemorySource or a RecordSource; on the command line, the arguments. */
  readonly source?: string | AnySource | Records | undefined;
  /** Timetable file, which says where events come from and how they are read, source by source; on the command line, the only argument. */
  readonly timetable?: string | TimetableDescription | undefined;
  /** JSON or CSV file of rooms (id, name, building, capacity) for free-time queries; adds rooms that no event uses. Value: a path; in a program also a list of rooms, or a PostgreSQL source. */
  readonly rooms?: string | PostgresSpec | readonly Room[] | undefined;
  /** Answer an unknown query parameter with 400, or ignore it. Value: reject or ignore. Default: reject. */
  readonly unknownParameters?: 'reject' | 'ignore' | undefined;
  /** MiB of memory for caches, besides the timetable itself; 0 for none. Value: a number from 0 to 1048576. Default: 256. */
  readonly cacheMb?: number | undefined;
  /** MiB of memory that one load may take; default: three quarters of the memory that the machine and the container have left. Value: a number from 64 to 1048576. */
  readonly memoryMbMax?: number | undefined;
  /** Function that is called several times during the first load. */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  /** Form of the identifiers in the data: uuid for UUIDs; any for text of 1 to 64 characters and whole numbers; derived for text to turn into UUIDs. Value: uuid, any or derived. Default: uuid. */
  readonly identifiers?: IdentifierMode | undefined;
  /** Column, path or template that gives a field, such as title=Subject, roomName=room.name or 'time={date}T{start}'; repeatable. Value: field=column; in a program an object of them. */
  readonly fieldMap?: FieldMap | undefined;
  /** Order of day, month and year in dates such as 31.08.2024 or 8/31/2024; without it, such dates are rejected. Value: ymd, dmy or mdy. */
  readonly dateOrder?: DateOrder | undefined;
  /** Time zone of times without an offset, which are otherwise rejected, and of local days in queries. Value: an IANA time zone, such as Europe/Berlin. */
  readonly timeZone?: string | undefined;
  /** First day of the expansion of recurring events in calendars; default: one year before the load. Value: a date, such as 2026-09-01. */
  readonly calendarFrom?: string | undefined;
  /** First day after the expansion of recurring events in calendars; default: two years after the load. Value: a date, such as 2026-09-01. */
  readonly calendarTo?: string | undefined;
  /** Time between two loads, varied by up to 10 %; 0 for none. SIGHUP loads at once. Value: a number from 0 to 31536000. Default: 0. */
  readonly refreshSeconds?: number | undefined;
  /** Load a file again when it changes. Default: true. */
  readonly watch?: boolean | undefined;
  /** Checks that a new timetable must pass before it replaces the served one; false disables them. */
  readonly gate?: GateOptions | false | undefined;
  /** Answer 503 once the last good load is older than this; default: never. Value: a number from 0 to 31536000. */
  readonly staleSecondsMax?: number | undefined;
  /** Write each timetable to this file, and serve it at once at the next start with the same source. */
  readonly snapshotFile?: string | undefined;
  /** File with one or more public keys of the publishers of a store: PEM, JWK or JWKS; read again when it changes. */
  readonly publisherPublicKey?: string | undefined;
  /** Announce and serve without signatures, in a store that is a folder of the own account. Default: false. */
  readonly unsigned?: boolean | undefined;
  /** Serve exactly this snapshot file and ask no source. */
  readonly pin?: string | undefined;
}

/** How `serve()` serves a timetable. Production needs a key that verifies tokens. */
export interface ServeOptions {
  /** TCP port; 0 takes any free one. Value: a whole number from 0 to 65535. Default: 3000. */
  readonly port?: number | undefined;
  /** Address to listen on; 0.0.0.0 is reachable from other machines. Value: an IP address or a host name. Default: 127.0.0.1. */
  readonly host?: string | undefined;
  /** Serving threads, which share one snapshot; auto starts one per core. Value: a whole number from 1 to 128, or auto. Default: 1. */
  readonly workers?: number | 'auto' | undefined;
  /** Event streams of /schedule/changes at a time, divided among the serving threads and rounded up; further streams get 503. Value: a whole number from 0 to 1048576. Default: 10000. */
  readonly streamsMax?: number | undefined;
  /** How long requests may wait for the CPU, in milliseconds, before excess requests get 503; 0 disables. Value: a number from 0 to 10000. Default: 100. */
  readonly overloadMs?: number | undefined;
  /** Path before every endpoint except /health. Value: a path that begins with "/" and has only letters, digits and "-._~" in its segments. Default: /api/v1. */
  readonly basePath?: string | undefined;
  /** Compress answers to repeated requests, as Accept-Encoding allows; off leaves compression to a proxy. Default: true. */
  readonly compression?: boolean | undefined;
  /** Development: adds /view, /login, /docs and /health, and needs no key. Default: false. */
  readonly dev?: boolean | undefined;
  /** Serve the pages for people at /view; always on in development. Default: false. */
  readonly pages?: boolean | undefined;
  /** How bearer tokens are verified: at least one kind of key. */
  readonly auth?: EmbeddedAuthOptions | undefined;
  /** Feed addresses for calendar programs that send no token; without it there are no feeds. */
  readonly feed?: FeedServingOptions | undefined;
  /** Address at which clients reach the service, such as https://timetable.example.org; feed addresses begin with it; default: the Host field of the request, but only if it names the local address and port of the connection. Value: an http(s) address. */
  readonly publicUrl?: string | undefined;
  /** Origin of web pages that may read the timetable, such as https://app.example.org; repeatable or comma-separated. Value: up to 100 origins. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Second port for operators, with /live, /ready and /metrics; default: none. */
  readonly admin?: AdminListenerOptions | undefined;
  /** Share of requests in the access log, at level info. Value: a number from 0 to 1. Default: 0. */
  readonly accessLog?: number | undefined;
  /** Receives log records, as a pino logger does; without it nothing is logged. */
  readonly log?: Logger | undefined;
}

/** A handler for an existing server, which does CORS itself. Without `auth` every request is accepted. `Request` is the type of its requests. */
export interface EmbeddedHandlerOptions<Request extends IncomingMessage = IncomingMessage>
  extends Pick<
    ServeOptions,
    'streamsMax' | 'basePath' | 'compression' | 'auth' | 'feed' | 'publicUrl' | 'log'
  > {
  /** Function that identifies the user of a request, if the embedding program checks tokens itself. */
  readonly identify?: ((req: Request) => IdentityValues | null) | undefined;
}

/** Where and how a timetable is published. */
export interface PublishingOptions {
  /** Announce and serve without signatures, in a store that is a folder of the own account. Default: false. */
  readonly unsigned?: boolean | undefined;
  /** Store of the announcements: nats://host:4222/name, tls://host:4222/name, or a folder that all machines share. Value: a store: nats://host:4222/name, tls://host:4222/name, or a folder. */
  readonly to: string;
  /** File with the private key that signs announcements: Ed25519 or P-256, as PEM or JWK; read again when it changes. */
  readonly publisherKey?: string | undefined;
  /** Second port for operators, with /live, /ready and /metrics; default: none. */
  readonly admin?: AdminListenerOptions | undefined;
  /** Receives log records, as a pino logger does; without it nothing is logged. */
  readonly log?: Logger | undefined;
}

/** How bearer tokens are verified. At least one kind of key is required. */
export interface EmbeddedAuthOptions {
  /** Secret of HS256 tokens; further lines are earlier secrets, whose tokens stay valid. Value: at least 32 bytes, as text or as base64:… or base64url:…; one secret a line, the present one first. */
  readonly hs256Secret?: string | Uint8Array | undefined;
  /** File with the secret of HS256 tokens in its first line, at least 32 bytes, as text or as base64:… or base64url:…; further lines are earlier secrets, whose tokens stay valid; read again when it changes. */
  readonly hs256SecretFile?: string | undefined;
  /** JSON Web Key Set with the public keys of tokens; a file is read again when it changes, an address is fetched regularly. Value: a path or an http(s) address; in a program also a parsed key set. */
  readonly jwks?: object | string | undefined;
  /** Time between two regular fetches of the key set; a withdrawn key is accepted at most this long. While fetching fails, the last keys are used for a day. Value: a number from 1 to 86400. Default: 300. */
  readonly jwksRefreshSeconds?: number | undefined;
  /** Accept any JWT, or only access tokens of RFC 9068, which need --issuer and --audience. Value: any or at+jwt. Default: any. */
  readonly tokenType?: TokenType | undefined;
  /** Accept only tokens of this issuer. */
  readonly issuer?: string | undefined;
  /** Accept only tokens for this audience. */
  readonly audience?: string | undefined;
  /** Token claim that selects a user's events, such as studyGroup=groups; repeatable or comma-separated. Value: field=claim, with one of the fields roomId, courseId, studyGroup, type, groupId or lecturerId. */
  readonly claims?: Readonly<Record<string, readonly string[]>> | undefined;
  /** JSON file of enrolments, read again when it changes: {"sub": {"studyGroup": ["…"]}}. Value: a path; in a program also an object of users. */
  readonly enrolments?: string | object | undefined;
}

/** Feeds: addresses that show one timetable without a token, for calendar programs. */
export interface FeedServingOptions {
  /** Secret that signs feed addresses; further lines are earlier secrets, whose addresses stay valid; without it there are no feeds. Value: at least 32 bytes, as text or as base64:… or base64url:…; one secret a line, the present one first. */
  readonly secret?: string | Uint8Array | undefined;
  /** File with the secret that signs feed addresses in its first line; further lines are earlier secrets, whose addresses stay valid; read again when it changes. */
  readonly secretFile?: string | undefined;
  /** Days for which a new feed address is valid. Value: a whole number from 1 to 3660. Default: 400. */
  readonly days?: number | undefined;
  /** JSON file of revoked feeds, such as {"alice": "2026-11-23T08:00:00Z"}: addresses that this user (the sub of the token) got before this time are refused; read again when it changes. Value: a path; in a program also an object of times. */
  readonly revocations?: string | object | undefined;
}

/** The admin listener. */
export interface AdminListenerOptions {
  /** Port of the admin listener, with /live, /ready, /metrics and /refresh; default: none. Value: a whole number from 0 to 65535. */
  readonly port: number;
  /** Address of the admin listener. Value: an IP address or a host name. Default: 127.0.0.1. */
  readonly host?: string | undefined;
  /** Further host name that the admin listener accepts, besides IP addresses, localhost and --admin-host; repeatable or comma-separated. Value: up to 100 host names without a port, such as lectern.monitoring.svc. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** File with the token of POST /refresh, at least 22 characters, read again when it changes; without it there is no /refresh. */
  readonly tokenFile?: string | undefined;
}

/** What a timetable file says, as an object. */
export interface TimetableDescription {
  /** Address of the JSON Schema, for editors. */
  readonly $schema?: string | undefined;
  /** Time zone of times without an offset, which are otherwise rejected, and of local days in queries. */
  readonly timeZone?: string | undefined;
  /** Form of the identifiers in the data: uuid for UUIDs; any for text of 1 to 64 characters and whole numbers; derived for text to turn into UUIDs. Default: uuid. */
  readonly identifiers?: IdentifierMode | undefined;
  /** Order of day, month and year in dates such as 31.08.2024 or 8/31/2024; without it, such dates are rejected. */
  readonly dateOrder?: DateOrder | undefined;
  /** Terms, which give the weeks of `when` their dates. */
  readonly terms?: Readonly<Record<string, Term>> | undefined;
  /** Rooms for free-time queries, with name, building and capacity; adds rooms that no event uses. */
  readonly rooms?: RoomsDescription | string | undefined;
  /** Where events come from; if two sources have an event with the same id, the later source wins. */
  readonly sources: readonly SourceDescription[];
}

/** The rooms of a timetable file. */
export interface RoomsDescription {
  /** Path of a file of rooms, in any format of a source, or the address of a PostgreSQL database. */
  readonly from: string;
  /** Of a database: table or view; each row is a room. */
  readonly table?: string | undefined;
  /** Of a database: SELECT in place of a table. */
  readonly query?: string | undefined;
  /** Column that gives each field. Default: columns named as the fields. */
  readonly fields?: Readonly<Record<string, string>> | undefined;
  /** Encoding of text formats. Default: UTF-8, or UTF-16 with a byte order mark. */
  readonly encoding?: string | undefined;
  /** Character between the cells of CSV. Default: guessed. */
  readonly delimiter?: string | undefined;
  /** Line of the header of CSV if lines stand above it; or the names of the columns if there is no header; false for the names `column 1`, `column 2`, …. Default: guessed. */
  readonly header?: number | readonly string[] | boolean | undefined;
}

/** One source of a timetable file. */
export interface SourceDescription {
  /** Path, folder, glob, address (http, https, webcal, postgres), or - for standard input; paths are relative to the file. */
  readonly from: string;
  /** Name of the source in /health, logs and metrics. Default: the path or address. */
  readonly name?: string | undefined;
  /** Time between two reads of the source. Default: --refresh-seconds. */
  readonly refreshSeconds?: number | undefined;
  /** Column that gives each field. Default: columns named as the fields. */
  readonly fields?:
    | Readonly<Record<string, string | FieldValue | Readonly<Record<string, string | FieldValue>>>>
    | undefined;
  /** Form of the identifiers in the data: uuid for UUIDs; any for text of 1 to 64 characters and whole numbers; derived for text to turn into UUIDs. Default: the file's. */
  readonly identifiers?: IdentifierMode | undefined;
  /** Order of day, month and year in dates such as 31.08.2024 or 8/31/2024; without it, such dates are rejected. Default: the file's. */
  readonly dateOrder?: DateOrder | undefined;
  /** Time zone of times without an offset. Default: the file's. */
  readonly timeZone?: string | undefined;
  /** Encoding of text formats. Default: UTF-8, or UTF-16 with a byte order mark. */
  readonly encoding?: string | undefined;
  /** Character between the cells of CSV. Default: guessed. */
  readonly delimiter?: string | undefined;
  /** Line of the header of CSV if lines stand above it; or the names of the columns if there is no header; false for the names `column 1`, `column 2`, …. Default: guessed. */
  readonly header?: number | readonly string[] | boolean | undefined;
  /** JSONata expression that gives the records of a nested JSON document of at most 64 MiB. */
  readonly records?: string | undefined;
  /** First day of the expansion of recurring events in calendars; default: one year before the load. */
  readonly calendarFrom?: string | undefined;
  /** First day after the expansion of recurring events in calendars; default: two years after the load. */
  readonly calendarTo?: string | undefined;
  /** Weekday and weeks of lessons that have no dates; see `terms`. */
  readonly when?: WeeklyPattern | undefined;
  /** Text before each title. */
  readonly prefix?: string | undefined;
  /** Identifiers of lecturers by name, or the path of a JSON file of them. */
  readonly lecturerIds?: string | Readonly<Record<string, string>> | undefined;
  /** Header fields of requests; `Bearer file:PATH` and `env:NAME` keep secrets out of the file. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Tokens of an OAuth issuer by client credentials. */
  readonly auth?: SourceAuth | undefined;
  /** Table or view; each row is an event. */
  readonly table?: string | undefined;
  /** SELECT to use instead of a table. */
  readonly query?: string | undefined;
  /** Cheap SELECT; while its result is the same, the source is not read again. */
  readonly versionQuery?: string | undefined;
  /** Follow the table, or the tables of the query, by logical replication; the source must be the only one. Default: false. */
  readonly follow?: boolean | undefined;
  /** Tables that functions of a followed query read; a change of one causes a read of all rows. */
  readonly followTables?: readonly string[] | undefined;
}

/** How a source of a timetable file gets tokens: client credentials (RFC 6749 section 4.4). */
export interface SourceAuth {
  /** Token endpoint of the OAuth issuer, https://…. */
  readonly tokenUrl: string;
  /** Id of the client at the issuer. */
  readonly clientId: string;
  /** Secret of the client: file:PATH, which is read again when it changes, or env:NAME. */
  readonly clientSecret: string;
  /** Scope of the tokens. Default: the issuer's. */
  readonly scope?: string | undefined;
}

/** The options of a timetable that concern its loads. */
export type PublishedTimetable = Omit<
  TimetableOptions,
  | 'rooms'
  | 'unknownParameters'
  | 'cacheMb'
  | 'onProgress'
  | 'staleSecondsMax'
  | 'publisherPublicKey'
  | 'unsigned'
  | 'pin'
>;

/** All settings of the commands, flat, with defaults filled in. */
export interface ResolvedSettings {
  /** Several paths or addresses are merged; the later source wins. */
  readonly source: TimetableOptions['source'] | readonly string[];
  readonly port: number;
  readonly host: string;
  readonly workers: number | 'auto';
  readonly streamsMax: number;
  readonly overloadMs: number;
  readonly drainSeconds: number;
  readonly basePath: string;
  readonly compression: boolean;
  readonly dev: boolean;
  readonly pages: boolean;
  readonly rooms?: string | PostgresSpec | readonly Room[] | undefined;
  readonly unknownParameters: 'reject' | 'ignore';
  readonly cacheMb: number;
  readonly memoryMbMax?: number | undefined;
  readonly sourceHeaders?: Readonly<Record<string, string>> | undefined;
  readonly identifiers: IdentifierMode;
  readonly fieldMap?: FieldMap | undefined;
  readonly dateOrder?: DateOrder | undefined;
  readonly timeZone?: string | undefined;
  readonly calendarFrom?: string | undefined;
  readonly calendarTo?: string | undefined;
  readonly table?: string | undefined;
  readonly query?: string | undefined;
  readonly follow: boolean;
  readonly refreshSeconds: number;
  readonly watch: boolean;
  readonly shrinkPercentMax: number;
  readonly rejectPercentMax: number;
  readonly staleSecondsMax?: number | undefined;
  readonly snapshotFile?: string | undefined;
  readonly publisherPublicKey?: string | undefined;
  readonly unsigned: boolean;
  readonly pin?: string | undefined;
  readonly publishTo?: string | undefined;
  readonly publisherKey?: string | undefined;
  readonly once: boolean;
  readonly hs256Secret?: string | Uint8Array | undefined;
  readonly hs256SecretFile?: string | undefined;
  readonly jwks?: object | string | undefined;
  readonly jwksRefreshSeconds: number;
  readonly tokenType: TokenType;
  readonly issuer?: string | undefined;
  readonly audience?: string | undefined;
  readonly claims?: Readonly<Record<string, readonly string[]>> | undefined;
  readonly enrolments?: string | object | undefined;
  readonly feedSecret?: string | Uint8Array | undefined;
  readonly feedSecretFile?: string | undefined;
  readonly feedDays: number;
  readonly feedRevocations?: string | object | undefined;
  readonly publicUrl?: string | undefined;
  readonly corsOrigins?: readonly string[] | undefined;
  readonly adminPort?: number | undefined;
  readonly adminHost: string;
  readonly adminAllowedHosts?: readonly string[] | undefined;
  readonly adminTokenFile?: string | undefined;
  readonly accessLog: number;
  readonly logLevel?: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent' | undefined;
}

/** All settings of `lectern serve`, flat. Only the source has no default; production also needs a key. */
export type ServiceOptions = Partial<ResolvedSettings> & Pick<ResolvedSettings, 'source'>;

/** All settings of `lectern publish`, flat. */
export type PublisherSettings = ResolvedSettings & { readonly publishTo: string };

/** The options from which the rules of reading are made. */
export type RuleOption =
  | 'identifiers'
  | 'fieldMap'
  | 'dateOrder'
  | 'timeZone'
  | 'calendarFrom'
  | 'calendarTo';

/** The settings of reading a source. */
export type ReadingSettings = Pick<ResolvedSettings, RuleOption | 'sourceHeaders' | 'table' | 'query'>;

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

/** Names of settings and options that have a default. */
type DefaultedName =
  | {
      [Name in keyof ResolvedSettings]-?: undefined extends ResolvedSettings[Name] ? never : Name;
    }[keyof ResolvedSettings]
  | 'days'
  | 'host';

export type Resolved<P extends Place> = Omit<OptionsByPlace[P], DefaultedName> & {
  readonly [Name in DefaultedName & keyof OptionsByPlace[P]]-?: NonNullable<OptionsByPlace[P][Name]>;
};
