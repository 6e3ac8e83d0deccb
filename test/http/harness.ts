/** A small timetable behind a real server on a free port, and clients that see every byte. */
import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import type { LiveViews, ViewSource } from '../../src/answer/present.js';
import type { View } from '../../src/answer/view.js';
import { PresentAccess } from '../../src/auth/access.js';
import { Authenticator } from '../../src/auth/authenticator.js';
import { createDevelopmentIssuer } from '../../src/auth/development-issuer.js';
import { createClaimTable, parseEnrolments } from '../../src/auth/identity.js';
import { createSecretKeySet, type KeySet } from '../../src/auth/key-set.js';
import { createVerifier } from '../../src/auth/verifier.js';
import { ANSWER_CACHE_SHARE, CACHE_BYTES_DEFAULT } from '../../src/base/limits.js';
import type { Meter } from '../../src/base/metrics/meter.js';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import type { StreamTimes } from '../../src/http/event-streams.js';
import {
  createHandler,
  type HandlerOptions,
  type LaneHandler,
  type RequestHandler,
} from '../../src/http/handler.js';
import type { Logger } from '../../src/http/logger.js';
import type { PageOptions } from '../../src/http/pages.js';
import { HttpServer, type HttpServerOptions } from '../../src/http/server/server.js';
import { resolveOptions } from '../../src/options/resolve.js';
import { viewOfEvents } from '../answer/reading.js';
import { hs256, SECRET } from '../auth/tokens.js';

export const ROOM = '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417';
const HOUR_MS = 3_600_000;
export const FIRST_MS: number = Date.UTC(2024, 8, 2, 8);

function event(n: number, more: Partial<NormalisedEvent> = {}): NormalisedEvent {
  return {
    id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    time: FIRST_MS + n * HOUR_MS,
    endTime: FIRST_MS + (n + 1) * HOUR_MS,
    title: `Lesson ${n}`,
    roomId: ROOM,
    courseId: null,
    studyGroup: n % 2 === 0 ? 'A' : 'B & <C>, "D"',
    lecturer: 'Zoë Übermut',
    type: n % 3 === 0 ? 'Lab' : 'Lecture',
    groupId: null,
    lecturerId: null,
    ...more,
  };
}

/** Ten lessons of an hour each, one after another in one room, and an eleventh at the time of the last. */
export const EVENTS: readonly NormalisedEvent[] = [
  ...Array.from({ length: 10 }, (_, n) => event(n)),
  event(10, { time: FIRST_MS + 9.5 * HOUR_MS, title: 'Überschneidung' }),
];

/** A view source whose view can be removed. */
export interface TestViews extends LiveViews {
  view: View | null;
  status: ViewSource['status'];
}

export function viewsOf(events: readonly NormalisedEvent[] = EVENTS): TestViews {
  return {
    view: viewOfEvents(events, 'uuid'),
    get summary() {
      return this.view?.summary ?? null;
    },
    status: 'ok',
    changes: null,
    listen: () => () => {},
    publication: { origin: 'source', publishedAtMs: FIRST_MS, builtMonotonicMs: 0 },
    source: {
      name: 'test.ndjson',
      state: 'loaded',
      lastSuccessMs: FIRST_MS,
      lastSuccessMonotonicMs: 0,
      lastError: null,
      failingSinceMs: null,
      overdueAtMs: null,
      parts: null,
    },
  };
}

export interface SetUpOptions {
  readonly compression?: boolean;
  readonly streamsMax?: number;
  readonly streamTimes?: StreamTimes;
  readonly dev?: boolean;
  readonly views?: LiveViews;
  readonly keySets?: readonly KeySet[];
  /** As in a file of enrolments. */
  readonly enrolments?: object;
  /** The claims of fields that have others than their own names. */
  readonly claims?: Parameters<typeof createClaimTable>[0];
  /** Secrets of feeds, if `access` is not given. */
  readonly feedSecrets?: readonly Buffer[];
  readonly basePath?: string;
  readonly unknownParameters?: 'reject' | 'ignore';
  readonly timeZone?: string;
  /** Default true, as in Lectern's own server. */
  readonly ownsSocket?: boolean;
  readonly corsOrigins?: readonly string[];
  readonly meter?: Meter;
  readonly accessLog?: number;
  readonly pages?: PageOptions;
  /** Feeds with the access of `access`. */
  readonly feeds?: { readonly publicUrl?: string; readonly days?: number; readonly now?: () => number };
  /** Replaces `enrolments`, and may change. */
  readonly access?: PresentAccess;
}

export interface LogLine {
  readonly level: string;
  readonly fields: object;
  readonly message: string;
}

