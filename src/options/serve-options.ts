/** What a program gives to serve a timetable: on a port of its own, or by a handler in its own server. */
import type { IncomingMessage } from 'node:http';
import type { IdentityValues } from '../auth/identity.js';
import type { TokenType } from '../auth/verifier.js';
import type { Logger } from '../http/logger.js';
import type { WorkerCount } from '../serving/worker-count.js';

/** How bearer tokens are verified: at least one kind of key. */
export interface EmbeddedAuthOptions {
  /** The secret of HS256 tokens, at least 32 bytes. A text may be `base64:…` or `base64url:…`. */
  readonly hs256Secret?: string | Uint8Array | undefined;
  /**
   * A JSON Web Key Set (RFC 7517) with public keys, parsed; or the http(s) address of one, which is fetched at once and then
   * regularly until the timetable is closed.
   */
  readonly jwks?: object | string | undefined;
  /** Seconds between two regular fetches of an address, 1 to 86,400. Default 300. */
  readonly jwksRefreshSeconds?: number | undefined;
  /** Shortest seconds between any two fetches, also after a failure or for an unknown key, 1 to 3600. Default 30. */
  readonly jwksCooldownSeconds?: number | undefined;
  /** Seconds that fetched keys are used while fetching fails, 2 to 31,536,000. Default 86,400. */
  readonly jwksStaleSecondsMax?: number | undefined;
  /** `at+jwt` accepts only access tokens of RFC 9068, and needs issuer and audience. Default `any`. */
  readonly tokenType?: TokenType | undefined;
  /** If given, every token must have exactly this `iss`. */
  readonly issuer?: string | undefined;
  /** If given, every token's `aud` must be or contain it. */
  readonly audience?: string | undefined;
  /** Token claims by the field that they select on, in place of the field's own. */
  readonly claims?: Readonly<Record<string, readonly string[]>> | undefined;
  /** User → field → values, added to what the claims say. */
  readonly enrolments?: object | undefined;
}

/**
 * A handler for an existing server, which answers for CORS, for this handler as for all others. `Request` is what the server
 * gives to handlers, such as Express's.
 */
export interface EmbeddedHandlerOptions<Request extends IncomingMessage = IncomingMessage> {
  /** Where the resources are, as the handler sees request targets. Default `/api/v1`; `/` where the framework strips it. */
  readonly basePath?: string | undefined;
  /** Verify bearer tokens. Without it the embedding program is responsible for authentication: every request is let in. */
  readonly auth?: EmbeddedAuthOptions | undefined;
  /**
   * Without `auth`: what selects the events of /schedule/personal for a request that the embedding program has let in; null
   * where nothing does. Default: nothing.
   */
  readonly identify?: ((req: Request) => IdentityValues | null) | undefined;
  /** Takes log records; a pino logger is one. Default: nothing is logged. */
  readonly log?: Logger | undefined;
}

/** How `serve()` serves a timetable. In production it needs a key that verifies tokens. */
export interface ServeOptions {
  /** How bearer tokens are verified. Only development mode can do without. */
  readonly auth?: EmbeddedAuthOptions | undefined;
  /** TCP port, 0 to 65,535; 0 takes any free one. Default 3000. */
  readonly port?: number | undefined;
  /** Address or name to listen on. Default 127.0.0.1: reachable from this machine only. */
  readonly host?: string | undefined;
  /** Path in front of every endpoint but /health: segments of letters, digits, `-._~`. Default `/api/v1`. */
  readonly basePath?: string | undefined;
  /** `development` adds /login, /docs and /health and makes a key of its own. Default `production`. */
  readonly mode?: 'production' | 'development' | undefined;
  /** Serving threads, 1 to 128, which share one snapshot; `auto` starts one per core. Default 1: the program's own thread. */
  readonly workers?: WorkerCount | undefined;
  /** Open connections per serving thread, 1 to 1,048,576; further ones are closed at once. Default 16,384. */
  readonly connectionsMax?: number | undefined;
  /** Longest wait for the CPU in milliseconds, 0 to 10,000, before excess requests get 503; 0 disables. Default 100. */
  readonly overloadMs?: number | undefined;
  /** Origins of web pages that may read answers, such as `https://timetable.example.org`, at most 100. Default none. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Share of the requests that are logged, 0 to 1. Default 0. */
  readonly accessLog?: number | undefined;
  /** A second port for operators, with /live, /ready and /metrics. Default: there is none. */
  readonly admin?: AdminListenerOptions | undefined;
  /** Takes log records; a pino logger is one. Default: nothing is logged. */
  readonly log?: Logger | undefined;
}

/** The admin listener. */
export interface AdminListenerOptions {
  /** TCP port, 0 to 65,535; 0 takes any free one. */
  readonly port: number;
  /** Address or name to listen on. Default 127.0.0.1. */
  readonly host?: string | undefined;
  /** Host names that requests may have, besides IP addresses, localhost and `host`; at most 100. Default none. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Bearer token of POST /refresh, at least 22 characters. Default: there is no /refresh. */
  readonly token?: string | undefined;
}