/** A handler with all its parts, and its log. */
export function setUp(options: SetUpOptions = {}): {
  handler: LaneHandler;
  views: LiveViews;
  logged: LogLine[];
} {
  const logged: LogLine[] = [];
  const line = (level: string) => (fields: object, message: string) => {
    logged.push({ level, fields, message });
  };
  const log: Logger = { info: line('info'), warn: line('warn'), error: line('error') };
  const views = options.views ?? viewsOf();
  const table = createClaimTable(options.claims);
  const issuer = createDevelopmentIssuer({ table });
  const { dev = false, basePath, unknownParameters, timeZone } = options;
  const enrolments = options.enrolments ? parseEnrolments(options.enrolments, 'uuid', 'map') : null;
  const { feedSecrets = null } = options;
  const { access = new PresentAccess({ enrolments, feedSecrets }) } = options;
  const keySets = [...(options.keySets ?? [createSecretKeySet(Buffer.from(SECRET))])];
  if (dev) keySets.push(issuer.keySet);
  const authenticator = new Authenticator({
    verifier: createVerifier({ keySets }),
    table,
    enrolments: access.access.enrolments,
    mode: 'uuid',
  });
  access.listen(() => authenticator.useEnrolments(access.access.enrolments));
  const common = {
    ...USUAL,
    authenticator,
    log,
    ownsSocket: options.ownsSocket ?? true,
    streamsMax: options.streamsMax ?? USUAL.streamsMax,
    streamTimes: options.streamTimes,
    ...(options.compression === undefined ? {} : { compression: options.compression }),
    ...(options.corsOrigins === undefined ? {} : { corsOrigins: options.corsOrigins }),
    ...(options.meter === undefined ? {} : { meter: options.meter }),
    ...(options.accessLog === undefined ? {} : { accessLog: options.accessLog }),
    ...(options.pages === undefined ? {} : { pages: options.pages }),
    ...(options.feeds === undefined
      ? {}
      : {
          feeds: { days: 400, publicUrl: undefined, identifiers: 'uuid' as const, ...options.feeds, access },
        }),
    ...(basePath === undefined ? {} : { basePath }),
    ...(unknownParameters === undefined ? {} : { unknownParameters }),
    ...(timeZone === undefined ? {} : { timeZone }),
  };
  const development = { issuer, identifiers: 'uuid', version: '1.2.3' } as const;
  const handler = createHandler(views, dev ? { ...common, development } : common);
  return { handler, views, logged };
}

const { basePath: usualPath, compression, streamsMax } = resolveOptions('handler', {});

type UsualName = 'basePath' | 'compression' | 'streamsMax' | 'unknownParameters' | 'cacheBytesMax';

/** The options of a handler that a test does not choose: the defaults of the table of settings. */
export const USUAL: Required<Pick<HandlerOptions, UsualName>> = {
  basePath: usualPath,
  compression,
  streamsMax,
  unknownParameters: 'reject',
  cacheBytesMax: CACHE_BYTES_DEFAULT * ANSWER_CACHE_SHARE,
};

/** The Content-Security-Policy of all pages. */
export const PAGE_POLICY: string =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** A token of the test secret, valid for an hour. */
export function token(claims: object = {}): string {
  return hs256({ sub: 'alice', exp: Math.floor(Date.now() / 1000) + 3600, ...claims });
}

export function bearer(claims: object = {}): Record<string, string> {
  return { Authorization: `Bearer ${token(claims)}` };
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
  /** The body as JSON; throws if it is not JSON. */
  json(): unknown;
}

export interface Client {
  readonly port: number;
  readonly server: HttpServer;
  /** A request on its own keep-alive connection. */
  send(
    path: string,
    options?: { method?: string; headers?: Record<string, string | string[]> },
  ): Promise<Reply>;
  /** Sends raw bytes; resolves with everything received until the server closes the connection. */
  raw(bytes: string): Promise<string>;
}

/** Listens on a free port for the duration of the test. */
export async function serve(
  t: { teardown(callback: () => Promise<void>): unknown },
  handler: RequestHandler,
  options: HttpServerOptions = {},
): Promise<Client> {
  // Clients run on the same thread, and their time must not look like an overload.
  const server = new HttpServer(handler, { overloadMs: 0, ...options });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => server.close({ deadlineMs: 0 }));
  return {
    port,
    server,
    send: (path, { method = 'GET', headers = {} } = {}) =>
      new Promise((resolve, reject) => {
        const fields = { Connection: 'keep-alive', ...headers };
        const options = { host: '127.0.0.1', port, path, method, headers: fields, agent: false };
        const req = request(options, (res) => {
          const chunks: Buffer[] = [];
          res.on('data', (chunk: Buffer) => chunks.push(chunk));
          res.on('error', reject);
          res.on('end', () => {
            const body = Buffer.concat(chunks);
            const text = body.toString('utf8');
            const { statusCode: status = 0, headers } = res;
            resolve({ status, headers, body, text, json: () => JSON.parse(text) as unknown });
          });
        });
        req.on('error', reject);
        req.end();
      }),
    raw: (bytes) =>
      new Promise((resolve, reject) => {
        const socket = connect(port, '127.0.0.1');
        const chunks: Buffer[] = [];
        socket.on('data', (chunk) => chunks.push(chunk));
        socket.on('error', reject);
        socket.on('close', () => resolve(Buffer.concat(chunks).toString('utf8')));
        socket.write(bytes, 'latin1');
      }),
  };
}
